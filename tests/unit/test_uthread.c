/* The runtime as a library, over one kernel thread and over several: every promise of
 * uthread.h and of sync.h, the second on threads that really run at the same time. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "sync.h"
#include "uthread.h"

static void run(unsigned kernel_threads, void (*first)(void *), void *argument)
{
    assert_int_equal(uthread_run(kernel_threads, first, argument), 0);
}

static const unsigned COUNTS[] = { 1, 2, 4 };
enum { COUNTS_OF_KERNEL_THREADS = sizeof(COUNTS) / sizeof(COUNTS[0]) };

static void run_each(void (*first)(void *), void *argument)
{
    for (int i = 0; i < COUNTS_OF_KERNEL_THREADS; i++) {
        run(COUNTS[i], first, argument);
    }
}

/* ---- create, join, detach, self */

enum { MANY = 200 };

static void *returns_argument(void *argument)
{
    assert_non_null(uthread_self());
    uthread_yield();
    return argument;
}

static void joins_many(void *argument)
{
    struct uthread *threads[MANY];
    int values[MANY];

    (void)argument;
    assert_null(uthread_self());
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(uthread_create(&threads[i], returns_argument, &values[i]), 0);
    }
    for (int i = 0; i < MANY; i++) {
        void *result = NULL;

        if (i % 3 == 0) {
            uthread_yield(); /* ended before it is joined */
        }
        uthread_join(threads[i], &result);
        assert_ptr_equal(result, &values[i]);
    }
}

static void test_join(void **state)
{
    (void)state;
    run_each(joins_many, NULL);
}

static void *counts(void *argument)
{
    atomic_fetch_add((atomic_int *)argument, 1);
    return NULL;
}

static void detaches(void *argument)
{
    for (int i = 0; i < MANY; i++) {
        struct uthread *thread;

        assert_int_equal(uthread_create(&thread, counts, argument), 0);
        if (i % 2 == 0) {
            uthread_yield();
        }
        uthread_detach(thread);
    }
}

static void test_detach(void **state)
{
    (void)state;
    for (int i = 0; i < COUNTS_OF_KERNEL_THREADS; i++) {
        atomic_int count = 0;

        run(COUNTS[i], detaches, &count);
        assert_int_equal(count, MANY);
    }
}

/* ---- exclusion, conditions and semaphores */

enum { CROWD = 16, ROUNDS = 300 };

struct shared {
    struct sync_mutex mutex;
    struct sync_condition changed;
    struct sync_semaphore items, room;
    int plain; /* guarded by the mutex: a race is an error of its own */
    int turn;
    long sum;
};

static void start_and_join(void *(*one)(void *), struct shared *shared)
{
    struct uthread *threads[CROWD];

    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(uthread_create(&threads[i], one, shared), 0);
    }
    for (int i = 0; i < CROWD; i++) {
        uthread_join(threads[i], NULL);
    }
}

static void *excludes(void *argument)
{
    struct shared *shared = argument;

    for (int i = 0; i < ROUNDS; i++) {
        int before;

        sync_lock(&shared->mutex);
        before = shared->plain;
        if (i % 7 == 0) {
            uthread_yield();
        }
        shared->plain = before + 1;
        sync_unlock(&shared->mutex);
    }
    return NULL;
}

static void exclusion(void *argument)
{
    struct shared shared = { .plain = 0 };

    (void)argument;
    start_and_join(excludes, &shared);
    assert_int_equal(shared.plain, CROWD * ROUNDS);
}

static void test_exclusion(void **state)
{
    (void)state;
    run_each(exclusion, NULL);
}

/* Each waits for its turn, all on one condition. */
static void *takes_turns(void *argument)
{
    struct shared *shared = argument;
    int own;

    sync_lock(&shared->mutex);
    own = shared->plain++;
    for (int i = 0; i < ROUNDS / 10; i++) {
        while (shared->turn % CROWD != own) {
            (void)sync_wait(&shared->changed, &shared->mutex, UINT64_MAX);
        }
        shared->turn++;
        sync_broadcast(&shared->changed);
    }
    sync_unlock(&shared->mutex);
    return NULL;
}

static void turns(void *argument)
{
    struct shared shared = { .plain = 0 };

    (void)argument;
    start_and_join(takes_turns, &shared);
    assert_int_equal(shared.turn, CROWD * (ROUNDS / 10));
}

static void test_condition(void **state)
{
    (void)state;
    run_each(turns, NULL);
}

static void *passes_items(void *argument)
{
    struct shared *shared = argument;
    int own;

    sync_lock(&shared->mutex);
    own = shared->plain++;
    sync_unlock(&shared->mutex);
    for (int i = 0; i < ROUNDS; i++) {
        if (own % 2 == 0) {
            sync_acquire(&shared->room);
            sync_release(&shared->items);
        } else {
            sync_acquire(&shared->items);
            sync_lock(&shared->mutex);
            shared->sum++;
            sync_unlock(&shared->mutex);
            sync_release(&shared->room);
        }
    }
    return NULL;
}

static void semaphores(void *argument)
{
    struct shared shared = { .room.count = 3 };

    (void)argument;
    start_and_join(passes_items, &shared);
    assert_int_equal(shared.sum, CROWD / 2 * ROUNDS);
    assert_int_equal(shared.room.count, 3);
    assert_int_equal(shared.items.count, 0);
}

static void test_semaphore(void **state)
{
    (void)state;
    run_each(semaphores, NULL);
}

