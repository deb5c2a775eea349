/* Conditional requests: the order of their evaluation, the comparisons, and what is
 * ignored. */
#include "precondition.h"
#include "request_of.h"
#include "unit.h"

#define MTIME "Sun, 06 Nov 1994 08:49:37 GMT"
#define BEFORE "Sun, 06 Nov 1994 08:49:36 GMT"
#define AFTER "Sun, 06 Nov 1994 08:49:38 GMT"

static const int64_t now = INT64_C(1735689600);

static const struct validators both = { .etag = { "\"5f-a\"", 6 },
                                        .has_mtime = true,
                                        .mtime = 784111777 };
static const struct validators none = { .etag = { NULL, 0 }, .has_mtime = false };

struct condition_case {
    int line;
    const char *fields;
    enum precondition_result result;
};

static void check_cases(const struct condition_case *cases, size_t count,
                        const struct validators *validators)
{
    static struct request request;

    for (size_t i = 0; i < count; i++) {
        request_of(&request, cases[i].fields);
        CHECK_CASE(cases[i].line, cases[i].fields,
                   precondition_evaluate(&request, validators, now) == cases[i].result);
    }
}

static void if_none_match(void **state)
{
    static const struct condition_case cases[] = {
        { __LINE__, "Host: a", PRECONDITION_PASS },
        { __LINE__, "If-None-Match: \"5f-a\"", PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-None-Match: W/\"5f-a\"", PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-None-Match: *", PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-None-Match: \"x\", \"5f-a\"", PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-None-Match: \"x\",\t,W/\"5f-a\" ,", PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-None-Match: \"x\"\nIf-None-Match: \"5f-a\"",
          PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-None-Match: \"x\"", PRECONDITION_PASS },
        { __LINE__, "If-None-Match: \"x\", \"y\"", PRECONDITION_PASS },
        { __LINE__, "If-None-Match:", PRECONDITION_PASS },
        { __LINE__, "If-None-Match: ,", PRECONDITION_PASS },
        { __LINE__, "If-None-Match: \"5F-A\"", PRECONDITION_PASS },
        { __LINE__, "If-None-Match: \"5f-a", PRECONDITION_PASS },
        { __LINE__, "If-None-Match: 5f-a", PRECONDITION_PASS },
        { __LINE__, "If-None-Match: w/\"5f-a\"", PRECONDITION_PASS },
        { __LINE__, "If-None-Match: W/W/\"5f-a\"", PRECONDITION_PASS },
        { __LINE__, "If-None-Match: \"5f-a\"x", PRECONDITION_PASS },
        { __LINE__, "If-None-Match: \"5f-a\" \"y\"", PRECONDITION_PASS },
        { __LINE__, "If-None-Match: \"5f-ab\"", PRECONDITION_PASS },
        { __LINE__, "If-None-Match: **", PRECONDITION_PASS },
        { __LINE__, "If-None-Match: \"x\", *", PRECONDITION_PASS },
        /* a comma and a backslash inside of a tag are its own */
        { __LINE__, "If-None-Match: \"x,\"5f-a\"", PRECONDITION_PASS },
        { __LINE__, "If-None-Match: \"x, y\", \"5f-a\"", PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-None-Match: \"x\\\", \"5f-a\"", PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-None-Match: \"x,y\", \"5f-a\"", PRECONDITION_NOT_MODIFIED },
        /* a bad member does not spoil the others */
        { __LINE__, "If-None-Match: x, \"5f-a\"", PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-None-Match: \"x, \"5f-a\"", PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-None-Match: W/, \"5f-a\"", PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-None-Match: \"5f-a\", \"", PRECONDITION_NOT_MODIFIED },
    };

    (void)state;
    check_cases(cases, sizeof(cases) / sizeof(cases[0]), &both);
}

