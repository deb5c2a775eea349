/* The Range field. Random sets are compared with a slow reading that marks bytes in an
 * array. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "range.h"
#include "unit.h"

/* The outcome as text: "ignored", "unsatisfiable", or the ranges as "0-1 4-9". */
static void parse_text(const char *value, uint64_t size, char *to, size_t room)
{
    struct byte_range ranges[RANGES_MAX];
    size_t count = 99;
    size_t len = 0;
    size_t value_len = strlen(value);
    char *bytes = malloc(value_len > 0 ? value_len : 1);
    enum range_result result;

    assert_non_null(bytes);
    memcpy(bytes, value, value_len);
    result = range_parse((struct slice){ bytes, value_len }, size, ranges, &count);
    free(bytes);
    to[0] = '\0';
    switch (result) {
    case RANGE_IGNORED:
        assert_int_equal(count, 0);
        (void)snprintf(to, room, "ignored");
        return;
    case RANGE_UNSATISFIABLE:
        assert_int_equal(count, 0);
        (void)snprintf(to, room, "unsatisfiable");
        return;
    case RANGE_SATISFIABLE:
        break;
    }
    assert_in_range(count, 1, RANGES_MAX);
    for (size_t i = 0; i < count; i++) {
        assert_true(ranges[i].first <= ranges[i].last && ranges[i].last < size);
        len += (size_t)snprintf(to + len, room - len, "%s%" PRIu64 "-%" PRIu64,
                                i > 0 ? " " : "", ranges[i].first, ranges[i].last);
    }
}

struct range_case {
    int line;
    const char *value;
    uint64_t size;
    const char *wanted;
};

static void check_cases(const struct range_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char text[1024];

        parse_text(cases[i].value, cases[i].size, text, sizeof(text));
        if (strcmp(text, cases[i].wanted) != 0) {
            fail_msg("%s:%d: \"%s\" of %" PRIu64 ": %s, not %s", __FILE__, cases[i].line,
                     cases[i].value, cases[i].size, text, cases[i].wanted);
        }
    }
}

static void one_range(void **state)
{
    static const struct range_case cases[] = {
        { __LINE__, "bytes=0-0", 10, "0-0" },
        { __LINE__, "bytes=2-4", 10, "2-4" },
        { __LINE__, "bytes=0-9", 10, "0-9" },
        { __LINE__, "bytes=0-", 10, "0-9" },
        { __LINE__, "bytes=9-", 10, "9-9" },
        { __LINE__, "bytes=09-", 10, "9-9" },
        { __LINE__, "bytes=0000000000000000000000000000000000000001-2", 10, "1-2" },
        { __LINE__, "bytes=5-999", 10, "5-9" },
        { __LINE__, "bytes=-3", 10, "7-9" },
        { __LINE__, "bytes=-10", 10, "0-9" },
        { __LINE__, "bytes=-9999", 10, "0-9" },
        { __LINE__, "bytes=-003", 10, "7-9" },
        { __LINE__, "BYTES=0-1", 10, "0-1" },
        { __LINE__, "bYtEs=0-1", 10, "0-1" },
        { __LINE__, "bytes=-0", 10, "unsatisfiable" },
        { __LINE__, "bytes=-000", 10, "unsatisfiable" },
        { __LINE__, "bytes=10-", 10, "unsatisfiable" },
        { __LINE__, "bytes=10-20", 10, "unsatisfiable" },
        { __LINE__, "bytes=99-", 10, "unsatisfiable" },
    };

    (void)state;
    check_cases(cases, sizeof(cases) / sizeof(cases[0]));
}

static void an_empty_representation(void **state)
{
    static const struct range_case cases[] = {
        { __LINE__, "bytes=0-", 0, "unsatisfiable" },
        { __LINE__, "bytes=0-0", 0, "unsatisfiable" },
        { __LINE__, "bytes=5-9,0-", 0, "unsatisfiable" },
        { __LINE__, "bytes=-0", 0, "unsatisfiable" },
        { __LINE__, "bytes=-1", 0, "ignored" },
        { __LINE__, "bytes=-99999999999999999999999", 0, "ignored" },
        { __LINE__, "bytes=0-,-5", 0, "ignored" },
        { __LINE__, "bytes=-5,0-", 0, "ignored" },
    };

    (void)state;
    check_cases(cases, sizeof(cases) / sizeof(cases[0]));
}

