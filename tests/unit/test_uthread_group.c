/* Several kernel threads under one crowd: what moves and what stays, bound threads and their
 * failures, and time and fairness while others only yield. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "clock.h"
#include "kernel_thread.h"
#include "scheduler_group.h"
#include "sync.h"
#include "uthread.h"

static void run_crowd(unsigned kernel_threads, void (*first)(void *), void *argument)
{
    assert_int_equal(uthread_run(kernel_threads, first, argument), 0);
}

enum { CROWD = 8, LONGEST_MS = 30000 };

/* ---- kernel threads that cannot be had */

static atomic_int refusals;

int __real_kernel_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);
int __wrap_kernel_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

int __wrap_kernel_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    if (atomic_load(&refusals) > 0) {
        atomic_fetch_sub(&refusals, 1);
        return -EAGAIN;
    }
    return __real_kernel_thread_start(thread, run, argument);
}

static void *returns(void *argument)
{
    return argument;
}

static void binds_in_vain_then_well(void *argument)
{
    struct uthread *thread;

    for (int i = 0; i < 3; i++) {
        atomic_store(&refusals, 1);
        assert_int_equal(uthread_create_bound(&thread, returns, argument), -EAGAIN);
    }
    assert_int_equal(uthread_create_bound(&thread, returns, argument), 0);
    uthread_join(thread, NULL);
}

static void test_no_kernel_thread(void **state)
{
    bool nothing = false;

    (void)state;
    run_crowd(2, binds_in_vain_then_well, &nothing);
    atomic_store(&refusals, 1);
    assert_int_equal(uthread_run(3, binds_in_vain_then_well, &nothing), -EAGAIN);
    atomic_store(&refusals, 0);
    assert_int_equal(uthread_run(0, binds_in_vain_then_well, &nothing), -EINVAL);
    assert_int_equal(
        uthread_run(SCHEDULER_GROUP_MAX + 1, binds_in_vain_then_well, &nothing), -EINVAL);
}

/* ---- bound threads */

static void *reads_byte(void *argument)
{
    struct poller_source *source = argument;
    char byte;

    while (read(source->fd, &byte, 1) < 0) {
        source->ready = 0;
        assert_int_equal(scheduler_await(source, POLLER_READ, TIMEOUT_NONE, UINT64_MAX),
                         PARK_WOKEN);
    }
    return NULL;
}

/* The source is the joiner's again, and may be gone at once. ThreadSanitizer sees each time if it
 * is not; without it that takes luck. */
static void joins_watcher(void *argument)
{
    enum { TURNS = 100 };
    int *pipes = argument;

    for (int i = 0; i < TURNS; i++) {
        struct poller_source source = { .fd = pipes[0], .slot = POLLER_NONE };
        struct uthread *thread;

        assert_int_equal(uthread_create_bound(&thread, reads_byte, &source), 0);
        assert_int_equal(write(pipes[1], "x", 1), 1);
        uthread_join(thread, NULL);
        assert_int_equal(source.slot, POLLER_NONE);
    }
}

static void test_joined_watches_nothing(void **state)
{
    int pipes[2];

    (void)state;
    assert_int_equal(pipe2(pipes, O_CLOEXEC | O_NONBLOCK), 0);
    run_crowd(2, joins_watcher, pipes);
    close(pipes[0]);
    close(pipes[1]);
}

static void *notes_place(void *argument)
{
    pid_t *place = argument;

    uthread_yield();
    *place = gettid();
    return NULL;
}

/* Others are idle meanwhile, and must not be given what lies on this one's stacks. */
static void *creates_while_bound(void *argument)
{
    struct uthread *threads[CROWD];
    pid_t places[CROWD];

    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(uthread_create(&threads[i], notes_place, &places[i]), 0);
    }
    for (int i = 0; i < CROWD; i++) {
        uthread_join(threads[i], NULL);
        assert_int_equal(places[i], gettid());
    }
    return argument;
}

static void binds_creators(void *argument)
{
    struct uthread *threads[CROWD];

    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 2; i++) {
            assert_int_equal(
                uthread_create_bound(&threads[i], creates_while_bound, argument), 0);
        }
        for (int i = 0; i < 2; i++) {
            uthread_join(threads[i], NULL);
        }
    }
}

