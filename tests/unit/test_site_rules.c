/* Unit tests of site_rules.c. */
#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "site_rules.h"

static void test_headers(void **state)
{
    static const struct {
        int line;
        const char *text;
        int result;
        const char *name, *value;
    } cases[] = {
        { __LINE__, "X-A: b", 0, "X-A", "b" },
        { __LINE__, "X-A:b", 0, "X-A", "b" },
        { __LINE__, "X-A:   b c  ", 0, "X-A", "b c" },
        { __LINE__, "X-A: b: c", 0, "X-A", "b: c" },
        { __LINE__, "!#$%&'*+-.^_`|~09az: \"~\\", 0, "!#$%&'*+-.^_`|~09az", "\"~\\" },
        { __LINE__, "Vary: Origin", 0, "Vary", "Origin" },
        { __LINE__, "Set-Cookie: a=b", 0, "Set-Cookie", "a=b" },
        { __LINE__, "Content-Language: de", 0, "Content-Language", "de" },
        { __LINE__, "Dates: x", 0, "Dates", "x" },
        { __LINE__, "", -EINVAL, NULL, NULL },
        { __LINE__, ":", -EINVAL, NULL, NULL },
        { __LINE__, "X-A", -EINVAL, NULL, NULL },
        { __LINE__, "X-A:", -EINVAL, NULL, NULL },
        { __LINE__, "X-A:  ", -EINVAL, NULL, NULL },
        { __LINE__, ": b", -EINVAL, NULL, NULL },
        { __LINE__, "X-A : b", -EINVAL, NULL, NULL },
        { __LINE__, " X-A: b", -EINVAL, NULL, NULL },
        { __LINE__, "X A: b", -EINVAL, NULL, NULL },
        { __LINE__, "X(A): b", -EINVAL, NULL, NULL },
        { __LINE__, "X\xc3\xa4: b", -EINVAL, NULL, NULL },
        { __LINE__, "X-A: b\rX-B: c", -EINVAL, NULL, NULL },
        { __LINE__, "X-A: b\nX-B: c", -EINVAL, NULL, NULL },
        { __LINE__, "X-A: b\r\n", -EINVAL, NULL, NULL },
        { __LINE__, "X-A:\r\n b", -EINVAL, NULL, NULL },
        { __LINE__, "X-A\r\n: b", -EINVAL, NULL, NULL },
        { __LINE__, "X-A: b\tc", -EINVAL, NULL, NULL },
        { __LINE__, "X-A: b\x01", -EINVAL, NULL, NULL },
        { __LINE__, "X-A: b\x7f", -EINVAL, NULL, NULL },
        { __LINE__, "X-A: \xc3\xa4", -EINVAL, NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct slice name, value;

        CHECK_CASE(cases[i].line, cases[i].text,
                   site_rules_header(cases[i].text, &name, &value) == cases[i].result);
        if (cases[i].result == 0) {
            CHECK_CASE(cases[i].line, cases[i].text,
                       slice_equal(name, slice_of(cases[i].name)));
            CHECK_CASE(cases[i].line, cases[i].text,
                       slice_equal(value, slice_of(cases[i].value)));
            assert_int_equal(site_rules_header_len(name, value),
                             strlen(cases[i].name) + strlen(cases[i].value) + 4);
        }
    }
}

/* In any case of letters; but a bad value is the first thing to say. */
static void test_owned_headers(void **state)
{
    static const char *const names[] = {
        "Date",
        "Content-Length",
        "Connection",
        "Transfer-Encoding",
        "Keep-Alive",
        "TE",
        "Trailer",
        "Upgrade",
        "Proxy-Connection",
        "Proxy-Authenticate",
        "Proxy-Authorization",
        "Server",
        "ETag",
        "Last-Modified",
        "Cache-Control",
        "Content-Type",
        "Content-Encoding",
        "Content-Range",
        "Accept-Ranges",
        "Location",
        "Allow",
        "Age",
        "Retry-After",
        "X-Content-Type-Options",
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct slice name, value;
        char text[64];

        (void)snprintf(text, sizeof text, "%s: x", names[i]);
        CHECK_CASE(__LINE__, text, site_rules_header(text, &name, &value) == -EPERM);
        for (char *at = text; *at != ':'; at++) {
            *at = (char)(*at | ((*at >= 'A' && *at <= 'Z') ? 0x20 : 0));
        }
        CHECK_CASE(__LINE__, text, site_rules_header(text, &name, &value) == -EPERM);
        strcat(text, "\r");
        CHECK_CASE(__LINE__, text, site_rules_header(text, &name, &value) == -EINVAL);
    }
}

static void test_cache_rules(void **state)
{
    static const struct {
        int line;
        const char *text;
        const char *glob, *value; /* NULL: refused */
    } cases[] = {
        { __LINE__, "*.css=max-age=60", "*.css", "max-age=60" },
        { __LINE__, "/a/*=public, max-age=60", "a/*", "public, max-age=60" },
        { __LINE__, "*= no-store ", "*", "no-store" },
        { __LINE__, "a b=x", "a b", "x" },
        { __LINE__, "//a=x", "/a", "x" },
        { __LINE__, "*.css", NULL, NULL },
        { __LINE__, "*.css=", NULL, NULL },
        { __LINE__, "*.css= ", NULL, NULL },
        { __LINE__, "=max-age=60", NULL, NULL },
        { __LINE__, "/=max-age=60", NULL, NULL },
        { __LINE__, "", NULL, NULL },
        { __LINE__, "*=a\r\nX: b", NULL, NULL },
        { __LINE__, "*=a\xff", NULL, NULL },
    };
    char longest[2 + SITE_RULES_CACHE_MAX + 2] = "*=";
    struct slice glob, value;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int result = site_rules_cache(cases[i].text, &glob, &value);

        CHECK_CASE(cases[i].line, cases[i].text,
                   result == (cases[i].glob == NULL ? -EINVAL : 0));
        if (cases[i].glob != NULL) {
            CHECK_CASE(cases[i].line, cases[i].text,
                       slice_equal(glob, slice_of(cases[i].glob)));
            CHECK_CASE(cases[i].line, cases[i].text,
                       slice_equal(value, slice_of(cases[i].value)));
        }
    }
    memset(longest + 2, 'v', SITE_RULES_CACHE_MAX);
    assert_int_equal(site_rules_cache(longest, &glob, &value), 0);
    strcat(longest, "v");
    assert_int_equal(site_rules_cache(longest, &glob, &value), -EINVAL);
}

