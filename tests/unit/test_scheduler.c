/* User threads: order, parking and deadlines, readiness, messages of other kernel threads,
 * and what happens at a stack's end. */
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "scheduler.h"

enum { NOTES_MAX = 64 };

/* What the user threads of a test did, in order. */
struct story {
    int notes[NOTES_MAX];
    int count;
    struct user_thread *sleeper;
    int fds[2];
};

struct actor {
    struct story *story;
    int number;
};

static void note(struct story *story, int number)
{
    assert_true(story->count < NOTES_MAX);
    story->notes[story->count++] = number;
}

static void check_notes(const struct story *story, const int *expected, int count)
{
    assert_int_equal(story->count, count);
    for (int i = 0; i < count; i++)
        assert_int_equal(story->notes[i], expected[i]);
}

static void spawn(struct scheduler *scheduler, void (*run)(void *), struct story *story,
                  int number)
{
    struct actor actor = { .story = story, .number = number };

    assert_int_equal(scheduler_spawn(scheduler, run, &actor, sizeof(actor)), 0);
}

static void run_all(struct scheduler *scheduler)
{
    scheduler_run(scheduler);
    assert_int_equal(scheduler_threads(scheduler), 0);
    scheduler_close(scheduler);
}

static void yields_twice(void *argument)
{
    struct actor *actor = argument;

    assert_int_equal((uintptr_t)argument % 64, 0);
    for (int i = 0; i < 3; i++) {
        if (i > 0)
            scheduler_yield();
        note(actor->story, actor->number);
    }
}

static void test_first_in_first_out(void **state)
{
    static const int expected[] = { 1, 2, 3, 1, 2, 3, 1, 2, 3 };
    struct scheduler *scheduler = scheduler_open(0);
    struct story story = { .count = 0 };

    (void)state;
    for (int i = 1; i <= 3; i++)
        spawn(scheduler, yields_twice, &story, i);
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
        if (i % 8 == 7)
            scheduler_yield();
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
    for (int i = 0; i < 3000; i++)
        assert_int_equal(
            scheduler_spawn(scheduler, crowd_child, &argument, sizeof(argument)), 0);
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

/* Reads what is there in small steps, as a connection does: bits cleared before each. */
static void reads_to_the_end(void *argument)
{
    struct actor *actor = argument;
    struct poller_source source = { .fd = actor->story->fds[0], .slot = POLLER_NONE };
    char buffer[64];
    ssize_t n = -1;

    while (n != 0) {
        source.ready &= POLLER_FINAL;
        n = recv(source.fd, buffer, sizeof(buffer), MSG_DONTWAIT);
        note(actor->story, (int)n);
        if (n != 0)
            assert_int_equal(scheduler_await(&source, POLLER_READ, TIMEOUT_HEADER,
                                             clock_now_ms() + 20000),
                             PARK_WOKEN);
    }
    scheduler_forget(&source);
}

static void sends_then_closes(void *argument)
{
    struct actor *actor = argument;

    assert_int_equal(send(actor->story->fds[1], "one", 3, 0), 3);
    /* The reader runs and parks again, then gets data and end in one event. */
    scheduler_yield();
    scheduler_yield();
    assert_int_equal(send(actor->story->fds[1], "four", 4, 0), 4);
    assert_int_equal(close(actor->story->fds[1]), 0);
}

static void test_end_behind_data(void **state)
{
    static const int expected[] = { -1, 3, 4, 0 };
    struct scheduler *scheduler = scheduler_open(0);
    struct story story = { .count = 0 };

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, story.fds), 0);
    spawn(scheduler, reads_to_the_end, &story, 1);
    spawn(scheduler, sends_then_closes, &story, 2);
    run_all(scheduler);
    check_notes(&story, expected, 4);
    close(story.fds[0]);
}

static void awaits_in_vain(void *argument)
{
    struct actor *actor = argument;
    struct poller_source source = { .fd = actor->story->fds[0], .slot = POLLER_NONE };

    assert_int_equal(
        scheduler_await(&source, POLLER_READ, TIMEOUT_HEADER, clock_now_ms() + 20),
        PARK_EXPIRED);
    note(actor->story, 1);
    /* The other direction was seen meanwhile: at once, and expired all the same once its
     * deadline is over, or a bit that stays would keep it from ever expiring. */
    assert_int_equal(
        scheduler_await(&source, POLLER_WRITE, TIMEOUT_SEND, clock_now_ms() + 20000),
        PARK_WOKEN);
    assert_int_equal(scheduler_await(&source, POLLER_WRITE, TIMEOUT_SEND, 1),
                     PARK_EXPIRED);
    scheduler_remove(&source);
    source.fd = -1;
    assert_int_equal(scheduler_await(&source, POLLER_READ, TIMEOUT_NONE, UINT64_MAX),
                     PARK_FAILED);
    note(actor->story, 2);
}

