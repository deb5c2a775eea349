/* The options that are rules for the site: what the command line and the environment make
 * of them, and every error line. */
#include "unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "site_rules.h"

enum { TEXT_MAX = 2048, ERROR_MAX = 512, WORDS_MAX = 100 };

static const char *const variables[] = {
    "TETRAD_LISTING",    "TETRAD_SYMLINKS", "TETRAD_DOTFILES", "TETRAD_MIME_TYPES",
    "TETRAD_CHARSET",    "TETRAD_HEADER",   "TETRAD_CACHE",    "TETRAD_SPA",
    "TETRAD_ERROR_PAGE", "TETRAD_NO_ETAG",
};

static int put_list(char *to, size_t room, const char *name,
                    const struct option_list *list)
{
    int len = snprintf(to, room, " %s=", name);

    for (unsigned i = 0; i < list->count; i++) {
        len += snprintf(to + len, room - (size_t)len, "<%s>", list->values[i]);
    }
    return len;
}

static void describe(const struct options *options, char text[TEXT_MAX])
{
    int len = snprintf(
        text, TEXT_MAX,
        "root=%s listing=%d symlinks=%d dotfiles=%d types=%s charset=%s "
        "spa=%s no-etag=%d",
        options->root, options->listing, (int)options->symlinks, (int)options->dotfiles,
        options->mime_types != NULL ? options->mime_types : "-", options->charset,
        options->spa != NULL ? options->spa : "-", options->no_etag);

    len += put_list(text + len, TEXT_MAX - (size_t)len, "headers", &options->headers);
    len += put_list(text + len, TEXT_MAX - (size_t)len, "cache", &options->cache_rules);
    (void)put_list(text + len, TEXT_MAX - (size_t)len, "pages", &options->error_pages);
    strcat(text, " ");
}

/* Parses; what the options are, or the error line, is left in text. */
static enum options_result parse(const char *const *words, char text[TEXT_MAX])
{
    char *argv[WORDS_MAX + 2] = { "tetrad" };
    char error[ERROR_MAX] = "";
    struct options options;
    enum options_result result;
    int argc = 1;

    for (; words[argc - 1] != NULL; argc++) {
        argv[argc] = (char *)words[argc - 1];
    }
    result = options_parse(&options, argc, argv, error, sizeof error);
    if (result == OPTIONS_RUN) {
        describe(&options, text);
    } else {
        strcpy(text, error);
    }
    options_free(&options);
    return result;
}

/* assignment: NULL, or one variable. */
static void set_environment(const char *assignment)
{
    char name[64];
    size_t len;

    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        assert_int_equal(unsetenv(variables[i]), 0);
    }
    if (assignment != NULL) {
        len = strcspn(assignment, "=");
        assert_true(len < sizeof name);
        memcpy(name, assignment, len);
        name[len] = '\0';
        assert_int_equal(setenv(name, assignment + len + 1, 1), 0);
    }
}

