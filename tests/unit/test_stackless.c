/* User threads that sleep without a stack: each sleep ends with a new run, what lasts is the
 * argument, and a crowd of them holds no stack. A run that parks keeps the stack that it was
 * called on. */
#include "story.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"

enum { FAR_MS = 20000, CROWD = 300 };

/* Lasts from one run to the next. */
struct sleeper {
    struct story *story;
    struct poller_source source;
    uint64_t deadline_ms;
    int runs;
};

static void spawn_sleeper(struct scheduler *scheduler, void (*run)(void *),
                          struct story *story, int fd)
{
    struct sleeper sleeper = { .story = story,
                               .source = { .fd = fd, .slot = POLLER_NONE } };

    assert_int_equal(scheduler_spawn_stackless(scheduler, run, &sleeper, sizeof(sleeper)),
                     0);
}

/* Notes each receive; ends with the stream. The frame must be a new one each time. */
static void reads_in_runs(void *argument)
{
    struct sleeper *self = argument;
    char buffer[64];
    enum park_result result;
    ssize_t n;

    self->runs++;
    do {
        self->source.ready &= POLLER_FINAL;
        n = recv(self->source.fd, buffer, sizeof(buffer), MSG_DONTWAIT);
        note(self->story, (int)n);
        if (n != 0) {
            result = scheduler_await_stackless(&self->source, POLLER_READ, TIMEOUT_HEADER,
                                               clock_now_ms() + FAR_MS);
            if (result == PARK_ASLEEP) {
                return;
            }
            assert_int_equal(result, PARK_WOKEN); /* the end is here already */
        }
    } while (n != 0);
    note(self->story, 100 + self->runs);
    scheduler_forget(&self->source);
}

static void test_runs_anew_for_each_event(void **state)
{
    /* The second receive came with the end behind it, so no third run was needed. */
    static const int expected[] = { -1, 3, 4, 0, 103 };
    struct scheduler *scheduler = scheduler_open(0);
    struct story story = { .count = 0 };

    (void)state;
    open_pair(&story);
    spawn_sleeper(scheduler, reads_in_runs, &story, story.fds[0]);
    spawn(scheduler, sends_then_closes, &story, 2);
    run_all(scheduler);
    check_notes(&story, expected, 5);
    close(story.fds[0]);
}

static void sleeps_until_late(void *argument)
{
    struct sleeper *self = argument;

    if (self->runs++ == 0) {
        assert_false(scheduler_expired());
        self->story->sleeper = scheduler_self();
        self->deadline_ms = clock_now_ms() + 20;
    } else {
        note(self->story, scheduler_expired() ? 1 : 2);
    }
    if (self->runs == 2) {
        /* Woken before its time: sleeps on. */
        assert_true(clock_now_ms() < self->deadline_ms || scheduler_expired());
    }
    if (!scheduler_expired() &&
        scheduler_await_stackless(&self->source, POLLER_READ, TIMEOUT_KEEPALIVE,
                                  self->deadline_ms) == PARK_ASLEEP) {
        return;
    }
    /* Or the deadline passed before it slept. */
    assert_true(clock_now_ms() >= self->deadline_ms);
    scheduler_remove(&self->source);
    note(self->story, 9);
}

static void wakes_once(void *argument)
{
    struct actor *actor = argument;

    scheduler_yield();
    scheduler_wake(actor->story->sleeper);
}

static void test_wake_and_deadline(void **state)
{
    struct scheduler *scheduler = scheduler_open(0);
    struct story story = { .count = 0 };

    (void)state;
    open_pair(&story);
    spawn_sleeper(scheduler, sleeps_until_late, &story, story.fds[0]);
    spawn(scheduler, wakes_once, &story, 2);
    run_all(scheduler);
    assert_int_equal(story.notes[0], 2);
    assert_int_equal(story.notes[story.count - 1], 9);
    close(story.fds[0]);
    close(story.fds[1]);
}

static void cannot_watch(void *argument)
{
    struct sleeper *self = argument;

    assert_int_equal(
        scheduler_await_stackless(&self->source, POLLER_READ, TIMEOUT_NONE, UINT64_MAX),
        PARK_FAILED);
    note(self->story, self->source.error);
}

static void test_source_that_cannot_be_watched(void **state)
{
    static const int expected[] = { -EBADF };
    struct scheduler *scheduler = scheduler_open(0);
    struct story story = { .count = 0 };

    (void)state;
    spawn_sleeper(scheduler, cannot_watch, &story, -1);
    run_all(scheduler);
    check_notes(&story, expected, 1);
}

/* ---- a crowd */