static void malformed_fields_are_ignored(void **state)
{
    static const struct range_case cases[] = {
        { __LINE__, "", 10, "ignored" },
        { __LINE__, "bytes", 10, "ignored" },
        { __LINE__, "bytes=", 10, "ignored" },
        { __LINE__, "bytes=,", 10, "ignored" },
        { __LINE__, "bytes=, ,", 10, "ignored" },
        { __LINE__, "bytes=-", 10, "ignored" },
        { __LINE__, "bytes=--1", 10, "ignored" },
        { __LINE__, "bytes=1", 10, "ignored" },
        { __LINE__, "bytes=1,2", 10, "ignored" },
        { __LINE__, "0-100", 10, "ignored" },
        { __LINE__, "bytes 0-1", 10, "ignored" },
        { __LINE__, "bytes:0-1", 10, "ignored" },
        { __LINE__, "bytes=a-b", 10, "ignored" },
        { __LINE__, "bytes=0-b", 10, "ignored" },
        { __LINE__, "bytes=0x0-1", 10, "ignored" },
        { __LINE__, "bytes=5-2", 10, "ignored" },
        { __LINE__, "bytes=15-12", 10, "ignored" },
        { __LINE__, "bytes=+1-2", 10, "ignored" },
        { __LINE__, "bytes=0-1-2", 10, "ignored" },
        { __LINE__, "bytes=0-1;2-3", 10, "ignored" },
        { __LINE__, "bytes=0-1 2-3", 10, "ignored" },
        { __LINE__, "bytes=0 -1", 10, "ignored" },
        { __LINE__, "bytes=0- 1", 10, "ignored" },
        { __LINE__, "bytes= 0-1", 10, "ignored" },
        { __LINE__, "bytes =0-1", 10, "ignored" },
        { __LINE__, " bytes = 0-1", 10, "ignored" },
        { __LINE__, "bytes=\"0-1\"", 10, "ignored" },
        { __LINE__, "bytes==0-1", 10, "ignored" },
        { __LINE__, "items=0-1", 10, "ignored" },
        { __LINE__, "byte=0-1", 10, "ignored" },
        { __LINE__, "bytess=0-1", 10, "ignored" },
        { __LINE__, "none", 10, "ignored" },
        /* one malformed member spoils the set, wherever it is */
        { __LINE__, "bytes=0-1,x", 10, "ignored" },
        { __LINE__, "bytes=x,0-1", 10, "ignored" },
        { __LINE__, "bytes=0-1,5-2", 10, "ignored" },
        { __LINE__, "bytes=99-,5-2", 10, "ignored" },
    };

    (void)state;
    check_cases(cases, sizeof(cases) / sizeof(cases[0]));
}

static void numbers_of_any_length(void **state)
{
    static const struct range_case cases[] = {
        { __LINE__, "bytes=-9223372036854775807,-9223372036854775807", 10, "0-9" },
        { __LINE__, "bytes=0-18446744073709551616", 10, "0-9" },
        { __LINE__, "bytes=9223372036854775808-", 10, "unsatisfiable" },
        { __LINE__, "bytes=18-18446744073709551615", 10, "unsatisfiable" },
        { __LINE__, "bytes=1-18446744073709551615", 10, "1-9" },
        { __LINE__, "bytes=18446744073709551616-", 10, "unsatisfiable" },
        { __LINE__, "bytes=-18446744073709551617", 10, "0-9" },
        { __LINE__, "bytes=0-99999999999999999999999999999999999999999", 10, "0-9" },
        { __LINE__, "bytes=99999999999999999999-99999999999999999999", 10,
          "unsatisfiable" },
        { __LINE__, "bytes=99999999999999999999-99999999999999999998", 10, "ignored" },
        { __LINE__, "bytes=99999999999999999999-18446744073709551615", 10, "ignored" },
        { __LINE__, "bytes=4294967296-4294967299", UINT64_C(5368709120),
          "4294967296-4294967299" },
        { __LINE__, "bytes=-1", UINT64_MAX, "18446744073709551614-18446744073709551614" },
        { __LINE__, "bytes=18446744073709551614-", UINT64_MAX,
          "18446744073709551614-18446744073709551614" },
        { __LINE__, "bytes=18446744073709551615-", UINT64_MAX, "unsatisfiable" },
        { __LINE__, "bytes=0-,5-", UINT64_MAX, "0-18446744073709551614" },
        { __LINE__, "bytes=0-0,-1", UINT64_MAX,
          "0-0 18446744073709551614-18446744073709551614" },
    };

    (void)state;
    check_cases(cases, sizeof(cases) / sizeof(cases[0]));
}