static void test_bound_creators(void **state)
{
    (void)state;
    run_crowd(3, binds_creators, NULL);
}

/* ---- moving */

struct wanderers {
    pid_t creator;
    uint64_t until_ms;
    atomic_bool moved;
};

/* Until one of them finds itself on another kernel thread than it was created on, which can
 * be before it runs. */
static void *wanders(void *argument)
{
    struct wanderers *all = argument;

    while (!atomic_load(&all->moved) && clock_now_ms() < all->until_ms) {
        if (gettid() != all->creator) {
            atomic_store(&all->moved, true);
        }
        uthread_yield();
    }
    return NULL;
}

static void wander(void *argument)
{
    struct uthread *threads[CROWD];

    ((struct wanderers *)argument)->creator = gettid(); /* the first one stays */
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(uthread_create(&threads[i], wanders, argument), 0);
    }
    for (int i = 0; i < CROWD; i++) {
        uthread_join(threads[i], NULL);
    }
}

static void test_moves_to_idle(void **state)
{
    (void)state;
    for (unsigned count = 2; count <= 4; count++) {
        struct wanderers all = { .until_ms = clock_now_ms() + LONGEST_MS };

        run_crowd(count, wander, &all);
        assert_true(all.moved);
    }
}

/* ---- time, while others only yield */

struct busy {
    uint64_t until_ms; /* when the sleeper wants to run */
    atomic_bool slept;
    atomic_int turns_late; /* of each of the others */
};

static void *yields(void *argument)
{
    struct busy *busy = argument;

    while (!atomic_load(&busy->slept)) {
        if (clock_now_ms() > busy->until_ms) {
            atomic_fetch_add(&busy->turns_late, 1);
        }
        uthread_yield();
    }
    return NULL;
}

static void sleeps_among_busy(void *argument)
{
    struct uthread *threads[CROWD];
    struct busy busy = { .until_ms = clock_now_ms() + 20 };
    struct sync_condition never_told = { .waiters = { NULL, NULL } };

    (void)argument;
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(uthread_create(&threads[i], yields, &busy), 0);
    }
    assert_int_equal(sync_wait(&never_told, NULL, busy.until_ms), PARK_EXPIRED);
    atomic_store(&busy.slept, true);
    for (int i = 0; i < CROWD; i++) {
        uthread_join(threads[i], NULL);
    }
    /* The turn that runs then, and the one that the sleeper is part of. */
    assert_true(atomic_load(&busy.turns_late) <= 3 * CROWD);
}

static void test_sleep_among_busy(void **state)
{
    (void)state;
    run_crowd(1, sleeps_among_busy, NULL);
}

/* Of what is ready already one look is enough, however late it is. */
static void waits_until_now(void *argument)
{
    int fds[2];

    (void)argument;
    assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    assert_int_equal(uthread_wait(fds[0], UTHREAD_READ, clock_now_ms()), -ETIMEDOUT);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(uthread_wait(fds[0], UTHREAD_READ, clock_now_ms()), 0);
    assert_int_equal(close(fds[0]), 0);
    assert_int_equal(close(fds[1]), 0);
    assert_int_equal(uthread_wait(fds[0], UTHREAD_READ, clock_now_ms()), -EBADF);
}

static void test_wait_until_now(void **state)
{
    (void)state;
    run_crowd(1, waits_until_now, NULL);
    run_crowd(2, waits_until_now, NULL);
}

/* ---- groups that never run */

static void never(void *argument)
{
    (void)argument;
    fail_msg("it ran");
}

static void test_given_up(void **state)
{
    struct scheduler_group *group = scheduler_group_open(2, 0);

    (void)state;
    assert_non_null(group);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(
            scheduler_spawn(scheduler_group_member(group, i), never, NULL, 0), 0);
    }
    scheduler_group_give_up(group);
    assert_int_equal(scheduler_run(scheduler_group_member(group, 0)), -EDEADLK);
    scheduler_group_close(group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_kernel_thread),
        cmocka_unit_test(test_joined_watches_nothing),
        cmocka_unit_test(test_bound_creators),
        cmocka_unit_test(test_moves_to_idle),
        cmocka_unit_test(test_sleep_among_busy),
        cmocka_unit_test(test_wait_until_now),
        cmocka_unit_test(test_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
