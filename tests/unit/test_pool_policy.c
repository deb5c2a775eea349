/* The growth policy of the blocking models, played on an imagined clock. */
#include "pool_policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { START_MS = 1000000 };

static struct pool_policy policy_of(unsigned ready, unsigned limit)
{
    struct pool_policy policy;

    pool_policy_init(&policy, ready, limit, START_MS);
    return policy;
}

/* What is to be let go at this time; 0 too where no window ends. */
static unsigned surplus_at(struct pool_policy *policy, unsigned idle, uint64_t now_ms)
{
    unsigned surplus = 0;

    return pool_policy_retire(policy, idle, now_ms, &surplus) ? surplus : 0;
}

static void keeps_the_ready_number(void **state)
{
    static const struct {
        unsigned ready, limit, total, idle, started;
    } cases[] = {
        { 4, 100, 0, 0, 4 },    /* the first ones */
        { 4, 100, 4, 4, 0 },    /* enough */
        { 4, 100, 9, 9, 0 },    /* more than enough */
        { 4, 100, 10, 3, 1 },   /* topped up before the shortage */
        { 4, 100, 10, 0, 4 },   /* a shortage */
        { 4, 11, 10, 0, 1 },    /* only what there is room for */
        { 4, 10, 10, 0, 0 },    /* the limit */
        { 4, 2, 0, 0, 2 },      /* a limit below the ready number */
        { 4, 2, 1, 1, 1 },      /* topped up to that limit */
        { 200, 512, 0, 0, 200 } /* more ready than a step */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pool_policy policy = policy_of(cases[i].ready, cases[i].limit);
        unsigned started =
            pool_policy_start(&policy, cases[i].total, cases[i].idle, START_MS);
        if (started != cases[i].started) {
            fail_msg("case %zu: started %u, not %u", i, started, cases[i].started);
        }
    }
}

static void meets_a_crowd_in_doubling_steps(void **state)
{
    static const unsigned steps[] = { 4, 8, 16, 32, 64, 64, 64, 64, 64, 64, 56, 0 };
    struct pool_policy policy = policy_of(4, 500);
    unsigned total = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        unsigned started = pool_policy_start(&policy, total, 0, START_MS + i);
        if (started != steps[i]) {
            fail_msg("round %zu: started %u, not %u", i, started, steps[i]);
        }
        total += started;
    }
    assert_int_equal(total, 500);
}

static void begins_small_again_after_a_calm(void **state)
{
    struct pool_policy policy = policy_of(4, 500);

    (void)state;
    assert_int_equal(pool_policy_start(&policy, 10, 0, START_MS), 4);
    assert_int_equal(pool_policy_start(&policy, 20, 0, START_MS + POOL_CALM_MS), 8);
    assert_int_equal(pool_policy_start(&policy, 20, 0, START_MS + 2 * POOL_CALM_MS + 1),
                     4);
}

static void lets_half_of_the_surplus_go_after_a_window(void **state)
{
    struct pool_policy policy = policy_of(4, 500);
    uint64_t now_ms = START_MS;

    (void)state;
    assert_int_equal(surplus_at(&policy, 104, now_ms), 0);
    assert_int_equal(surplus_at(&policy, 104, now_ms + POOL_WINDOW_MS - 1), 0);
    now_ms += POOL_WINDOW_MS;
    assert_int_equal(surplus_at(&policy, 104, now_ms), 50);
    assert_int_equal(surplus_at(&policy, 54, now_ms + 1), 0);
    now_ms += POOL_WINDOW_MS;
    assert_int_equal(surplus_at(&policy, 54, now_ms), 25);
    /* Down to the ready number and not below. */
    unsigned idle = 29;
    for (int i = 0; i < 20; i++) {
        now_ms += POOL_WINDOW_MS;
        idle -= surplus_at(&policy, idle, now_ms);
    }
    assert_int_equal(idle, 4);
}

static void a_pulse_of_load_keeps_its_contexts(void **state)
{
    struct pool_policy policy = policy_of(4, 500);

    (void)state;
    assert_int_equal(surplus_at(&policy, 100, START_MS + 1), 0);
    assert_int_equal(surplus_at(&policy, 4, START_MS + POOL_WINDOW_MS / 2), 0);
    assert_int_equal(surplus_at(&policy, 100, START_MS + POOL_WINDOW_MS), 0);
    /* That pulse belongs to the window before. */
    assert_int_equal(surplus_at(&policy, 100, START_MS + 2 * POOL_WINDOW_MS), 48);
}

static void failures_hold_back_longer_and_longer(void **state)
{
    static const unsigned pauses[] = { 100, 200, 400, 800, 1600, 2000, 2000, 2000 };
    struct pool_policy policy = policy_of(4, 500);
    uint64_t now_ms = START_MS;

    (void)state;
    for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
        pool_policy_failed(&policy, now_ms);
        if (pool_policy_start(&policy, 0, 0, now_ms + pauses[i] - 1) != 0) {
            fail_msg("failure %zu: started before %u ms", i, pauses[i]);
        }
        now_ms += pauses[i];
        if (pool_policy_start(&policy, 0, 0, now_ms) == 0) {
            fail_msg("failure %zu: not started after %u ms", i, pauses[i]);
        }
    }
    /* Forgotten after a while without one. */
    now_ms += 2 * POOL_BACKOFF_MAX_MS + 1;
    pool_policy_failed(&policy, now_ms);
    assert_int_equal(pool_policy_start(&policy, 0, 0, now_ms + POOL_BACKOFF_MS - 1), 0);
    assert_int_not_equal(pool_policy_start(&policy, 0, 0, now_ms + POOL_BACKOFF_MS), 0);
}

static void one_that_was_of_use_ends_the_pause(void **state)
{
    struct pool_policy policy = policy_of(4, 500);

    (void)state;
    for (int i = 0; i < 10; i++) {
        pool_policy_failed(&policy, START_MS);
    }
    assert_int_equal(pool_policy_start(&policy, 0, 0, START_MS), 0);
    pool_policy_worked(&policy);
    assert_int_equal(pool_policy_start(&policy, 0, 0, START_MS), 4);
    pool_policy_failed(&policy, START_MS);
    assert_int_equal(pool_policy_start(&policy, 0, 0, START_MS + POOL_BACKOFF_MS), 8);
}

static void is_full_only_when_nobody_comes(void **state)
{
    struct pool_policy policy = policy_of(4, 10);

    (void)state;
    assert_false(pool_policy_full(&policy, 10, 1, START_MS)); /* one is idle */
    assert_false(pool_policy_full(&policy, 9, 0, START_MS));  /* one can be started */
    assert_true(pool_policy_full(&policy, 10, 0, START_MS));
    pool_policy_failed(&policy, START_MS);
    assert_true(pool_policy_full(&policy, 9, 0, START_MS)); /* none can be, for now */
    assert_false(pool_policy_full(&policy, 9, 1, START_MS));
    assert_false(pool_policy_full(&policy, 0, 0, START_MS)); /* they come back */
    assert_false(pool_policy_full(&policy, 9, 0, START_MS + POOL_BACKOFF_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_ready_number),
        cmocka_unit_test(meets_a_crowd_in_doubling_steps),
        cmocka_unit_test(begins_small_again_after_a_calm),
        cmocka_unit_test(lets_half_of_the_surplus_go_after_a_window),
        cmocka_unit_test(a_pulse_of_load_keeps_its_contexts),
        cmocka_unit_test(failures_hold_back_longer_and_longer),
        cmocka_unit_test(one_that_was_of_use_ends_the_pause),
        cmocka_unit_test(is_full_only_when_nobody_comes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
