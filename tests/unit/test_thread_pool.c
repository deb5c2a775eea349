/* The pool of the threads model, with bodies that play the server. */
#include "thread_pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "signals.h"

/* What the test and its threads tell each other. */
struct play {
    struct thread_pool *pool;
    atomic_uint wakes;   /* calls of wake */
    atomic_uint to_busy; /* how many threads are to take a connection */
    atomic_uint to_idle; /* how many are to finish it */
    atomic_uint busy;
    atomic_uint stop_blocked; /* threads that found SIGTERM blocked and SIGSEGV not */
    atomic_uint guarded;      /* threads with a small stack behind a guard */
    atomic_int fd;            /* the socket of the one that becomes busy */
    bool useless;             /* what the bodies say at their end */
};

/* Between two looks for a condition; main's alarm ends a wait in vain. */
static void poll_again(void)
{
    usleep(100);
}

static bool take(atomic_uint *tokens)
{
    unsigned left = atomic_load(tokens);

    while (left > 0) {
        if (atomic_compare_exchange_weak(tokens, &left, left - 1)) {
            return true;
        }
    }
    return false;
}

static void look_around(struct play *play)
{
    sigset_t blocked;
    pthread_attr_t attributes;
    size_t stack = 0, guard = 0;

    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    if (sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGINT) &&
        !sigismember(&blocked, SIGSEGV)) {
        atomic_fetch_add(&play->stop_blocked, 1);
    }
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, &stack);
    pthread_attr_getguardsize(&attributes, &guard);
    pthread_attr_destroy(&attributes);
    if (stack <= 1024 * 1024 && guard > 0) {
        atomic_fetch_add(&play->guarded, 1);
    }
}

/* Busy until it is told, the pool says so, or its socket is shut down. */
static void be_busy(struct pool_thread *self, struct play *play)
{
    int fd = atomic_load(&play->fd);
    char byte;

    thread_pool_set_busy(self, fd);
    atomic_fetch_add(&play->busy, 1);
    if (fd >= 0) {
        (void)!read(fd, &byte, 1);
    }
    while (fd < 0 && !take(&play->to_idle) && thread_pool_phase(self) == SERVE_OPEN) {
        poll_again();
    }
    atomic_fetch_sub(&play->busy, 1);
    thread_pool_set_idle(self);
}

static bool body(struct pool_thread *self, void *context)
{
    struct play *play = context;

    look_around(play);
    while (thread_pool_phase(self) == SERVE_OPEN && !thread_pool_leave(self)) {
        if (take(&play->to_busy)) {
            be_busy(self, play);
        } else {
            poll_again();
        }
    }
    return !play->useless;
}

static void wake(void *context)
{
    struct play *play = context;

    atomic_fetch_add(&play->wakes, 1);
}

static struct play *open_play(struct play *play)
{
    const struct thread_pool_config config = { .body = body,
                                               .wake = wake,
                                               .context = play };

    *play = (struct play){ .fd = -1 };
    play->pool = thread_pool_open(&config);
    assert_non_null(play->pool);
    return play;
}

static void start_threads(struct play *play, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(thread_pool_start(play->pool), 0);
    }
}

static unsigned reap_until(struct play *play, unsigned count)
{
    unsigned useless = 0;

    for (unsigned ended = 0; ended < count;) {
        ended += thread_pool_reap(play->pool, &useless);
        assert_true(ended <= count);
        poll_again();
    }
    return useless;
}

static void close_play(struct play *play, unsigned threads)
{
    thread_pool_set_phase(play->pool, SERVE_DRAIN);
    reap_until(play, threads);
    assert_int_equal(thread_pool_idle(play->pool), 0);
    thread_pool_close(play->pool);
}

static void wait_until(atomic_uint *value, unsigned wanted)
{
    while (atomic_load(value) != wanted) {
        poll_again();
    }
}

static void threads_count_as_idle_from_the_start(void **state)
{
    struct play *play = open_play(&(struct play){ 0 });

    (void)state;
    start_threads(play, 5);
    assert_int_equal(thread_pool_idle(play->pool), 5);
    close_play(play, 5);
}

static void the_last_idle_thread_wakes_the_owner(void **state)
{
    struct play *play = open_play(&(struct play){ 0 });

    (void)state;
    start_threads(play, 3);
    atomic_store(&play->to_busy, 2);
    wait_until(&play->busy, 2);
    assert_int_equal(thread_pool_idle(play->pool), 1);
    assert_int_equal(atomic_load(&play->wakes), 0);
    atomic_store(&play->to_busy, 1);
    wait_until(&play->busy, 3);
    assert_int_equal(thread_pool_idle(play->pool), 0);
    assert_int_equal(atomic_load(&play->wakes), 1);
    atomic_store(&play->to_idle, 3);
    wait_until(&play->busy, 0);
    close_play(play, 3);
}

