/* The supervisor over a pool that is only counters: growth, refusal, stop. */
#include "supervisor.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "clock.h"
#include "tiny_server.h"

/* The pool and the run that supervises it. */
struct fixture {
    struct tiny_server tiny;
    struct supervisor *supervisor;
    pthread_t thread;
    atomic_uint started, ended, idle, retired;
    atomic_uint to_end;    /* contexts that the next reap reports */
    atomic_uint stillborn; /* and how many of them were of no use */
    atomic_int start_result;
    atomic_int phase;
    atomic_ullong drained_ms, abandoned_ms;
    atomic_uint nudges;
    unsigned ends_when_nudged; /* so many times; 0: not then */
    bool ends_when_drained;
};

static int start(void *pool)
{
    struct fixture *fixture = pool;
    int result = atomic_load(&fixture->start_result);

    if (result != 0) {
        return result;
    }
    atomic_fetch_add(&fixture->idle, 1);
    atomic_fetch_add(&fixture->started, 1);
    return 0;
}

static void retire(void *pool, unsigned count)
{
    struct fixture *fixture = pool;

    atomic_fetch_add(&fixture->retired, count);
}

static unsigned idle(void *pool)
{
    struct fixture *fixture = pool;

    return atomic_load(&fixture->idle);
}

static unsigned reap(void *pool, unsigned *stillborn)
{
    struct fixture *fixture = pool;
    unsigned ended = atomic_exchange(&fixture->to_end, 0);

    *stillborn = atomic_exchange(&fixture->stillborn, 0);
    atomic_fetch_add(&fixture->ended, ended);
    return ended;
}

static void set_phase(void *pool, enum serve_phase phase)
{
    struct fixture *fixture = pool;
    unsigned all = atomic_load(&fixture->started) - atomic_load(&fixture->ended);

    atomic_store(&fixture->phase, (int)phase);
    if (phase == SERVE_DRAIN) {
        atomic_store(&fixture->drained_ms, clock_now_ms());
    } else {
        atomic_store(&fixture->abandoned_ms, clock_now_ms());
    }
    if (phase == SERVE_ABANDON || fixture->ends_when_drained) {
        atomic_store(&fixture->to_end, all);
    }
    supervisor_wake(fixture->supervisor);
}

static void nudge(void *pool)
{
    struct fixture *fixture = pool;
    unsigned all = atomic_load(&fixture->started) - atomic_load(&fixture->ended);

    if (atomic_fetch_add(&fixture->nudges, 1) + 1 == fixture->ends_when_nudged) {
        atomic_store(&fixture->to_end, all);
        supervisor_wake(fixture->supervisor);
    }
}

static const struct supervisor_ops ops = {
    .start = start,
    .retire = retire,
    .idle = idle,
    .reap = reap,
    .set_phase = set_phase,
    .nudge = nudge,
};

static void *run(void *argument)
{
    struct fixture *fixture = argument;

    return (void *)(intptr_t)supervisor_run(fixture->supervisor);
}

/* Between two looks for a condition; main's alarm ends a wait in vain. */
static void poll_again(void)
{
    usleep(100);
}

static void wait_until_started(struct fixture *fixture, unsigned count)
{
    while (atomic_load(&fixture->started) != count) {
        poll_again();
    }
}

/* All that are idle take a connection at once. */
static void be_busy(struct fixture *fixture)
{
    atomic_store(&fixture->idle, 0);
    supervisor_wake(fixture->supervisor);
}

static struct fixture *begin(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(pthread_create(&fixture->thread, NULL, run, fixture), 0);
    return fixture;
}

/* Stops the run and gives its status. */
static int end(struct fixture *fixture)
{
    void *status;

    assert_int_equal(eventfd_write(fixture->tiny.server.stop_fd, 1), 0);
    assert_int_equal(pthread_join(fixture->thread, &status), 0);
    assert_int_equal(atomic_load(&fixture->started), atomic_load(&fixture->ended));
    return (int)(intptr_t)status;
}

static int set_up(void **state)
{
    static struct fixture fixture;

    memset(&fixture, 0, sizeof(fixture));
    tiny_server_open(&fixture.tiny);
    fixture.ends_when_drained = true;
    fixture.supervisor = supervisor_open(&fixture.tiny.server, &ops, &fixture, -1);
    assert_non_null(fixture.supervisor);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    supervisor_close(fixture->supervisor);
    tiny_server_close(&fixture->tiny);
    return 0;
}

static void keeps_some_ready_and_grows_to_the_limit(void **state)
{
    struct fixture *fixture = begin(state);

    wait_until_started(fixture, 4);
    be_busy(fixture);
    wait_until_started(fixture, 8);
    be_busy(fixture);
    wait_until_started(fixture, 10);
    be_busy(fixture);
    assert_int_equal(end(fixture), 0);
    assert_int_equal(atomic_load(&fixture->started), 10);
    assert_int_equal(atomic_load(&fixture->retired), 0);
    assert_int_equal(atomic_load(&fixture->phase), SERVE_DRAIN);
}

/* A context that was about to sleep misses a nudge. */
static void nudges_until_all_have_ended(void **state)
{
    struct fixture *fixture = *state;

    fixture->ends_when_drained = false;
    fixture->ends_when_nudged = 3;
    begin(state);
    wait_until_started(fixture, 4);
    assert_int_equal(atomic_load(&fixture->nudges), 0);
    assert_int_equal(end(fixture), 0);
    assert_int_equal(atomic_load(&fixture->nudges), 3);
    assert_int_equal(atomic_load(&fixture->phase), SERVE_DRAIN);
}

