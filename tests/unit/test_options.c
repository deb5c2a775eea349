/* The options: what each row takes and refuses, which source wins, and every error line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "options.h"
#include "options_table.h"

enum { WORDS_MAX = 24, TEXT_MAX = 2048, ERROR_MAX = 512 };

struct case_line {
    const char *words[WORDS_MAX]; /* the command line after the program's name */
    const char *environment[3];   /* "NAME=VALUE" */
    enum options_result result;
    const char *holds; /* in the description of the options, or the whole error line */
};

/* All options in one line, to look for a part of it. */
static void describe(const struct options *options, char text[TEXT_MAX])
{
    int len = snprintf(
        text, TEXT_MAX,
        "model=%s port=%u workers=%u max-connections=%u header=%llu keepalive=%llu "
        "send=%llu body=%llu max-requests=%u revalidate=%llu cache=%llu index=%s "
        "server-header=%d grace=%llu root=%s binds=",
        options->model, options->port, options->workers, options->max_connections,
        (unsigned long long)options->header_timeout_ms,
        (unsigned long long)options->keepalive_timeout_ms,
        (unsigned long long)options->send_timeout_ms,
        (unsigned long long)options->body_timeout_ms, options->max_requests,
        (unsigned long long)options->revalidate_ms,
        (unsigned long long)options->cache_bytes, options->index,
        (int)options->server_header, (unsigned long long)options->grace_ms,
        options->root);

    for (unsigned i = 0; i < options->binds.count; i++) {
        len += snprintf(text + len, TEXT_MAX - (size_t)len, "<%s>",
                        options->binds.values[i]);
    }
    snprintf(text + len, TEXT_MAX - (size_t)len, " user=%s access-log=%s log-format=%d",
             options->user != NULL ? options->user : "",
             options->access_log != NULL ? options->access_log : "",
             (int)options->log_format);
}

static void clear_environment(void)
{
    for (const struct option_row *row = options_table; row->name != NULL; row++) {
        char name[64];

        snprintf(name, sizeof(name), "TETRAD_%s", row->name);
        for (char *at = name; *at != '\0'; at++) {
            if (*at >= 'a' && *at <= 'z') {
                *at = (char)(*at - 'a' + 'A');
            }
            if (*at == '-') {
                *at = '_';
            }
        }
        unsetenv(name);
    }
}

static void set_environment(const char *assignment)
{
    char name[64];
    size_t len = strcspn(assignment, "=");

    assert_true(len < sizeof(name));
    memcpy(name, assignment, len);
    name[len] = '\0';
    assert_int_equal(setenv(name, assignment + len + 1, 1), 0);
}

static enum options_result parse(struct options *options, const struct case_line *line,
                                 char error[ERROR_MAX])
{
    char *argv[WORDS_MAX + 2] = { "tetrad" };
    int argc = 1;

    clear_environment();
    for (size_t i = 0; i < 3 && line->environment[i] != NULL; i++) {
        set_environment(line->environment[i]);
    }
    for (size_t i = 0; i < WORDS_MAX && line->words[i] != NULL; i++) {
        argv[argc++] = (char *)line->words[i];
    }
    error[0] = '\0';
    return options_parse(options, argc, argv, error, ERROR_MAX);
}

/* Fails with what was given, expected and got. */
static void check(const struct case_line *line)
{
    struct options options;
    char error[ERROR_MAX];
    char text[TEXT_MAX];
    enum options_result result = parse(&options, line, error);
    bool good;

    if (result == OPTIONS_RUN) {
        describe(&options, text);
    } else {
        snprintf(text, sizeof(text), "%s", error);
    }
    options_free(&options);
    good = result == line->result &&
           (result == OPTIONS_RUN ? strstr(text, line->holds) != NULL
                                  : strcmp(text, line->holds) == 0);
    if (good) {
        return;
    }
    for (size_t i = 0; i < WORDS_MAX && line->words[i] != NULL; i++) {
        print_error("word '%s'\n", line->words[i]);
    }
    for (size_t i = 0; i < 3 && line->environment[i] != NULL; i++) {
        print_error("environment '%s'\n", line->environment[i]);
    }
    fail_msg("result %d, not %d: '%s', not '%s'", (int)result, (int)line->result, text,
             line->holds);
}

#define CHECK_ALL(lines)                                                                 \
    for (size_t i = 0; i < sizeof(lines) / sizeof((lines)[0]); i++)                      \
    check(&(lines)[i])

