/* Lines of the access log: each format to the byte, every byte's escape, and that no
 * request, however it is made, gives more than one line of a pipe's length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "access_line.h"

static const char line_time[] = "30/Nov/2025:12:34:56 +0100";

static const struct exchange plain = {
    .status = 200,
    .body_bytes = 6144,
    .line = { "GET /6k HTTP/1.1", 16 },
    .referer = { "http://t.test/", 14 },
    .user_agent = { "wrk (x; y)", 10 },
    .host = { "t.test:8080", 11 },
};

static void assert_renders(enum access_format format, const struct exchange *exchange,
                           const char *expected)
{
    const struct access_context context = { "2001:db8::1", line_time, 12 };
    char line[ACCESS_LINE_MAX + 1];
    size_t len = access_line_render(format, exchange, &context, line);

    assert_in_range(len, 1, ACCESS_LINE_MAX);
    line[len] = '\0';
    assert_string_equal(line, expected);
    assert_int_equal(strlen(line), len);
}

static void test_formats(void **state)
{
    (void)state;
    assert_renders(ACCESS_COMMON, &plain,
                   "2001:db8::1 - - [30/Nov/2025:12:34:56 +0100] \"GET /6k HTTP/1.1\" "
                   "200 6144\n");
    assert_renders(ACCESS_COMBINED, &plain,
                   "2001:db8::1 - - [30/Nov/2025:12:34:56 +0100] \"GET /6k HTTP/1.1\" "
                   "200 6144 \"http://t.test/\" \"wrk (x; y)\"\n");
    assert_renders(ACCESS_JSON, &plain,
                   "{\"time\":\"30/Nov/2025:12:34:56 +0100\",\"remote\":\"2001:db8::1\","
                   "\"host\":\"t.test:8080\",\"request\":\"GET /6k HTTP/1.1\","
                   "\"status\":200,\"bytes\":6144,\"duration_ms\":12,"
                   "\"referer\":\"http://t.test/\",\"user_agent\":\"wrk (x; y)\"}\n");
}

/* No request at all: a connection over the limit, or a time-out. */
static void test_nothing_came(void **state)
{
    const struct exchange nothing = { .status = 503, .body_bytes = UINT64_MAX };

    (void)state;
    assert_renders(ACCESS_COMMON, &nothing,
                   "2001:db8::1 - - [30/Nov/2025:12:34:56 +0100] \"-\" 503 "
                   "18446744073709551615\n");
    assert_renders(ACCESS_COMBINED, &nothing,
                   "2001:db8::1 - - [30/Nov/2025:12:34:56 +0100] \"-\" 503 "
                   "18446744073709551615 \"-\" \"-\"\n");
    assert_renders(ACCESS_JSON, &nothing,
                   "{\"time\":\"30/Nov/2025:12:34:56 +0100\",\"remote\":\"2001:db8::1\","
                   "\"host\":null,\"request\":null,\"status\":503,"
                   "\"bytes\":18446744073709551615,\"duration_ms\":12,\"referer\":null,"
                   "\"user_agent\":null}\n");
}

static void test_empty_texts(void **state)
{
    struct exchange empty = { .status = 400, .line = { "", 0 }, .user_agent = { "", 0 } };

    (void)state;
    assert_renders(
        ACCESS_COMBINED, &empty,
        "2001:db8::1 - - [30/Nov/2025:12:34:56 +0100] \"-\" 400 0 \"-\" \"-\"\n");
    assert_renders(ACCESS_JSON, &empty,
                   "{\"time\":\"30/Nov/2025:12:34:56 +0100\",\"remote\":\"2001:db8::1\","
                   "\"host\":null,\"request\":\"\",\"status\":400,\"bytes\":0,"
                   "\"duration_ms\":12,\"referer\":null,\"user_agent\":\"\"}\n");
}

/* The escape of one byte, as it stands in the line between quotes. */
static void escape_of(enum access_format format, unsigned char byte, char escape[32])
{
    const struct access_context context = { "-", "-", 0 };
    const char text[] = { '<', (char)byte, '>' };
    struct exchange exchange = { .line = { text, sizeof text } };
    char line[ACCESS_LINE_MAX + 1];
    const char *from, *to;

    line[access_line_render(format, &exchange, &context, line)] = '\0';
    from = strstr(line, "\"<");
    to = strstr(line, format == ACCESS_JSON ? ">\"," : ">\" ");
    assert_non_null(from);
    assert_non_null(to);
    snprintf(escape, 32, "%.*s", (int)(to - from - 2), from + 2);
}