static void several_ranges(void **state)
{
    static const struct range_case cases[] = {
        { __LINE__, "bytes=0-1,4-5", 10, "0-1 4-5" },
        { __LINE__, "bytes=4-5,0-1", 10, "4-5 0-1" },
        { __LINE__, "bytes=50-60,0-1", 10, "0-1" },
        { __LINE__, "bytes=0-1,50-60", 10, "0-1" },
        { __LINE__, "bytes=-0,0-1,10-", 10, "0-1" },
        { __LINE__, "bytes=50-60,70-", 10, "unsatisfiable" },
        /* joined: overlapping, touching, inside, equal, in any order */
        { __LINE__, "bytes=0-4,2-6", 10, "0-6" },
        { __LINE__, "bytes=0-1,2-3", 10, "0-3" },
        { __LINE__, "bytes=2-3,0-1", 10, "0-3" },
        { __LINE__, "bytes=0-9,3-4", 10, "0-9" },
        { __LINE__, "bytes=3-4,0-9", 10, "0-9" },
        { __LINE__, "bytes=3-4,3-4", 10, "3-4" },
        { __LINE__, "bytes=0-0,-1", 10, "0-0 9-9" },
        { __LINE__, "bytes=0-4,-6", 10, "0-9" },
        { __LINE__, "bytes=0-4,-5", 10, "0-9" },
        { __LINE__, "bytes=0-4,-4", 10, "0-4 6-9" },
        { __LINE__, "bytes=0-1,4-5,2-3", 10, "0-5" },
        { __LINE__, "bytes=8-8,4-5,0-1,2-3", 10, "8-8 0-5" },
        { __LINE__, "bytes=8-8,0-0,4-4,9-9,1-3", 10, "8-9 0-4" },
        { __LINE__, "bytes=0-0,8-8,2-2,4-4,6-6,1-7", 10, "0-8" },
        /* list syntax */
        { __LINE__, "bytes=0-1 ,\t4-5", 10, "0-1 4-5" },
        { __LINE__, "bytes=0-1,,4-5", 10, "0-1 4-5" },
        { __LINE__, "bytes=0-1, , \t,4-5,", 10, "0-1 4-5" },
        { __LINE__, "bytes=,0-1", 10, "0-1" },
        { __LINE__, "bytes= ,0-1", 10, "0-1" },
        { __LINE__, "bytes=0-1 ,", 10, "0-1" },
    };

    (void)state;
    check_cases(cases, sizeof(cases) / sizeof(cases[0]));
}

/* "bytes=" and `count` ranges of one byte, each `step` behind the one before. */
static void spread(char *to, size_t room, unsigned count, unsigned step)
{
    size_t len = (size_t)snprintf(to, room, "bytes=");

    for (unsigned i = 0; i < count; i++) {
        len += (size_t)snprintf(to + len, room - len, "%s%u-%u", i > 0 ? "," : "",
                                i * step, i * step);
    }
    assert_true(len < room);
}

static void at_most_sixteen_after_joining(void **state)
{
    static char value[16384];
    char text[1024];

    (void)state;
    spread(value, sizeof(value), 16, 2);
    parse_text(value, 100, text, sizeof(text));
    assert_string_equal(text, "0-0 2-2 4-4 6-6 8-8 10-10 12-12 14-14 16-16 18-18 20-20 "
                              "22-22 24-24 26-26 28-28 30-30");
    spread(value, sizeof(value), 17, 2);
    parse_text(value, 100, text, sizeof(text));
    assert_string_equal(text, "ignored");
    /* over 16 on the way, and one at the end; what is unsatisfiable does not count */
    strcat(value, ",1-40");
    parse_text(value, 100, text, sizeof(text));
    assert_string_equal(text, "0-40");
    spread(value, sizeof(value), 100, 2);
    parse_text(value, 32, text, sizeof(text));
    assert_string_equal(text, "0-0 2-2 4-4 6-6 8-8 10-10 12-12 14-14 16-16 18-18 20-20 "
                              "22-22 24-24 26-26 28-28 30-30");
    spread(value, sizeof(value), 1024, 1);
    parse_text(value, 1024, text, sizeof(text));
    assert_string_equal(text, "0-1023");
    spread(value, sizeof(value), 128, 2);
    strcat(value, ",0-");
    parse_text(value, 5000, text, sizeof(text));
    assert_string_equal(text, "0-4999");
}

static void a_hostile_field_is_bounded(void **state)
{
    static char value[16384];
    char text[64];
    size_t len;

    (void)state;
    /* more separate ones than are kept: ignored even if the last would join them */
    spread(value, sizeof(value), 1500, 2);
    strcat(value, ",0-");
    parse_text(value, 5000, text, sizeof(text));
    assert_string_equal(text, "ignored");
    len = (size_t)snprintf(value, sizeof(value), "bytes=5-");
    while (len + 4 < sizeof(value)) {
        len += (size_t)snprintf(value + len, sizeof(value) - len, ",5-");
    }
    parse_text(value, 8 << 20, text, sizeof(text));
    assert_string_equal(text, "5-8388607");
    memset(value + 6, ',', sizeof(value) - 7);
    value[sizeof(value) - 1] = '\0';
    parse_text(value, 10, text, sizeof(text));
    assert_string_equal(text, "ignored");
    memset(value + 6, '9', sizeof(value) - 7);
    value[sizeof(value) - 2] = '-';
    parse_text(value, 10, text, sizeof(text));
    assert_string_equal(text, "unsatisfiable");
}