static void test_defaults(void **state)
{
    static const struct case_line lines[] = {
        { .holds = "model=greenthreads port=8080 " },
        { .holds =
              " max-connections=0 header=10000 keepalive=15000 send=30000 body=30000 "
              "max-requests=0 revalidate=1000 cache=67108864 index=index.html "
              "server-header=0 grace=10000 root=. binds=<127.0.0.1> user= access-log= "
              "log-format=1" },
    };
    struct options options;
    char error[ERROR_MAX];

    (void)state;
    CHECK_ALL(lines);
    assert_int_equal(parse(&options, &lines[0], error), OPTIONS_RUN);
    assert_in_range(options.workers, 1, OPTIONS_WORKERS_MAX);
    options_free(&options);
}

static void test_command_line(void **state)
{
    static const struct case_line lines[] = {
        { { "-m", "threads" }, .holds = "model=threads " },
        { { "--model=prefork" }, .holds = "model=prefork " },
        { { "--model", "any name" }, .holds = "model=any name " },
        { { "-p0" }, .holds = " port=0 " },
        { { "-p", "65535" }, .holds = " port=65535 " },
        { { "--port", "080" }, .holds = " port=80 " },
        { { "-p", "1", "-p", "2" }, .holds = " port=2 " },
        { { "-w", "1024" }, .holds = " workers=1024 " },
        { { "--max-connections", "5" }, .holds = " max-connections=5 " },
        { { "--header-timeout", "1ms" }, .holds = " header=1 " },
        { { "--keepalive-timeout", "2" }, .holds = " keepalive=2000 " },
        { { "--send-timeout", "3m" }, .holds = " send=180000 " },
        { { "--body-timeout", "1.5h" }, .holds = " body=5400000 " },
        { { "--grace", "0.25" }, .holds = " grace=250 " },
        { { "--grace", "0" }, .holds = " grace=0 " },
        { { "--grace", "8760h" }, .holds = " grace=31536000000 " },
        { { "--revalidate", "0" }, .holds = " revalidate=0 " },
        { { "--revalidate", "0ms" }, .holds = " revalidate=0 " },
        { { "--max-requests", "100" }, .holds = " max-requests=100 " },
        { { "--cache-size", "0" }, .holds = " cache=0 " },
        { { "--cache-size", "1000" }, .holds = " cache=1000 " },
        { { "--cache-size", "512K" }, .holds = " cache=524288 " },
        { { "--cache-size", "1.5M" }, .holds = " cache=1572864 " },
        { { "--cache-size", "4g" }, .holds = " cache=4294967296 " },
        { { "--index", "" }, .holds = " index= " },
        { { "--index", "a.html,b.htm" }, .holds = " index=a.html,b.htm " },
        { { "--server-header", "off" }, .holds = " server-header=0 " },
        { { "--server-header", "name" }, .holds = " server-header=1 " },
        { { "--server-header", "full" }, .holds = " server-header=2 " },
        { { "-u", "web" }, .holds = " user=web " },
        { { "--user=web:www" }, .holds = " user=web:www " },
        { { "--access-log", "-" }, .holds = " access-log=- " },
        { { "--access-log", "a b/log" }, .holds = " access-log=a b/log " },
        { { "--log-format", "common" }, .holds = " log-format=0" },
        { { "--log-format", "json" }, .holds = " log-format=2" },
        { { "-b", "::1" }, .holds = " binds=<::1>" },
        { { "-b", "0.0.0.0", "--bind", "::", "-bunix:s" },
          .holds = " binds=<0.0.0.0><::><unix:s>" },
        { { "site" }, .holds = " root=site " },
        { { "site", "-p", "9" }, .holds = " port=9 " },
        { { "site", "-p", "9" }, .holds = " root=site " },
        { { "-p", "9", "--", "-odd" }, .holds = " root=-odd " },
        { { "--work", "3" }, .holds = " workers=3 " },
    };

    (void)state;
    CHECK_ALL(lines);
}