static void test_paths(void **state)
{
    static const struct {
        int line;
        const char *text;
        const char *path; /* NULL: refused */
    } cases[] = {
        { __LINE__, "index.html", "index.html" },
        { __LINE__, "/index.html", "index.html" },
        { __LINE__, "a/b/c.html", "a/b/c.html" },
        { __LINE__, "..a/b../.c/...", "..a/b../.c/..." },
        { __LINE__, "a b%20?#", "a b%20?#" },
        { __LINE__, "", NULL },
        { __LINE__, "/", NULL },
        { __LINE__, "//a", NULL },
        { __LINE__, "a/", NULL },
        { __LINE__, "a//b", NULL },
        { __LINE__, ".", NULL },
        { __LINE__, "..", NULL },
        { __LINE__, "../a", NULL },
        { __LINE__, "/../a", NULL },
        { __LINE__, "a/..", NULL },
        { __LINE__, "a/../b", NULL },
        { __LINE__, "./a", NULL },
        { __LINE__, "a/./b", NULL },
    };
    char longest[PATH_MAX + 1] = "";
    struct slice path;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int result = site_rules_path(cases[i].text, &path);

        CHECK_CASE(cases[i].line, cases[i].text,
                   result == (cases[i].path == NULL ? -EINVAL : 0));
        if (cases[i].path != NULL) {
            CHECK_CASE(cases[i].line, cases[i].text,
                       slice_equal(path, slice_of(cases[i].path)));
        }
    }
    memset(longest, 'p', PATH_MAX - 1);
    assert_int_equal(site_rules_path(longest, &path), 0);
    longest[PATH_MAX - 1] = 'p';
    assert_int_equal(site_rules_path(longest, &path), -EINVAL);
}

static void test_error_pages(void **state)
{
    static const struct {
        int line;
        const char *text;
        unsigned status; /* 0: refused */
    } cases[] = {
        { __LINE__, "404=e.html", 404 }, { __LINE__, "400=/e.html", 400 },
        { __LINE__, "599=e.html", 599 }, { __LINE__, "500=a/b", 500 },
        { __LINE__, "399=e.html", 0 },   { __LINE__, "600=e.html", 0 },
        { __LINE__, "200=e.html", 0 },   { __LINE__, "40=e.html", 0 },
        { __LINE__, "4040=e.html", 0 },  { __LINE__, "404", 0 },
        { __LINE__, "404=", 0 },         { __LINE__, "404=/", 0 },
        { __LINE__, "404=../e", 0 },     { __LINE__, "404:e.html", 0 },
        { __LINE__, "4x4=e.html", 0 },   { __LINE__, " 404=e.html", 0 },
        { __LINE__, "+404=e.html", 0 },  { __LINE__, "", 0 },
        { __LINE__, "e.html", 0 },       { __LINE__, "404 =e.html", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct slice path;
        unsigned status = 0;
        int result = site_rules_error_page(cases[i].text, &status, &path);

        CHECK_CASE(cases[i].line, cases[i].text,
                   result == (cases[i].status == 0 ? -EINVAL : 0));
        if (cases[i].status != 0) {
            CHECK_CASE(cases[i].line, cases[i].text, status == cases[i].status);
        }
    }
}

static void test_charsets(void **state)
{
    char longest[SITE_RULES_CHARSET_MAX + 2] = "";

    (void)state;
    assert_int_equal(site_rules_charset("utf-8"), 0);
    assert_int_equal(site_rules_charset("ISO_8859-1:1987"), -EINVAL);
    assert_int_equal(site_rules_charset(""), -EINVAL);
    assert_int_equal(site_rules_charset("a b"), -EINVAL);
    assert_int_equal(site_rules_charset("a\r\nX: b"), -EINVAL);
    assert_int_equal(site_rules_charset("\"utf-8\""), -EINVAL);
    assert_int_equal(site_rules_charset("a;b"), -EINVAL);
    memset(longest, 'c', SITE_RULES_CHARSET_MAX);
    assert_int_equal(site_rules_charset(longest), 0);
    longest[SITE_RULES_CHARSET_MAX] = 'c';
    assert_int_equal(site_rules_charset(longest), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),     cmocka_unit_test(test_owned_headers),
        cmocka_unit_test(test_cache_rules), cmocka_unit_test(test_paths),
        cmocka_unit_test(test_error_pages), cmocka_unit_test(test_charsets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
