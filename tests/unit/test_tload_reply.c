/* Answers as tload reads them: each case whole, and cut in two at every place; and the head
 * that the one before had, whose meaning is remembered. */
#include "unit.h"

#include <string.h>

#include "tload_reply.h"

#define OK "HTTP/1.1 200 OK\r\n"

struct reply_case {
    int line;
    const char *bytes;
    enum tload_result
        result; /* after all bytes and, if that is MORE, the server's close */
    unsigned status;
    bool keep;
    const char *rest; /* what is left behind the answer, or part of the reason */
};

static const struct reply_case cases[] = {
    { __LINE__, OK "Content-Length: 5\r\n\r\nhello", TLOAD_DONE, 200, true, "" },
    { __LINE__, OK "content-LENGTH:5\r\n\r\nhello", TLOAD_DONE, 200, true, "" },
    { __LINE__, OK "Content-Length: \t5 \r\n\r\nhello", TLOAD_DONE, 200, true, "" },
    { __LINE__, OK "Content-Length: 5\r\n\r\nhellomore", TLOAD_DONE, 200, true, "more" },
    { __LINE__, OK "Content-Length: 0\r\n\r\n", TLOAD_DONE, 200, true, "" },
    { __LINE__, OK "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", TLOAD_DONE, 200,
      true, "" },
    { __LINE__, OK "Content-Length: 5\r\nConnection: close\r\n\r\nhello", TLOAD_DONE, 200,
      false, "" },
    { __LINE__, OK "Connection: a, CLOSE ,b\r\nContent-Length: 5\r\n\r\nhello",
      TLOAD_DONE, 200, false, "" },
    { __LINE__, OK "Connection: closed\r\nContent-Length: 5\r\n\r\nhello", TLOAD_DONE,
      200, true, "" },
    { __LINE__, OK "Connection: close\r\n\r\nhello", TLOAD_DONE, 200, false, "" },
    { __LINE__, "HTTP/1.0 200 OK\r\n\r\nhello", TLOAD_DONE, 200, false, "" },
    { __LINE__,
      "HTTP/1.0 200\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\nhello",
      TLOAD_DONE, 200, true, "" },
    { __LINE__, "HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n", TLOAD_DONE, 204, true,
      "" },
    { __LINE__, "HTTP/1.1 304 No\r\n\r\n", TLOAD_DONE, 304, true, "" },
    { __LINE__, "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno", TLOAD_DONE, 503, true,
      "" },
    { __LINE__, OK "Content-Length: 6\r\n\r\nhello", TLOAD_BAD, 200, true, NULL },
    { __LINE__, OK "Content-Length: 6\r\n", TLOAD_BAD, 0, false, NULL },
    { __LINE__, OK "\r\nhello", TLOAD_BAD, 200, true, "neither a length" },
    { __LINE__, OK "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", TLOAD_BAD, 200,
      false, "two lengths" },
    { __LINE__, OK "Content-Length: 5x\r\n\r\nhello", TLOAD_BAD, 200, false,
      "no number" },
    { __LINE__, OK "Content-Length: -5\r\n\r\nhello", TLOAD_BAD, 200, false,
      "no number" },
    { __LINE__, OK "Content-Length:\r\n\r\nhello", TLOAD_BAD, 200, false, "no number" },
    { __LINE__, OK "Content-Length: 1111111111111111111\r\n\r\n", TLOAD_BAD, 200, false,
      "no number" },
    { __LINE__, OK "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", TLOAD_BAD, 200, false,
      "Transfer-Encoding" },
    { __LINE__, OK "A: b\r\n c\r\n\r\n", TLOAD_BAD, 200, false, "no field" },
    { __LINE__, OK "A : b\r\n\r\n", TLOAD_BAD, 200, false, "no field" },
    { __LINE__, OK ": b\r\n\r\n", TLOAD_BAD, 200, false, "no field" },
    { __LINE__, OK "A: b\rc\r\n\r\n", TLOAD_BAD, 200, false, "does not end" },
    { __LINE__, "HTTP/1.1 20 OK\r\n\r\n", TLOAD_BAD, 0, false, "no status line" },
    { __LINE__, "HTTP/1.1 2000 OK\r\n\r\n", TLOAD_BAD, 0, false, "no status line" },
    { __LINE__, "HTTP/2.0 200 OK\r\n\r\n", TLOAD_BAD, 0, false, "no status line" },
    { __LINE__, "\r\n\r\n", TLOAD_BAD, 0, false, "no status line" },
    { __LINE__, "HTTP/1.1 100 Go\r\n\r\n", TLOAD_BAD, 100, false, "interim" },
};