static void replaces_those_that_end(void **state)
{
    struct fixture *fixture = begin(state);

    wait_until_started(fixture, 4);
    atomic_fetch_sub(&fixture->idle, 2);
    atomic_store(&fixture->to_end, 2);
    supervisor_wake(fixture->supervisor);
    wait_until_started(fixture, 6);
    assert_int_equal(end(fixture), 0);
}

static void holds_back_when_they_end_at_once(void **state)
{
    /* In doubling steps, up to the limit of 10. */
    static const unsigned started[] = { 4, 8, 16, 26 };
    struct fixture *fixture = begin(state);
    uint64_t start_ms = clock_now_ms();

    wait_until_started(fixture, started[0]);
    for (unsigned round = 1; round <= 3; round++) {
        unsigned all = started[round - 1] - atomic_load(&fixture->ended);
        atomic_store(&fixture->idle, 0);
        atomic_store(&fixture->stillborn, all);
        atomic_store(&fixture->to_end, all);
        supervisor_wake(fixture->supervisor);
        wait_until_started(fixture, started[round]);
    }
    assert_true(clock_now_ms() - start_ms >= 100 + 200 + 400);
    assert_int_equal(end(fixture), 0);
}

static void refuses_over_the_limit(void **state)
{
    struct fixture *fixture = begin(state);
    char text[2048];

    wait_until_started(fixture, 4);
    be_busy(fixture);
    wait_until_started(fixture, 8);
    be_busy(fixture);
    wait_until_started(fixture, 10);
    be_busy(fixture);
    int fd = tiny_server_connect(&fixture->tiny);
    tiny_server_read_all(fd, text, sizeof(text));
    assert_ptr_equal(strstr(text, "HTTP/1.1 503 "), text);
    close(fd);
    /* One is idle again, so the next connection is that one's. */
    atomic_store(&fixture->idle, 1);
    supervisor_wake(fixture->supervisor);
    fd = tiny_server_connect(&fixture->tiny);
    struct pollfd quiet = { .fd = fd, .events = POLLIN };
    assert_int_equal(poll(&quiet, 1, 200), 0);
    be_busy(fixture);
    tiny_server_read_all(fd, text, sizeof(text));
    assert_ptr_equal(strstr(text, "HTTP/1.1 503 "), text);
    close(fd);
    assert_int_equal(end(fixture), 0);
}

static void refuses_when_no_more_can_be_started(void **state)
{
    struct fixture *fixture = begin(state);
    char text[2048];

    wait_until_started(fixture, 4);
    atomic_store(&fixture->start_result, -EAGAIN);
    be_busy(fixture);
    int fd = tiny_server_connect(&fixture->tiny);
    tiny_server_read_all(fd, text, sizeof(text));
    assert_ptr_equal(strstr(text, "HTTP/1.1 503 "), text);
    close(fd);
    /* It is tried again, with the next larger step. */
    atomic_store(&fixture->start_result, 0);
    wait_until_started(fixture, 10);
    assert_int_equal(end(fixture), 0);
}

static void says_that_it_cannot_start(void **state)
{
    struct fixture *fixture = *state;
    void *status;

    atomic_store(&fixture->start_result, -EAGAIN);
    begin(state);
    assert_int_equal(pthread_join(fixture->thread, &status), 0);
    assert_int_equal((intptr_t)status, 1);
}

static void ends_those_that_do_not_finish_in_time(void **state)
{
    struct fixture *fixture = *state;

    fixture->tiny.options.grace_ms = 100;
    fixture->ends_when_drained = false;
    begin(state);
    wait_until_started(fixture, 4);
    assert_int_equal(end(fixture), 0);
    assert_int_equal(atomic_load(&fixture->phase), SERVE_ABANDON);
    uint64_t took_ms =
        atomic_load(&fixture->abandoned_ms) - atomic_load(&fixture->drained_ms);
    assert_true(took_ms >= 90);
    assert_true(took_ms < 2000);
}

static void a_stopped_listener_refuses(void **state)
{
    struct fixture *fixture = begin(state);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address;
    socklen_t len = sizeof(address);

    getsockname(listener_fd(fixture->tiny.server.listener, 0),
                (struct sockaddr *)&address, &len);
    wait_until_started(fixture, 4);
    assert_int_equal(end(fixture), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, len), -1);
    assert_int_equal(errno, ECONNREFUSED);
    close(fd);
}

int main(void)
{
#define SUPERVISOR_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SUPERVISOR_TEST(keeps_some_ready_and_grows_to_the_limit),
        SUPERVISOR_TEST(nudges_until_all_have_ended),
        SUPERVISOR_TEST(replaces_those_that_end),
        SUPERVISOR_TEST(holds_back_when_they_end_at_once),
        SUPERVISOR_TEST(refuses_over_the_limit),
        SUPERVISOR_TEST(refuses_when_no_more_can_be_started),
        SUPERVISOR_TEST(says_that_it_cannot_start),
        SUPERVISOR_TEST(ends_those_that_do_not_finish_in_time),
        SUPERVISOR_TEST(a_stopped_listener_refuses),
    };

    alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
