/* Unit tests of the site where directories are listed: when, the fields, HTML or JSON,
 * conditions, and how much may be on its way at a time. */
#include "site_driver.h"

#define JSON "Accept: application/json"

static int setup(void **state)
{
    struct site_fixture *fixture = site_deployed(1000);

    tree_directory(&fixture->tree, "root/list");
    tree_text(&fixture->tree, "root/list/b.txt", "bbb");
    tree_text(&fixture->tree, "root/list/a b.txt", "a");
    tree_directory(&fixture->tree, "root/list/sub");
    tree_mtime(&fixture->tree, "root/list/b.txt", 1, 0);
    tree_mtime(&fixture->tree, "root/list/a b.txt", 2, 0);
    tree_mtime(&fixture->tree, "root/list/sub", 3, 0);
    site_view_close(fixture->view);
    site_close(fixture->site);
    fixture->options.listing = true;
    site_fixture_start(fixture);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct site_fixture *fixture = *state;

    assert_int_equal(atomic_load(&fixture->site->listings.used), 0);
    site_undeployed(fixture);
    return 0;
}

static const char data[] = "[\n"
                           "{\"name\":\"sub\",\"type\":\"directory\",\"size\":null,"
                           "\"mtime\":\"1970-01-01T00:00:03Z\"},\n"
                           "{\"name\":\"a b.txt\",\"type\":\"file\",\"size\":1,"
                           "\"mtime\":\"1970-01-01T00:00:02Z\"},\n"
                           "{\"name\":\"b.txt\",\"type\":\"file\",\"size\":3,"
                           "\"mtime\":\"1970-01-01T00:00:01Z\"}\n"
                           "]\n";

/* ---- what is sent */

static void test_page(void **state)
{
    struct site_fixture *fixture = *state;
    struct answer answer = get(fixture, "/list/");
    struct answer head = ask(fixture, METHOD_HEAD, "/list/", "");

    assert_int_equal(answer.status, 200);
    assert_true(has_field(&answer, "Content-Type", "text/html; charset=utf-8"));
    assert_true(has_field(&answer, "Vary", "Accept"));
    assert_true(has_field(&answer, "Cache-Control", "no-cache"));
    assert_true(has_field(&answer, "X-Content-Type-Options", "nosniff"));
    assert_true(has_field(&answer, "Content-Security-Policy",
                          "default-src 'none'; style-src 'unsafe-inline'"));
    assert_true(has_field(&answer, "Listing-Limit", NULL));
    assert_true(has_field(&answer, "ETag", NULL));
    assert_true(has_field(&answer, "Last-Modified", NULL));
    assert_true(has_field(&answer, "Accept-Ranges", NULL));
    assert_non_null(strstr(answer.body, "<a href=\"./a%20b.txt\">a b.txt</a>"));
    assert_non_null(strstr(answer.body, "<title>Index of /list/</title>"));
    assert_true(same_head(&head, &answer));
    answer_free(&answer);
    answer_free(&head);
}

static void test_data(void **state)
{
    static const struct {
        int line;
        const char *target, *lines;
        bool json;
    } cases[] = {
        { __LINE__, "/list/", JSON, true },
        { __LINE__, "/list/", JSON ", text/html", false },
        { __LINE__, "/list/", "Accept: text/html;q=0.1, application/json;q=0.2", true },
        { __LINE__, "/list/", "Accept: */*", false },
        { __LINE__, "/list/?format=json", "", true },
        { __LINE__, "/list/?format=json", "Accept: text/html", true },
        { __LINE__, "/list/?format=html", JSON, false },
        { __LINE__, "/list/?x&format=json", "", true },
        { __LINE__, "/list/?", JSON, true },
        { __LINE__, "/%6cist/", JSON, true },
        { __LINE__, "//list/./", JSON, true },
    };
    struct site_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer = ask(fixture, METHOD_GET, cases[i].target, cases[i].lines);

        CHECK_CASE(cases[i].line, cases[i].target, answer.status == 200);
        CHECK_CASE(cases[i].line, cases[i].target,
                   has_field(&answer, "Content-Type",
                             cases[i].json ? "application/json; charset=utf-8"
                                           : "text/html; charset=utf-8"));
        CHECK_CASE(cases[i].line, cases[i].target, has_field(&answer, "Vary", "Accept"));
        CHECK_CASE(cases[i].line, cases[i].target,
                   !cases[i].json || strcmp(answer.body, data) == 0);
        answer_free(&answer);
    }
}