static void test_values(void **state)
{
    static const struct {
        int line;
        const char *words[6];
        const char *environment;
        const char *holds;
    } cases[] = {
        { __LINE__,
          { NULL },
          NULL,
          "root=. listing=0 symlinks=0 dotfiles=0 types=- charset=utf-8 spa=- no-etag=0 "
          "headers= cache= pages= " },
        { __LINE__, { "--listing" }, NULL, " listing=1 " },
        { __LINE__, { NULL }, "TETRAD_LISTING=1", " listing=1 " },
        { __LINE__, { NULL }, "TETRAD_LISTING=0", " listing=0 " },
        { __LINE__, { "--symlinks", "inside" }, NULL, " symlinks=0 " },
        { __LINE__, { "--symlinks", "never" }, NULL, " symlinks=1 " },
        { __LINE__, { "--symlinks=follow" }, NULL, " symlinks=2 " },
        { __LINE__, { NULL }, "TETRAD_SYMLINKS=never", " symlinks=1 " },
        { __LINE__, { "--dotfiles", "deny" }, NULL, " dotfiles=0 " },
        { __LINE__, { "--dotfiles", "hide" }, NULL, " dotfiles=1 " },
        { __LINE__, { "--dotfiles", "show" }, NULL, " dotfiles=2 " },
        { __LINE__, { NULL }, "TETRAD_DOTFILES=show", " dotfiles=2 " },
        { __LINE__, { "--mime-types", "/etc/mime.types" }, NULL, "=/etc/mime.types " },
        { __LINE__, { NULL }, "TETRAD_MIME_TYPES=a b", " types=a b " },
        { __LINE__, { "--charset", "iso-8859-1" }, NULL, " charset=iso-8859-1 " },
        { __LINE__, { "--charset", "none" }, NULL, " charset= " },
        { __LINE__, { NULL }, "TETRAD_CHARSET=none", " charset= " },
        { __LINE__, { "--charset", "x" }, "TETRAD_CHARSET=none", " charset=x " },
        { __LINE__,
          { "--header", "A: b", "--header=C:d" },
          NULL,
          " headers=<A: b><C:d> " },
        { __LINE__, { NULL }, "TETRAD_HEADER=A: b\nA: c\n", " headers=<A: b><A: c> " },
        { __LINE__,
          { "--header", "A: b" },
          "TETRAD_HEADER=C: d\nE: f",
          " headers=<A: b> " },
        { __LINE__,
          { "--cache", "*.a=b=c", "--cache", "*=d" },
          NULL,
          " cache=<*.a=b=c><*=d> " },
        { __LINE__, { NULL }, "TETRAD_CACHE=*.a=b\n*=d", " cache=<*.a=b><*=d> " },
        { __LINE__, { "--spa" }, NULL, " spa=index.html " },
        { __LINE__, { "--spa", "site" }, NULL, "root=site " },
        { __LINE__, { "--spa=a/b.html" }, NULL, " spa=a/b.html " },
        { __LINE__, { "--spa=/b.html" }, NULL, " spa=/b.html " },
        { __LINE__, { "--spa=1" }, NULL, " spa=index.html " },
        { __LINE__, { "--spa", "--spa=0" }, NULL, " spa=- " },
        { __LINE__, { NULL }, "TETRAD_SPA=1", " spa=index.html " },
        { __LINE__, { NULL }, "TETRAD_SPA=app.html", " spa=app.html " },
        { __LINE__, { NULL }, "TETRAD_SPA=0", " spa=- " },
        { __LINE__, { NULL }, "TETRAD_SPA=", " spa=- " },
        { __LINE__,
          { "--error-page", "404=a", "--error-page", "500=/b" },
          NULL,
          " pages=<404=a><500=/b> " },
        { __LINE__,
          { NULL },
          "TETRAD_ERROR_PAGE=404=a\n404=b",
          " pages=<404=a><404=b> " },
        { __LINE__, { "--no-etag" }, NULL, " no-etag=1 " },
        { __LINE__, { NULL }, "TETRAD_NO_ETAG=1", " no-etag=1 " },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[TEXT_MAX] = "";
        enum options_result result;

        set_environment(cases[i].environment);
        result = parse(cases[i].words, text);
        CHECK_CASE(cases[i].line, text, result == OPTIONS_RUN);
        CHECK_CASE(cases[i].line, text, strstr(text, cases[i].holds) != NULL);
    }
    set_environment(NULL);
}

#define HEADER_ERROR(given) given ": expected 'Name: value' in visible ASCII"
#define OWNED_ERROR(given) given ": the server itself decides on this"
#define CACHE_ERROR(given) given ": expected GLOB=VALUE, such as '*.css=max-age=3600'"
#define SPA_ERROR(given) given ": expected the path of a file below DIR"
#define CHARSET_ERROR(given) given ": expected the name of a charset, or none"
#define PAGE_ERROR(given)                                                                \
    given ": expected STATUS=FILE, such as 404=404.html, with a status from 400 to 599 " \
          "and a file below DIR"