static void test_environment(void **state)
{
    static const struct case_line lines[] = {
        { .environment = { "TETRAD_PORT=81" }, .holds = " port=81 " },
        { { "-p", "82" }, { "TETRAD_PORT=81" }, .holds = " port=82 " },
        /* What the command line overrides is not even read. */
        { { "-p", "82" }, { "TETRAD_PORT=junk" }, .holds = " port=82 " },
        { .environment = { "TETRAD_MAX_CONNECTIONS=7" }, .holds = " max-connections=7 " },
        { .environment = { "TETRAD_SERVER_HEADER=full" }, .holds = " server-header=2 " },
        { .environment = { "TETRAD_INDEX=" }, .holds = " index= " },
        { .environment = { "TETRAD_BIND=::1" }, .holds = " binds=<::1>" },
        { .environment = { "TETRAD_BIND=127.0.0.1\nunix:a b\n::1\n" },
          .holds = " binds=<127.0.0.1><unix:a b><::1>" },
        { .environment = { "TETRAD_BIND=" }, .holds = " binds=<127.0.0.1>" },
        { .environment = { "TETRAD_BIND=\n\n" }, .holds = " binds=<127.0.0.1>" },
        { { "-b", "::" }, { "TETRAD_BIND=::1\n0.0.0.0" }, .holds = " binds=<::>" },
        { .environment = { "TETRAD_HELP=0", "TETRAD_VERSION=" }, .holds = " port=8080 " },
        { .environment = { "TETRAD_LIST_MODELS=1" },
          .result = OPTIONS_LIST_MODELS,
          .holds = "" },
        { .environment = { "TETRAD_PORT=-1" },
          .result = OPTIONS_ERROR,
          .holds = "TETRAD_PORT='-1': expected a number from 0 to 65535" },
        { .environment = { "TETRAD_PORT=" },
          .result = OPTIONS_ERROR,
          .holds = "TETRAD_PORT='': expected a number from 0 to 65535" },
        { .environment = { "TETRAD_HELP=yes" },
          .result = OPTIONS_ERROR,
          .holds = "TETRAD_HELP='yes': expected 1 or 0" },
        { .environment = { "TETRAD_BIND=::1\nlocalhost" },
          .result = OPTIONS_ERROR,
          .holds =
              "TETRAD_BIND='localhost': expected an IPv4 address, an IPv6 address or "
              "unix:PATH" },
    };

    (void)state;
    CHECK_ALL(lines);
}

static void test_actions(void **state)
{
    static const struct case_line lines[] = {
        { { "--help" }, .result = OPTIONS_HELP, .holds = "" },
        { { "-h" }, .result = OPTIONS_HELP, .holds = "" },
        { { "--version" }, .result = OPTIONS_VERSION, .holds = "" },
        { { "-V" }, .result = OPTIONS_VERSION, .holds = "" },
        { { "--list-models" }, .result = OPTIONS_LIST_MODELS, .holds = "" },
        /* Help is to be had whatever the environment and the rest of the line are. */
        { { "-h", "--bogus" }, { "TETRAD_PORT=x" }, .result = OPTIONS_HELP, .holds = "" },
    };

    (void)state;
    CHECK_ALL(lines);
}

#define TIME_ERROR(given)                                                                \
    given ": expected a time from 1ms to 8760h, such as 10s or 500ms"
#define TIME_OR_0_ERROR(given)                                                           \
    given ": expected a time from 0 to 8760h, such as 10s or 500ms"
#define SIZE_ERROR(given) given ": expected a size such as 0, 512K, 64M or 2G"
#define ERROR_LINE(text, ...)                                                            \
    {                                                                                    \
        .words = { __VA_ARGS__ }, .result = OPTIONS_ERROR, .holds = text                 \
    }

static void test_bad_numbers(void **state)
{
    static const struct case_line lines[] = {
        ERROR_LINE("--port '65536': expected a number from 0 to 65535", "-p", "65536"),
        ERROR_LINE("--port '18446744073709551616': expected a number from 0 to 65535",
                   "-p", "18446744073709551616"),
        ERROR_LINE("--port '18446744073709551617': expected a number from 0 to 65535",
                   "-p", "18446744073709551617"),
        ERROR_LINE("--port '-1': expected a number from 0 to 65535", "-p", "-1"),
        ERROR_LINE("--port '+1': expected a number from 0 to 65535", "-p", "+1"),
        ERROR_LINE("--port ' 1': expected a number from 0 to 65535", "-p", " 1"),
        ERROR_LINE("--port '1 ': expected a number from 0 to 65535", "-p", "1 "),
        ERROR_LINE("--port '0x50': expected a number from 0 to 65535", "--port=0x50"),
        ERROR_LINE("--port '8080x': expected a number from 0 to 65535", "--port",
                   "8080x"),
        ERROR_LINE("--port '': expected a number from 0 to 65535", "--port="),
        ERROR_LINE("--workers '0': expected a number from 1 to 1024", "-w0"),
        ERROR_LINE("--workers '1025': expected a number from 1 to 1024", "-w1025"),
        ERROR_LINE("--max-connections '0': expected a number from 1 to 2147483647",
                   "--max-connections", "0"),
        ERROR_LINE("--max-requests '2147483648': expected a number from 0 to 2147483647",
                   "--max-requests", "2147483648"),
    };

    (void)state;
    CHECK_ALL(lines);
}

