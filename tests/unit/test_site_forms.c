/* Unit tests of the site where files have precompressed siblings: which form is sent, and
 * what its fields say. */
#include "site_forms.h"

/* ---- what is sent */

static void test_forms(void **state)
{
    static const struct {
        int line;
        const char *target, *lines, *coding, *body, *tag, *type;
    } cases[] = {
        { __LINE__, "/x.js", "", NULL, "the file as it is, of 36 bytes in all", "-25\"",
          "text/javascript; charset=utf-8" },
        { __LINE__, "/x.js", GZIP, "gzip", "gzip: this is 23 bytes.", "-17-gzip\"",
          "text/javascript; charset=utf-8" },
        { __LINE__, "/x.js", BROWSER, "zstd", "zstd: 11 by", "-b-zstd\"",
          "text/javascript; charset=utf-8" },
        { __LINE__, "/x.js", "Accept-Encoding: br;q=0.9, zstd;q=0.8", "br",
          "brotli: 14 byt", "-e-br\"", "text/javascript; charset=utf-8" },
        { __LINE__, "/x.js", "Accept-Encoding: identity, gzip;q=0.5", NULL,
          "the file as it is, of 36 bytes in all", "-25\"",
          "text/javascript; charset=utf-8" },
        { __LINE__, "/%78.js", GZIP, "gzip", "gzip: this is 23 bytes.", "-17-gzip\"",
          "text/javascript; charset=utf-8" },
        { __LINE__, "/dir/", BROWSER, "gzip", "packed index", "-c-gzip\"",
          "text/html; charset=utf-8" },
        { __LINE__, "/dir/index.htm", BROWSER, "gzip", "packed index", "-c-gzip\"",
          "text/html; charset=utf-8" },
        { __LINE__, "/one.txt", BROWSER, "gzip", "packed one", "-a-gzip\"",
          "text/plain; charset=utf-8" },
        { __LINE__, "/one.txt", "Accept-Encoding: br", NULL, "one", "-3\"",
          "text/plain; charset=utf-8" },
    };
    struct site_fixture *fixture = *state;

    /* Twice: out of the file system, and out of the cache. */
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        size_t row = i % (sizeof cases / sizeof cases[0]);
        const char *lines = cases[row].lines;
        struct answer answer = ask(fixture, METHOD_GET, cases[row].target, lines);
        struct answer head = ask(fixture, METHOD_HEAD, cases[row].target, lines);
        const char *tag = field(&answer, "ETag");

        CHECK_CASE(cases[row].line, lines, answer.status == 200);
        CHECK_CASE(cases[row].line, lines, strcmp(answer.body, cases[row].body) == 0);
        CHECK_CASE(cases[row].line, lines,
                   has_field(&answer, "Content-Encoding", cases[row].coding));
        CHECK_CASE(cases[row].line, lines, has_field(&answer, "Vary", "Accept-Encoding"));
        CHECK_CASE(cases[row].line, lines,
                   has_field(&answer, "Content-Type", cases[row].type));
        CHECK_CASE(cases[row].line, lines, strstr(tag, cases[row].tag) != NULL);
        CHECK_CASE(cases[row].line, lines, answer.one_send);
        CHECK_CASE(cases[row].line, lines,
                   has_field(&answer, "Last-Modified", "Mon, 06 May 2024 07:08:09 GMT"));
        CHECK_CASE(cases[row].line, lines, same_head(&head, &answer));
        answer_free(&answer);
        answer_free(&head);
    }
}

static void test_without_siblings_nothing_varies(void **state)
{
    static const char *const targets[] = { "/a.txt", "/x.js.gz", "/large", "/missing",
                                           "/dir" };

    for (size_t i = 0; i < 2 * sizeof targets / sizeof targets[0]; i++) {
        struct answer answer =
            ask(*state, METHOD_GET, targets[i / 2], i % 2 == 0 ? "" : BROWSER);

        assert_true(has_field(&answer, "Vary", NULL));
        assert_true(has_field(&answer, "Content-Encoding", NULL));
        answer_free(&answer);
    }
}

static void test_conditions(void **state)
{
    struct site_fixture *fixture = *state;
    char tagged[4][160];

    for (unsigned i = 0; i < 4; i++) {
        struct answer answer =
            ask(fixture, METHOD_GET, "/x.js", i < 2 ? GZIP : "Accept-Encoding:");

        (void)snprintf(tagged[i], sizeof tagged[i], "%s\nIf-%sMatch: %s",
                       i < 2 ? GZIP : "Accept-Encoding:", i % 2 == 0 ? "None-" : "",
                       field(&answer, "ETag"));
        answer_free(&answer);
    }
    for (unsigned i = 0; i < 4; i++) {
        struct answer same = ask(fixture, METHOD_GET, "/x.js", tagged[i]);
        struct answer other;
        char lines[160];

        assert_int_equal(same.status, i % 2 == 0 ? 304 : 200);
        assert_true(has_field(&same, "Vary", "Accept-Encoding"));
        assert_non_null(field(&same, "ETag"));
        assert_true(has_field(&same, "Content-Encoding",
                              i == 1 ? "gzip" : NULL)); /* not in a 304 */
        /* The tag of one form is not that of another. */
        (void)snprintf(lines, sizeof lines, "Accept-Encoding: br\n%s",
                       strchr(tagged[i], '\n') + 1);
        other = ask(fixture, METHOD_GET, "/x.js", lines);
        assert_int_equal(other.status, i % 2 == 0 ? 200 : 412);
        assert_true(has_field(&other, "Vary", "Accept-Encoding"));
        answer_free(&same);
        answer_free(&other);
    }
}

