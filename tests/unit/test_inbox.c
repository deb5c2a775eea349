/* The inbox: first in first out, readable exactly while it holds something, whole under
 * several writers. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "inbox.h"

static bool is_readable(const struct inbox *inbox, int timeout_ms)
{
    struct pollfd wake = { .fd = inbox_fd(inbox), .events = POLLIN };

    return poll(&wake, 1, timeout_ms) == 1;
}

/* Numbers stand for descriptors: nothing is closed that was taken. */
static void test_order_and_wake(void **state)
{
    struct inbox *inbox = inbox_open();
    int fds[8];

    (void)state;
    assert_non_null(inbox);
    assert_false(is_readable(inbox, 0));
    assert_int_equal(inbox_take(inbox, fds, 8), 0);
    for (int fd = 1001; fd <= 1003; fd++) {
        assert_int_equal(inbox_put(inbox, fd), 0);
    }
    assert_true(is_readable(inbox, 0));
    assert_int_equal(inbox_take(inbox, fds, 2), 2);
    assert_int_equal(fds[0], 1001);
    assert_int_equal(fds[1], 1002);
    assert_true(is_readable(inbox, 0));
    assert_int_equal(inbox_take(inbox, fds, 0), 0);
    assert_true(is_readable(inbox, 0));
    assert_int_equal(inbox_take(inbox, fds, 8), 1);
    assert_int_equal(fds[0], 1003);
    assert_false(is_readable(inbox, 0));
    assert_int_equal(inbox_put(inbox, 1004), 0);
    assert_true(is_readable(inbox, 0));
    assert_int_equal(inbox_take(inbox, fds, 8), 1);
    assert_int_equal(fds[0], 1004);
    inbox_close(inbox);
}

/* Grows while its ring is wrapped around, and loses nothing. */
static void test_growth(void **state)
{
    enum { MANY = 5000 };
    struct inbox *inbox = inbox_open();
    int put = 0;
    int taken = 0;

    (void)state;
    assert_non_null(inbox);
    while (taken < MANY) {
        int fds[7];
        size_t got;

        for (int i = 0; i < 10 && put < MANY; i++) {
            assert_int_equal(inbox_put(inbox, 1000 + put++), 0);
        }
        got = inbox_take(inbox, fds, 7);
        for (size_t i = 0; i < got; i++) {
            assert_int_equal(fds[i], 1000 + taken++);
        }
        assert_true(got > 0);
    }
    assert_false(is_readable(inbox, 0));
    inbox_close(inbox);
}

static void test_close(void **state)
{
    struct inbox *inbox = inbox_open();
    int fds[3];
    int wake;

    (void)state;
    assert_non_null(inbox);
    wake = inbox_fd(inbox);
    for (int i = 0; i < 3; i++) {
        fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(fds[i] >= 0);
        assert_int_equal(inbox_put(inbox, fds[i]), 0);
    }
    assert_int_equal(inbox_take(inbox, fds, 1), 1);
    inbox_close(inbox);
    assert_true(fcntl(fds[0], F_GETFD) >= 0);
    close(fds[0]);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(fcntl(fds[i], F_GETFD), -1);
    }
    assert_int_equal(fcntl(wake, F_GETFD), -1);
    inbox_close(NULL);
}

enum { WRITERS = 4, EACH = 2000 };

struct writer {
    struct inbox *inbox;
    int first;
    int failures;
};

static void *write_many(void *argument)
{
    struct writer *writer = argument;

    for (int i = 0; i < EACH; i++) {
        writer->failures += inbox_put(writer->inbox, writer->first + i) != 0;
    }
    return NULL;
}

/* A reader that sleeps whenever the inbox says there is nothing still gets everything. */
static void test_writers(void **state)
{
    struct inbox *inbox = inbox_open();
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    int next[WRITERS] = { 0 };
    int taken = 0;

    (void)state;
    assert_non_null(inbox);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){ .inbox = inbox, .first = 100000 + i * EACH };
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, &writers[i]), 0);
    }
    while (taken < WRITERS * EACH) {
        int fds[16];
        size_t got;

        assert_true(is_readable(inbox, 10000));
        got = inbox_take(inbox, fds, 16);
        assert_true(got > 0);
        for (size_t i = 0; i < got; i++) {
            int writer = (fds[i] - 100000) / EACH;

            assert_in_range(writer, 0, WRITERS - 1);
            assert_int_equal((fds[i] - 100000) % EACH, next[writer]);
            next[writer]++;
        }
        taken += (int)got;
    }
    assert_false(is_readable(inbox, 0));
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(writers[i].failures, 0);
    }
    inbox_close(inbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_wake),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_close),
        cmocka_unit_test(test_writers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
