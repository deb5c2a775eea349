/* What the parser library hands on: which fields are kept and how they are trimmed, that
 * trailers are not, and that it agrees with the guards on where a body ends. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "http_parser.h"
#include "unit.h"

static bool read_fields(struct http_parser *parser, struct request *request,
                        const char *lines)
{
    memset(request, 0, sizeof(*request));
    return http_parser_fields(parser, slice_of(lines), request);
}

static void expect_field(const struct request *request, enum field_id id,
                         const char *value)
{
    struct slice found = request_field(request, id);

    assert_true(request_has(request, id));
    assert_int_equal(found.len, strlen(value));
    assert_memory_equal(found.base, value, found.len);
}

static void known_fields_are_kept_and_trimmed(void **state)
{
    struct http_parser parser;
    struct request request;

    (void)state;
    assert_true(read_fields(&parser, &request,
                            "host: \t a.test:80 \t \r\nX-Other: y\r\nRANGE:bytes=0-1\r\n"
                            "If-None-Match:\r\nIf-None-Match: \"x\"\r\nAccept: a,\tb\r\n"
                            "User-Agent: \xc3\xa9\r\n\r\n"));
    assert_int_equal(request.field_count, 6);
    expect_field(&request, FIELD_HOST, "a.test:80");
    expect_field(&request, FIELD_RANGE, "bytes=0-1");
    expect_field(&request, FIELD_IF_NONE_MATCH, "");
    expect_field(&request, FIELD_ACCEPT, "a,\tb");
    expect_field(&request, FIELD_USER_AGENT, "\xc3\xa9");
    assert_int_equal(request_field_count(&request, FIELD_IF_NONE_MATCH), 2);
    assert_false(request_has(&request, FIELD_EXPECT));
}

static void no_fields_at_all_are_fine(void **state)
{
    struct http_parser parser;
    struct request request;

    (void)state;
    assert_true(read_fields(&parser, &request, "\r\n"));
    assert_int_equal(request.field_count, 0);
}

static void a_refused_field_is_seen_all_the_same(void **state)
{
    struct http_parser parser;
    struct request request;

    (void)state;
    assert_false(read_fields(&parser, &request,
                             "Host: t\r\nContent-Length: 99999999999999999999\r\n\r\n"));
    expect_field(&request, FIELD_CONTENT_LENGTH, "99999999999999999999");
    expect_field(&request, FIELD_HOST, "t");
    assert_false(
        read_fields(&parser, &request, "Content-Length: 5\r\nContent-Length: 6\r\n\r\n"));
    assert_false(read_fields(&parser, &request,
                             "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"));
}

struct body_case {
    int line;
    const char *fields, *body;
    enum http_parser_verdict verdict;
    unsigned status;  /* of a refusal */
    const char *rest; /* behind a complete body */
};

#define LENGTH_5 "Content-Length: 5\r\n\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n\r\n"

static const struct body_case bodies[] = {
    { __LINE__, LENGTH_5, "hello", HTTP_PARSER_COMPLETE, 0, "" },
    { __LINE__, LENGTH_5, "helloGET", HTTP_PARSER_COMPLETE, 0, "GET" },
    { __LINE__, LENGTH_5, "hell", HTTP_PARSER_MORE, 0, NULL },
    { __LINE__, CHUNKED, "5\r\nhello\r\n0\r\n\r\nGET", HTTP_PARSER_COMPLETE, 0, "GET" },
    { __LINE__, CHUNKED, "5;a=\"b c\"\r\nhello\r\n0;x\r\nHost: evil\r\n\r\n",
      HTTP_PARSER_COMPLETE, 0, "" },
    { __LINE__, CHUNKED, "5\r\nhello\r\n0\r\n", HTTP_PARSER_MORE, 0, NULL },
    { __LINE__, CHUNKED, "5 \r\nhello\r\n0\r\n\r\n", HTTP_PARSER_REFUSED, 400, NULL },
    { __LINE__, CHUNKED, "200000\r\n", HTTP_PARSER_REFUSED, 413, NULL },
};

static void read_body(const struct body_case *row, size_t piece)
{
    struct http_parser parser;
    struct request request;
    enum http_parser_verdict verdict = HTTP_PARSER_MORE;
    size_t n = strlen(row->body), at = 0;

    assert_true(read_fields(&parser, &request, row->fields));
    while (verdict == HTTP_PARSER_MORE && at < n) {
        size_t part = piece < n - at ? piece : n - at, used = 0;

        verdict = http_parser_body(&parser, &request, row->body + at, part, &used);
        at += used;
    }
    CHECK_CASE(row->line, row->body, verdict == row->verdict);
    CHECK_CASE(row->line, row->body, request.status == row->status);
    CHECK_CASE(row->line, row->body, request.field_count == 1);
    CHECK_CASE(row->line, row->body,
               row->rest == NULL || strcmp(row->body + at, row->rest) == 0);
}

static void bodies_end_where_the_guards_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        for (size_t piece = 1; piece <= strlen(bodies[i].body); piece++) {
            read_body(&bodies[i], piece);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_fields_are_kept_and_trimmed),
        cmocka_unit_test(no_fields_at_all_are_fine),
        cmocka_unit_test(a_refused_field_is_seen_all_the_same),
        cmocka_unit_test(bodies_end_where_the_guards_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
