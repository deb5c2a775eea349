/* The clocks: the right units and the right clock, within what "coarse" may mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "clock.h"

/* A virtual machine's tick may come late, but not by this much. */
enum { LATE_MS_MOST = 2000 };

static uint64_t exact_ms(clockid_t clock)
{
    struct timespec now;

    assert_int_equal(clock_gettime(clock, &now), 0);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void test_monotonic(void **state)
{
    uint64_t previous = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        uint64_t before = exact_ms(CLOCK_MONOTONIC);
        uint64_t now = clock_now_ms();
        uint64_t after = exact_ms(CLOCK_MONOTONIC);

        assert_true(now >= previous);
        assert_true(now <= after);
        assert_true(now + LATE_MS_MOST >= before);
        previous = now;
    }
}

static void test_it_runs(void **state)
{
    uint64_t start = clock_now_ms();
    uint64_t deadline = exact_ms(CLOCK_MONOTONIC) + LATE_MS_MOST;

    (void)state;
    while (clock_now_ms() < start + 20) {
        assert_true(exact_ms(CLOCK_MONOTONIC) < deadline);
    }
}

static void test_wall(void **state)
{
    int64_t before = (int64_t)(exact_ms(CLOCK_REALTIME) / 1000);
    int64_t now = clock_wall_seconds();
    int64_t after = (int64_t)(exact_ms(CLOCK_REALTIME) / 1000);

    (void)state;
    assert_true(now >= before - LATE_MS_MOST / 1000);
    assert_true(now <= after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_monotonic),
        cmocka_unit_test(test_it_runs),
        cmocka_unit_test(test_wall),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