static void test_bad_times_and_sizes(void **state)
{
    static const struct case_line lines[] = {
        ERROR_LINE(TIME_ERROR("--header-timeout '0'"), "--header-timeout", "0"),
        ERROR_LINE(TIME_ERROR("--keepalive-timeout '0s'"), "--keepalive-timeout", "0s"),
        ERROR_LINE(TIME_ERROR("--send-timeout '0ms'"), "--send-timeout", "0ms"),
        ERROR_LINE(TIME_ERROR("--body-timeout '0h'"), "--body-timeout", "0h"),
        ERROR_LINE(TIME_ERROR("--body-timeout ''"), "--body-timeout", ""),
        ERROR_LINE(TIME_ERROR("--body-timeout 's'"), "--body-timeout", "s"),
        ERROR_LINE(TIME_ERROR("--body-timeout '-5s'"), "--body-timeout", "-5s"),
        ERROR_LINE(TIME_ERROR("--body-timeout '5 s'"), "--body-timeout", "5 s"),
        ERROR_LINE(TIME_ERROR("--body-timeout '5sec'"), "--body-timeout", "5sec"),
        ERROR_LINE(TIME_ERROR("--body-timeout '5S'"), "--body-timeout", "5S"),
        ERROR_LINE(TIME_ERROR("--body-timeout '1e3'"), "--body-timeout", "1e3"),
        ERROR_LINE(TIME_ERROR("--body-timeout '.5'"), "--body-timeout", ".5"),
        ERROR_LINE(TIME_ERROR("--body-timeout '1.'"), "--body-timeout", "1."),
        ERROR_LINE(TIME_ERROR("--body-timeout '1.5ms'"), "--body-timeout", "1.5ms"),
        ERROR_LINE(TIME_ERROR("--body-timeout '1.0000000001'"), "--body-timeout",
                   "1.0000000001"),
        ERROR_LINE(TIME_ERROR("--body-timeout '8760.1h'"), "--body-timeout", "8760.1h"),
        ERROR_LINE(TIME_ERROR("--body-timeout '18446744073709551h'"), "--body-timeout",
                   "18446744073709551h"),
        ERROR_LINE(TIME_OR_0_ERROR("--revalidate '0.0001'"), "--revalidate", "0.0001"),
        ERROR_LINE(TIME_OR_0_ERROR("--grace 'never'"), "--grace", "never"),
        ERROR_LINE(SIZE_ERROR("--cache-size '-1'"), "--cache-size", "-1"),
        ERROR_LINE(SIZE_ERROR("--cache-size '64MB'"), "--cache-size", "64MB"),
        ERROR_LINE(SIZE_ERROR("--cache-size '0.1'"), "--cache-size", "0.1"),
        ERROR_LINE(SIZE_ERROR("--cache-size '64T'"), "--cache-size", "64T"),
        ERROR_LINE(SIZE_ERROR("--cache-size '18446744073709551615G'"), "--cache-size",
                   "18446744073709551615G"),
        ERROR_LINE(SIZE_ERROR("--cache-size '9223372036854775808'"), "--cache-size",
                   "9223372036854775808"),
    };

    (void)state;
    CHECK_ALL(lines);
}

#define BIND_ERROR(given) given ": expected an IPv4 address, an IPv6 address or unix:PATH"
#define INDEX_ERROR(given) given ": expected file names separated by commas, or nothing"

