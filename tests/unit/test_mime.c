/* The built-in media types, and tables read from mime.types text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mime.h"
#include "mime_builtin.h"
#include "unit.h"

static const char unknown[] = "application/octet-stream";

static void the_builtin_table_is_sorted(void **state)
{
    (void)state;
    assert_true(mime_builtin_count >= 150);
    for (size_t i = 1; i < mime_builtin_count; i++) {
        CHECK_CASE(__LINE__, mime_builtin[i].extension,
                   strcmp(mime_builtin[i - 1].extension, mime_builtin[i].extension) < 0);
    }
}

static void every_builtin_row_is_well_formed_and_found(void **state)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    static const char type_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.+-/";

    (void)state;
    for (size_t i = 0; i < mime_builtin_count; i++) {
        const struct mime_row *row = &mime_builtin[i];
        const char *slash = strchr(row->type, '/');
        char name[64];

        (void)snprintf(name, sizeof(name), "a.%s", row->extension);
        CHECK_CASE(__LINE__, row->extension, row->extension[0] != '\0');
        CHECK_CASE(__LINE__, row->extension,
                   strspn(row->extension, letters) == strlen(row->extension));
        CHECK_CASE(__LINE__, row->type,
                   strspn(row->type, type_letters) == strlen(row->type));
        CHECK_CASE(__LINE__, row->type, slash != NULL && strchr(slash + 1, '/') == NULL);
        CHECK_CASE(__LINE__, name, mime_type(NULL, slice_of(name)) == row->type);
    }
}

static void names_have_types(void **state)
{
    static const struct {
        int line;
        const char *name;
        const char *type;
    } cases[] = {
        { __LINE__, "index.html", "text/html" },
        { __LINE__, "a.htm", "text/html" },
        { __LINE__, "a.css", "text/css" },
        { __LINE__, "a.js", "text/javascript" },
        { __LINE__, "a.mjs", "text/javascript" },
        { __LINE__, "a.json", "application/json" },
        { __LINE__, "a.js.map", "application/json" },
        { __LINE__, "a.svg", "image/svg+xml" },
        { __LINE__, "a.wasm", "application/wasm" },
        { __LINE__, "a.avif", "image/avif" },
        { __LINE__, "a.webp", "image/webp" },
        { __LINE__, "a.woff", "font/woff" },
        { __LINE__, "a.woff2", "font/woff2" },
        { __LINE__, "a.webmanifest", "application/manifest+json" },
        { __LINE__, "a.png", "image/png" },
        { __LINE__, "a.jpeg", "image/jpeg" },
        { __LINE__, "a.txt", "text/plain" },
        { __LINE__, "a.xml", "application/xml" },
        { __LINE__, "a.pdf", "application/pdf" },
        { __LINE__, "a.mp4", "video/mp4" },
        { __LINE__, "a.3gp", "video/3gpp" },
        { __LINE__, "a.zst", "application/zstd" },
        { __LINE__, "a.tar.gz", "application/gzip" },
        { __LINE__, "PHOTO.JPG", "image/jpeg" },
        { __LINE__, "a.WoFf2", "font/woff2" },
        { __LINE__, ".html", "text/html" },
        { __LINE__, "dir.txt/a.html", "text/html" },
        { __LINE__, "", unknown },
        { __LINE__, ".", unknown },
        { __LINE__, "html", unknown },
        { __LINE__, "a.", unknown },
        { __LINE__, "a.html.", unknown },
        { __LINE__, "a.html ", unknown },
        { __LINE__, "a.htmlx", unknown },
        { __LINE__, "a.ht", unknown },
        { __LINE__, "a.html\\", unknown },
        { __LINE__, "a.caf\xc3\xa9", unknown },
        { __LINE__, "a.txt.unheard-of", unknown },
        { __LINE__, "dir.html/a", unknown },
        { __LINE__, "6k", unknown },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK_CASE(cases[i].line, cases[i].name,
                   strcmp(mime_type(NULL, slice_of(cases[i].name)), cases[i].type) == 0);
    }
    assert_string_equal(mime_type(NULL, SLICE("a.html\0")), unknown);
    assert_string_equal(mime_type(NULL, SLICE("a.\0html")), unknown);
    assert_string_equal(mime_type(NULL, (struct slice){ NULL, 0 }), unknown);
}

static void charsets_belong_to_text(void **state)
{
    static const struct {
        int line;
        const char *type;
        bool has;
    } cases[] = {
        { __LINE__, "text/html", true },
        { __LINE__, "text/plain", true },
        { __LINE__, "text/javascript", true },
        { __LINE__, "TEXT/HTML", true },
        { __LINE__, "application/javascript", true },
        { __LINE__, "application/json", true },
        { __LINE__, "application/manifest+json", true },
        { __LINE__, "application/xml", true },
        { __LINE__, "application/xhtml+xml", true },
        { __LINE__, "application/atom+XML", true },
        { __LINE__, "image/svg+xml", true },
        { __LINE__, "image/png", false },
        { __LINE__, "application/octet-stream", false },
        { __LINE__, "application/wasm", false },
        { __LINE__, "application/x-ndjson", false },
        { __LINE__, "application/jsonx", false },
        { __LINE__, "application/xml-dtd", false },
        { __LINE__, "font/woff2", false },
        { __LINE__, "textual/html", false },
        { __LINE__, "text", false },
        { __LINE__, "", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK_CASE(cases[i].line, cases[i].type,
                   mime_has_charset(cases[i].type) == cases[i].has);
    }
}

/* From a copy that is exactly as long, and gone when the table is used. */
static struct mime_table *parse(const char *text, unsigned *bad_line)
{
    size_t len = strlen(text);
    char *bytes = malloc(len > 0 ? len : 1);
    struct mime_table *table;

