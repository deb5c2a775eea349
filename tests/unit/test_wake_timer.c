/* The timer's descriptor: readable from its time on, until it is stopped or set anew. */
#include "unit.h"

#include <poll.h>
#include <unistd.h>

#include "clock.h"
#include "wake_timer.h"

enum { SOON_MS = 30, PATIENCE_MS = 10000, HOUR_MS = 3600 * 1000 };

static bool is_readable(int fd, int timeout_ms)
{
    struct pollfd wait = { .fd = fd, .events = POLLIN };

    return poll(&wait, 1, timeout_ms) == 1 && wait.revents == POLLIN;
}

static void test_it_wakes_in_time(void **state)
{
    int fd = wake_timer_open();
    uint64_t due_ms = clock_now_ms() + SOON_MS;

    (void)state;
    assert_true(fd >= 0);
    wake_timer_set(fd, due_ms);
    assert_true(is_readable(fd, PATIENCE_MS));
    /* The coarse clock is behind the timer's own by a tick at most. */
    assert_true(clock_now_ms() + 10 >= due_ms);
    assert_true(is_readable(fd, 0)); /* it stays so */
    wake_timer_stop(fd);
    assert_false(is_readable(fd, 0));
    assert_int_equal(close(fd), 0);
}

static void test_the_last_time_counts(void **state)
{
    int fd = wake_timer_open();

    (void)state;
    wake_timer_set(fd, clock_now_ms() + HOUR_MS);
    assert_false(is_readable(fd, 0));
    wake_timer_set(fd, 0); /* long ago, and not: never */
    assert_true(is_readable(fd, PATIENCE_MS));
    wake_timer_set(fd, clock_now_ms() + HOUR_MS);
    assert_false(is_readable(fd, 0));
    wake_timer_set(fd, clock_now_ms());
    assert_true(is_readable(fd, PATIENCE_MS));
    assert_int_equal(close(fd), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_wakes_in_time),
        cmocka_unit_test(test_the_last_time_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