static void waits_in_vain(void *argument)
{
    struct shared shared = { .plain = 0 };
    uint64_t until = clock_now_ms() + 30;

    (void)argument;
    sync_lock(&shared.mutex);
    assert_int_equal(sync_wait(&shared.changed, &shared.mutex, until), PARK_EXPIRED);
    assert_true(clock_now_ms() >= until);
    sync_unlock(&shared.mutex);
}

static void test_wait_expires(void **state)
{
    (void)state;
    run_each(waits_in_vain, NULL);
}

/* ---- time, descriptors, calls */

static void *sleeps(void *argument)
{
    int ms = *(int *)argument;
    uint64_t until = clock_now_ms() + (uint64_t)ms;

    uthread_sleep((uint64_t)ms);
    assert_true(clock_now_ms() >= until);
    return NULL;
}

static void all_sleep(void *argument)
{
    static int times[] = { 30, 1, 0, 20, 10 };
    struct uthread *threads[5];

    (void)argument;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(uthread_create(&threads[i], sleeps, &times[i]), 0);
    }
    for (int i = 0; i < 5; i++) {
        uthread_join(threads[i], NULL);
    }
}

static void test_sleep(void **state)
{
    (void)state;
    run_each(all_sleep, NULL);
}

static void *echoes(void *argument)
{
    const int *fds = argument;
    char byte = 0;

    while (byte != 'z') {
        assert_int_equal(uthread_wait(fds[0], UTHREAD_READ, UINT64_MAX), 0);
        assert_int_equal(read(fds[0], &byte, 1), 1);
        assert_int_equal(uthread_wait(fds[3], UTHREAD_WRITE, UINT64_MAX), 0);
        assert_int_equal(write(fds[3], &byte, 1), 1);
    }
    return NULL;
}

static void talks(void *argument)
{
    struct uthread *thread;
    int fds[4];
    int zero = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)argument;
    assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    assert_int_equal(pipe2(fds + 2, O_NONBLOCK | O_CLOEXEC), 0);
    assert_int_equal(uthread_wait(fds[0], UTHREAD_READ, clock_now_ms() + 5), -ETIMEDOUT);
    assert_int_equal(uthread_wait(zero, UTHREAD_READ, UINT64_MAX), -EPERM);
    assert_int_equal(uthread_create(&thread, echoes, fds), 0);
    for (char byte = 'a'; byte <= 'z'; byte++) {
        char back;

        assert_int_equal(write(fds[1], &byte, 1), 1);
        assert_int_equal(uthread_wait(fds[2], UTHREAD_READ, UINT64_MAX), 0);
        assert_int_equal(read(fds[2], &back, 1), 1);
        assert_int_equal(back, byte);
    }
    uthread_join(thread, NULL);
    for (int i = 0; i < 4; i++) {
        close(fds[i]);
    }
    close(zero);
}

static void test_descriptors(void **state)
{
    (void)state;
    run_each(talks, NULL);
}

struct called {
    pid_t kernel_thread;
    int done;
};

static void notes_kernel_thread(void *argument)
{
    struct called *called = argument;

    called->kernel_thread = gettid();
    called->done = 1;
}

static void calls(void *argument)
{
    struct called called = { .done = 0 };

    (void)argument;
    assert_int_equal(uthread_call(notes_kernel_thread, &called), 0);
    assert_int_equal(called.done, 1);
    assert_int_not_equal(called.kernel_thread, getpid());
}

static void test_call(void **state)
{
    (void)state;
    run_each(calls, NULL);
}

/* ---- several kernel threads */

static void *stays(void *argument)
{
    pid_t own = gettid();

    for (int i = 0; i < 20; i++) {
        uthread_yield();
        uthread_sleep(1);
        assert_int_equal(gettid(), own);
    }
    *(pid_t *)argument = own;
    return NULL;
}

static void binds(void *argument)
{
    struct uthread *threads[4];
    pid_t ids[4];

    (void)argument;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(uthread_create_bound(&threads[i], stays, &ids[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        uthread_join(threads[i], NULL);
        for (int j = 0; j < i; j++) {
            assert_int_not_equal(ids[i], ids[j]);
        }
    }
}

static void binds_nothing(void *argument)
{
    struct uthread *thread;

    assert_int_equal(uthread_create_bound(&thread, stays, argument), -ENOTSUP);
}

static void test_bound(void **state)
{
    (void)state;
    run(2, binds, NULL);
    run(1, binds_nothing, NULL);
}

/* ---- deadlock */

static void *waits_for_good(void *argument)
{
    sync_acquire(argument);
    return NULL;
}

enum { STUCK = 10 };

/* Handles are never freed then; a leak checker is to find them. */
struct stuck {
    struct uthread *threads[STUCK];
    bool reached;
};

static void locks_itself_out(void *argument)
{
    struct sync_semaphore never = { .count = 0 };
    struct stuck *stuck = argument;

    for (int i = 0; i < STUCK; i++) {
        assert_int_equal(uthread_create(&stuck->threads[i], waits_for_good, &never), 0);
    }
    uthread_sleep(2); /* which is none yet */
    stuck->reached = true;
    sync_acquire(&never);
    fail_msg("woken for nothing");
}

static void test_deadlock(void **state)
{
    static struct stuck stuck[COUNTS_OF_KERNEL_THREADS];

    (void)state;
    for (int i = 0; i < COUNTS_OF_KERNEL_THREADS; i++) {
        assert_int_equal(uthread_run(COUNTS[i], locks_itself_out, &stuck[i]), -EDEADLK);
        assert_true(stuck[i].reached);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_detach),
        cmocka_unit_test(test_exclusion),
        cmocka_unit_test(test_condition),
        cmocka_unit_test(test_semaphore),
        cmocka_unit_test(test_wait_expires),
        cmocka_unit_test(test_sleep),
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_call),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_deadlock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
