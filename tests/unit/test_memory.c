/* Each allocation of a whole task fails in turn: a conversation, a site and its answers, a
 * worker. Nothing may be leaked, invented or crash; what is answered is right or says that
 * it cannot be. */
#include <errno.h>
#include <limits.h>

#include "access_log.h"
#include "failing.h"
#include "http_driver.h"
#include "server.h"
#include "site_driver.h"
#include "worker.h"

/* Before each round of a task: chooses the first allocation, then the second, and so on.
 * False once there was a whole round without the one chosen. `in` begins with 0. */
static bool fail_next(unsigned long *in)
{
    if (*in > 0 && !failing.failed) {
        return false;
    }
    failing_choose((*in)++);
    return true;
}

#define GET "GET /a HTTP/1.1\r\nHost: t\r\n\r\n"

static const char conversation[] =
    GET GET "POST /b HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
            "5\r\nhello\r\n0\r\n\r\n"
            "GET /c HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 2\r\n"
            "\r\nab"
            "HEAD /d?e HTTP/1.1\r\nHost: t\r\n\r\n"
            "BREW /f HTTP/1.1\r\nHost: t\r\n\r\n";

/* As the pump does: without room for input the connection ends. */
static void converse(struct driver *driver, size_t piece)
{
    const char *bytes = conversation, *end = conversation + sizeof conversation - 1;

    driver_open(driver, &driver_limits, SIZE_MAX);
    failing_on();
    while (bytes < end && !driver->closed) {
        char *where;
        size_t room = http_conn_space(&driver->http, &where);
        size_t part = (size_t)(end - bytes) < piece ? (size_t)(end - bytes) : piece;

        if (room == 0) {
            http_conn_end(&driver->http);
        } else {
            part = part < room ? part : room;
            memcpy(where, bytes, part);
            http_conn_received(&driver->http, part, driver->now_ms);
            bytes += part;
        }
        driver_run(driver);
    }
    failing_off();
}

static void a_conversation_breaks_off(void **state)
{
    static const size_t pieces[] = { 1, 10, sizeof conversation };
    static struct driver whole, driver;

    (void)state;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        unsigned long in = 0;

        failing_choose(ULONG_MAX);
        converse(&whole, pieces[i]);
        assert_int_equal(whole.answers, 6);
        assert_true(whole.half_closed);
        while (fail_next(&in)) {
            converse(&driver, pieces[i]);
            assert_true(driver.sent_len <= whole.sent_len);
            assert_memory_equal(driver.sent, whole.sent, driver.sent_len);
            assert_true(driver.closed || driver.sent_len == whole.sent_len);
            driver_close(&driver);
        }
        assert_true(in > 2);
        driver_close(&whole);
    }
}

static void a_refusal_breaks_off(void **state)
{
    static struct driver driver;
    unsigned long in = 0;

    (void)state;
    while (fail_next(&in)) {
        driver_open(&driver, &driver_limits, SIZE_MAX);
        failing_on();
        http_conn_refuse(&driver.http, 503);
        driver_run(&driver);
        failing_off();
        assert_true(driver.closed || driver.half_closed);
        assert_int_equal(driver.sent_len > 0, !failing.failed);
        driver_close(&driver);
    }
    assert_true(in > 2);
}

/* ---- a site */

struct question {
    const char *target, *lines;
    unsigned status;
};

static const struct question questions[] = {
    { "/a.txt", "", 200 },
    { "/a.txt", "", 200 }, /* from the cache */
    { "/a.txt", "Range: bytes=1-2\n", 206 },
    { "/a.txt", "Range: bytes=0-0,2-2,4-4\n", 206 },
    { "/a.txt", "Range: bytes=99-\n", 416 },
    { "/a.txt", "If-None-Match: *\n", 304 },
    { "/a.txt", "If-Match: \"x\"\n", 412 },
    { "/large", "", 200 },
    { "/large", "Range: bytes=5-\n", 206 },
    { "/coded.js", "Accept-Encoding: gzip\n", 200 },
    { "/dir", "", 301 },
    { "/dir/", "", 200 },
    { "/dir/?sort=size", "Accept: application/json\n", 200 },
    { "/missing", "", 404 },
    { "/", "", 200 },
};