    assert_non_null(bytes);
    memcpy(bytes, text, len);
    table = mime_table_parse((struct slice){ bytes, len }, bad_line);
    free(bytes);
    return table;
}

static void tables_are_read(void **state)
{
    static const struct {
        int line;
        const char *text;
        const char *name;
        const char *type;
    } cases[] = {
        { __LINE__, "", "a.html", "text/html" },
        { __LINE__, "\n\n", "a.foo", unknown },
        { __LINE__, "text/x-foo foo", "a.foo", "text/x-foo" },
        { __LINE__, "text/x-foo foo\n", "a.FOO", "text/x-foo" },
        { __LINE__, "text/x-foo FOO\n", "a.foo", "text/x-foo" },
        { __LINE__, "text/x-foo\tfoo bar\r\n", "a.bar", "text/x-foo" },
        { __LINE__, " \ttext/x-foo   foo\t bar \t\r\n", "a.bar", "text/x-foo" },
        { __LINE__, "# text/x-foo foo\n", "a.foo", unknown },
        { __LINE__, "text/x-foo foo # bar\n", "a.bar", unknown },
        { __LINE__, "text/x-foo foo #bar\n", "a.foo", "text/x-foo" },
        { __LINE__, "# caf\xc3\xa9 {;}\ntext/x-foo foo", "a.foo", "text/x-foo" },
        { __LINE__, "text/x-foo\ntext/x-bar bar", "a.bar", "text/x-bar" },
        { __LINE__, "text/x-foo html", "a.html", "text/x-foo" },
        { __LINE__, "text/x-foo html", "a.css", "text/css" },
        { __LINE__, "text/x-c++src c++ h++\n", "a.h++", "text/x-c++src" },
        { __LINE__, "a/b x\nc/d x\n", "a.x", "c/d" },
        { __LINE__, "a/b x y\nc/d z x\ne/f w", "a.x", "c/d" },
        { __LINE__, "a/b x y\nc/d z x\ne/f w", "a.y", "a/b" },
        { __LINE__, "a/b x x x\n", "a.x", "a/b" },
        { __LINE__, "a/b c b a aa ab\nd/e zz z\n", "f.aa", "a/b" },
        { __LINE__, "a/b c b a aa ab\nd/e zz z\n", "f.z", "d/e" },
        { __LINE__, "a/b c b a aa ab\nd/e zz z\n", "f.zzz", unknown },
        { __LINE__, "a/b x.json\n", "f.x.json", "application/json" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned bad_line = 77;
        struct mime_table *table = parse(cases[i].text, &bad_line);

        CHECK_CASE(cases[i].line, cases[i].text, table != NULL && bad_line == 0);
        CHECK_CASE(cases[i].line, cases[i].text,
                   strcmp(mime_type(table, slice_of(cases[i].name)), cases[i].type) == 0);
        mime_table_free(table);
    }
    mime_table_free(NULL);
}

static void malformed_lines_are_named(void **state)
{
    static const struct {
        int line;
        const char *text;
        unsigned bad_line;
    } cases[] = {
        { __LINE__, "text", 1 },
        { __LINE__, "html text/html", 1 },
        { __LINE__, "types {\n text/html html;\n}\n", 1 },
        { __LINE__, "text/html html;\n", 1 },
        { __LINE__, "text/html html\n\n# c\n/css css\n", 4 },
        { __LINE__, "text/html html\ntext/ css", 2 },
        { __LINE__, "a/b/c x", 1 },
        { __LINE__, "a/b x/y", 1 },
        { __LINE__, "text/html;charset=utf-8 html", 1 },
        { __LINE__, "a/b x\n\"c/d\" y", 2 },
        { __LINE__, "a/b caf\xc3\xa9", 1 },
        { __LINE__, "a/b x\x01", 1 },
        { __LINE__, "a/b x\n\n\n<html>", 4 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned bad_line = 0;

        CHECK_CASE(cases[i].line, cases[i].text, parse(cases[i].text, &bad_line) == NULL);
        CHECK_CASE(cases[i].line, cases[i].text, bad_line == cases[i].bad_line);
    }
}

static void binary_text_is_malformed(void **state)
{
    unsigned bad_line = 0;

    (void)state;
    assert_null(mime_table_parse(SLICE("a/b x\na/b y\0z\n"), &bad_line));
    assert_int_equal(bad_line, 2);
}

static void long_types_are_malformed(void **state)
{
    char text[512];
    unsigned bad_line = 0;
    struct mime_table *table;

    (void)state;
    (void)snprintf(text, sizeof(text), "%0127d/%0127d x", 0, 0);
    table = parse(text, &bad_line);
    assert_non_null(table);
    assert_int_equal(strlen(mime_type(table, SLICE("a.x"))), 255);
    mime_table_free(table);
    (void)snprintf(text, sizeof(text), "%0127d/%0128d x", 0, 0);
    assert_null(parse(text, &bad_line));
    assert_int_equal(bad_line, 1);
    (void)snprintf(text, sizeof(text), "%0128d/%0127d x", 0, 0);
    assert_null(parse(text, &bad_line));
}

/* Many rows, in an order that is not sorted, each overridden once or not. */
static void a_large_table_is_searched(void **state)
{
    enum { ROWS = 2000 };
    char *text = malloc(ROWS * 64);
    size_t len = 0;
    unsigned bad_line;
    struct mime_table *table;

    (void)state;
    assert_non_null(text);
    for (unsigned i = 0; i < ROWS; i++) {
        len += (size_t)sprintf(text + len, "x/old e%u f%u\n", i * 7919 % ROWS, i);
    }
    for (unsigned i = 0; i < ROWS; i += 3) {
        len += (size_t)sprintf(text + len, "x/new-%u e%u\n", i, i);
    }
    table = parse(text, &bad_line);
    free(text);
    assert_non_null(table);
    for (unsigned i = 0; i < ROWS; i++) {
        char name[32], type[32] = "x/old";

        (void)sprintf(name, "a.f%u", i);
        CHECK_CASE(__LINE__, name, strcmp(mime_type(table, slice_of(name)), type) == 0);
        (void)sprintf(name, "a.E%u", i);
        if (i % 3 == 0) {
            (void)sprintf(type, "x/new-%u", i);
        }
        CHECK_CASE(__LINE__, name, strcmp(mime_type(table, slice_of(name)), type) == 0);
    }
    mime_table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_builtin_table_is_sorted),
        cmocka_unit_test(every_builtin_row_is_well_formed_and_found),
        cmocka_unit_test(names_have_types),
        cmocka_unit_test(charsets_belong_to_text),
        cmocka_unit_test(tables_are_read),
        cmocka_unit_test(malformed_lines_are_named),
        cmocka_unit_test(binary_text_is_malformed),
        cmocka_unit_test(long_types_are_malformed),
        cmocka_unit_test(a_large_table_is_searched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
