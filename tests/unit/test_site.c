/* Unit tests of site.c, site_page.c and site_root.c: from a request to its status and
 * fields. */
#include "config.h"

#include "site_driver.h"

#include "clock.h"
#include "http_date.h"

static int setup(void **state)
{
    struct site_fixture *fixture = calloc(1, sizeof *fixture);
    const struct tree *tree = &fixture->tree;

    site_fixture_open(fixture);
    tree_text(tree, "index.html", "<p>root");
    tree_text(tree, "a.txt", "0123456789");
    tree_text(tree, "empty", "");
    tree_text(tree, "with space.txt", "space");
    tree_text(tree, "a+b.txt", "plus");
    tree_text(tree, "caf\xc3\xa9.txt", "utf-8");
    tree_text(tree, "per%20cent", "percent");
    tree_text(tree, "foo%25bar.txt", "twice");
    tree_text(tree, "foo%bar.txt", "once");
    tree_text(tree, ".hidden", "hidden");
    tree_directory(tree, ".well-known");
    tree_text(tree, ".well-known/x", "known");
    tree_directory(tree, "dir");
    tree_text(tree, "dir/index.html", "<p>dir");
    tree_directory(tree, "bare");
    tree_directory(tree, "d\r\nX: y");
    tree_directory(tree, "\\evil.test");
    tree_link(tree, "outside", "/etc/passwd");
    tree_link(tree, "loop", "loop");
    assert_int_equal(mkfifo(tree_path(tree, "fifo"), 0644), 0);
    tree_socket(tree, "socket");
    site_fixture_start(fixture);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    site_fixture_close(*state);
    free(*state);
    return 0;
}

struct status_case {
    int line;
    const char *target;
    unsigned status;
};

static const struct status_case status_cases[] = {
    { __LINE__, "/", 200 },
    { __LINE__, "/a.txt", 200 },
    { __LINE__, "/a.txt?query", 200 },
    { __LINE__, "/%61.txt", 200 },
    { __LINE__, "//a.txt", 200 },
    { __LINE__, "/./dir/../a.txt", 200 },
    { __LINE__, "/with%20space.txt", 200 },
    { __LINE__, "/caf%C3%A9.txt", 200 },
    { __LINE__, "/a+b.txt", 200 },
    { __LINE__, "/a%2Bb.txt", 200 },
    { __LINE__, "/a%20b.txt", 404 },
    { __LINE__, "/dir/", 200 },
    { __LINE__, "/dir/.", 200 },
    { __LINE__, "/dir", 301 },
    { __LINE__, "/bare", 301 },
    { __LINE__, "/bare/", 404 },
    { __LINE__, "/missing", 404 },
    { __LINE__, "/a.txt/", 404 },
    { __LINE__, "/a.txt/x", 404 },
    { __LINE__, "/a.txt%20", 404 },
    { __LINE__, "/a.txt.", 404 },
    { __LINE__, "/dir%2Findex.html", 404 },
    { __LINE__, "/x//%5c../%5c../etc/passwd", 404 },
    { __LINE__, "/outside", 404 },
    { __LINE__, "/loop", 404 },
    { __LINE__, "/.hidden", 404 },
    { __LINE__, "/%2ehidden", 404 },
    { __LINE__, "/.well-known/x", 200 },
    { __LINE__, "/fifo", 403 },
    { __LINE__, "/socket", 403 },
    { __LINE__, "/fifo/", 404 },
    { __LINE__, "/..", 400 },
    { __LINE__, "/%2e%2e/%2e%2e/etc/passwd", 400 },
    { __LINE__, "/a.txt%00", 400 },
    { __LINE__, "/%", 400 },
    { __LINE__, "/%zz", 400 },
};

