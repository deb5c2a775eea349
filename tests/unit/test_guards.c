/* The automata of heads and of chunked bodies: where they find the parts, which status
 * refuses, and that no way of cutting the input changes either. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "chunk_guard.h"
#include "head_guard.h"
#include "request.h"
#include "unit.h"

struct guard_case {
    int line;
    const char *input;
    unsigned status; /* 0: complete, and `rest` follows; 1: wants more */
    const char *rest;
};

#define LINE "GET / HTTP/1.1\r\n"

static const struct guard_case heads[] = {
    { __LINE__, LINE "\r\nrest", 0, "rest" },
    { __LINE__, "\r\n" LINE "A: b\r\n\r\n", 0, "" },
    { __LINE__, LINE "A:\r\n\r\nx", 0, "x" },
    { __LINE__, LINE "A: b", 1, NULL },
    { __LINE__, LINE "\r", 1, NULL },
    { __LINE__, "", 1, NULL },
    { __LINE__, "\n" LINE "\r\n", 400, NULL },
    { __LINE__, "\r" LINE "\r\n", 400, NULL },
    { __LINE__, " " LINE "\r\n", 400, NULL },
    { __LINE__, LINE " A: b\r\n\r\n", 400, NULL },
    { __LINE__, LINE "A\r\n\r\n", 400, NULL },
    { __LINE__, LINE "A: b\n\r\n", 400, NULL },
    { __LINE__, LINE "A: b\r\r\n\r\n", 400, NULL },
    { __LINE__, LINE "\n", 400, NULL },
    { __LINE__, "GET\t/ HTTP/1.1\r\n\r\n", 400, NULL },
    { __LINE__, "GET / HTTP/1.1x\r\n\r\n", 400, NULL },
    { __LINE__, "GET / HTTP/1.\r\n\r\n", 400, NULL },
    { __LINE__, "GET / HTTP/3.7\r\n\r\n", 505, NULL },
    { __LINE__, "GET /\x7f HTTP/1.1\r\n\r\n", 400, NULL },
};

static unsigned feed_head(const char *input, size_t n, size_t first, size_t piece,
                          struct head_guard *guard)
{
    enum head_guard_verdict verdict = HEAD_GUARD_MORE;
    size_t given = first;

    head_guard_init(guard);
    verdict = head_guard_feed(guard, input, given);
    while (verdict == HEAD_GUARD_MORE && given < n) {
        given = n - given < piece ? n : given + piece;
        verdict = head_guard_feed(guard, input, given);
    }
    switch (verdict) {
    case HEAD_GUARD_MORE:
        return 1;
    case HEAD_GUARD_COMPLETE:
        return 0;
    case HEAD_GUARD_REFUSED:
        break;
    }
    return guard->status;
}

static void heads_end_or_are_refused_alike_at_every_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        const struct guard_case *row = &heads[i];
        size_t n = strlen(row->input);

        for (size_t split = 0; split <= n; split++) {
            struct head_guard guard;

            CHECK_CASE(row->line, row->input,
                       feed_head(row->input, n, split, n + 1, &guard) == row->status);
            CHECK_CASE(row->line, row->input,
                       feed_head(row->input, n, split, 1, &guard) == row->status);
            CHECK_CASE(row->line, row->input,
                       row->status != 0 ||
                           strcmp(row->input + guard.fed, row->rest) == 0);
        }
    }
}

static void the_parts_of_a_head_are_found(void **state)
{
    static const char input[] = "\r\nHEAD /a?b HTTP/1.0\r\nA: b\r\nC: d\r\n\r\n";
    struct head_guard guard;

    (void)state;
    assert_int_equal(feed_head(input, sizeof input - 1, 0, 1, &guard), 0);
    assert_int_equal(guard.start, 2);
    assert_int_equal(guard.method_end, 6);
    assert_int_equal(guard.target_start, 7);
    assert_int_equal(guard.target_end, 11);
    assert_int_equal(guard.fields_start, 22);
    assert_int_equal(guard.fields, 2);
    assert_int_equal(guard.version_minor, 0);
    assert_int_equal(guard.fed, sizeof input - 1);
}

static void a_request_has_begun_with_its_first_own_byte(void **state)
{
    struct head_guard guard;

    (void)state;
    head_guard_init(&guard);
    assert_false(head_guard_begun(&guard));
    assert_int_equal(head_guard_feed(&guard, "\r\n\rG", 3), HEAD_GUARD_MORE);
    assert_false(head_guard_begun(&guard));
    assert_int_equal(head_guard_feed(&guard, "\r\n\r\nG", 5), HEAD_GUARD_MORE);
    assert_true(head_guard_begun(&guard));
}

