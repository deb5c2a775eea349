/* Unit tests of what options make of a site's answers: added fields, cache rules, charset,
 * media types, no entity tags, symbolic links, dotfiles. */
#include "site_driver.h"

#include <time.h>

#define RULES(values)                                                                    \
    (struct site_rule_list)                                                              \
    {                                                                                    \
        (values), sizeof(values) / sizeof((values)[0])                                   \
    }

static int setup(void **state)
{
    struct site_fixture *fixture = calloc(1, sizeof *fixture);
    const struct tree *tree = &fixture->tree;

    site_fixture_open(fixture);
    tree_text(tree, "index.html", "<p>root");
    tree_text(tree, "a.txt", "0123456789");
    tree_text(tree, "b.css", "b{}");
    tree_text(tree, "c.svg", "<svg/>");
    tree_text(tree, "d.png", "png");
    tree_text(tree, "e.odd", "odd");
    tree_directory(tree, "assets");
    tree_text(tree, "assets/index.html", "<p>assets");
    tree_text(tree, "assets/b.css", "b{}");
    tree_directory(tree, "assets/deep");
    tree_text(tree, "assets/deep/x.js", "x");
    tree_directory(tree, ".git");
    tree_text(tree, ".git/config", "config");
    tree_text(tree, ".git/index.html", "<p>git");
    tree_directory(tree, ".well-known");
    tree_text(tree, ".well-known/x", "known");
    tree_link(tree, "inside", "a.txt");
    tree_link(tree, "inside-dir", "assets");
    tree_link(tree, "outside", "/etc/passwd");
    tree_link(tree, "outside-dir", "/etc");
    tree_link(tree, "up", "..");
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    site_fixture_close(*state);
    free(*state);
    return 0;
}

/* ---- added fields */

/* In the order given, before the server's own of the answer, whatever the answer is. */
static void test_added_fields(void **state)
{
    static const char *const headers[] = { "X-One: 1", "Link: <a>; rel=x",
                                           "Link:<b>; rel=y" };
    static const char block[] =
        " GMT\r\nServer: tetrad\r\nX-One: 1\r\nLink: <a>; rel=x\r\nLink: <b>; rel=y\r\n"
        "Cache-Control: ";
    static const struct {
        int line;
        enum request_method method;
        const char *target, *lines;
        unsigned status;
    } cases[] = {
        { __LINE__, METHOD_GET, "/a.txt", "", 200 },
        { __LINE__, METHOD_HEAD, "/a.txt", "", 200 },
        { __LINE__, METHOD_GET, "/a.txt", "Range: bytes=1-2\n", 206 },
        { __LINE__, METHOD_GET, "/a.txt", "Range: bytes=1-2,5-6\n", 206 },
        { __LINE__, METHOD_GET, "/a.txt", "If-None-Match: *\n", 304 },
        { __LINE__, METHOD_GET, "/assets", "", 301 },
        { __LINE__, METHOD_GET, "/missing", "", 404 },
        { __LINE__, METHOD_GET, "/%00", "", 400 },
        { __LINE__, METHOD_GET, "/a.txt", "If-Match: \"x\"\n", 412 },
        { __LINE__, METHOD_GET, "/a.txt", "Range: bytes=10-\n", 416 },
        { __LINE__, METHOD_OPTIONS, "/a.txt", "", 204 },
        { __LINE__, METHOD_REGISTERED, "/a.txt", "", 405 },
        { __LINE__, METHOD_UNKNOWN, "/a.txt", "", 501 },
    };
    struct site_fixture *fixture = *state;

    fixture->options.server_header = SITE_SERVER_NAME;
    fixture->options.headers = RULES(headers);
    site_fixture_start(fixture);
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        size_t at = i / 2;
        struct answer answer =
            ask(fixture, cases[at].method, cases[at].target, cases[at].lines);

        CHECK_CASE(cases[at].line, cases[at].target, answer.status == cases[at].status);
        CHECK_CASE(cases[at].line, cases[at].target,
                   strstr(answer.head, block) != NULL &&
                       strstr(strstr(answer.head, block) + 1, block) == NULL);
        answer_free(&answer);
    }
}

