/* What a complete head means: target forms, Host, framing, persistence, expectations, and
 * which of several faults decides. */
#include <stdbool.h>
#include <string.h>

#include "head_check.h"
#include "request_of.h"
#include "unit.h"

struct head_case {
    int line;
    const char *request_line; /* "METHOD TARGET minor" */
    const char *fields;
    unsigned status;
    bool close, has_body, expects_continue;
};

#define HOST "Host: t\n"

static const struct head_case cases[] = {
    { __LINE__, "GET / 1", HOST, 0, false, false, false },
    { __LINE__, "GET / 0", "", 0, true, false, false },
    { __LINE__, "GET / 0", "Connection: keep-alive\n", 0, false, false, false },
    { __LINE__, "GET / 1", HOST "Connection: foo,close\n", 0, true, false, false },
    { __LINE__, "GET / 1", HOST "Connection: closed\n", 0, false, false, false },
    { __LINE__, "POST / 1", HOST "Content-Length: 1\n", 0, false, true, false },
    { __LINE__, "POST / 1", HOST "Content-Length: 000\n", 0, false, false, false },
    { __LINE__, "POST / 1", HOST "Content-Length: 1048576\n", 0, false, true, false },
    { __LINE__, "POST / 1", HOST "Content-Length: 1048577\n", 413, true, true, false },
    { __LINE__, "POST / 1", HOST "Content-Length: 1e3\n", 400, true, true, false },
    { __LINE__, "PUT / 1", HOST "Transfer-Encoding: chunked\n", 0, false, true, false },
    { __LINE__, "PUT / 1", HOST "Transfer-Encoding: , ,chunked\n", 0, false, true,
      false },
    { __LINE__, "PUT / 1", HOST "Transfer-Encoding:\nTransfer-Encoding: chunked\n", 0,
      false, true, false },
    { __LINE__, "PUT / 1", HOST "Transfer-Encoding: chunked,\n", 400, true, true, false },
    { __LINE__, "PUT / 1", HOST "Transfer-Encoding: chunked ,\n", 400, true, true,
      false },
    { __LINE__, "PUT / 1", HOST "Transfer-Encoding: chunked\nTransfer-Encoding:\n", 400,
      true, true, false },
    { __LINE__, "PUT / 1", HOST "Transfer-Encoding: chunked;q=1\n", 400, true, true,
      false },
    { __LINE__, "GET / 1", HOST "Expect: 100-continue\nContent-Length: 1\n", 0, false,
      true, true },
    { __LINE__, "GET / 1", HOST "Expect: 100-continue, x\nContent-Length: 1\n", 417, true,
      true, false },
    { __LINE__, "GET / 0", "Expect: x\n", 0, true, false, false },
    /* the first of several faults decides */
    { __LINE__, "BREW / 1", "", 400, true, false, false },
    { __LINE__, "BREW / 1", HOST "Content-Length: x\n", 400, true, false, false },
    { __LINE__, "BREW / 1", HOST "Content-Length: 9999999\n", 501, true, true, false },
    { __LINE__, "CONNECT t:80 1", HOST "Expect: x\n", 405, true, false, false },
    { __LINE__, "POST / 1", HOST "Content-Length: 9999999\nExpect: x\n", 413, true, true,
      false },
};

static void read_line(struct request *request, const char *line)
{
    const char *space = strchr(line, ' '), *last = strrchr(line, ' ');

    request->method_text = (struct slice){ line, (size_t)(space - line) };
    request->target = (struct slice){ space + 1, (size_t)(last - space) - 1 };
    request->version_minor = last[1] == '1';
}

static void heads_mean_what_the_tables_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct head_case *row = &cases[i];
        struct request request;

        request_of(&request, row->fields);
        read_line(&request, row->request_line);
        head_check(&request);
        CHECK_CASE(row->line, row->request_line, request.status == row->status);
        CHECK_CASE(row->line, row->request_line, request.close == row->close);
        CHECK_CASE(row->line, row->request_line, request.has_body == row->has_body);
        CHECK_CASE(row->line, row->request_line,
                   request.expects_continue == row->expects_continue);
    }
}

struct target_case {
    int line;
    const char *request_line;
    const char *path, *query, *authority; /* NULL path: refused; NULL query: none */
};

static const struct target_case targets[] = {
    { __LINE__, "GET /a/b 1", "/a/b", NULL, "t" },
    { __LINE__, "GET /a?b?c 1", "/a", "b?c", "t" },
    { __LINE__, "GET /? 1", "/", "", "t" },
    { __LINE__, "GET //x 1", "//x", NULL, "t" },
    { __LINE__, "GET http://h:8/a?q 1", "/a", "q", "h:8" },
    { __LINE__, "GET HTTPS://h 1", "/", NULL, "h" },
    { __LINE__, "GET http://h?q 1", "/", "q", "h" },
    { __LINE__, "OPTIONS * 1", "*", NULL, "t" },
    { __LINE__, "HEAD * 1", NULL, NULL, NULL },
    { __LINE__, "GET http:// 1", NULL, NULL, NULL },
    { __LINE__, "GET http:/a 1", NULL, NULL, NULL },
    { __LINE__, "GET 1://h/ 1", NULL, NULL, NULL },
    { __LINE__, "GET http://h:x/ 1", NULL, NULL, NULL },
    { __LINE__, "GET ?q 1", NULL, NULL, NULL },
};

static bool same(struct slice slice, const char *text)
{
    return slice_equal(slice, text == NULL ? (struct slice){ NULL, 0 } : slice_of(text));
}

static void targets_are_taken_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        const struct target_case *row = &targets[i];
        struct request request;

        request_of(&request, HOST);
        read_line(&request, row->request_line);
        head_check(&request);
        CHECK_CASE(row->line, row->request_line,
                   request.status == (row->path == NULL ? 400 : 0));
        if (row->path != NULL) {
            CHECK_CASE(row->line, row->request_line, same(request.path, row->path));
            CHECK_CASE(row->line, row->request_line, same(request.query, row->query));
            CHECK_CASE(row->line, row->request_line,
                       request.has_query == (row->query != NULL));
            CHECK_CASE(row->line, row->request_line,
                       same(request.authority, row->authority));
        }
    }
}

static void methods_are_told_apart_by_case(void **state)
{
    (void)state;
    assert_int_equal(head_check_method(SLICE("GET")), METHOD_GET);
    assert_int_equal(head_check_method(SLICE("HEAD")), METHOD_HEAD);
    assert_int_equal(head_check_method(SLICE("OPTIONS")), METHOD_OPTIONS);
    assert_int_equal(head_check_method(SLICE("CONNECT")), METHOD_CONNECT);
    assert_int_equal(head_check_method(SLICE("TRACE")), METHOD_REGISTERED);
    assert_int_equal(head_check_method(SLICE("UPDATEREDIRECTREF")), METHOD_REGISTERED);
    assert_int_equal(head_check_method(SLICE("Get")), METHOD_UNKNOWN);
    assert_int_equal(head_check_method(SLICE("GETX")), METHOD_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_mean_what_the_tables_say),
        cmocka_unit_test(targets_are_taken_apart),
        cmocka_unit_test(methods_are_told_apart_by_case),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