static void test_order(void **state)
{
    static const struct {
        int line;
        const char *target;
        const char *order; /* by size: sub has none */
    } cases[] = {
        { __LINE__, "/list/?format=json", "sab" },
        { __LINE__, "/list/?format=json&order=desc", "sba" },
        { __LINE__, "/list/?format=json&sort=size", "sab" },
        { __LINE__, "/list/?format=json&sort=size&order=desc", "sba" },
        { __LINE__, "/list/?format=json&sort=time", "sba" },
        { __LINE__, "/list/?format=json&sort=time&order=desc", "sab" },
        { __LINE__, "/list/?format=json&sort=%74ime", "sab" },
    };
    struct site_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer = get(fixture, cases[i].target);
        char order[4] = "";
        const char *at = answer.body;

        for (unsigned n = 0; n < 3; n++) {
            at = strstr(at, "\"name\":\"");
            assert_non_null(at);
            at += sizeof "\"name\":\"" - 1;
            order[n] = *at;
        }
        CHECK_CASE(cases[i].line, cases[i].target, strcmp(order, cases[i].order) == 0);
        answer_free(&answer);
    }
}

/* ---- when it is, and when not */

static void test_when(void **state)
{
    static const struct {
        int line;
        const char *target;
        unsigned status;
        const char *title; /* of the listing; NULL: none */
    } cases[] = {
        { __LINE__, "/", 200, "<title>Index of /</title>" },
        { __LINE__, "/list/sub/", 200, "<title>Index of /list/sub/</title>" },
        { __LINE__, "/dir/", 200, NULL },
        { __LINE__, "/list", 301, NULL },
        { __LINE__, "/a.txt/", 404, NULL },
        { __LINE__, "/missing/", 404, NULL },
        { __LINE__, "/.hidden/", 404, NULL },
        { __LINE__, "/escapes/", 404, NULL },
        { __LINE__, "/bad-index/", 404, NULL },
        { __LINE__, "/dangling-index/", 200, "<title>Index of /dangling-index/</title>" },
    };
    struct site_fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;

    tree_directory(tree, "root/.hidden");
    tree_link(tree, "root/escapes", "..");
    assert_int_equal(unlink(tree_path(tree, "root/escapes")), 0);
    tree_link(tree, "root/escapes", "../..");
    tree_directory(tree, "root/bad-index");
    tree_link(tree, "root/bad-index/index.html", "/etc/passwd");
    tree_directory(tree, "root/dangling-index");
    tree_link(tree, "root/dangling-index/index.html", "nowhere");
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        struct answer answer = get(fixture, cases[i / 2].target);

        CHECK_CASE(cases[i / 2].line, cases[i / 2].target,
                   answer.status == cases[i / 2].status);
        CHECK_CASE(cases[i / 2].line, cases[i / 2].target,
                   cases[i / 2].title == NULL
                       ? strstr(answer.body, "Index of") == NULL
                       : strstr(answer.body, cases[i / 2].title) != NULL);
        answer_free(&answer);
    }
    /* A POST is no question for a listing. */
    assert_int_equal(status_of(fixture, METHOD_REGISTERED, "/list/", ""), 405);
}

static void test_rights(void **state)
{
    struct site_fixture *fixture = *state;

    tree_directory(&fixture->tree, "root/blind");
    assert_int_equal(chmod(tree_path(&fixture->tree, "root/blind"), 0111), 0);
    tree_drop_rights();
    assert_int_equal(status_of(fixture, METHOD_GET, "/blind/", ""), 403);
    tree_rights_again();
    assert_int_equal(chmod(tree_path(&fixture->tree, "root/blind"), 0755), 0);
}