/* As many bytes as may be added, and the longest of everything else: no line is lost. */
static void test_longest_fields(void **state)
{
    static char first[SITE_RULES_HEADERS_MAX / 2], second[SITE_RULES_HEADERS_MAX / 2 + 1];
    static char rule[2 + SITE_RULES_CACHE_MAX + 1], charset[SITE_RULES_CHARSET_MAX + 1];
    static char types[300];
    const char *headers[] = { first, second }, *cache[] = { rule };
    struct site_fixture *fixture = *state;
    struct mime_table *table;
    struct answer answer;
    unsigned bad_line;

    (void)snprintf(first, sizeof first, "A: %0*d", SITE_RULES_HEADERS_MAX / 2 - 5, 1);
    (void)snprintf(second, sizeof second, "B: %0*d", SITE_RULES_HEADERS_MAX / 2 - 5, 2);
    (void)snprintf(rule, sizeof rule, "*=%0*d", SITE_RULES_CACHE_MAX, 3);
    (void)snprintf(charset, sizeof charset, "%0*d", SITE_RULES_CHARSET_MAX, 4);
    (void)snprintf(types, sizeof types, "text/%0127d odd", 5);
    table = mime_table_parse(slice_of(types), &bad_line);
    assert_non_null(table);
    fixture->options.server_header = SITE_SERVER_FULL;
    fixture->options.model =
        "a-name-as-long-as-no-model-will-ever-have-0123456789-0123456789";
    fixture->options.headers = RULES(headers);
    fixture->options.cache_rules = RULES(cache);
    fixture->options.charset = charset;
    fixture->options.types = table;
    site_fixture_start(fixture);
    answer = get(fixture, "/e.odd");
    assert_int_equal(answer.status, 200);
    assert_string_equal(field(&answer, "A"), first + 3);
    assert_string_equal(field(&answer, "B"), second + 3);
    assert_string_equal(field(&answer, "Cache-Control"), rule + 2);
    assert_int_equal(strlen(field(&answer, "Content-Type")),
                     132 + strlen("; charset=") + SITE_RULES_CHARSET_MAX);
    assert_non_null(field(&answer, "ETag"));
    assert_non_null(field(&answer, "Last-Modified"));
    assert_non_null(field(&answer, "Accept-Ranges"));
    assert_non_null(field(&answer, "X-Content-Type-Options"));
    answer_free(&answer);
    /* The same as a page of its own. */
    assert_int_equal(site_set_error_page(fixture->site, "503=e.odd"), 0);
    answer = get(fixture, "/missing");
    assert_string_equal(field(&answer, "B"), second + 3);
    answer_free(&answer);
    site_fixture_stop(fixture);
    mime_table_free(table);
}

/* What the options' parsers would have refused. */
static void test_rules_that_are_none(void **state)
{
    static char large[SITE_RULES_HEADERS_MAX + 1];
    static const char *const owned[] = { "X: y", "Date: x" };
    static const char *const split[] = { "X: y\r\nZ: a" };
    static const char *const no_rule[] = { "*" };
    const char *too_much[] = { "X: y", large };
    struct site_fixture *fixture = *state;
    struct site_options options = fixture->options;
    struct site *site = NULL;

    options.headers = RULES(owned);
    assert_int_equal(site_open(&site, &options), -EPERM);
    options.headers = RULES(split);
    assert_int_equal(site_open(&site, &options), -EINVAL);
    (void)snprintf(large, sizeof large, "L: %0*d", SITE_RULES_HEADERS_MAX - 3, 0);
    options.headers = RULES(too_much);
    assert_int_equal(site_open(&site, &options), -EMSGSIZE);
    options = fixture->options;
    options.cache_rules = RULES(no_rule);
    assert_int_equal(site_open(&site, &options), -EINVAL);
    options = fixture->options;
    options.charset = "a b";
    assert_int_equal(site_open(&site, &options), -EINVAL);
    options = fixture->options;
    options.spa = "../x";
    assert_int_equal(site_open(&site, &options), -EINVAL);
    assert_null(site);
}

/* ---- cache rules */