static void test_bad_words(void **state)
{
    static const struct case_line lines[] = {
        ERROR_LINE("--model '': expected the name of a model", "-m", ""),
        ERROR_LINE("--server-header 'on': expected off, name or full", "--server-header",
                   "on"),
        ERROR_LINE("--log-format 'JSON': expected common, combined or json",
                   "--log-format", "JSON"),
        ERROR_LINE("--access-log '': expected the name of a file, or -", "--access-log",
                   ""),
        ERROR_LINE("--user '': expected the name of a user, and maybe a group", "-u", ""),
        ERROR_LINE(INDEX_ERROR("--index 'a/b'"), "--index", "a/b"),
        ERROR_LINE(INDEX_ERROR("--index 'a,,b'"), "--index", "a,,b"),
        ERROR_LINE(INDEX_ERROR("--index ',a'"), "--index", ",a"),
        ERROR_LINE(INDEX_ERROR("--index 'a,'"), "--index", "a,"),
        ERROR_LINE(INDEX_ERROR("--index ','"), "--index", ","),
        ERROR_LINE(BIND_ERROR("--bind ''"), "--bind", ""),
        ERROR_LINE(BIND_ERROR("--bind '1'"), "--bind", "1"),
        ERROR_LINE(BIND_ERROR("--bind '127.0.0.256'"), "--bind", "127.0.0.256"),
        ERROR_LINE(BIND_ERROR("--bind '127.0.0.1:80'"), "--bind", "127.0.0.1:80"),
        ERROR_LINE(BIND_ERROR("--bind 'unix:'"), "--bind", "unix:"),
        ERROR_LINE(BIND_ERROR("--bind 'example.org'"), "--bind", "example.org"),
        ERROR_LINE("--bogus: unknown or ambiguous option; see --help", "--bogus"),
        ERROR_LINE("--bogus=3: unknown or ambiguous option; see --help", "--bogus=3"),
        ERROR_LINE("--max=3: unknown or ambiguous option; see --help", "--max=3"),
        ERROR_LINE("-z: unknown option; see --help", "-z"),
        ERROR_LINE("-z: unknown option; see --help", "--port=1", "-zp"),
        ERROR_LINE("--port: a value is missing (N)", "--port"),
        ERROR_LINE("--port: a value is missing (N)", "-p"),
        ERROR_LINE("--version=3: --version takes no value", "--version=3"),
        ERROR_LINE("'': expected a directory", ""),
        ERROR_LINE("'b': one directory only, and 'a' is given already", "a", "b"),
        ERROR_LINE("'b': one directory only, and 'a' is given already", "a", "-p", "1",
                   "b", "c"),
    };

    (void)state;
    CHECK_ALL(lines);
}

static void test_full_list(void **state)
{
    struct case_line line = { .result = OPTIONS_RUN, .holds = " binds=<127.0.0.1>" };
    char many[20 * (OPTIONS_BINDS_MAX + 1) + sizeof("TETRAD_BIND=")] = "TETRAD_BIND=";

    (void)state;
    for (unsigned i = 0; i < OPTIONS_BINDS_MAX; i++) {
        line.words[i] = "-b127.0.0.1";
    }
    check(&line);
    line.words[OPTIONS_BINDS_MAX] = "-b::1";
    line.result = OPTIONS_ERROR;
    line.holds = "--bind '::1': more than 16 values";
    check(&line);

    for (unsigned i = 0; i <= OPTIONS_BINDS_MAX; i++) {
        strcat(many, "127.0.0.2\n");
    }
    memset(line.words, 0, sizeof(line.words));
    line.environment[0] = many;
    line.holds = "TETRAD_BIND='127.0.0.2': more than 16 values";
    check(&line);
}

/* A value longer than the line: the line is cut, and still says what is expected. */
static void test_long_value(void **state)
{
    struct options options;
    struct case_line line = { .words = { "-p" } };
    char value[4096];
    char error[ERROR_MAX];

    (void)state;
    memset(value, '9', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    line.words[1] = value;
    assert_int_equal(parse(&options, &line, error), OPTIONS_ERROR);
    assert_non_null(strstr(error, "': expected a number from 0 to 65535"));
    options_free(&options);
}

/* Help names every option and its default, and no line is wider than a terminal. */
static void test_help(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);

    (void)state;
    assert_non_null(memory);
    options_print_help(memory);
    assert_int_equal(fclose(memory), 0);
    for (const struct option_row *row = options_table; row->name != NULL; row++) {
        char name[64];

        snprintf(name, sizeof(name), "--%s%c", row->name,
                 row->implied != NULL ? '[' : ' ');
        assert_non_null(strstr(text, name));
        if (row->initial == NULL) {
            continue;
        }
        snprintf(name, sizeof(name), "(default %s)", row->initial);
        assert_non_null(strstr(text, name));
    }
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        assert_in_range(strcspn(line, "\n"), 0, 80);
    }
    free(text);
}

/* Two rows of one name or letter: the second would never be reached. */
static void test_rows_are_distinct(void **state)
{
    (void)state;
    for (const struct option_row *a = options_table; a->name != NULL; a++) {
        assert_non_null(a->help);
        assert_non_null(a->parse);
        for (const struct option_row *b = options_table; b != a; b++) {
            assert_string_not_equal(a->name, b->name);
            assert_true(a->letter == 0 || a->letter != b->letter);
            assert_true(a->offset != b->offset);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_command_line),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_actions),
        cmocka_unit_test(test_bad_numbers),
        cmocka_unit_test(test_bad_times_and_sizes),
        cmocka_unit_test(test_bad_words),
        cmocka_unit_test(test_full_list),
        cmocka_unit_test(test_long_value),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_rows_are_distinct),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