/* HEAD has the fields of GET, the length included, and no body. */
static void check_status(struct site_fixture *fixture, const struct status_case *expected)
{
    struct answer answer = get(fixture, expected->target);
    struct answer head = ask(fixture, METHOD_HEAD, expected->target, "");

    CHECK_CASE(expected->line, expected->target, answer.status == expected->status);
    CHECK_CASE(expected->line, expected->target, !answer.close);
    CHECK_CASE(expected->line, expected->target, head.status == answer.status);
    CHECK_CASE(expected->line, expected->target, head.len == 0);
    CHECK_CASE(expected->line, expected->target,
               head.content_length == answer.content_length);
    CHECK_CASE(expected->line, expected->target, head.head_len == answer.head_len);
    answer_free(&answer);
    answer_free(&head);
}

/* The second round is answered by what the first one left in the cache. */
static void test_statuses(void **state)
{
    for (unsigned round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof status_cases / sizeof status_cases[0]; i++) {
            check_status(*state, &status_cases[i]);
        }
    }
}

static void test_names_too_long(void **state)
{
    static const size_t lengths[] = { 257, 4094, 4095, 4096, 4097, 8000 };

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char target[8001];

        memset(target, 'n', lengths[i]);
        target[0] = '/';
        target[lengths[i]] = '\0';
        check_status(*state, &(struct status_case){ __LINE__, target, 404 });
        check_status(*state, &(struct status_case){ __LINE__, target, 404 });
    }
}

/* A path with an escape must not find what is kept for a file with a "%" in its name. */
static void test_decoded_once_and_kept_apart(void **state)
{
    for (unsigned round = 0; round < 2; round++) {
        assert_true(gives(*state, "/foo%2525bar.txt", "twice"));
        assert_true(gives(*state, "/foo%25bar.txt", "once"));
        assert_true(gives(*state, "/per%2520cent", "percent"));
        assert_int_equal(status_of(*state, METHOD_GET, "/per%20cent", ""), 404);
    }
}

/* However a path is spelled, a file is kept once. */
static void test_spellings_share_one_entry(void **state)
{
    struct site_fixture *fixture = *state;
    struct file_cache *cache = fixture->view->store->cache;

    assert_true(gives(fixture, "/%61.txt", "0123456789"));
    assert_true(gives(fixture, "/a.txt", "0123456789"));
    assert_true(gives(fixture, "//a.txt", "0123456789"));
    assert_true(gives(fixture, "/dir/../a%2Etxt", "0123456789"));
    assert_int_equal(file_cache_use(cache).blocks, 1);
}

static void test_fields_of_a_file(void **state)
{
    struct site_fixture *fixture = *state;
    struct answer answer;

    tree_mtime(&fixture->tree, "a.txt", 784111777, 5);
    answer = get(fixture, "/a.txt");
    assert_true(has_field(&answer, "Content-Type", "text/plain; charset=utf-8"));
    assert_true(has_field(&answer, "Content-Length", "10"));
    assert_true(has_field(&answer, "Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"));
    assert_true(has_field(&answer, "ETag", "\"ae1b981bc490a05-a\""));
    assert_true(has_field(&answer, "Accept-Ranges", "bytes"));
    assert_true(has_field(&answer, "Cache-Control", "no-cache"));
    assert_true(has_field(&answer, "X-Content-Type-Options", "nosniff"));
    assert_true(has_field(&answer, "Server", NULL));
    assert_true(answer.one_send);
    assert_true(answer.head_len < 512);
    answer_free(&answer);
    answer = get(fixture, "/empty");
    assert_true(has_field(&answer, "Content-Type", "application/octet-stream"));
    assert_true(has_field(&answer, "Content-Length", "0"));
    assert_true(answer.one_send);
    answer_free(&answer);
}

static void test_type_is_of_the_index(void **state)
{
    struct answer answer = get(*state, "/dir/");

    assert_true(has_field(&answer, "Content-Type", "text/html; charset=utf-8"));
    assert_string_equal(answer.body, "<p>dir");
    answer_free(&answer);
}

