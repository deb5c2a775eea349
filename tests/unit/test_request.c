/* Field names, look-up of fields, and comma-separated lists. */
#include <stdio.h>
#include <string.h>

#include "request.h"
#include "request_of.h"
#include "unit.h"

static void names_are_known(void **state)
{
    static const struct {
        int line;
        const char *name;
        enum field_id id;
    } cases[] = {
        { __LINE__, "Accept", FIELD_ACCEPT },
        { __LINE__, "Accept-Encoding", FIELD_ACCEPT_ENCODING },
        { __LINE__, "Connection", FIELD_CONNECTION },
        { __LINE__, "Content-Length", FIELD_CONTENT_LENGTH },
        { __LINE__, "Expect", FIELD_EXPECT },
        { __LINE__, "Host", FIELD_HOST },
        { __LINE__, "If-Match", FIELD_IF_MATCH },
        { __LINE__, "If-Modified-Since", FIELD_IF_MODIFIED_SINCE },
        { __LINE__, "If-None-Match", FIELD_IF_NONE_MATCH },
        { __LINE__, "If-Range", FIELD_IF_RANGE },
        { __LINE__, "If-Unmodified-Since", FIELD_IF_UNMODIFIED_SINCE },
        { __LINE__, "Range", FIELD_RANGE },
        { __LINE__, "Referer", FIELD_REFERER },
        { __LINE__, "Transfer-Encoding", FIELD_TRANSFER_ENCODING },
        { __LINE__, "User-Agent", FIELD_USER_AGENT },
        { __LINE__, "host", FIELD_HOST },
        { __LINE__, "hOsT", FIELD_HOST },
        { __LINE__, "TRANSFER-ENCODING", FIELD_TRANSFER_ENCODING },
        { __LINE__, "if-match", FIELD_IF_MATCH },
        { __LINE__, "", FIELD_OTHER },
        { __LINE__, "X", FIELD_OTHER },
        { __LINE__, "Hos", FIELD_OTHER },
        { __LINE__, "Hosts", FIELD_OTHER },
        { __LINE__, "Cookie", FIELD_OTHER },
        { __LINE__, "Upgrade", FIELD_OTHER },
        { __LINE__, "If_Match", FIELD_OTHER },
        { __LINE__, "Content-Length ", FIELD_OTHER },
        { __LINE__, "If-Unmodified-Since2", FIELD_OTHER },
        { __LINE__, "Sec-WebSocket-Extensions", FIELD_OTHER },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK_CASE(cases[i].line, cases[i].name,
                   request_field_id(slice_of(cases[i].name)) == cases[i].id);
    }
}

static void a_name_with_nul_is_unknown(void **state)
{
    (void)state;
    assert_int_equal(request_field_id(SLICE("Host\0")), FIELD_OTHER);
    assert_int_equal(request_field_id(SLICE("ho\0t")), FIELD_OTHER);
    assert_int_equal(request_field_id((struct slice){ NULL, 0 }), FIELD_OTHER);
}

static void fields_are_found_in_order(void **state)
{
    static struct request request;
    struct slice value;
    unsigned cursor = 0;

    (void)state;
    request_of(&request, "Host: a\nIf-Match: \"1\"\nX: y\nif-match:\nIF-MATCH: \"3\"");
    assert_int_equal(request.field_count, 5);
    assert_true(request_has(&request, FIELD_IF_MATCH));
    assert_false(request_has(&request, FIELD_RANGE));
    assert_int_equal(request_field_count(&request, FIELD_IF_MATCH), 3);
    assert_int_equal(request_field_count(&request, FIELD_HOST), 1);
    assert_int_equal(request_field_count(&request, FIELD_RANGE), 0);

    assert_true(slice_equal(request_field(&request, FIELD_IF_MATCH), SLICE("\"1\"")));
    assert_null(request_field(&request, FIELD_RANGE).base);
    assert_int_equal(request_field(&request, FIELD_RANGE).len, 0);

    assert_true(request_field_next(&request, FIELD_IF_MATCH, &cursor, &value));
    assert_true(slice_equal(value, SLICE("\"1\"")));
    assert_true(request_field_next(&request, FIELD_IF_MATCH, &cursor, &value));
    assert_int_equal(value.len, 0);
    assert_true(request_field_next(&request, FIELD_IF_MATCH, &cursor, &value));
    assert_true(slice_equal(value, SLICE("\"3\"")));
    assert_false(request_field_next(&request, FIELD_IF_MATCH, &cursor, &value));
    assert_false(request_field_next(&request, FIELD_IF_MATCH, &cursor, &value));
}

static void a_request_without_fields_has_none(void **state)
{
    static struct request request;
    struct slice value;
    unsigned cursor = 0;

    (void)state;
    request_of(&request, "");
    assert_false(request_has(&request, FIELD_HOST));
    assert_int_equal(request_field_count(&request, FIELD_HOST), 0);
    assert_null(request_field(&request, FIELD_HOST).base);
    assert_false(request_field_next(&request, FIELD_HOST, &cursor, &value));
}

/* The elements of a list, each in brackets. */
static void list_text(struct slice list, char *to, size_t room)
{
    struct slice element;
    size_t len = 0;

    to[0] = '\0';
    while (request_list_next(&list, &element)) {
        len += (size_t)snprintf(to + len, room - len, "[%.*s]", (int)element.len,
                                element.base);
    }
    assert_int_equal(list.len, 0);
}

static void lists_are_walked(void **state)
{
    static const struct {
        int line;
        const char *list;
        const char *elements;
    } cases[] = {
        { __LINE__, "", "" },
        { __LINE__, " \t ", "" },
        { __LINE__, ",", "" },
        { __LINE__, " , ,\t,", "" },
        { __LINE__, "close", "[close]" },
        { __LINE__, "keep-alive, close", "[keep-alive][close]" },
        { __LINE__, "keep-alive,close", "[keep-alive][close]" },
        { __LINE__, " \ta \t,\t b ", "[a][b]" },
        { __LINE__, ",a,,b,", "[a][b]" },
        { __LINE__, "a b, c d", "[a b][c d]" },
        { __LINE__, "\"a,b\", c", "[\"a,b\"][c]" },
        { __LINE__, "W/\"a,b\",\"c\"", "[W/\"a,b\"][\"c\"]" },
        { __LINE__, "\"a\\\",b\", c", "[\"a\\\",b\"][c]" },
        { __LINE__, "\"a\\\\\", c", "[\"a\\\\\"][c]" },
        { __LINE__, "a\\, b", "[a\\][b]" },
        { __LINE__, "\"open, c", "[\"open, c]" },
        { __LINE__, "\"open\\", "[\"open\\]" },
        { __LINE__, "\"", "[\"]" },
        { __LINE__, "x=\"1, 2\";q=0, y", "[x=\"1, 2\";q=0][y]" },
        { __LINE__, "\"\",\"\"", "[\"\"][\"\"]" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char elements[128];

        list_text(slice_of(cases[i].list), elements, sizeof(elements));
        CHECK_CASE(cases[i].line, cases[i].list,
                   strcmp(elements, cases[i].elements) == 0);
    }
}

static void an_empty_list_needs_no_bytes(void **state)
{
    struct slice list = { NULL, 0 };
    struct slice element;

    (void)state;
    assert_false(request_list_next(&list, &element));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_known),
        cmocka_unit_test(a_name_with_nul_is_unknown),
        cmocka_unit_test(fields_are_found_in_order),
        cmocka_unit_test(a_request_without_fields_has_none),
        cmocka_unit_test(lists_are_walked),
        cmocka_unit_test(an_empty_list_needs_no_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
