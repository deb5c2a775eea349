/* Percentiles of durations that are known: exact where they are small, off by a sixteenth
 * where they are not, and never above the largest. */
#include "unit.h"

#include <string.h>

#include "spread.h"

static void test_small(void **state)
{
    struct spread spread;

    (void)state;
    memset(&spread, 0, sizeof(spread));
    assert_int_equal(spread_at(&spread, 500), 0);
    for (uint64_t i = 1; i <= 10; i++) {
        spread_add(&spread, i);
    }
    assert_int_equal(spread_at(&spread, 500), 5);
    assert_int_equal(spread_at(&spread, 900), 9);
    assert_int_equal(spread_at(&spread, 901), 10);
    assert_int_equal(spread_at(&spread, 1000), 10);
    assert_int_equal(spread.most, 10);
}

/* Around each power of two, where the width of a step changes. */
static void test_precision(void **state)
{
    (void)state;
    for (unsigned shift = 0; shift < 64; shift++) {
        for (int offset = -1; offset <= 1; offset++) {
            uint64_t value = (UINT64_C(1) << shift) + (uint64_t)(int64_t)offset;
            struct spread spread;
            uint64_t found;

            memset(&spread, 0, sizeof(spread));
            spread_add(&spread, value);
            spread_add(&spread, UINT64_MAX);
            found = spread_at(&spread, 500);
            assert_true(found >= value);
            assert_true(found - value <= value / 16);
            assert_true(spread_at(&spread, 1000) == UINT64_MAX);
            for (unsigned step = 0; step < SPREAD_STEPS; step++) {
                if (spread.steps[step] > 0) {
                    assert_true(spread_step_end(step) ==
                                (step < SPREAD_STEPS - 1 ? found : UINT64_MAX));
                }
            }
        }
    }
}

static void test_merge(void **state)
{
    struct spread one, other;

    (void)state;
    memset(&one, 0, sizeof(one));
    memset(&other, 0, sizeof(other));
    for (uint64_t i = 0; i < 99; i++) {
        spread_add(&one, 3);
    }
    spread_add(&other, 1000000);
    spread_merge(&one, &other);
    assert_int_equal(one.count, 100);
    assert_int_equal(spread_at(&one, 990), 3);
    assert_int_equal(spread_at(&one, 999), 1000000);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_precision),
        cmocka_unit_test(test_merge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