static void test_times_that_say_nothing(void **state)
{
    struct site_fixture *fixture = *state;
    struct answer answer;
    int64_t modified;

    fixture->options.revalidate_ms = 0;
    tree_mtime(&fixture->tree, "a.txt", 1, 0);
    answer = get(fixture, "/a.txt");
    assert_int_equal(answer.status, 200);
    assert_true(has_field(&answer, "Last-Modified", NULL));
    assert_true(has_field(&answer, "ETag", NULL));
    answer_free(&answer);
    /* A time to come is not said. */
    tree_mtime(&fixture->tree, "empty", clock_wall_seconds() + 1000000, 0);
    answer = get(fixture, "/empty");
    assert_true(http_date_parse(slice_of(field(&answer, "Last-Modified")),
                                clock_wall_seconds(), &modified));
    assert_in_range(modified, clock_wall_seconds() - 10, clock_wall_seconds());
    assert_true(has_field(&answer, "Last-Modified", field(&answer, "Date")));
    assert_non_null(field(&answer, "ETag"));
    answer_free(&answer);
}

static void test_server_field(void **state)
{
    struct site_fixture *fixture = *state;
    static const struct {
        enum site_server_header header;
        const char *value;
    } cases[] = {
        { SITE_SERVER_NAME, "tetrad" },
        { SITE_SERVER_FULL, "tetrad/" PACKAGE_VERSION " (driver)" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static const char *const targets[] = { "/a.txt", "/missing", "/dir" };

        site_view_close(fixture->view);
        site_close(fixture->site);
        fixture->options.server_header = cases[i].header;
        site_fixture_start(fixture);
        for (size_t j = 0; j < sizeof targets / sizeof targets[0]; j++) {
            struct answer answer = get(fixture, targets[j]);

            assert_true(has_field(&answer, "Server", cases[i].value));
            assert_true(answer.head_len < 512);
            answer_free(&answer);
        }
    }
}

static void test_fields_of_an_error(void **state)
{
    struct answer answer = get(*state, "/missing");

    assert_true(has_field(&answer, "Cache-Control", "no-store"));
    assert_true(has_field(&answer, "Content-Type", "text/html; charset=utf-8"));
    assert_true(has_field(&answer, "X-Content-Type-Options", "nosniff"));
    assert_true(has_field(&answer, "ETag", NULL));
    assert_true(has_field(&answer, "Last-Modified", NULL));
    assert_non_null(strstr(answer.body, "404 Not Found"));
    answer_free(&answer);
}

static void test_methods(void **state)
{
    static const struct {
        int line;
        enum request_method method;
        const char *target;
        unsigned status;
        bool close;
    } cases[] = {
        { __LINE__, METHOD_OPTIONS, "*", 204, false },
        { __LINE__, METHOD_OPTIONS, "/a.txt", 204, false },
        { __LINE__, METHOD_OPTIONS, "/missing", 204, false },
        { __LINE__, METHOD_OPTIONS, "/a%2Fb", 204, false },
        { __LINE__, METHOD_OPTIONS, "/%zz", 400, false },
        { __LINE__, METHOD_REGISTERED, "/a.txt", 405, false },
        { __LINE__, METHOD_REGISTERED, "/missing", 405, false },
        { __LINE__, METHOD_CONNECT, "t.test:80", 405, true },
        { __LINE__, METHOD_UNKNOWN, "/a.txt", 501, true },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer = ask(*state, cases[i].method, cases[i].target, "");
        bool allows = has_field(&answer, "Allow", "GET, HEAD, OPTIONS");

        CHECK_CASE(cases[i].line, cases[i].target, answer.status == cases[i].status);
        CHECK_CASE(cases[i].line, cases[i].target, answer.close == cases[i].close);
        CHECK_CASE(cases[i].line, cases[i].target,
                   allows == (cases[i].status == 204 || cases[i].status == 405));
        if (cases[i].status == 204) {
            CHECK_CASE(cases[i].line, cases[i].target,
                       has_field(&answer, "Content-Length", NULL));
            CHECK_CASE(cases[i].line, cases[i].target,
                       has_field(&answer, "Content-Type", NULL));
        }
        answer_free(&answer);
    }
}

static void test_refusals_of_the_protocol(void **state)
{
    static const unsigned statuses[] = { 400, 408, 413, 414, 417, 431, 501, 503, 505 };
    struct site_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        for (unsigned method = METHOD_GET; method <= METHOD_UNKNOWN; method++) {
            struct response response;
            struct work *work = NULL;
            struct answer answer;

            make_request(&fixture->request, (enum request_method)method, "/a.txt", "");
            fixture->request.path = (struct slice){ NULL, 0 };
            fixture->request.status = statuses[i];
            assert_int_equal(site_handle(fixture->view, &fixture->request, &work,
                                         fixture->now_ms, &response),
                             SITE_READY);
            answer = collect(&fixture->request, &response);
            assert_int_equal(answer.status, statuses[i]);
            assert_true(answer.content_length > 0);
            assert_int_equal(answer.len > 0, method != METHOD_HEAD);
            assert_true(
                has_field(&answer, "Retry-After", statuses[i] == 503 ? "1" : NULL));
            answer_free(&answer);
        }
    }
}

