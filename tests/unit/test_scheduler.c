/* User threads: order, parking and deadlines, and what happens at a stack's end. */
#include "story.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

static void yields_twice(void *argument)
{
    struct actor *actor = argument;

    assert_int_equal((uintptr_t)argument % 64, 0);
    for (int i = 0; i < 3; i++) {
        if (i > 0) {
            scheduler_yield();
        }
        note(actor->story, actor->number);
    }
}

static void test_first_in_first_out(void **state)
{
    static const int expected[] = { 1, 2, 3, 1, 2, 3, 1, 2, 3 };
    struct scheduler *scheduler = scheduler_open(0);
    struct story story = { .count = 0 };

    (void)state;
    for (int i = 1; i <= 3; i++) {
        spawn(scheduler, yields_twice, &story, i);
    }
    run_all(scheduler);
    check_notes(&story, expected, 9);
}

/* Thousands over few stacks, and thousands at once. */
struct crowd {
    unsigned started, ended;
    unsigned children;
};

static void crowd_child(void *argument)
{
    struct crowd *crowd = *(struct crowd **)argument;

    crowd->started++;
    scheduler_yield();
    crowd->ended++;
}

static void crowd_parent(void *argument)
{
    struct crowd *crowd = *(struct crowd **)argument;

    for (unsigned i = 0; i < crowd->children; i++) {
        assert_int_equal(
            scheduler_spawn(scheduler_current(), crowd_child, &crowd, sizeof(crowd)), 0);
        if (i % 8 == 7) {
            scheduler_yield();
        }
    }
}

static void test_thousands_in_turn(void **state)
{
    struct scheduler *scheduler = scheduler_open(0);
    struct crowd crowd = { .children = 5000 }, *argument = &crowd;

    (void)state;
    assert_int_equal(
        scheduler_spawn(scheduler, crowd_parent, &argument, sizeof(argument)), 0);
    scheduler_run(scheduler);
    assert_int_equal(crowd.started, 5000);
    assert_int_equal(crowd.ended, 5000);
    /* Ended ones made room for later ones. */
    assert_true(stack_pool_warm(scheduler_stacks(scheduler)) < 64);
    assert_int_equal(stack_pool_cold(scheduler_stacks(scheduler)), 0);
    scheduler_close(scheduler);
}

static void test_thousands_at_once(void **state)
{
    struct scheduler *scheduler = scheduler_open(0);
    struct crowd crowd = { .started = 0 }, *argument = &crowd;

    (void)state;
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(
            scheduler_spawn(scheduler, crowd_child, &argument, sizeof(argument)), 0);
    }
    assert_int_equal(scheduler_threads(scheduler), 3000);
    run_all(scheduler);
    assert_int_equal(crowd.ended, 3000);
}

/* Deadlines are out of order, of several classes and none. */
static void sleeps(void *argument)
{
    static const enum timeout_class classes[] = { TIMEOUT_NONE, TIMEOUT_HEADER,
                                                  TIMEOUT_SEND };
    struct actor *actor = argument;
    uint64_t deadline_ms = clock_now_ms() + (uint64_t)actor->number;

    assert_int_equal(scheduler_park(classes[actor->number / 100 % 3], deadline_ms),
                     PARK_EXPIRED);
    assert_true(clock_now_ms() >= deadline_ms);
    note(actor->story, actor->number);
}

static void test_deadlines_in_order(void **state)
{
    static const int expected[] = { 1, 100, 200, 300, 400 };
    struct scheduler *scheduler = scheduler_open(0);
    struct story story = { .count = 0 };
    uint64_t start_ms = clock_now_ms();

    (void)state;
    spawn(scheduler, sleeps, &story, 300);
    spawn(scheduler, sleeps, &story, 100);
    spawn(scheduler, sleeps, &story, 400);
    spawn(scheduler, sleeps, &story, 1);
    spawn(scheduler, sleeps, &story, 200);
    run_all(scheduler);
    check_notes(&story, expected, 5);
    assert_true(clock_now_ms() - start_ms >= 400);
}

static void parks_for_good(void *argument)
{
    struct actor *actor = argument;

    actor->story->sleeper = scheduler_self();
    assert_int_equal(scheduler_park(TIMEOUT_NONE, UINT64_MAX), PARK_WOKEN);
    note(actor->story, actor->number);
    assert_int_equal(scheduler_park(TIMEOUT_KEEPALIVE, clock_now_ms() + 60000),
                     PARK_WOKEN);
    note(actor->story, actor->number);
    /* A deadline that has passed lets the others run, and no more. */
    assert_int_equal(scheduler_park(TIMEOUT_KEEPALIVE, clock_now_ms()), PARK_EXPIRED);
    note(actor->story, actor->number);
}