/* A listing is made anew each time; an index that comes or goes is seen in time. */
static void test_changes(void **state)
{
    struct site_fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    struct answer answer = get(fixture, "/list/");

    answer_free(&answer);
    tree_text(tree, "root/list/new.txt", "new");
    answer = get(fixture, "/list/");
    assert_non_null(strstr(answer.body, "new.txt"));
    answer_free(&answer);
    tree_text(tree, "root/list/index.html", "an index");
    assert_true(gives(fixture, "/list/", "an index"));
    assert_int_equal(unlink(tree_path(tree, "root/list/index.html")), 0);
    fixture->now_ms += 1000;
    answer = get(fixture, "/list/");
    assert_non_null(strstr(answer.body, "new.txt"));
    answer_free(&answer);
    /* Nothing of the index is left. */
    assert_int_equal(file_cache_use(fixture->view->store->cache).blocks, 0);
}

static void test_conditions(void **state)
{
    static const struct {
        int line;
        const char *lines;
        unsigned status;
    } cases[] = {
        { __LINE__, "If-None-Match: *", 304 },
        { __LINE__, "If-None-Match: \"x\"", 200 },
        { __LINE__, "If-Match: *", 200 },
        { __LINE__, "If-Match: \"x\"", 412 },
        { __LINE__, "If-Modified-Since: Fri, 31 Dec 9999 23:59:59 GMT", 200 },
        { __LINE__, "If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT", 200 },
        { __LINE__, "Range: bytes=0-1", 200 },
        { __LINE__, "Range: bytes=0-1\nIf-Range: \"x\"", 200 },
    };
    struct site_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer = ask(fixture, METHOD_GET, "/list/", cases[i].lines);

        CHECK_CASE(cases[i].line, cases[i].lines, answer.status == cases[i].status);
        CHECK_CASE(cases[i].line, cases[i].lines, has_field(&answer, "Vary", "Accept"));
        CHECK_CASE(cases[i].line, cases[i].lines,
                   has_field(&answer, "Cache-Control",
                             cases[i].status == 412 ? "no-store" : "no-cache"));
        CHECK_CASE(cases[i].line, cases[i].lines,
                   cases[i].status != 304 || has_field(&answer, "Content-Type", NULL));
        answer_free(&answer);
    }
}

static void test_options_that_matter(void **state)
{
    struct site_fixture *fixture = *state;
    struct answer answer;

    site_view_close(fixture->view);
    site_close(fixture->site);
    fixture->options.headers =
        (struct site_rule_list){ (const char *const[]){ "X-A: 1" }, 1 };
    fixture->options.cache_rules = (struct site_rule_list){
        (const char *const[]){ "list/sub/=no-transform", "list/*=max-age=5" }, 2
    };
    fixture->options.charset = "";
    site_fixture_start(fixture);
    answer = ask(fixture, METHOD_GET, "/list/", JSON);
    assert_true(has_field(&answer, "X-A", "1"));
    assert_true(has_field(&answer, "Cache-Control", "max-age=5"));
    assert_true(has_field(&answer, "Content-Type", "application/json; charset=utf-8"));
    answer_free(&answer);
    answer = get(fixture, "/list/sub/");
    assert_true(has_field(&answer, "Cache-Control", "no-transform"));
    answer_free(&answer);
    answer = get(fixture, "/");
    assert_true(has_field(&answer, "Cache-Control", "no-cache"));
    answer_free(&answer);
}

/* ---- on the way */

static struct response begin(struct site_fixture *fixture)
{
    struct response response;
    struct work *work = NULL;

    make_request(&fixture->request, METHOD_GET, "/list/", JSON);
    assert_int_equal(
        site_handle(fixture->view, &fixture->request, &work, fixture->now_ms, &response),
        SITE_READY);
    return response;
}