static void test_redirects(void **state)
{
    static const struct {
        int line;
        const char *target, *location;
    } cases[] = {
        { __LINE__, "/dir", "/dir/" },
        { __LINE__, "/dir?x=1&y=%20", "/dir/?x=1&y=%20" },
        { __LINE__, "/dir?", "/dir/?" },
        { __LINE__, "//dir", "/dir/" },
        { __LINE__, "///evil.test/../dir", "/dir/" },
        { __LINE__, "/%64ir?a", "/dir/?a" },
        { __LINE__, "/d%0d%0aX:%20y", "/d%0D%0AX:%20y/" },
        { __LINE__, "/%5cevil.test", "/%5Cevil.test/" },
        { __LINE__, "/.well-known", "/.well-known/" },
    };

    for (unsigned round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct answer answer = get(*state, cases[i].target);

            CHECK_CASE(cases[i].line, cases[i].target, answer.status == 301);
            CHECK_CASE(cases[i].line, cases[i].target,
                       has_field(&answer, "Location", cases[i].location));
            CHECK_CASE(cases[i].line, cases[i].target,
                       has_field(&answer, "X", NULL) && answer.len > 0);
            answer_free(&answer);
        }
    }
    /* To another host, never: what the slashes lead to is below the root. */
    assert_int_equal(status_of(*state, METHOD_GET, "//evil.test/%2e%2e", ""), 200);
    assert_int_equal(status_of(*state, METHOD_GET, "//evil.test/..%2f..%2f../dir", ""),
                     404);
}

static void test_longest_redirect(void **state)
{
    struct site_fixture *fixture = *state;
    char target[REQUEST_TARGET_MAX + 1];
    struct answer answer;
    size_t len = 1;

    assert_int_equal(chdir(fixture->tree.path), 0);
    target[0] = '/';
    /* Directories whose every byte needs an escape, as deep as a path can be named. */
    while (len + 3 * 201 < 7000) {
        char name[201];

        memset(name, ' ', 200);
        name[200] = '\0';
        assert_int_equal(mkdir(name, 0755), 0);
        assert_int_equal(chdir(name), 0);
        if (len > 1) {
            target[len++] = '/';
        }
        for (unsigned i = 0; i < 200; i++) {
            memcpy(target + len, "%20", 3);
            len += 3;
        }
    }
    target[len++] = '?';
    memset(target + len, 'q', sizeof target - 1 - len);
    target[sizeof target - 1] = '\0';
    answer = get(fixture, target);
    assert_int_equal(answer.status, 301);
    assert_int_equal(strlen(field(&answer, "Location")), strlen(target) + 1);
    answer_free(&answer);
    assert_int_equal(chdir("/"), 0);
}

