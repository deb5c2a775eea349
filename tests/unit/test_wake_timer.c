/* The timer's descriptor: readable from its time on, until it is stopped or set anew. */
#include "unit.h"

#include <poll.h>
#include <stdbool.h>
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

    (void)state;
    assert_true(fd >= 0);
    wake_timer_set(fd, clock_now_ms() + SOON_MS);
    assert_true(is_readable(fd, PATIENCE_MS));
    assert_true(is_readable(fd, 0)); /* it stays so */
    wake_timer_stop(fd);
    assert_false(is_readable(fd, 0));
    assert_int_equal(close(fd), 0);
}

/* Who is woken must find by his clock that it is time, or he would be woken again and
 * again until it is. A machine that is halted may be late with that clock now and then. */
static void test_never_early_by_the_coarse_clock(void **state)
{
    enum { TIMES = 16 };
    int fd = wake_timer_open();
    unsigned early = 0;

    (void)state;
    assert_true(fd >= 0);
    for (unsigned i = 0; i < TIMES; i++) {
        uint64_t due_ms = clock_now_ms() + 3 + i;

        wake_timer_set(fd, due_ms);
        assert_true(is_readable(fd, PATIENCE_MS));
        early += clock_now_ms() < due_ms;
    }
    assert_true(early < TIMES / 4);
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
        cmocka_unit_test(test_never_early_by_the_coarse_clock),
        cmocka_unit_test(test_the_last_time_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