/* Each answer has a text of its own, which lives until it is sent. */
static void test_texts_outlive_their_directory(void **state)
{
    struct site_fixture *fixture = *state;
    struct response first = begin(fixture);
    struct response second = begin(fixture);
    struct answer answer;

    tree_rename(&fixture->tree, "root/list", "gone");
    make_request(&fixture->request, METHOD_GET, "/list/", JSON);
    answer = collect(&fixture->request, &first);
    assert_string_equal(answer.body, data);
    answer_free(&answer);
    answer = collect(&fixture->request, &second);
    assert_string_equal(answer.body, data);
    answer_free(&answer);
}

static void test_texts_have_a_limit(void **state)
{
    enum { MANY = 100 };
    struct site_fixture *fixture = *state;
    struct response responses[MANY];
    unsigned begun = 0;
    struct answer answer;

    fixture->site->listings.most = 64 * 1024;
    do {
        assert_true(begun < MANY);
        responses[begun] = begin(fixture);
    } while (responses[begun++].status == 200);
    assert_true(begun > 5);
    assert_int_equal(responses[begun - 1].status, 503);
    /* Files are served all the same, and listings when others are sent. */
    assert_true(gives(fixture, "/a.txt", "first"));
    for (unsigned i = 0; i + 1 < begun; i++) {
        responses[i].release(responses[i].owner);
    }
    answer = ask(fixture, METHOD_GET, "/list/", JSON);
    assert_string_equal(answer.body, data);
    answer_free(&answer);
}

static void test_cut_short(void **state)
{
    struct site_fixture *fixture = *state;
    int at = open(tree_path(&fixture->tree, "root/list/sub"), O_PATH | O_CLOEXEC);
    struct answer answer;

    for (unsigned i = 0; i <= LISTING_ENTRIES_MAX; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "%05u", i);
        assert_int_equal(mkdirat(at, name, 0755), 0);
    }
    assert_int_equal(close(at), 0);
    for (unsigned i = 0; i < 2; i++) {
        size_t rows = 0;

        answer = ask(fixture, METHOD_GET, "/list/sub/", i == 0 ? "" : JSON);
        assert_int_equal(answer.status, 200);
        assert_true(has_field(&answer, "Listing-Limit", "10000"));
        for (const char *row = answer.body; row != NULL; rows++) {
            row = strstr(row + 1, i == 0 ? "<a href=\"./" : "{\"name\"");
        }
        assert_int_equal(rows - 1, LISTING_ENTRIES_MAX);
        assert_int_equal(
            strstr(answer.body, "There are more entries: only 10000") != NULL, i == 0);
        answer_free(&answer);
    }
}

static void test_pending(void **state)
{
    struct site_fixture *fixture = *state;
    struct site_view *view = site_view_open(fixture->site, SITE_PRIVATE_CACHE, false);
    struct response response;
    struct work *work = NULL;
    struct answer answer;

    assert_non_null(view);
    make_request(&fixture->request, METHOD_GET, "/list/", JSON);
    assert_int_equal(
        site_handle(view, &fixture->request, &work, fixture->now_ms, &response),
        SITE_PENDING);
    work_run(work);
    assert_int_equal(
        site_handle(view, &fixture->request, &work, fixture->now_ms, &response),
        SITE_READY);
    assert_null(work);
    answer = collect(&fixture->request, &response);
    assert_string_equal(answer.body, data);
    answer_free(&answer);
    /* The connection ended meanwhile: whoever lets go last frees the text. */
    assert_int_equal(
        site_handle(view, &fixture->request, &work, fixture->now_ms, &response),
        SITE_PENDING);
    (void)work_get(work);
    work_put(work);
    work_run(work);
    assert_true(atomic_load(&fixture->site->listings.used) > 0);
    work_put(work);
    site_view_close(view);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_page),
        TEST(test_data),
        TEST(test_order),
        TEST(test_when),
        TEST(test_rights),
        TEST(test_changes),
        TEST(test_conditions),
        TEST(test_options_that_matter),
        TEST(test_texts_outlive_their_directory),
        TEST(test_texts_have_a_limit),
        TEST(test_cut_short),
        TEST(test_pending),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
