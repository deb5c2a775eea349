/* What makes a row fail: each wrong answer is caught and said in words, and the first one
 * counts. */
#include "unit.h"

#include <string.h>

#include "answer.h"

static void test_expect(void **state)
{
    struct answer answer = { .wrong = false };

    (void)state;
    answer_expect(&answer, "the sum", 1500000, 1500000);
    assert_false(answer.wrong);
    answer_say(&answer, "%d", 1500000);
    assert_string_equal(answer.text, "1500000");
    answer_expect(&answer, "the sum", 1499999, 1500000);
    assert_true(answer.wrong);
    assert_string_equal(answer.text, "the sum is 1499999, not 1500000");
}

static void test_first_counts(void **state)
{
    struct answer answer = { .wrong = false };

    (void)state;
    answer_expect_of(&answer, 3, "the count", 9, 10);
    answer_expect(&answer, "the sum", 1, 2);
    answer_say(&answer, "fine");
    assert_true(answer.wrong);
    assert_string_equal(answer.text, "the count of thread 3 is 9, not 10");
}

struct order_case {
    int line;
    uint64_t items[5];
    uint64_t taken, count;
    const char *wrong; /* NULL: right */
};

static void test_order(void **state)
{
    static const struct order_case cases[] = {
        { __LINE__, { 0 }, 0, 0, NULL },
        { __LINE__, { 0 }, 1, 1, NULL },
        { __LINE__, { 0, 1, 2, 3, 4 }, 5, 5, NULL },
        { __LINE__, { 0, 2, 1, 3 }, 4, 4, "item 2 came where 1 belongs" },
        { __LINE__, { 0, 1, 1, 2 }, 4, 4, "item 1 came where 2 belongs" },
        { __LINE__, { 1, 2, 3 }, 3, 3, "item 1 came where 0 belongs" },
        { __LINE__, { 0, 1, 2 }, 3, 4, "the number of items is 3, not 4" },
        { __LINE__, { 0, 1, 2, 3, 4 }, 5, 4, "the number of items is 5, not 4" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answer_order order = { .count = 0 };
        struct answer answer = { .wrong = false };

        for (uint64_t j = 0; j < cases[i].taken; j++) {
            answer_order_take(&order, cases[i].items[j]);
        }
        answer_expect_order(&answer, &order, cases[i].count);
        CHECK_CASE(cases[i].line, answer.text, answer.wrong == (cases[i].wrong != NULL));
        if (cases[i].wrong != NULL) {
            assert_string_equal(answer.text, cases[i].wrong);
        }
    }
}

/* In order and complete, but a sum that was spoilt: also wrong. */
static void test_order_sum(void **state)
{
    struct answer_order order = { .count = 0 };
    struct answer answer = { .wrong = false };

    (void)state;
    for (uint64_t i = 0; i < 10; i++) {
        answer_order_take(&order, i);
    }
    order.sum++;
    answer_expect_order(&answer, &order, 10);
    assert_string_equal(answer.text, "the sum is 46, not 45");
}

static void test_sum_below(void **state)
{
    uint64_t sum = 0;

    (void)state;
    for (uint64_t count = 0; count < 100; count++) {
        assert_true(answer_sum_below(count) == sum);
        sum += count;
    }
    assert_true(answer_sum_below(10000000) == UINT64_C(49999995000000));
    assert_true(answer_sum_below(UINT64_C(1) << 33) ==
                (UINT64_C(1) << 32) * ((UINT64_C(1) << 33) - 1));
}

static void test_pattern(void **state)
{
    unsigned char bytes[1000], other[1000];

    (void)state;
    answer_pattern_fill(bytes, sizeof(bytes), 4);
    assert_int_equal(answer_pattern_check(bytes, sizeof(bytes), 4), sizeof(bytes));
    assert_int_not_equal(answer_pattern_check(bytes, sizeof(bytes), 5), sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i += 37) {
        memcpy(other, bytes, sizeof(bytes));
        other[i] ^= 1;
        assert_int_equal(answer_pattern_check(other, sizeof(other), 4), i);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expect),    cmocka_unit_test(test_first_counts),
        cmocka_unit_test(test_order),     cmocka_unit_test(test_order_sum),
        cmocka_unit_test(test_sum_below), cmocka_unit_test(test_pattern),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