/* By the path of the file that is sent; the first rule that matches. */
static void test_cache_rules(void **state)
{
    static const char *const rules[] = {
        "a.tx?=one",        "/assets/deep/*=deep, max-age=1",
        "assets/*=assets",  "*.css=style",
        "index.html=index", "[.]*=dot"
    };
    static const struct {
        int line;
        const char *target, *lines, *value;
    } cases[] = {
        { __LINE__, "/a.txt", "", "one" },
        { __LINE__, "/a.txt", "Range: bytes=0-1\n", "one" },
        { __LINE__, "/a.txt", "If-None-Match: *\n", "one" },
        { __LINE__, "/%61.txt?x", "", "one" },
        { __LINE__, "/inside", "", "no-cache" },
        { __LINE__, "/b.css", "", "style" },
        { __LINE__, "/", "", "index" },
        { __LINE__, "/assets/b.css", "", "assets" },
        { __LINE__, "/assets/", "", "assets" },
        { __LINE__, "/assets/deep/x.js", "", "deep, max-age=1" },
        { __LINE__, "/.well-known/x", "", "dot" },
        { __LINE__, "/d.png", "", "no-cache" },
        { __LINE__, "/assets", "", "no-cache" },
        { __LINE__, "/assets/missing.css", "", "no-store" },
        { __LINE__, "/a.txt", "If-Match: \"x\"\n", "no-store" },
        { __LINE__, "/a.txt", "Range: bytes=99-\n", "no-store" },
    };
    struct site_fixture *fixture = *state;

    fixture->options.cache_rules = RULES(rules);
    site_fixture_start(fixture);
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        size_t at = i / 2;
        struct answer answer =
            ask(fixture, METHOD_GET, cases[at].target, cases[at].lines);

        CHECK_CASE(cases[at].line, cases[at].target,
                   has_field(&answer, "Cache-Control", cases[at].value));
        answer_free(&answer);
    }
}

/* ---- types and charset */

static void test_charset(void **state)
{
    static const struct {
        int line;
        const char *charset, *target, *type;
    } cases[] = {
        { __LINE__, NULL, "/a.txt", "text/plain; charset=utf-8" },
        { __LINE__, "iso-8859-1", "/a.txt", "text/plain; charset=iso-8859-1" },
        { __LINE__, "iso-8859-1", "/", "text/html; charset=iso-8859-1" },
        { __LINE__, "iso-8859-1", "/c.svg", "image/svg+xml; charset=iso-8859-1" },
        { __LINE__, "iso-8859-1", "/d.png", "image/png" },
        { __LINE__, "", "/a.txt", "text/plain" },
        { __LINE__, "", "/c.svg", "image/svg+xml" },
        { __LINE__, "", "/d.png", "image/png" },
        /* What the server writes itself is UTF-8. */
        { __LINE__, "iso-8859-1", "/missing", "text/html; charset=utf-8" },
    };
    struct site_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer;

        fixture->options.charset = cases[i].charset;
        site_fixture_start(fixture);
        answer = get(fixture, cases[i].target);
        CHECK_CASE(cases[i].line, cases[i].target,
                   has_field(&answer, "Content-Type", cases[i].type));
        answer_free(&answer);
        site_view_close(fixture->view);
        site_close(fixture->site);
    }
    fixture->view = NULL;
    fixture->site = NULL;
}

static void test_types(void **state)
{
    static const char text[] = "# added\ntext/odd ODD\nimage/mine png\n";
    struct site_fixture *fixture = *state;
    unsigned bad_line;
    struct mime_table *table = mime_table_parse(slice_of(text), &bad_line);
    static const char *const expected[][2] = {
        { "/e.odd", "text/odd; charset=utf-8" },
        { "/d.png", "image/mine" },
        { "/b.css", "text/css; charset=utf-8" },
    };

    assert_non_null(table);
    fixture->options.types = table;
    site_fixture_start(fixture);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct answer answer = get(fixture, expected[i][0]);

        CHECK_CASE(__LINE__, expected[i][0],
                   has_field(&answer, "Content-Type", expected[i][1]));
        answer_free(&answer);
    }
    site_fixture_stop(fixture);
    mime_table_free(table);
}

/* ---- no entity tags */

static void test_no_etag(void **state)
{
    static const struct {
        int line;
        const char *lines;
        unsigned status;
    } cases[] = {
        { __LINE__, "", 200 },
        /* There is no tag that could match; but there is a file. */
        { __LINE__, "If-Match: \"%s\"\n", 412 },
        { __LINE__, "If-Match: \"\"\n", 412 },
        { __LINE__, "If-Match: *\n", 200 },
        { __LINE__, "If-None-Match: \"%s\"\n", 200 },
        { __LINE__, "If-None-Match: W/\"%s\", \"\"\n", 200 },
        { __LINE__, "If-None-Match: *\n", 304 },
        { __LINE__,
          "If-None-Match: \"x\"\nIf-Modified-Since: Mon, 06 May 2024 07:08:09 GMT\n",
          200 },
        { __LINE__, "If-Modified-Since: Mon, 06 May 2024 07:08:09 GMT\n", 304 },
        { __LINE__, "If-Unmodified-Since: Mon, 06 May 2024 07:08:08 GMT\n", 412 },
        { __LINE__, "Range: bytes=0-1\n", 206 },
        { __LINE__, "Range: bytes=0-1\nIf-Range: \"%s\"\n", 200 },
        { __LINE__, "Range: bytes=0-1\nIf-Range: \"\"\n", 200 },
        { __LINE__, "Range: bytes=0-1\nIf-Range: Mon, 06 May 2024 07:08:09 GMT\n", 206 },
    };
    struct site_fixture *fixture = *state;

    tree_mtime(&fixture->tree, "a.txt", 1714979289, 0);
    fixture->options.no_etag = true;
    site_fixture_start(fixture);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer;
        char lines[256];

        /* The tag that would else be sent. */
        (void)snprintf(lines, sizeof lines, cases[i].lines, "17ccd493b5ff3a00-a");
        answer = ask(fixture, METHOD_GET, "/a.txt", lines);
        CHECK_CASE(cases[i].line, lines, answer.status == cases[i].status);
        CHECK_CASE(cases[i].line, lines, has_field(&answer, "ETag", NULL));
        answer_free(&answer);
    }
}