static void if_match(void **state)
{
    static const struct condition_case cases[] = {
        { __LINE__, "If-Match: \"5f-a\"", PRECONDITION_PASS },
        { __LINE__, "If-Match: *", PRECONDITION_PASS },
        { __LINE__, "If-Match: \"x\", \"5f-a\"", PRECONDITION_PASS },
        { __LINE__, "If-Match: \"x\"\nIf-Match: \"5f-a\"", PRECONDITION_PASS },
        { __LINE__, "If-Match: x, \"5f-a\"", PRECONDITION_PASS },
        { __LINE__, "If-Match: \"no\"", PRECONDITION_FAILED },
        { __LINE__, "If-Match: W/\"5f-a\"", PRECONDITION_FAILED },
        { __LINE__, "If-Match: W/\"5f-a\", \"x\"", PRECONDITION_FAILED },
        { __LINE__, "If-Match:", PRECONDITION_FAILED },
        { __LINE__, "If-Match: 5f-a", PRECONDITION_FAILED },
    };

    (void)state;
    check_cases(cases, sizeof(cases) / sizeof(cases[0]), &both);
}

static void if_modified_since(void **state)
{
    static const struct condition_case cases[] = {
        { __LINE__, "If-Modified-Since: " MTIME, PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-Modified-Since: " AFTER, PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-Modified-Since: " BEFORE, PRECONDITION_PASS },
        { __LINE__, "If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT",
          PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-Modified-Since: Sunday, 06-Nov-94 08:49:36 GMT",
          PRECONDITION_PASS },
        { __LINE__, "If-Modified-Since: Sun Nov  6 08:49:37 1994",
          PRECONDITION_NOT_MODIFIED },
        /* later than now */
        { __LINE__, "If-Modified-Since: Fri, 31 Dec 9999 23:59:59 GMT",
          PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-Modified-Since:", PRECONDITION_PASS },
        { __LINE__, "If-Modified-Since: 2030", PRECONDITION_PASS },
        { __LINE__, "If-Modified-Since: Sun, 30 Feb 2025 00:00:00 GMT",
          PRECONDITION_PASS },
        { __LINE__, "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 PST",
          PRECONDITION_PASS },
        { __LINE__, "If-Modified-Since: " MTIME "\nIf-Modified-Since: " MTIME,
          PRECONDITION_PASS },
        { __LINE__, "If-Modified-Since: " MTIME ", " MTIME, PRECONDITION_PASS },
    };

    (void)state;
    check_cases(cases, sizeof(cases) / sizeof(cases[0]), &both);
}

static void if_unmodified_since(void **state)
{
    static const struct condition_case cases[] = {
        { __LINE__, "If-Unmodified-Since: " MTIME, PRECONDITION_PASS },
        { __LINE__, "If-Unmodified-Since: " AFTER, PRECONDITION_PASS },
        { __LINE__, "If-Unmodified-Since: " BEFORE, PRECONDITION_FAILED },
        { __LINE__, "If-Unmodified-Since: Sun Nov  6 08:49:36 1994",
          PRECONDITION_FAILED },
        { __LINE__, "If-Unmodified-Since: yesterday", PRECONDITION_PASS },
        { __LINE__, "If-Unmodified-Since:", PRECONDITION_PASS },
        { __LINE__, "If-Unmodified-Since: " BEFORE "\nIf-Unmodified-Since: " BEFORE,
          PRECONDITION_PASS },
    };

    (void)state;
    check_cases(cases, sizeof(cases) / sizeof(cases[0]), &both);
}

static void the_order_of_evaluation(void **state)
{
    static const struct condition_case cases[] = {
        /* tags before dates */
        { __LINE__, "If-None-Match: \"no\"\nIf-Modified-Since: " AFTER,
          PRECONDITION_PASS },
        { __LINE__, "If-Modified-Since: " AFTER "\nIf-None-Match:", PRECONDITION_PASS },
        { __LINE__, "If-Modified-Since: " BEFORE "\nIf-None-Match: \"5f-a\"",
          PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-Match: \"5f-a\"\nIf-Unmodified-Since: " BEFORE,
          PRECONDITION_PASS },
        { __LINE__, "If-Match: \"no\"\nIf-Unmodified-Since: " AFTER,
          PRECONDITION_FAILED },
        /* 412 before 304 */
        { __LINE__, "If-None-Match: \"5f-a\"\nIf-Match: \"no\"", PRECONDITION_FAILED },
        { __LINE__, "If-None-Match: *\nIf-Unmodified-Since: " BEFORE,
          PRECONDITION_FAILED },
        { __LINE__, "If-Modified-Since: " AFTER "\nIf-Match: \"no\"",
          PRECONDITION_FAILED },
        /* a condition that holds leads to the next */
        { __LINE__, "If-Match: *\nIf-None-Match: \"5f-a\"", PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-Match: \"5f-a\"\nIf-Modified-Since: " MTIME,
          PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-Unmodified-Since: " MTIME "\nIf-Modified-Since: " MTIME,
          PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-Match: *\nIf-None-Match: \"no\"", PRECONDITION_PASS },
    };

    (void)state;
    check_cases(cases, sizeof(cases) / sizeof(cases[0]), &both);
}

static void without_validators(void **state)
{
    static const struct condition_case cases[] = {
        { __LINE__, "If-Match: *", PRECONDITION_PASS },
        { __LINE__, "If-Match: \"5f-a\"", PRECONDITION_FAILED },
        { __LINE__, "If-Match: \"\"", PRECONDITION_FAILED },
        { __LINE__, "If-Unmodified-Since: " BEFORE, PRECONDITION_PASS },
        { __LINE__, "If-None-Match: *", PRECONDITION_NOT_MODIFIED },
        { __LINE__, "If-None-Match: \"5f-a\"", PRECONDITION_PASS },
        { __LINE__, "If-None-Match: W/", PRECONDITION_PASS },
        { __LINE__, "If-None-Match: ,", PRECONDITION_PASS },
        { __LINE__, "If-Modified-Since: " AFTER, PRECONDITION_PASS },
    };

    (void)state;
    check_cases(cases, sizeof(cases) / sizeof(cases[0]), &none);
}

static void when_a_range_applies(void **state)
{
#define RANGE "Range: bytes=0-1\n"
    static const struct {
        int line;
        const char *fields;
        bool applies;
    } cases[] = {
        { __LINE__, RANGE, true },
        { __LINE__, "Host: a", false },
        { __LINE__, "If-Range: \"5f-a\"", false },
        { __LINE__, RANGE "If-Range: \"5f-a\"", true },
        { __LINE__, RANGE "If-Range: W/\"5f-a\"", false },
        { __LINE__, RANGE "If-Range: \"5f\"", false },
        { __LINE__, RANGE "If-Range: \"x\", \"5f-a\"", false },
        { __LINE__, RANGE "If-Range: \"5f-a\", \"x\"", false },
        { __LINE__, RANGE "If-Range: *", false },
        { __LINE__, RANGE "If-Range: 5f-a", false },
        { __LINE__, RANGE "If-Range:", false },
        { __LINE__, RANGE "If-Range: " MTIME, true },
        { __LINE__, RANGE "If-Range: Sunday, 06-Nov-94 08:49:37 GMT", true },
        { __LINE__, RANGE "If-Range: Sun Nov  6 08:49:37 1994", true },
        { __LINE__, RANGE "If-Range: " BEFORE, false },
        { __LINE__, RANGE "If-Range: " AFTER, false },
        { __LINE__, RANGE "If-Range: Mon, 06 Nov 1994 08:49:37 GMT", false },
        { __LINE__, RANGE "If-Range: 784111777", false },
        { __LINE__, RANGE RANGE, false },
        { __LINE__, RANGE RANGE "If-Range: \"5f-a\"", false },
        { __LINE__, RANGE "If-Range: \"5f-a\"\nIf-Range: \"5f-a\"", false },
        { __LINE__, RANGE "If-Range: \"5f-a\"\nIf-Range: \"x\"", false },
    };
    static struct request request;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        request_of(&request, cases[i].fields);
        CHECK_CASE(cases[i].line, cases[i].fields,
                   precondition_range_applies(&request, &both, now) == cases[i].applies);
    }
    request_of(&request, RANGE "If-Range: \"5f-a\"");
    assert_false(precondition_range_applies(&request, &none, now));
    request_of(&request, RANGE "If-Range: " MTIME);
    assert_false(precondition_range_applies(&request, &none, now));
    request_of(&request, RANGE);
    assert_true(precondition_range_applies(&request, &none, now));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(if_none_match),           cmocka_unit_test(if_match),
        cmocka_unit_test(if_modified_since),       cmocka_unit_test(if_unmodified_since),
        cmocka_unit_test(the_order_of_evaluation), cmocka_unit_test(without_validators),
        cmocka_unit_test(when_a_range_applies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