/* Takes all bytes but those behind the answer, whose beginning is in *rest. */
static enum tload_result take(struct tload_reader *reader, struct tload_reply *reply,
                              const char *bytes, size_t size, const char **rest)
{
    enum tload_result result = TLOAD_MORE;
    size_t used = 0;

    *rest = bytes;
    if (size > 0) {
        result = tload_reply_take(reader, reply, bytes, size, &used);
        assert_true(used <= size && (result != TLOAD_MORE || used == size));
    }
    *rest = bytes + used;
    return result;
}

static void play(const struct reply_case *test, struct tload_reader *reader, size_t split)
{
    struct tload_reply reply = { 0 };
    const char *rest;
    enum tload_result result = take(reader, &reply, test->bytes, split, &rest);

    if (result == TLOAD_MORE) {
        result = take(reader, &reply, rest, strlen(rest), &rest);
    }
    if (result == TLOAD_MORE) {
        result = tload_reply_end(&reply);
    }
    CHECK_CASE(test->line, test->bytes, result == test->result);
    if (result == TLOAD_DONE) {
        CHECK_CASE(test->line, test->bytes, reply.head.status == test->status);
        CHECK_CASE(test->line, test->bytes, reply.head.keep == test->keep);
        CHECK_CASE(test->line, test->bytes, strcmp(rest, test->rest) == 0);
        CHECK_CASE(test->line, test->bytes,
                   reply.received == strlen(test->bytes) - strlen(test->rest));
    } else if (test->rest) {
        CHECK_CASE(test->line, test->bytes, strstr(reader->reason, test->rest));
    }
    tload_reply_reset(&reply);
}

static void test_every_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (size_t split = 0; split <= strlen(cases[i].bytes); split++) {
            struct tload_reader reader = { 0 };

            play(&cases[i], &reader, split);
        }
    }
}

/* One reader for all, as in a run: what it remembers of one must not change another. */
static void test_one_reader(void **state)
{
    struct tload_reader reader = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (size_t j = 0; j < sizeof(cases) / sizeof(*cases); j++) {
            play(&cases[i], &reader, strlen(cases[i].bytes));
            play(&cases[j], &reader, strlen(cases[j].bytes));
            play(&cases[j], &reader, strlen(cases[j].bytes));
        }
    }
}

static void test_verify(void **state)
{
    static const struct {
        const char *file;
        bool differs;
    } files[] = {
        { "hello", false }, { "hullo", true }, { "hell", true }, { "hello!", false }
    };
    static const char bytes[] = OK "Content-Length: 5\r\n\r\nhello";

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        for (size_t split = 0; split < sizeof(bytes); split++) {
            struct tload_reader reader = { .verify = files[i].file,
                                           .verify_size = strlen(files[i].file) };
            struct tload_reply reply = { 0 };
            const char *rest;

            if (take(&reader, &reply, bytes, split, &rest) == TLOAD_MORE) {
                take(&reader, &reply, rest, strlen(rest), &rest);
            }
            assert_int_equal(reply.body, 5);
            CHECK_CASE(__LINE__, files[i].file, reply.differs == files[i].differs);
            tload_reply_reset(&reply);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_split),
        cmocka_unit_test(test_one_reader),
        cmocka_unit_test(test_verify),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