static void build(struct site_fixture *fixture)
{
    const struct tree *tree = &fixture->tree;

    site_fixture_open(fixture);
    tree_text(tree, "index.html", "index");
    tree_text(tree, "a.txt", "0123456789");
    tree_bytes(tree, "large", FILE_MEMORY_MAX + 1);
    tree_text(tree, "coded.js", "as it is");
    tree_text(tree, "coded.js.gz", "packed");
    tree_text(tree, "missing.html", "gone");
    tree_directory(tree, "dir");
    tree_text(tree, "dir/b.txt", "b");
    tree_text(tree, "dir/c<.txt", "c");
    fixture->options.listing = true;
}

/* True if it could be answered as it should. */
static bool answered(struct site_fixture *fixture, const struct question *question)
{
    struct response response;
    struct work *work = NULL;
    struct answer answer;
    bool right;

    make_request(&fixture->request, METHOD_GET, question->target, question->lines);
    failing_on();
    while (site_handle(fixture->view, &fixture->request, &work, fixture->now_ms,
                       &response) == SITE_PENDING) {
        assert_non_null(work);
        work_run(work);
    }
    failing_off();
    assert_null(work);
    answer = collect(&fixture->request, &response);
    right = answer.status == question->status;
    if (!right && answer.status != 500 && answer.status != 503) {
        /* Less than was asked for may be sent, but nothing wrong. */
        CHECK_CASE(0, question->target, failing.failed && answer.status == 200);
    }
    answer_free(&answer);
    return right;
}

/* Opens the site, asks all, and closes it. Returns how many were answered. */
static unsigned play(struct site_fixture *fixture, bool may_block)
{
    unsigned count = 0;
    int error;

    failing_on();
    error = site_open(&fixture->site, &fixture->options);
    if (error == 0) {
        error = site_set_error_page(fixture->site, "404=missing.html");
        fixture->view = site_view_open(fixture->site, SITE_PRIVATE_CACHE, may_block);
    }
    failing_off();
    if (error != 0) {
        assert_int_equal(error, -ENOMEM);
        assert_true(failing.failed);
    }
    for (size_t i = 0; fixture->view != NULL && i < sizeof questions / sizeof *questions;
         i++) {
        count += answered(fixture, &questions[i]);
    }
    site_fixture_stop(fixture);
    return count;
}

static void a_site_says_what_it_cannot(void **state)
{
    enum { ALL = sizeof questions / sizeof *questions };

    (void)state;
    for (int may_block = 0; may_block < 2; may_block++) {
        struct site_fixture fixture = { 0 };
        unsigned before = tree_open_descriptors();
        unsigned long in = 0;
        unsigned count;

        build(&fixture);
        while (fail_next(&in)) {
            count = play(&fixture, may_block);
            assert_true(failing.failed || count == ALL);
            assert_int_equal(tree_open_descriptors(), before);
        }
        assert_true(in > 20);
        tree_close(&fixture.tree);
    }
}

/* ---- a worker */

static void a_worker_is_whole_or_none(void **state)
{
    static const struct http_limits limits = { .header_timeout_ms = 1000 };
    struct site_fixture fixture = { 0 };
    struct server server = { .limits = &limits };
    unsigned long in = 0;
    struct worker *worker;

    (void)state;
    build(&fixture);
    assert_int_equal(site_open(&fixture.site, &fixture.options), 0);
    server.site = fixture.site;
    assert_int_equal(access_log_open(&server.access_log, "-"), 0);
    while (fail_next(&in)) {
        failing_on();
        worker = worker_open(&server, WORKER_COOPERATIVE, WORKER_OWN_CACHE);
        failing_off();
        assert_int_equal(worker == NULL, failing.failed);
        worker_close(worker);
    }
    assert_true(in > 3);
    access_log_close(server.access_log);
    site_close(fixture.site);
    tree_close(&fixture.tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_conversation_breaks_off),
        cmocka_unit_test(a_refusal_breaks_off),
        cmocka_unit_test(a_site_says_what_it_cannot),
        cmocka_unit_test(a_worker_is_whole_or_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