/* Any byte in any place of a field line: only what RFC 9110 5.5 and 5.6.2 allow passes. */
static void every_byte_is_judged_in_names_and_values(void **state)
{
    static const char token_marks[] = "!#$%&'*+-.^_`|~";

    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        char name[] = LINE "Ax: b\r\n\r\n", value[] = LINE "A: xb\r\n\r\n";
        bool alphanumeric = (byte >= '0' && byte <= '9') ||
                            (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        bool token = alphanumeric || (byte != 0 && strchr(token_marks, byte) != NULL);
        bool text = byte == '\t' || (byte >= ' ' && byte != 0x7f);
        struct head_guard guard;

        name[sizeof LINE] = (char)byte;
        value[sizeof LINE + 2] = (char)byte;
        /* A colon ends the name early, and the value then begins with one. */
        assert_int_equal(feed_head(name, sizeof name - 1, 0, 64, &guard),
                         token || byte == ':' ? 0 : 400);
        assert_int_equal(feed_head(value, sizeof value - 1, 0, 64, &guard),
                         text ? 0 : 400);
    }
}

static const struct guard_case bodies[] = {
    { __LINE__, "0\r\n\r\nrest", 0, "rest" },
    { __LINE__, "3\r\nabc\r\n0\r\n\r\nrest", 0, "rest" },
    { __LINE__, "A;x=\"y\"\r\n0123456789\r\n0 ;z\r\nT: u\r\n\r\n", 0, "" },
    { __LINE__, "3\r\nabc", 1, NULL },
    { __LINE__, "3\r\nabc\r\n0\r\n", 1, NULL },
    { __LINE__, "3 \r\nabc\r\n0\r\n\r\n", 400, NULL },
    { __LINE__, "3 x\r\nabc\r\n0\r\n\r\n", 400, NULL },
    { __LINE__, ";x\r\n", 400, NULL },
    { __LINE__, "g\r\n", 400, NULL },
    { __LINE__, "-1\r\n", 400, NULL },
    { __LINE__, "0_0\r\n\r\n", 400, NULL },
    { __LINE__, "3;\x01\r\nabc\r\n", 400, NULL },
    { __LINE__, "3;\n\r\nabc\r\n", 400, NULL },
    { __LINE__, "3\r\nabcd\r\n", 400, NULL },
    { __LINE__, "3\r\nabc\r\r0\r\n\r\n", 400, NULL },
    { __LINE__, "0\r\n: x\r\n\r\n", 400, NULL },
    { __LINE__, "8000000000000000\r\n", 413, NULL },
    { __LINE__, "fffff\r\n", 1, NULL },
    { __LINE__, "100000\r\n", 1, NULL },
    { __LINE__, "100001\r\n", 413, NULL },
};

static unsigned feed_body(const char *input, size_t n, size_t first, size_t piece,
                          struct chunk_guard *guard, size_t *end)
{
    enum chunk_guard_verdict verdict = CHUNK_GUARD_MORE;
    size_t at = 0, part = first;

    chunk_guard_init(guard);
    while (verdict == CHUNK_GUARD_MORE && at < n) {
        size_t used = 0;

        part = part < n - at ? part : n - at;
        verdict = chunk_guard_feed(guard, input + at, part, &used);
        assert_true(used > 0 || part == 0 || verdict != CHUNK_GUARD_MORE);
        at += used;
        part = part > used ? part - used : piece;
    }
    *end = at;
    switch (verdict) {
    case CHUNK_GUARD_MORE:
        return 1;
    case CHUNK_GUARD_COMPLETE:
        return 0;
    case CHUNK_GUARD_REFUSED:
        break;
    }
    return guard->status;
}

static void bodies_end_or_are_refused_alike_at_every_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        const struct guard_case *row = &bodies[i];
        size_t n = strlen(row->input), end;

        for (size_t split = 0; split <= n; split++) {
            struct chunk_guard guard;

            CHECK_CASE(row->line, row->input,
                       feed_body(row->input, n, split, n, &guard, &end) == row->status);
            CHECK_CASE(row->line, row->input,
                       feed_body(row->input, n, split, 1, &guard, &end) == row->status);
            CHECK_CASE(row->line, row->input,
                       row->status != 0 || strcmp(row->input + end, row->rest) == 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_end_or_are_refused_alike_at_every_split),
        cmocka_unit_test(the_parts_of_a_head_are_found),
        cmocka_unit_test(a_request_has_begun_with_its_first_own_byte),
        cmocka_unit_test(every_byte_is_judged_in_names_and_values),
        cmocka_unit_test(bodies_end_or_are_refused_alike_at_every_split),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