/* ---- links and dotfiles */

static void test_links(void **state)
{
    static const struct {
        int line;
        const char *target;
        unsigned inside, never, follow;
    } cases[] = {
        { __LINE__, "/a.txt", 200, 200, 200 },
        { __LINE__, "/inside", 200, 404, 200 },
        { __LINE__, "/inside-dir", 301, 404, 301 },
        { __LINE__, "/inside-dir/b.css", 200, 404, 200 },
        { __LINE__, "/inside-dir/", 200, 404, 200 },
        { __LINE__, "/outside", 404, 404, 200 },
        { __LINE__, "/outside-dir/passwd", 404, 404, 200 },
        { __LINE__, "/outside-dir", 404, 404, 301 },
        { __LINE__, "/up/", 404, 404, 404 },
        { __LINE__, "/outside-dir/../a.txt", 200, 200, 200 },
        { __LINE__, "/outside-dir/../../etc/passwd", 400, 400, 400 },
        { __LINE__, "/../etc/passwd", 400, 400, 400 },
        { __LINE__, "/up/%2e%2e/%2e%2e/etc/passwd", 400, 400, 400 },
    };
    struct site_fixture *fixture = *state;

    for (unsigned rule = FILE_SYMLINKS_INSIDE; rule <= FILE_SYMLINKS_FOLLOW; rule++) {
        fixture->options.symlinks = (enum file_symlinks)rule;
        site_fixture_start(fixture);
        for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
            const unsigned expected[] = { [FILE_SYMLINKS_INSIDE] = cases[i / 2].inside,
                                          [FILE_SYMLINKS_NEVER] = cases[i / 2].never,
                                          [FILE_SYMLINKS_FOLLOW] = cases[i / 2].follow };

            CHECK_CASE(cases[i / 2].line, cases[i / 2].target,
                       status_of(fixture, METHOD_GET, cases[i / 2].target, "") ==
                           expected[rule]);
        }
        site_view_close(fixture->view);
        site_close(fixture->site);
    }
    fixture->view = NULL;
    fixture->site = NULL;
}

static void test_dotfiles(void **state)
{
    static const struct {
        int line;
        const char *target;
        unsigned deny, others;
    } cases[] = {
        { __LINE__, "/.git/config", 404, 200 },
        { __LINE__, "/.git", 404, 301 },
        { __LINE__, "/.git/", 404, 200 },
        { __LINE__, "/%2egit/config", 404, 200 },
        { __LINE__, "/.missing", 404, 404 },
        { __LINE__, "/.well-known/x", 200, 200 },
        { __LINE__, "/.git/../a.txt", 200, 200 },
    };
    struct site_fixture *fixture = *state;

    for (unsigned rule = FILE_DOTFILES_DENY; rule <= FILE_DOTFILES_SHOW; rule++) {
        fixture->options.dotfiles = (enum file_dotfiles)rule;
        site_fixture_start(fixture);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            unsigned expected =
                rule == FILE_DOTFILES_DENY ? cases[i].deny : cases[i].others;

            CHECK_CASE(cases[i].line, cases[i].target,
                       status_of(fixture, METHOD_GET, cases[i].target, "") == expected);
        }
        site_view_close(fixture->view);
        site_close(fixture->site);
    }
    fixture->view = NULL;
    fixture->site = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_added_fields, setup, teardown),
        cmocka_unit_test_setup_teardown(test_longest_fields, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rules_that_are_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cache_rules, setup, teardown),
        cmocka_unit_test_setup_teardown(test_charset, setup, teardown),
        cmocka_unit_test_setup_teardown(test_types, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_etag, setup, teardown),
        cmocka_unit_test_setup_teardown(test_links, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dotfiles, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
