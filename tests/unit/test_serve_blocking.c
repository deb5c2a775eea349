/* One blocking context over real connections: when it holds a worker, and what becomes of a
 * connection for which there is none any more. */
#include "serve_blocking.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "clock.h"
#include "tiny_server.h"
#include "worker.h"

/* What the test and its context tell each other. */
struct fixture {
    struct tiny_server tiny;
    pthread_t thread;
    struct worker *worker;
    atomic_uint lent, given_back; /* how often */
    atomic_uint lends_left;       /* then there is no memory */
    atomic_ullong lends_after_ms; /* by the clock; 0: at once */
    atomic_int phase;
    bool useful; /* what serve_blocking returned */
};

static enum serve_phase phase(void *context)
{
    struct fixture *fixture = context;

    return (enum serve_phase)atomic_load(&fixture->phase);
}

static void busy(void *context, int fd)
{
    (void)context;
    (void)fd;
}

static void idle(void *context)
{
    (void)context;
}

static bool leave(void *context)
{
    (void)context;
    return false;
}

static void wait_for_the_time(struct fixture *fixture)
{
    while (clock_now_ms() < atomic_load(&fixture->lends_after_ms)) {
        usleep(100);
    }
}

static struct worker *lend(void *context)
{
    struct fixture *fixture = context;

    wait_for_the_time(fixture);
    if (atomic_load(&fixture->lends_left) == 0) {
        return NULL;
    }
    atomic_fetch_sub(&fixture->lends_left, 1);
    atomic_fetch_add(&fixture->lent, 1);
    return fixture->worker;
}

static void give_back(void *context, struct worker *worker)
{
    struct fixture *fixture = context;

    /* cmocka's assertions are for the main thread. */
    if (worker != fixture->worker || worker_connections(worker) != 0) {
        abort();
    }
    atomic_fetch_add(&fixture->given_back, 1);
}

static const struct serve_hooks hooks = {
    .phase = phase,
    .busy = busy,
    .idle = idle,
    .leave = leave,
    .lend = lend,
    .give_back = give_back,
};

static void *run(void *argument)
{
    struct fixture *fixture = argument;

    fixture->useful = serve_blocking(&fixture->tiny.server, &hooks, fixture);
    return NULL;
}

/* header_timeout_ms: 0 as in a tiny_server. */
static void begin(struct fixture *fixture, unsigned lends, unsigned header_timeout_ms)
{
    memset(fixture, 0, sizeof(*fixture));
    tiny_server_open(&fixture->tiny);
    fixture->tiny.limits.keepalive_timeout_ms = 1000;
    if (header_timeout_ms > 0) {
        fixture->tiny.limits.header_timeout_ms = header_timeout_ms;
    }
    assert_int_equal(listener_set_blocking(fixture->tiny.server.listener), 0);
    fixture->worker =
        worker_open(&fixture->tiny.server, WORKER_BLOCKING, WORKER_OWN_CACHE);
    assert_non_null(fixture->worker);
    atomic_store(&fixture->lends_left, lends);
    assert_int_equal(pthread_create(&fixture->thread, NULL, run, fixture), 0);
}

/* All that was lent must have been given back. */
static void end(struct fixture *fixture)
{
    atomic_store(&fixture->phase, SERVE_DRAIN);
    listener_stop(fixture->tiny.server.listener);
    assert_int_equal(pthread_join(fixture->thread, NULL), 0);
    assert_int_equal(atomic_load(&fixture->lent), atomic_load(&fixture->given_back));
    worker_close(fixture->worker);
    tiny_server_close(&fixture->tiny);
}

/* main's alarm ends a wait in vain. */
static void wait_until(atomic_uint *value, unsigned wanted)
{
    while (atomic_load(value) != wanted) {
        usleep(100);
    }
}

static void ask(int fd)
{
    static const char request[] = "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n";
    char text[4096];

    assert_int_equal(write(fd, request, sizeof(request) - 1), sizeof(request) - 1);
    assert_true(read(fd, text, sizeof(text)) > 12);
    assert_memory_equal(text, "HTTP/1.1 404", 12);
}

static void a_worker_is_given_back_while_the_connection_is_idle(void **state)
{
    struct fixture fixture;
    int fd;

    (void)state;
    begin(&fixture, UINT32_MAX, 0);
    wait_until(&fixture.lent, 1);
    fd = tiny_server_connect(&fixture.tiny);
    for (unsigned i = 1; i < 4; i++) {
        ask(fd);
        wait_until(&fixture.given_back, i);
        assert_int_equal(atomic_load(&fixture.lent), i);
    }
    close(fd);
    wait_until(&fixture.lent, 4); /* to learn of the end */
    end(&fixture);
    assert_true(fixture.useful);
}

/* Half a request lies in a buffer of the worker's. */
static void it_is_kept_in_the_middle_of_a_request(void **state)
{
    struct fixture fixture;
    char text[4096];
    int fd;

    (void)state;
    begin(&fixture, 1, 600); /* given back, it could not be had again */
    fd = tiny_server_connect(&fixture.tiny);
    assert_int_equal(write(fd, "GET /", 5), 5);
    tiny_server_read_all(fd, text, sizeof(text));
    assert_memory_equal(text, "HTTP/1.1 408", 12);
    close(fd);
    end(&fixture);
}

/* The context comes to it only after the deadline, and answers all the same. */
static void what_came_in_time_is_answered(void **state)
{
    struct fixture fixture;
    uint64_t late_ms;
    int fd;

    (void)state;
    begin(&fixture, UINT32_MAX, 0);
    fd = tiny_server_connect(&fixture.tiny);
    ask(fd);
    late_ms = clock_now_ms() + fixture.tiny.limits.keepalive_timeout_ms;
    wait_until(&fixture.given_back, 1);
    atomic_store(&fixture.lends_after_ms, late_ms + 50);
    ask(fd);
    assert_true(clock_now_ms() > late_ms);
    close(fd);
    end(&fixture);
}

static void a_connection_without_a_worker_is_closed(void **state)
{
    struct fixture fixture;
    char byte;
    int fd;

    (void)state;
    begin(&fixture, 1, 0);
    fd = tiny_server_connect(&fixture.tiny);
    ask(fd);
    wait_until(&fixture.given_back, 1);
    assert_int_equal(write(fd, "GET /", 5), 5);
    assert_true(read(fd, &byte, 1) <= 0);
    close(fd);
    end(&fixture);
    assert_false(fixture.useful);
}

static void without_a_worker_nothing_is_accepted(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture, 0, 0);
    end(&fixture);
    assert_false(fixture.useful);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_is_given_back_while_the_connection_is_idle),
        cmocka_unit_test(what_came_in_time_is_answered),
        cmocka_unit_test(it_is_kept_in_the_middle_of_a_request),
        cmocka_unit_test(a_connection_without_a_worker_is_closed),
        cmocka_unit_test(without_a_worker_nothing_is_accepted),
    };

    alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