static void wakes_twice(void *argument)
{
    struct actor *actor = argument;

    scheduler_wake(actor->story->sleeper);
    scheduler_wake(actor->story->sleeper); /* ready: nothing happens */
    scheduler_wake(scheduler_self());      /* runs: nothing happens */
    note(actor->story, actor->number);
    scheduler_yield();
    scheduler_wake(actor->story->sleeper);
    note(actor->story, actor->number);
}

static void test_wake(void **state)
{
    static const int expected[] = { 2, 1, 2, 1, 1 };
    struct scheduler *scheduler = scheduler_open(0);
    struct story story = { .count = 0 };
    uint64_t start_ms = clock_now_ms();

    (void)state;
    spawn(scheduler, parks_for_good, &story, 1);
    spawn(scheduler, wakes_twice, &story, 2);
    run_all(scheduler);
    check_notes(&story, expected, 5);
    assert_true(clock_now_ms() - start_ms < 30000);
}

/* Deadlines of one class that grow with every park, while others of it stand still. */
static void renews(void *argument)
{
    struct actor *actor = argument;

    for (int i = 0; i < 20; i++) {
        uint64_t deadline_ms = clock_now_ms() + 10;

        assert_int_equal(scheduler_park(TIMEOUT_KEEPALIVE, deadline_ms), PARK_EXPIRED);
        assert_true(clock_now_ms() >= deadline_ms);
    }
    note(actor->story, actor->number);
}

static void test_deadline_renewed(void **state)
{
    struct scheduler *scheduler = scheduler_open(0);
    struct story story = { .count = 0 };

    (void)state;
    for (int i = 0; i < 10; i++) {
        spawn(scheduler, renews, &story, i);
    }
    run_all(scheduler);
    assert_int_equal(story.count, 10);
}

/* ---- the end of a stack, and the end of a scheduler */

static void use_stack(size_t bytes)
{
    char block[1024];

    /* The optimiser must believe that every byte is written, and read after the call. */
    __asm__ volatile("" : : "r"(memset(block, 1, sizeof(block))) : "memory");
    if (bytes > sizeof(block)) {
        use_stack(bytes - sizeof(block));
    }
    __asm__ volatile("" : : "r"(block) : "memory");
}

static void uses_bytes(void *argument)
{
    use_stack(*(size_t *)argument);
}

static void test_census(void **state)
{
    struct scheduler *scheduler = scheduler_open(STACK_CENSUS);
    size_t little = 1024, much = 16 * 1024, deepest;

    (void)state;
    assert_int_equal(scheduler_spawn(scheduler, uses_bytes, &little, sizeof(little)), 0);
    scheduler_run(scheduler);
    deepest = stack_pool_deepest(scheduler_stacks(scheduler));
    assert_in_range(deepest, little, much - 1);
    assert_int_equal(scheduler_spawn(scheduler, uses_bytes, &much, sizeof(much)), 0);
    scheduler_run(scheduler);
    assert_in_range(stack_pool_deepest(scheduler_stacks(scheduler)), much, STACK_BYTES);
    scheduler_close(scheduler);
}

static int status_of_overflow(unsigned stack_flags)
{
    pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0) {
        static const struct rlimit none = { 0 };
        struct scheduler *scheduler = scheduler_open(stack_flags);
        size_t all = (size_t)STACK_BYTES + 1;

        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL);
        if (scheduler_spawn(scheduler, uses_bytes, &all, sizeof(all)) == 0) {
            scheduler_run(scheduler);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_overflow(void **state)
{
    (void)state;
    assert_int_equal(status_of_overflow(0) & 0x7f, SIGSEGV);
    assert_int_equal(status_of_overflow(STACK_MPROTECT) & 0x7f, SIGSEGV);
}

static void must_not_run(void *argument)
{
    (void)argument;
    fail();
}

static void test_never_run(void **state)
{
    struct scheduler *scheduler = scheduler_open(0);

    (void)state;
    assert_int_equal(scheduler_spawn(scheduler, must_not_run, NULL, 0), 0);
    assert_int_equal(scheduler_spawn(scheduler, must_not_run, NULL, 0), 0);
    scheduler_close(scheduler);
    scheduler_close(NULL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_in_first_out),
        cmocka_unit_test(test_thousands_in_turn),
        cmocka_unit_test(test_thousands_at_once),
        cmocka_unit_test(test_deadlines_in_order),
        cmocka_unit_test(test_wake),
        cmocka_unit_test(test_deadline_renewed),
        cmocka_unit_test(test_census),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_never_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