static void test_ranges_are_of_the_coded_bytes(void **state)
{
    struct site_fixture *fixture = *state;
    struct answer answer = ask(fixture, METHOD_GET, "/x.js", GZIP "\nRange: bytes=6-9");

    assert_int_equal(answer.status, 206);
    assert_string_equal(answer.body, "this");
    assert_true(has_field(&answer, "Content-Range", "bytes 6-9/23"));
    assert_true(has_field(&answer, "Content-Encoding", "gzip"));
    assert_true(has_field(&answer, "Vary", "Accept-Encoding"));
    answer_free(&answer);

    answer = ask(fixture, METHOD_GET, "/x.js", GZIP "\nRange: bytes=23-");
    assert_int_equal(answer.status, 416);
    assert_true(has_field(&answer, "Content-Range", "bytes */23"));
    assert_true(has_field(&answer, "Vary", "Accept-Encoding"));
    answer_free(&answer);
    answer = ask(fixture, METHOD_GET, "/x.js", "Range: bytes=23-");
    assert_int_equal(answer.status, 206);
    answer_free(&answer);
    answer = ask(fixture, METHOD_GET, "/a.txt", "Range: bytes=23-");
    assert_int_equal(answer.status, 416);
    assert_true(has_field(&answer, "Vary", NULL));
    answer_free(&answer);
}

/* The parts are coded, not what they are wrapped in. */
static void test_several_ranges(void **state)
{
    struct answer answer =
        ask(*state, METHOD_GET, "/x.js", GZIP "\nRange: bytes=0-3,20-");
    char part[256];

    assert_int_equal(answer.status, 206);
    assert_true(has_field(&answer, "Content-Encoding", NULL));
    assert_true(has_field(&answer, "Vary", "Accept-Encoding"));
    (void)snprintf(part, sizeof part,
                   "\r\nContent-Encoding: gzip\r\nContent-Type: text/javascript; "
                   "charset=utf-8\r\nContent-Range: bytes 0-3/23\r\n\r\ngzip\r\n--");
    assert_non_null(strstr(answer.body, part));
    (void)snprintf(part, sizeof part,
                   "\r\nContent-Encoding: gzip\r\nContent-Type: text/javascript; "
                   "charset=utf-8\r\nContent-Range: bytes 20-22/23\r\n\r\nes.\r\n--");
    assert_non_null(strstr(answer.body, part));
    answer_free(&answer);
}

/* If-Range with the tag of another form gives the whole of this one. */
static void test_if_range(void **state)
{
    struct site_fixture *fixture = *state;
    struct answer plain = get(fixture, "/x.js");
    struct answer answer;
    char lines[256];

    (void)snprintf(lines, sizeof lines, GZIP "\nRange: bytes=0-3\nIf-Range: %s",
                   field(&plain, "ETag"));
    answer = ask(fixture, METHOD_GET, "/x.js", lines);
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.len, 23);
    (void)snprintf(lines, sizeof lines, GZIP "\nRange: bytes=0-3\nIf-Range: %s",
                   field(&answer, "ETag"));
    answer_free(&answer);
    answer = ask(fixture, METHOD_GET, "/x.js", lines);
    assert_int_equal(answer.status, 206);
    answer_free(&answer);
    answer_free(&plain);
}

static void test_options_that_matter(void **state)
{
    struct site_fixture *fixture = *state;

    site_view_close(fixture->view);
    site_close(fixture->site);
    fixture->options.no_etag = true;
    fixture->options.cache_rules =
        (struct site_rule_list){ (const char *const[]){ "*.js=max-age=5" }, 1 };
    site_fixture_start(fixture);
    for (unsigned i = 0; i < 2; i++) {
        struct answer answer = ask(fixture, METHOD_GET, "/x.js", i == 0 ? GZIP : "");

        assert_true(has_field(&answer, "ETag", NULL));
        assert_true(has_field(&answer, "Vary", "Accept-Encoding"));
        assert_true(has_field(&answer, "Cache-Control", "max-age=5"));
        answer_free(&answer);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_EACH(name)                                                                  \
    cmocka_unit_test_setup_teardown(name, setup_each_request, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_forms),
        TEST_EACH(test_forms),
        TEST(test_without_siblings_nothing_varies),
        TEST(test_conditions),
        TEST(test_ranges_are_of_the_coded_bytes),
        TEST(test_several_ranges),
        TEST(test_if_range),
        TEST(test_options_that_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