static void test_modes(void **state)
{
    struct site_fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;

    assert_int_equal(chmod(tree_path(tree, "a.txt"), 0), 0);
    assert_int_equal(chmod(tree_path(tree, "dir"), 0600), 0);
    assert_int_equal(chmod(tree_path(tree, ".well-known"), 0300), 0);
    tree_drop_rights();
    assert_int_equal(status_of(fixture, METHOD_GET, "/a.txt", ""), 403);
    assert_int_equal(status_of(fixture, METHOD_GET, "/dir/", ""), 403);
    assert_int_equal(status_of(fixture, METHOD_GET, "/dir/index.html", ""), 403);
    tree_rights_again();
    assert_int_equal(chmod(tree_path(tree, "dir"), 0700), 0);
    assert_int_equal(chmod(tree_path(tree, ".well-known"), 0700), 0);
}

static void test_open_refuses_a_bad_root(void **state)
{
    struct site_fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    struct site_options options = fixture->options;
    struct site *site;

    options.root = tree_path(tree, "missing");
    assert_int_equal(site_open(&site, &options), -ENOENT);
    options.root = tree_path(tree, "a.txt");
    assert_int_equal(site_open(&site, &options), -ENOTDIR);
    options.root = tree_path(tree, "bare");
    assert_int_equal(chmod(options.root, 0300), 0);
    tree_drop_rights();
    assert_int_equal(site_open(&site, &options), -EACCES);
    tree_rights_again();
    assert_int_equal(chmod(options.root, 0600), 0);
    tree_drop_rights();
    assert_int_equal(site_open(&site, &options), -EACCES);
    tree_rights_again();
    assert_int_equal(chmod(options.root, 0700), 0);
    site_close(NULL);
    site_view_close(NULL);
}

static void test_has_index(void **state)
{
    struct site_fixture *fixture = *state;

    assert_true(site_has_index(fixture->site));
    assert_int_equal(unlink(tree_path(&fixture->tree, "index.html")), 0);
    assert_false(site_has_index(fixture->site));
    tree_directory(&fixture->tree, "index.html");
    assert_false(site_has_index(fixture->site));
}

static void test_nothing_is_left(void **state)
{
    struct site_fixture *fixture = *state;
    unsigned before = tree_open_descriptors();
    struct site *site;
    struct site_view *view;
    struct answer answer;

    tree_bytes(&fixture->tree, "large", 200000);
    assert_int_equal(site_open(&site, &fixture->options), 0);
    view = site_view_open(site, SITE_PRIVATE_CACHE, true);
    answer = ask_view(fixture, view, METHOD_GET, "/large", "");
    assert_int_equal(answer.len, 200000);
    assert_false(answer.one_send);
    answer_free(&answer);
    site_view_close(view);
    view = site_view_open(site, SITE_SHARED_CACHE, true);
    answer = ask_view(fixture, view, METHOD_GET, "/large", "");
    answer_free(&answer);
    site_view_close(view);
    site_close(site);
    assert_int_equal(tree_open_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_statuses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names_too_long, setup, teardown),
        cmocka_unit_test_setup_teardown(test_decoded_once_and_kept_apart, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_spellings_share_one_entry, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fields_of_a_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_type_is_of_the_index, setup, teardown),
        cmocka_unit_test_setup_teardown(test_times_that_say_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_server_field, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fields_of_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(test_methods, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusals_of_the_protocol, setup, teardown),
        cmocka_unit_test_setup_teardown(test_redirects, setup, teardown),
        cmocka_unit_test_setup_teardown(test_longest_redirect, setup, teardown),
        cmocka_unit_test_setup_teardown(test_modes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_open_refuses_a_bad_root, setup, teardown),
        cmocka_unit_test_setup_teardown(test_has_index, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_is_left, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
