/* Rendered heads, to the byte. */
#include <string.h>

#include "response.h"
#include "unit.h"

static const char date[] = "Sun, 06 Nov 1994 08:49:37 GMT";

struct head_case {
    int line;
    unsigned status;
    int64_t length;
    enum response_persistence persistence;
    const char *fields, *more, *head;
};

#define DATE "\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"

static const struct head_case cases[] = {
    { __LINE__, 200, 6144, RESPONSE_KEEP, "A: b\r\n", "C: d\r\nE: f\r\n",
      "HTTP/1.1 200 OK" DATE "A: b\r\nC: d\r\nE: f\r\nContent-Length: 6144\r\n\r\n" },
    { __LINE__, 200, 0, RESPONSE_KEEP_SAYING, "", "",
      "HTTP/1.1 200 OK" DATE "Content-Length: 0\r\nConnection: keep-alive\r\n\r\n" },
    { __LINE__, 304, -1, RESPONSE_KEEP, "", "", "HTTP/1.1 304 Not Modified" DATE "\r\n" },
    { __LINE__, 204, -1, RESPONSE_CLOSE, "", "Allow: GET\r\n",
      "HTTP/1.1 204 No Content" DATE "Allow: GET\r\nConnection: close\r\n\r\n" },
    { __LINE__, 206, INT64_MAX, RESPONSE_KEEP, "", "",
      "HTTP/1.1 206 Partial Content" DATE "Content-Length: 9223372036854775807\r\n\r\n" },
    { __LINE__, 299, 1, RESPONSE_KEEP, "", "",
      "HTTP/1.1 299 " DATE "Content-Length: 1\r\n\r\n" },
};

static void heads_are_rendered_to_the_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct head_case *row = &cases[i];
        struct response response;
        char text[1024];
        size_t len;

        response_init(&response, row->status, date);
        response.content_length = row->length;
        response.fields = slice_of(row->fields);
        response.more = slice_of(row->more);
        len = response_head_render(&response, row->persistence, text);
        CHECK_CASE(row->line, row->head, len == strlen(row->head));
        CHECK_CASE(row->line, row->head, memcmp(text, row->head, len) == 0);
        CHECK_CASE(row->line, row->head, len <= response_head_bound(&response));
    }
}

static void the_bound_holds_for_the_longest_head(void **state)
{
    struct response response;
    char text[RESPONSE_LINE_MAX];

    (void)state;
    response_init(&response, 431, date);
    response.content_length = INT64_MAX;
    assert_true(response_head_bound(&response) <= sizeof text);
    assert_true(response_head_render(&response, RESPONSE_KEEP_SAYING, text) <=
                sizeof text);
}

static void every_status_that_is_used_has_its_phrase(void **state)
{
    static const unsigned used[] = { 100, 200, 204, 206, 301, 304, 400, 403,
                                     404, 405, 406, 408, 412, 413, 414, 416,
                                     417, 431, 500, 501, 503, 505 };

    (void)state;
    for (size_t i = 0; i < sizeof used / sizeof *used; i++) {
        assert_string_not_equal(response_reason(used[i]), "");
    }
    assert_string_equal(response_reason(404), "Not Found");
    assert_string_equal(response_reason(299), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_are_rendered_to_the_byte),
        cmocka_unit_test(the_bound_holds_for_the_longest_head),
        cmocka_unit_test(every_status_that_is_used_has_its_phrase),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