static void test_await_expires(void **state)
{
    static const int expected[] = { 1, 2 };
    struct scheduler *scheduler = scheduler_open(0);
    struct story story = { .count = 0 };

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, story.fds), 0);
    spawn(scheduler, awaits_in_vain, &story, 1);
    run_all(scheduler);
    check_notes(&story, expected, 2);
    close(story.fds[0]);
    close(story.fds[1]);
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
    for (int i = 0; i < 10; i++)
        spawn(scheduler, renews, &story, i);
    run_all(scheduler);
    assert_int_equal(story.count, 10);
}

/* ---- messages from other kernel threads */

enum { POSTERS = 4, POSTS = 500 };

struct post {
    struct scheduler_message message;
    struct mailbox *mailbox;
    int from, number;
};

struct mailbox {
    struct scheduler *scheduler;
    struct user_thread *reader;
    int last[POSTERS];
    int count;
    struct post posts[POSTERS][POSTS];
};

struct poster {
    struct mailbox *mailbox;
    int number;
    pthread_t thread;
};

static void post_deliver(struct scheduler_message *message)
{
    struct post *post = (struct post *)message;

    /* In the order of their sender. */
    assert_int_equal(post->number, post->mailbox->last[post->from]);
    post->mailbox->last[post->from]++;
    post->mailbox->count++;
    scheduler_wake(post->mailbox->reader);
}

static void *poster_main(void *argument)
{
    struct poster *poster = argument;

    for (int i = 0; i < POSTS; i++) {
        struct post *post = &poster->mailbox->posts[poster->number][i];

        *post = (struct post){ .message.deliver = post_deliver,
                               .mailbox = poster->mailbox,
                               .from = poster->number,
                               .number = i };
        scheduler_post(poster->mailbox->scheduler, &post->message);
    }
    return NULL;
}

static void reads_mailbox(void *argument)
{
    struct mailbox *mailbox = *(struct mailbox **)argument;

    mailbox->reader = scheduler_self();
    while (mailbox->count < POSTERS * POSTS)
        (void)scheduler_park(TIMEOUT_NONE, UINT64_MAX);
}

static void keeps_busy(void *argument)
{
    struct mailbox *mailbox = *(struct mailbox **)argument;

    while (mailbox->count < POSTERS * POSTS)
        scheduler_yield();
}

static void check_posts(bool busy)
{
    static struct mailbox mailbox;
    struct mailbox *argument = &mailbox;
    struct poster posters[POSTERS];

    memset(&mailbox, 0, sizeof(mailbox));
    mailbox.scheduler = scheduler_open(0);
    assert_int_equal(
        scheduler_spawn(mailbox.scheduler, reads_mailbox, &argument, sizeof(argument)),
        0);
    if (busy)
        assert_int_equal(
            scheduler_spawn(mailbox.scheduler, keeps_busy, &argument, sizeof(argument)),
            0);
    for (int i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){ .mailbox = &mailbox, .number = i };
        assert_int_equal(
            pthread_create(&posters[i].thread, NULL, poster_main, &posters[i]), 0);
    }
    scheduler_run(mailbox.scheduler);
    for (int i = 0; i < POSTERS; i++)
        pthread_join(posters[i].thread, NULL);
    assert_int_equal(mailbox.count, POSTERS * POSTS);
    scheduler_close(mailbox.scheduler);
}

static void test_post(void **state)
{
    (void)state;
    check_posts(false);
    check_posts(true);
}

/* ---- the end of a stack, and the end of a scheduler */

static void use_stack(size_t bytes)
{
    char block[1024];

    /* The optimiser must believe that every byte is written, and read after the call. */
    __asm__ volatile("" : : "r"(memset(block, 1, sizeof(block))) : "memory");
    if (bytes > sizeof(block))
        use_stack(bytes - sizeof(block));
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
        if (scheduler_spawn(scheduler, uses_bytes, &all, sizeof(all)) == 0)
            scheduler_run(scheduler);
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
        cmocka_unit_test(test_end_behind_data),
        cmocka_unit_test(test_await_expires),
        cmocka_unit_test(test_deadline_renewed),
        cmocka_unit_test(test_post),
        cmocka_unit_test(test_census),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_never_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
