/* Unit tests of site_spa.c and of error pages in site_page.c: what a client gets where
 * there is nothing. */
#include "site_driver.h"

#define APP "<p>app"
#define BROWSER "Accept: text/html,application/xhtml+xml,*/*;q=0.8\n"

static int setup(void **state)
{
    struct site_fixture *fixture = calloc(1, sizeof *fixture);
    const struct tree *tree = &fixture->tree;

    site_fixture_open(fixture);
    tree_text(tree, "app.html", APP);
    tree_text(tree, "a.txt", "0123456789");
    tree_directory(tree, "dir");
    tree_directory(tree, "closed");
    tree_text(tree, "closed/in", "in");
    tree_text(tree, "lost.html", "<p>lost");
    tree_text(tree, "sorry.css", "sorry{}");
    tree_text(tree, "empty", "");
    tree_bytes(tree, "largest", FILE_MEMORY_MAX);
    tree_bytes(tree, "large", FILE_MEMORY_MAX + 1);
    tree_link(tree, "outside", "/etc/passwd");
    assert_int_equal(mkfifo(tree_path(tree, "fifo"), 0644), 0);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    site_fixture_close(*state);
    free(*state);
    return 0;
}

/* ---- the page for what is missing */

static void test_who_gets_the_page(void **state)
{
    static const struct {
        int line;
        enum request_method method;
        const char *target, *lines;
        unsigned status; /* 200: with the page, but for "/a.txt" */
    } cases[] = {
        { __LINE__, METHOD_GET, "/users/42", "", 200 },
        { __LINE__, METHOD_HEAD, "/users/42", "", 200 },
        { __LINE__, METHOD_GET, "/users/42?x=a.js", "", 200 },
        { __LINE__, METHOD_GET, "/users/", "", 200 },
        { __LINE__, METHOD_GET, "/v1.2/users", "", 200 },
        { __LINE__, METHOD_GET, "/%75sers", "", 200 },
        { __LINE__, METHOD_GET, "/", "", 200 },
        { __LINE__, METHOD_GET, "/dir/", "", 200 },
        { __LINE__, METHOD_GET, "/a.txt/x", "", 200 },
        { __LINE__, METHOD_GET, "/users/42", BROWSER, 200 },
        { __LINE__, METHOD_GET, "/users/jane.doe", BROWSER, 200 },
        { __LINE__, METHOD_GET, "/app.js", BROWSER, 200 },
        { __LINE__, METHOD_GET, "/app.js", "Accept: TEXT/Html;level=1;q=0.001\n", 200 },
        { __LINE__, METHOD_GET, "/app.js", "Accept: a/b\nAccept: text/html\n", 200 },
        { __LINE__, METHOD_GET, "/users", "Accept: */*\n", 200 },
        { __LINE__, METHOD_GET, "/users", "Accept: text/*\n", 200 },
        { __LINE__, METHOD_GET, "/users", "Accept: */*;q=0, text/*\n", 200 },
        { __LINE__, METHOD_GET, "/users", "Accept: text/*;q=0, text/html\n", 200 },
        /* A file that is missing stays missing for whoever does not ask for a page. */
        { __LINE__, METHOD_GET, "/app.js", "", 404 },
        { __LINE__, METHOD_HEAD, "/app.js", "", 404 },
        { __LINE__, METHOD_GET, "/app.js", "Accept: */*\n", 404 },
        { __LINE__, METHOD_GET, "/app.js", "Accept: text/*\n", 404 },
        { __LINE__, METHOD_GET, "/users/.", "Accept: image/png\n", 404 },
        { __LINE__, METHOD_GET, "/x.", "", 404 },
        /* And so does all else for whoever cannot read one. */
        { __LINE__, METHOD_GET, "/users", "Accept: application/json\n", 404 },
        { __LINE__, METHOD_GET, "/users", "Accept: */*, text/html;q=0\n", 404 },
        { __LINE__, METHOD_GET, "/users", "Accept: */*, text/html; q=0.000\n", 404 },
        { __LINE__, METHOD_GET, "/users", "Accept: */*, text/*;q=0.\n", 404 },
        { __LINE__, METHOD_GET, "/users", "Accept: */*;q=0\n", 404 },
        { __LINE__, METHOD_GET, "/users", "Accept: \n", 404 },
        { __LINE__, METHOD_GET, "/users", "Accept: application/xhtml+xml, */x\n", 404 },
        /* What is there, or is refused for another reason, is not missing. */
        { __LINE__, METHOD_GET, "/a.txt", BROWSER, 200 },
        { __LINE__, METHOD_GET, "/dir", BROWSER, 301 },
        { __LINE__, METHOD_GET, "/fifo", BROWSER, 403 },
        { __LINE__, METHOD_GET, "/..", BROWSER, 400 },
        { __LINE__, METHOD_GET, "/%zz", BROWSER, 400 },
        { __LINE__, METHOD_GET, "/.git/config", BROWSER, 404 },
        { __LINE__, METHOD_GET, "/a%2Fb", BROWSER, 404 },
        { __LINE__, METHOD_OPTIONS, "/users", BROWSER, 204 },
        { __LINE__, METHOD_REGISTERED, "/users", BROWSER, 405 },
    };
    struct site_fixture *fixture = *state;

    fixture->options.spa = "/app.html";
    site_fixture_start(fixture);
    assert_true(site_has_spa(fixture->site));
    /* The second round is answered by what the first one left in the cache. */
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        size_t at = i % (sizeof cases / sizeof cases[0]);
        struct answer answer =
            ask(fixture, cases[at].method, cases[at].target, cases[at].lines);
        const char *body = cases[at].method == METHOD_HEAD ? "" : APP;

        CHECK_CASE(cases[at].line, cases[at].target, answer.status == cases[at].status);
        if (answer.status == 200 && strcmp(cases[at].target, "/a.txt") != 0) {
            CHECK_CASE(cases[at].line, cases[at].target,
                       strcmp(answer.body, body) == 0 && answer.content_length == 6);
            CHECK_CASE(cases[at].line, cases[at].target,
                       has_field(&answer, "Vary", "Accept"));
        } else {
            CHECK_CASE(cases[at].line, cases[at].target,
                       has_field(&answer, "Vary", NULL));
        }
        answer_free(&answer);
    }
}