static void test_errors(void **state)
{
    static const struct {
        int line;
        const char *words[4];
        const char *environment;
        const char *error;
    } cases[] = {
        { __LINE__,
          { "--symlinks", "always" },
          NULL,
          "--symlinks 'always': expected inside, never or follow" },
        { __LINE__,
          { "--symlinks", "" },
          NULL,
          "--symlinks '': expected inside, never or follow" },
        { __LINE__,
          { NULL },
          "TETRAD_SYMLINKS=Never",
          "TETRAD_SYMLINKS='Never': expected inside, never or follow" },
        { __LINE__,
          { "--dotfiles", "allow" },
          NULL,
          "--dotfiles 'allow': expected deny, hide or show" },
        { __LINE__,
          { NULL },
          "TETRAD_DOTFILES=",
          "TETRAD_DOTFILES='': expected deny, hide or show" },
        { __LINE__,
          { "--mime-types", "" },
          NULL,
          "--mime-types '': expected the name of a file" },
        { __LINE__, { "--charset", "" }, NULL, CHARSET_ERROR("--charset ''") },
        { __LINE__, { "--charset", "a b" }, NULL, CHARSET_ERROR("--charset 'a b'") },
        { __LINE__,
          { NULL },
          "TETRAD_CHARSET=a;b",
          CHARSET_ERROR("TETRAD_CHARSET='a;b'") },
        { __LINE__, { "--header", "A" }, NULL, HEADER_ERROR("--header 'A'") },
        { __LINE__, { "--header", "" }, NULL, HEADER_ERROR("--header ''") },
        { __LINE__,
          { "--header", "A: b\r\nC: d" },
          NULL,
          HEADER_ERROR("--header 'A: b\r\nC: d'") },
        { __LINE__,
          { NULL },
          "TETRAD_HEADER=A: b\r\nC: d",
          HEADER_ERROR("TETRAD_HEADER='A: b\r'") },
        { __LINE__, { "--header", "Date: x" }, NULL, OWNED_ERROR("--header 'Date: x'") },
        { __LINE__,
          { NULL },
          "TETRAD_HEADER=A: b\ncontent-length: 0",
          OWNED_ERROR("TETRAD_HEADER='content-length: 0'") },
        { __LINE__, { "--cache", "no-cache" }, NULL, CACHE_ERROR("--cache 'no-cache'") },
        { __LINE__, { NULL }, "TETRAD_CACHE=*=", CACHE_ERROR("TETRAD_CACHE='*='") },
        { __LINE__, { "--spa=../x" }, NULL, SPA_ERROR("--spa '../x'") },
        { __LINE__, { "--spa=/" }, NULL, SPA_ERROR("--spa '/'") },
        { __LINE__, { NULL }, "TETRAD_SPA=a/", SPA_ERROR("TETRAD_SPA='a/'") },
        { __LINE__, { "--error-page", "x" }, NULL, PAGE_ERROR("--error-page 'x'") },
        { __LINE__,
          { "--error-page", "200=x" },
          NULL,
          PAGE_ERROR("--error-page '200=x'") },
        { __LINE__,
          { NULL },
          "TETRAD_ERROR_PAGE=404=a\n404=../b",
          PAGE_ERROR("TETRAD_ERROR_PAGE='404=../b'") },
        { __LINE__, { "--no-etag=1" }, NULL, "--no-etag=1: --no-etag takes no value" },
        { __LINE__, { "--listing=on" }, NULL, "--listing=on: --listing takes no value" },
        { __LINE__,
          { NULL },
          "TETRAD_LISTING=on",
          "TETRAD_LISTING='on': expected 1 or 0" },
        { __LINE__,
          { NULL },
          "TETRAD_NO_ETAG=yes",
          "TETRAD_NO_ETAG='yes': expected 1 or 0" },
        { __LINE__, { "--header" }, NULL, "--header: a value is missing ('N: V')" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[TEXT_MAX] = "";
        enum options_result result;

        set_environment(cases[i].environment);
        result = parse(cases[i].words, text);
        CHECK_CASE(cases[i].line, text, result == OPTIONS_ERROR);
        CHECK_CASE(cases[i].line, text, strcmp(text, cases[i].error) == 0);
    }
    set_environment(NULL);
}

static void test_full_lists(void **state)
{
    static const char *const values[] = { "--header=A: b", "--cache=*=b",
                                          "--error-page=404=b" };

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const char *words[WORDS_MAX + 1] = { NULL };
        char text[TEXT_MAX] = "";

        for (unsigned count = 0; count < OPTIONS_LIST_MAX; count++) {
            words[count] = values[i];
        }
        assert_int_equal(parse(words, text), OPTIONS_RUN);
        words[OPTIONS_LIST_MAX] = values[i];
        assert_int_equal(parse(words, text), OPTIONS_ERROR);
        CHECK_CASE(__LINE__, text, strstr(text, "': more than 64 values") != NULL);
    }
}

/* The bytes of all lines together, exactly. */
static void test_header_bytes(void **state)
{
    static char value[SITE_RULES_HEADERS_MAX + 1];
    const char *words[] = { "--header=A: b", "--header", value, NULL };
    char text[TEXT_MAX] = "";
    /* "A: b", CRLF; "N: ", CRLF */
    size_t most = SITE_RULES_HEADERS_MAX - 6 - 5;

    (void)state;
    (void)snprintf(value, sizeof value, "N: %0*d", (int)most, 0);
    /* What describes the options has less room. */
    for (unsigned more = 0; more < 2; more++) {
        char *argv[] = { "tetrad", (char *)words[0], (char *)words[1], value, NULL };
        struct options options;

        assert_int_equal(options_parse(&options, 4, argv, text, ERROR_MAX),
                         more == 0 ? OPTIONS_RUN : OPTIONS_ERROR);
        options_free(&options);
        strcat(value, "0");
    }
    CHECK_CASE(__LINE__, text,
               strstr(text, "': too long together with those before it") != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_full_lists),
        cmocka_unit_test(test_header_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