static void test_every_byte(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        bool escaped = byte < 0x20 || byte > 0x7e || byte == '"' || byte == '\\';
        char expected[32], found[32];

        snprintf(expected, sizeof expected, escaped ? "\\x%02X" : "%c", byte);
        escape_of(ACCESS_COMBINED, (unsigned char)byte, found);
        assert_string_equal(found, expected);
        escape_of(ACCESS_COMMON, (unsigned char)byte, found);
        assert_string_equal(found, expected);
        snprintf(expected, sizeof expected,
                 !escaped                    ? "%c"
                 : byte == '"' || byte == 92 ? "\\%c"
                                             : "\\u%04X",
                 byte);
        escape_of(ACCESS_JSON, (unsigned char)byte, found);
        assert_string_equal(found, expected);
    }
}

/* Texts that are longer than what is kept, of bytes that need the longest escapes. */
static void assert_bounded(enum access_format format, char byte)
{
    static char text[EXCHANGE_LINE_MAX + 1];
    const struct access_context context = {
        "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", "2025-11-30T12:34:56+01:00",
        UINT64_MAX
    };
    struct exchange exchange = { .status = 503,
                                 .body_bytes = UINT64_MAX,
                                 .line = { text, EXCHANGE_LINE_MAX + 1 },
                                 .referer = { text, EXCHANGE_REFERER_MAX + 1 },
                                 .user_agent = { text, EXCHANGE_USER_AGENT_MAX + 1 },
                                 .host = { text, EXCHANGE_HOST_MAX + 1 } };
    char line[ACCESS_LINE_MAX];
    size_t len;

    memset(text, byte, sizeof text);
    len = access_line_render(format, &exchange, &context, line);
    assert_in_range(len, 1, ACCESS_LINE_MAX);
    assert_ptr_equal(memchr(line, '\n', len), line + len - 1);
    for (size_t i = 0; i + 1 < len; i++) {
        assert_in_range(line[i], 0x20, 0x7e);
    }
}

static void test_longest_lines(void **state)
{
    static const char bytes[] = { 'a', '"', '\\', '\n', '\0', '\x1b', '\xff' };

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++) {
        assert_bounded(ACCESS_COMMON, bytes[i]);
        assert_bounded(ACCESS_COMBINED, bytes[i]);
        assert_bounded(ACCESS_JSON, bytes[i]);
    }
}

/* What fits is whole; one byte more, and three dots say so; no escape is cut in two. */
static void test_cut(void **state)
{
    static char text[EXCHANGE_REFERER_MAX + 1], expected[2 * ACCESS_LINE_MAX];
    struct exchange exchange = { .status = 200, .line = { "-", 1 } };
    static const char before[] =
        "2001:db8::1 - - [30/Nov/2025:12:34:56 +0100] \"-\" 200 0 \"";

    (void)state;
    memset(text, 'r', sizeof text);
    exchange.referer = (struct slice){ text, EXCHANGE_REFERER_MAX };
    snprintf(expected, sizeof expected, "%s%.*s\" \"-\"\n", before, EXCHANGE_REFERER_MAX,
             text);
    assert_renders(ACCESS_COMBINED, &exchange, expected);

    exchange.referer.len++;
    snprintf(expected, sizeof expected, "%s%.*s...\" \"-\"\n", before,
             EXCHANGE_REFERER_MAX, text);
    assert_renders(ACCESS_COMBINED, &exchange, expected);

    text[EXCHANGE_REFERER_MAX - 3] = '\t';
    exchange.referer.len--;
    snprintf(expected, sizeof expected, "%s%.*s...\" \"-\"\n", before,
             EXCHANGE_REFERER_MAX - 3, text);
    assert_renders(ACCESS_COMBINED, &exchange, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),       cmocka_unit_test(test_nothing_came),
        cmocka_unit_test(test_empty_texts),   cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_longest_lines), cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