/* The page is a file like any other, with its own rules. */
static void test_the_page_is_a_file(void **state)
{
    static const char *const rules[] = { "app.html=max-age=1", "*=max-age=2" };
    struct site_fixture *fixture = *state;
    char lines[128];
    struct answer page, direct;

    fixture->options.spa = "app.html";
    fixture->options.cache_rules = (struct site_rule_list){ rules, 2 };
    site_fixture_start(fixture);
    page = get(fixture, "/users");
    assert_true(has_field(&page, "Cache-Control", "max-age=1"));
    assert_true(has_field(&page, "Content-Type", "text/html; charset=utf-8"));
    assert_true(page.one_send);
    direct = get(fixture, "/app.html");
    assert_true(gives(fixture, "/app.html", APP));
    assert_true(has_field(&direct, "Vary", NULL));
    assert_true(has_field(&direct, "ETag", field(&page, "ETag")));
    (void)snprintf(lines, sizeof lines, "If-None-Match: %s\n", field(&page, "ETag"));
    answer_free(&page);
    answer_free(&direct);
    page = ask(fixture, METHOD_GET, "/users", lines);
    assert_int_equal(page.status, 304);
    assert_true(has_field(&page, "Vary", "Accept"));
    answer_free(&page);
    page = ask(fixture, METHOD_GET, "/users", "Range: bytes=3-4\n");
    assert_int_equal(page.status, 206);
    assert_string_equal(page.body, "ap");
    assert_true(has_field(&page, "Vary", "Accept"));
    answer_free(&page);
    assert_int_equal(status_of(fixture, METHOD_GET, "/users", "If-Match: \"x\"\n"), 412);
}

/* It and what it stands for change, and are looked at again. */
static void test_the_page_changes(void **state)
{
    struct site_fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;

    fixture->options.spa = "next.html";
    fixture->options.revalidate_ms = 0;
    site_fixture_start(fixture);
    assert_false(site_has_spa(fixture->site));
    assert_int_equal(status_of(fixture, METHOD_GET, "/users", ""), 404);
    tree_text(tree, "next.html", "<p>one");
    assert_true(site_has_spa(fixture->site));
    assert_true(gives(fixture, "/users", "<p>one"));
    tree_text(tree, "new", "<p>another");
    tree_rename(tree, "new", "next.html");
    assert_true(gives(fixture, "/users", "<p>another"));
    assert_true(gives(fixture, "/users", "<p>another"));
    tree_text(tree, "users", "a file now");
    assert_true(gives(fixture, "/users", "a file now"));
    assert_int_equal(remove(tree_path(tree, "users")), 0);
    assert_true(gives(fixture, "/users", "<p>another"));
    assert_int_equal(remove(tree_path(tree, "next.html")), 0);
    assert_int_equal(status_of(fixture, METHOD_GET, "/users", ""), 404);
}