static void sleeps_for_a_byte(void *argument)
{
    struct sleeper *self = argument;
    char byte;

    if (recv(self->source.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0) {
        self->source.ready = 0;
        assert_int_equal(scheduler_await_stackless(&self->source, POLLER_READ,
                                                   TIMEOUT_KEEPALIVE,
                                                   clock_now_ms() + FAR_MS),
                         PARK_ASLEEP);
        return;
    }
    assert_false(scheduler_expired());
    scheduler_remove(&self->source);
    self->story->count++;
    if (self->story->sleeper != NULL) {
        scheduler_wake(self->story->sleeper);
    }
}

/* Its first run parks, and so all have a stack at once before any sleeps. */
static void parks_then_sleeps_for_a_byte(void *argument)
{
    struct sleeper *self = argument;

    if (self->runs++ == 0) {
        scheduler_yield();
    }
    sleeps_for_a_byte(self);
}

/* When all sleep: how many stacks lie free, of those that were ever taken. */
static void counts_stacks(void *argument)
{
    struct actor *actor = argument;
    struct stack_pool *stacks = scheduler_stacks(scheduler_current());

    for (int i = 0; i < CROWD; i++) {
        scheduler_yield();
    }
    /* All that they had, but one that is kept aside for whoever parks next. */
    assert_int_equal(stack_pool_warm(stacks) + stack_pool_cold(stacks), CROWD - 1);
    assert_int_equal(scheduler_threads(scheduler_current()), CROWD + 1);
    assert_int_equal(send(actor->story->fds[1], "x", 1, 0), 1);
}

static void test_crowd_holds_no_stack(void **state)
{
    struct scheduler *scheduler = scheduler_open(0);
    struct story story = { .count = 0 };
    int fds[CROWD];

    (void)state;
    open_pair(&story);
    for (int i = 0; i < CROWD; i++) {
        fds[i] = dup(story.fds[0]);
        assert_true(fds[i] >= 0);
        spawn_sleeper(scheduler, parks_then_sleeps_for_a_byte, &story, fds[i]);
    }
    spawn(scheduler, counts_stacks, &story, 0);
    run_all(scheduler);
    assert_int_equal(story.count, CROWD);
    for (int i = 0; i < CROWD; i++) {
        close(fds[i]);
    }
    close(story.fds[0]);
    close(story.fds[1]);
}

/* Never run again: what sleeps is dropped with its scheduler, and nothing is left of it. */
static void test_dropped_while_asleep(void **state)
{
    struct scheduler *scheduler = scheduler_open(0);
    struct story story = { .count = 0 };

    (void)state;
    open_pair(&story);
    spawn_sleeper(scheduler, sleeps_for_a_byte, &story, story.fds[0]);
    scheduler_close(scheduler);
    assert_int_equal(story.count, 0);
    close(story.fds[0]);
    close(story.fds[1]);
}

/* ---- no memory for a stack */

/* How many of the next stacks are refused. */
static unsigned refused;

struct stack *__real_stack_take(struct stack_pool *pool);
struct stack *__wrap_stack_take(struct stack_pool *pool);

struct stack *__wrap_stack_take(struct stack_pool *pool)
{
    if (refused > 0) {
        refused--;
        return NULL;
    }
    return __real_stack_take(pool);
}

/* Keeps the stack that it is called on, once the byte is there. */
static void sleeps_for_a_byte_then_parks(void *argument)
{
    struct sleeper *self = argument;
    char byte;

    if (recv(self->source.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1) {
        scheduler_yield();
    }
    sleeps_for_a_byte(self);
}

static void sends_while_there_is_no_stack(void *argument)
{
    struct actor *actor = argument;

    scheduler_yield();
    refused = 1;
    assert_int_equal(send(actor->story->fds[1], "x", 1, 0), 1);
    for (int i = 0; i < 3; i++) {
        scheduler_yield();
    }
    /* One was called, and for the loop there was the stack that is kept aside. */
    assert_int_equal(actor->story->count, 1);
}

/* So that somebody waits for a descriptor, with a deadline that is far, as a server does. */
static void waits_for_two(void *argument)
{
    struct actor *actor = argument;
    struct poller_source source = { .slot = POLLER_NONE };
    int pipes[2];

    assert_int_equal(pipe(pipes), 0);
    source.fd = pipes[0];
    actor->story->sleeper = scheduler_self();
    while (actor->story->count < 2) {
        assert_int_equal(scheduler_await(&source, POLLER_READ, TIMEOUT_HEADER,
                                         clock_now_ms() + FAR_MS),
                         PARK_WOKEN);
    }
    scheduler_remove(&source);
    close(pipes[0]);
    close(pipes[1]);
}

/* It runs when there is one again, soon, and nobody else is held up meanwhile. */
static void test_waits_for_a_stack(void **state)
{
    struct scheduler *scheduler = scheduler_open(0);
    struct story story = { .count = 0 };
    int twin;

    (void)state;
    open_pair(&story);
    twin = dup(story.fds[0]);
    spawn_sleeper(scheduler, sleeps_for_a_byte_then_parks, &story, story.fds[0]);
    spawn_sleeper(scheduler, sleeps_for_a_byte_then_parks, &story, twin);
    spawn(scheduler, waits_for_two, &story, 0);
    spawn(scheduler, sends_while_there_is_no_stack, &story, 0);
    run_all(scheduler);
    assert_int_equal(story.count, 2);
    assert_int_equal(refused, 0);
    close(twin);
    close(story.fds[0]);
    close(story.fds[1]);
}

static void test_no_stack_for_the_loop(void **state)
{
    (void)state;
    refused = 1;
    errno = 0;
    assert_null(scheduler_open(0));
    assert_int_equal(errno, ENOMEM);
    assert_int_equal(refused, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_anew_for_each_event),
        cmocka_unit_test(test_wake_and_deadline),
        cmocka_unit_test(test_source_that_cannot_be_watched),
        cmocka_unit_test(test_crowd_holds_no_stack),
        cmocka_unit_test(test_dropped_while_asleep),
        cmocka_unit_test(test_waits_for_a_stack),
        cmocka_unit_test(test_no_stack_for_the_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