enum { SLOW_SIZE_MAX = 200, SLOW_SPECS_MAX = 60 };

/* A satisfiable spec's bytes, once marked, belong to a run of marked bytes; the runs come
 * in the order in which the specs mention them first. */
static void slow_text(const int first[], const int last[], unsigned specs, int size,
                      char *to, size_t room)
{
    bool marked[SLOW_SIZE_MAX + 1] = { false };
    bool told[SLOW_SIZE_MAX + 1] = { false };
    unsigned runs = 0;
    size_t len = 0;

    for (unsigned i = 0; i < specs; i++) {
        for (int at = first[i]; at <= last[i]; at++) {
            marked[at] = true;
        }
    }
    for (unsigned i = 0; i < specs; i++) {
        int start = first[i];
        int end = first[i];

        if (first[i] > last[i] || told[first[i]]) {
            continue;
        }
        while (start > 0 && marked[start - 1]) {
            start--;
        }
        while (end + 1 < size && marked[end + 1]) {
            end++;
        }
        for (int at = start; at <= end; at++) {
            told[at] = true;
        }
        len += (size_t)snprintf(to + len, room - len, "%s%d-%d", runs > 0 ? " " : "",
                                start, end);
        runs++;
    }
    if (runs == 0) {
        (void)snprintf(to, room, "unsatisfiable");
    }
    if (runs > RANGES_MAX) {
        (void)snprintf(to, room, "ignored");
    }
}

/* Writes one random spec, and the bytes it selects of `size`; none: *first > *last. */
static size_t random_spec(uint64_t *seed, int size, char *to, int *first, int *last)
{
    int a = (int)random_below(seed, (unsigned)size + 5);
    int b = a + (int)random_below(seed, random_below(seed, 10) == 0 ? 30 : 2);
    const char *zeros = random_below(seed, 8) == 0 ? "000" : "";

    switch (random_below(seed, 25)) {
    case 0:
        *first = a < size ? size - a : 0;
        *last = a == 0 ? -1 : size - 1;
        return (size_t)sprintf(to, "-%s%d", zeros, a);
    case 1:
        *first = a;
        *last = a < size ? size - 1 : -1;
        return (size_t)sprintf(to, "%s%d-", zeros, a);
    default:
        *first = a;
        *last = a >= size ? -1 : b < size ? b : size - 1;
        return (size_t)sprintf(to, "%s%d-%d", zeros, a, b);
    }
}

static void random_sets_agree_with_the_slow_reading(void **state)
{
    static const char *const commas[] = { ",", ",", ",", ", ", " ,", ",,", "\t, ,\t" };
    uint64_t seed = 3;
    unsigned plain = 0, ignored = 0, unsatisfiable = 0;

    (void)state;
    for (unsigned round = 0; round < 60000; round++) {
        int first[SLOW_SPECS_MAX], last[SLOW_SPECS_MAX];
        char value[2048], text[1024], wanted[1024];
        int size = 1 + (int)random_below(&seed, SLOW_SIZE_MAX);
        unsigned specs = 1 + random_below(&seed, random_below(&seed, 3) ? 4 : 60);
        size_t len = (size_t)sprintf(value, "bytes=");

        for (unsigned i = 0; i < specs; i++) {
            if (i > 0) {
                len += (size_t)sprintf(value + len, "%s", commas[random_below(&seed, 7)]);
            }
            len += random_spec(&seed, size, value + len, &first[i], &last[i]);
        }
        slow_text(first, last, specs, size, wanted, sizeof(wanted));
        parse_text(value, (uint64_t)size, text, sizeof(text));
        if (strcmp(text, wanted) != 0) {
            fail_msg("\"%s\" of %d: %s, not %s", value, size, text, wanted);
        }
        ignored += text[0] == 'i';
        unsatisfiable += text[0] == 'u';
        plain += text[0] != 'i' && text[0] != 'u';
    }
    assert_true(plain > 10000 && ignored > 100 && unsatisfiable > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_range),
        cmocka_unit_test(an_empty_representation),
        cmocka_unit_test(malformed_fields_are_ignored),
        cmocka_unit_test(numbers_of_any_length),
        cmocka_unit_test(several_ranges),
        cmocka_unit_test(at_most_sixteen_after_joining),
        cmocka_unit_test(a_hostile_field_is_bounded),
        cmocka_unit_test(random_sets_agree_with_the_slow_reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