/* What cannot be the page leaves the missing missing, and leads nowhere else. */
static void test_pages_that_are_none(void **state)
{
    static const struct {
        const char *spa;
        unsigned status;
    } cases[] = {
        { "dir", 404 }, { "outside", 404 }, { "no-such/x", 404 }, { "fifo", 403 }
    };
    struct site_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture->options.spa = cases[i].spa;
        site_fixture_start(fixture);
        assert_false(site_has_spa(fixture->site));
        for (unsigned round = 0; round < 2; round++) {
            CHECK_CASE(__LINE__, cases[i].spa,
                       status_of(fixture, METHOD_GET, "/users", "") == cases[i].status);
        }
        site_view_close(fixture->view);
        site_close(fixture->site);
    }
    fixture->view = NULL;
    fixture->site = NULL;
}

/* Each of the two looks is work of its own for a view that must not sleep. */
static void test_the_page_is_pending(void **state)
{
    struct site_fixture *fixture = *state;
    struct site_view *view;
    struct response response;
    struct work *work = NULL;
    struct answer answer;
    unsigned times = 0;

    fixture->options.spa = "app.html";
    site_fixture_start(fixture);
    view = site_view_open(fixture->site, SITE_PRIVATE_CACHE, false);
    assert_non_null(view);
    view->store->root.current->way = FILE_WALK; /* nothing is known without sleeping */
    make_request(&fixture->request, METHOD_GET, "/users", "");
    while (site_handle(view, &fixture->request, &work, fixture->now_ms, &response) ==
           SITE_PENDING) {
        work_run(work);
        times++;
    }
    assert_null(work);
    assert_int_equal(times, 2);
    answer = collect(&fixture->request, &response);
    assert_int_equal(answer.status, 200);
    assert_string_equal(answer.body, APP);
    answer_free(&answer);
    answer = ask_view(fixture, view, METHOD_GET, "/other", "");
    assert_string_equal(answer.body, APP);
    answer_free(&answer);
    site_view_close(view);
}

/* ---- error pages */

static void test_error_pages(void **state)
{
    static const struct {
        int line;
        enum request_method method;
        const char *target, *lines;
        unsigned status;
        const char *body; /* NULL: that of the server */
        const char *type;
    } cases[] = {
        { __LINE__, METHOD_GET, "/missing", "", 404, "<p>lost", "text/html; charset=x" },
        { __LINE__, METHOD_HEAD, "/missing", "", 404, "<p>lost", "text/html; charset=x" },
        { __LINE__, METHOD_GET, "/.git", "", 404, "<p>lost", "text/html; charset=x" },
        { __LINE__, METHOD_GET, "/%zz", "", 400, "sorry{}", "text/css; charset=x" },
        { __LINE__, METHOD_REGISTERED, "/", "", 405, "", "application/octet-stream" },
        { __LINE__, METHOD_GET, "/a.txt", "Range: bytes=99-\n", 416, "sorry{}",
          "text/css; charset=x" },
        { __LINE__, METHOD_GET, "/fifo", "", 403, NULL, "text/html; charset=utf-8" },
        { __LINE__, METHOD_GET, "/dir", "", 301, NULL, "text/html; charset=utf-8" },
    };
    static const char *const pages[] = { "404=sorry.css", "404=/lost.html",
                                         "416=sorry.css", "400=sorry.css",
                                         "405=empty",     "402=sorry.css" };
    struct site_fixture *fixture = *state;

    fixture->options.charset = "x";
    site_fixture_start(fixture);
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        assert_int_equal(site_set_error_page(fixture->site, pages[i]), 0);
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer =
            ask(fixture, cases[i].method, cases[i].target, cases[i].lines);

        CHECK_CASE(cases[i].line, cases[i].target, answer.status == cases[i].status);
        CHECK_CASE(cases[i].line, cases[i].target,
                   has_field(&answer, "Content-Type", cases[i].type));
        CHECK_CASE(cases[i].line, cases[i].target, has_field(&answer, "ETag", NULL));
        if (cases[i].body != NULL) {
            const char *body = cases[i].method == METHOD_HEAD ? "" : cases[i].body;

            CHECK_CASE(cases[i].line, cases[i].target, strcmp(answer.body, body) == 0);
            CHECK_CASE(cases[i].line, cases[i].target,
                       answer.content_length == (int64_t)strlen(cases[i].body));
            CHECK_CASE(cases[i].line, cases[i].target,
                       has_field(&answer, "Cache-Control", "no-store"));
        }
        answer_free(&answer);
    }
}