static void as_many_leave_as_are_asked(void **state)
{
    struct play *play = open_play(&(struct play){ 0 });

    (void)state;
    start_threads(play, 10);
    thread_pool_retire(play->pool, 4);
    assert_int_equal(reap_until(play, 4), 0);
    assert_true(atomic_load(&play->wakes) >= 4);
    assert_int_equal(thread_pool_idle(play->pool), 6);
    close_play(play, 6);
}

static void busy_threads_do_not_leave(void **state)
{
    struct play *play = open_play(&(struct play){ 0 });
    unsigned useless = 0;

    (void)state;
    start_threads(play, 2);
    atomic_store(&play->to_busy, 2);
    wait_until(&play->busy, 2);
    thread_pool_retire(play->pool, 2);
    assert_int_equal(thread_pool_reap(play->pool, &useless), 0);
    thread_pool_retire(play->pool, 0);
    atomic_store(&play->to_idle, 2);
    wait_until(&play->busy, 0);
    close_play(play, 2);
}

static void useless_threads_are_told_apart(void **state)
{
    struct play *play = open_play(&(struct play){ 0 });

    (void)state;
    play->useless = true;
    start_threads(play, 3);
    thread_pool_retire(play->pool, 3);
    assert_int_equal(reap_until(play, 3), 3);
    close_play(play, 0);
}

static void the_end_wakes_a_thread_that_sleeps_on_its_socket(void **state)
{
    struct play *play = open_play(&(struct play){ 0 });
    int pair[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    atomic_store(&play->fd, pair[0]);
    start_threads(play, 1);
    atomic_store(&play->to_busy, 1);
    wait_until(&play->busy, 1);
    thread_pool_set_phase(play->pool, SERVE_DRAIN);
    assert_int_equal(atomic_load(&play->busy), 1);
    thread_pool_set_phase(play->pool, SERVE_ABANDON);
    reap_until(play, 1);
    thread_pool_close(play->pool);
    close(pair[0]);
    close(pair[1]);
}

static void do_nothing(int signal_number)
{
    (void)signal_number;
}

static void a_nudge_ends_a_sleep_with_a_time_out(void **state)
{
    const struct sigaction action = { .sa_handler = do_nothing, .sa_flags = SA_RESTART };
    static const struct timeval long_time = { .tv_sec = 3600 };
    struct play *play = open_play(&(struct play){ 0 });
    int pair[2];

    (void)state;
    assert_int_equal(sigaction(SIGNALS_NUDGE, &action, NULL), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(
        setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &long_time, sizeof(long_time)), 0);
    atomic_store(&play->fd, pair[0]);
    start_threads(play, 1);
    atomic_store(&play->to_busy, 1);
    wait_until(&play->busy, 1);
    while (atomic_load(&play->busy) == 1) {
        thread_pool_nudge(play->pool);
        poll_again();
    }
    atomic_store(&play->fd, -1);
    close_play(play, 1);
    close(pair[0]);
    close(pair[1]);
}

static void threads_have_small_guarded_stacks_and_no_signals(void **state)
{
    struct play *play = open_play(&(struct play){ 0 });
    sigset_t before, after;

    (void)state;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    start_threads(play, 4);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
    close_play(play, 4);
    assert_int_equal(atomic_load(&play->stop_blocked), 4);
    assert_int_equal(atomic_load(&play->guarded), 4);
}

static void threads_come_and_go_without_end(void **state)
{
    struct play *play = open_play(&(struct play){ 0 });

    (void)state;
    for (int i = 0; i < 200; i++) {
        start_threads(play, 5);
        thread_pool_retire(play->pool, 5);
        reap_until(play, 5);
        assert_int_equal(thread_pool_idle(play->pool), 0);
    }
    close_play(play, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_count_as_idle_from_the_start),
        cmocka_unit_test(the_last_idle_thread_wakes_the_owner),
        cmocka_unit_test(as_many_leave_as_are_asked),
        cmocka_unit_test(busy_threads_do_not_leave),
        cmocka_unit_test(useless_threads_are_told_apart),
        cmocka_unit_test(the_end_wakes_a_thread_that_sleeps_on_its_socket),
        cmocka_unit_test(a_nudge_ends_a_sleep_with_a_time_out),
        cmocka_unit_test(threads_have_small_guarded_stacks_and_no_signals),
        cmocka_unit_test(threads_come_and_go_without_end),
    };

    alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