/* What goes with a status stays, and the file is read once. */
static void test_error_page_keeps_its_fields(void **state)
{
    struct site_fixture *fixture = *state;
    struct answer answer;

    fixture->options.revalidate_ms = 0;
    site_fixture_start(fixture);
    assert_int_equal(site_set_error_page(fixture->site, "405=lost.html"), 0);
    assert_int_equal(site_set_error_page(fixture->site, "503=largest"), 0);
    assert_int_equal(site_set_error_page(fixture->site, "416=lost.html"), 0);
    tree_text(&fixture->tree, "lost.html", "<p>changed");
    answer = ask(fixture, METHOD_REGISTERED, "/", "");
    assert_true(has_field(&answer, "Allow", "GET, HEAD, OPTIONS"));
    assert_string_equal(answer.body, "<p>lost");
    answer_free(&answer);
    answer = ask(fixture, METHOD_GET, "/a.txt", "Range: bytes=99-\n");
    assert_true(has_field(&answer, "Content-Range", "bytes */10"));
    assert_string_equal(answer.body, "<p>lost");
    answer_free(&answer);
    /* As the protocol layer refuses, too. */
    make_request(&fixture->request, METHOD_GET, "/", "");
    fixture->request.status = 503;
    {
        struct response response;
        struct work *work = NULL;

        assert_int_equal(site_handle(fixture->view, &fixture->request, &work,
                                     fixture->now_ms, &response),
                         SITE_READY);
        answer = collect(&fixture->request, &response);
    }
    assert_true(has_field(&answer, "Retry-After", "1"));
    assert_int_equal(answer.len, FILE_MEMORY_MAX);
    assert_true(answer.body[1000] == tree_byte(1000));
    answer_free(&answer);
}

static void test_bad_error_pages(void **state)
{
    static const struct {
        int line;
        const char *rule;
        int result;
    } cases[] = {
        { __LINE__, "404=no-such-file", -ENOENT },
        { __LINE__, "404=a.txt/x", -ENOTDIR },
        { __LINE__, "404=dir", -EISDIR },
        { __LINE__, "404=outside", -EXDEV },
        { __LINE__, "404=large", -EFBIG },
        { __LINE__, "404=fifo", -EACCES },
        { __LINE__, "402=no-such-file", -ENOENT },
        { __LINE__, "404=../x", -EINVAL },
        { __LINE__, "404", -EINVAL },
    };
    struct site_fixture *fixture = *state;
    struct answer answer;

    site_fixture_start(fixture);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_CASE(cases[i].line, cases[i].rule,
                   site_set_error_page(fixture->site, cases[i].rule) == cases[i].result);
    }
    answer = get(fixture, "/missing");
    assert_non_null(strstr(answer.body, "404 Not Found"));
    answer_free(&answer);
}

/* The page for the missing comes first; where there is none, the error page. */
static void test_both(void **state)
{
    struct site_fixture *fixture = *state;
    struct answer answer;

    fixture->options.spa = "app.html";
    site_fixture_start(fixture);
    assert_int_equal(site_set_error_page(fixture->site, "404=lost.html"), 0);
    assert_true(gives(fixture, "/users", APP));
    answer = get(fixture, "/app.js");
    assert_int_equal(answer.status, 404);
    assert_string_equal(answer.body, "<p>lost");
    answer_free(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_who_gets_the_page, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_page_is_a_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_page_changes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pages_that_are_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_page_is_pending, setup, teardown),
        cmocka_unit_test_setup_teardown(test_error_pages, setup, teardown),
        cmocka_unit_test_setup_teardown(test_error_page_keeps_its_fields, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_bad_error_pages, setup, teardown),
        cmocka_unit_test_setup_teardown(test_both, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
