/* The connection machine: scripts of bytes with the answers they must get, each replayed
 * at every split point of the input, byte by byte, and with sends of one byte. */
#include "http_input.h"
#include "http_outcome.h"

/* What a script must lead to: the statuses of all answers, "100" for an interim one. A
 * "!" at the end: the connection closes. */
struct script {
    int line;
    const char *input;
    const char *outcome;
};

#define GET "GET / HTTP/1.1\r\nHost: t\r\n\r\n"
#define HOST "Host: t\r\n"
#define POST "POST /p HTTP/1.1\r\nHost: t\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

static const struct script scripts[] = {
    /* persistence */
    { __LINE__, GET, "200" },
    { __LINE__, GET GET GET, "200 200 200" },
    { __LINE__, "\r\n\r\n" GET "\r\n" GET, "200 200" },
    { __LINE__, "\r\n\r\n\r\n\r\n" GET, "200" },
    { __LINE__, "\r\n\r\n\r\n\r\n\r\n" GET, "400!" },
    { __LINE__, "GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n" GET, "200!" },
    { __LINE__, "GET / HTTP/1.1\r\n" HOST "Connection: x, CLOSE\r\n\r\n", "200!" },
    { __LINE__, "GET / HTTP/1.1\r\n" HOST "Connection: a\r\nConnection: close\r\n\r\n",
      "200!" },
    { __LINE__, "GET / HTTP/1.0\r\n\r\n" GET, "200!" },
    { __LINE__, "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n" GET, "200 200" },
    { __LINE__, "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", "200!" },
    { __LINE__, "HEAD /x HTTP/1.1\r\n" HOST "\r\n" GET, "200 200" },
    { __LINE__, "GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\njunk\r\n", "200!" },
    { __LINE__, GET "junk\r\n\r\n", "200 400!" },
    { __LINE__,
      "GET / HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" GET,
      "200 200" },
    /* request line */
    { __LINE__, "GET / HTTP/1.1\n" HOST "\r\n", "400!" },
    { __LINE__, "GET / HTTP/1.1\r" HOST "\r\n", "400!" },
    { __LINE__, "GET /\r\n\r\n", "400!" },
    { __LINE__, "GET  / HTTP/1.1\r\n" HOST "\r\n", "400!" },
    { __LINE__, "GET / HTTP/1.1 \r\n" HOST "\r\n", "400!" },
    { __LINE__, "GET / http/1.1\r\n" HOST "\r\n", "400!" },
    { __LINE__, "GET / HTTP/11.1\r\n" HOST "\r\n", "400!" },
    { __LINE__, "GET / HTTP/1.2\r\n" HOST "\r\n", "505!" },
    { __LINE__, "GET / HTTP/2.0\r\n" HOST "\r\n", "505!" },
    { __LINE__, "GET / HTTP/0.9\r\n\r\n", "505!" },
    { __LINE__, "GET /\x01 HTTP/1.1\r\n" HOST "\r\n", "400!" },
    { __LINE__, "GET /\xff HTTP/1.1\r\n" HOST "\r\n", "400!" },
    { __LINE__, "GET /#f HTTP/1.1\r\n" HOST "\r\n", "400!" },
    { __LINE__, "GET a.txt HTTP/1.1\r\n" HOST "\r\n", "400!" },
    { __LINE__, "GET http://t/a HTTP/1.1\r\n" HOST "\r\n", "200" },
    { __LINE__, "GET HTTP://t?x HTTP/1.1\r\n" HOST "\r\n", "200" },
    { __LINE__, "GET http:///a HTTP/1.1\r\n" HOST "\r\n", "400!" },
    { __LINE__, "GET http://u@t/a HTTP/1.1\r\n" HOST "\r\n", "400!" },
    { __LINE__, "GET ftp://t/a HTTP/1.1\r\n" HOST "\r\n", "400!" },
    { __LINE__, "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "200" },
    { __LINE__, "GET * HTTP/1.1\r\n" HOST "\r\n", "400!" },
    /* methods */
    { __LINE__, "BREW / HTTP/1.1\r\n" HOST "\r\n" GET, "501!" },
    { __LINE__, "get / HTTP/1.1\r\n" HOST "\r\n", "501!" },
    { __LINE__, "CONNECT t:1 HTTP/1.1\r\n" HOST "\r\n" GET, "405!" },
    { __LINE__, "VERSION-CONTROL / HTTP/1.1\r\n" HOST "\r\n" GET, "405 200" },
    { __LINE__, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505!" },
    /* Host */
    { __LINE__, "GET / HTTP/1.1\r\n\r\n", "400!" },
    { __LINE__, "GET / HTTP/1.1\r\nHost:\r\n\r\n", "400!" },
    { __LINE__, "GET / HTTP/1.1\r\n" HOST HOST "\r\n", "400!" },
    { __LINE__, "GET / HTTP/1.0\r\n" HOST HOST "\r\n", "400!" },
    { __LINE__, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "400!" },
    { __LINE__, "GET / HTTP/1.1\r\nHost: t:x\r\n\r\n", "400!" },
    { __LINE__, "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "200" },
    /* fields */
    { __LINE__, "GET / HTTP/1.1\r\n" HOST "A : b\r\n\r\n", "400!" },
    { __LINE__, "GET / HTTP/1.1\r\n" HOST ": b\r\n\r\n", "400!" },
    { __LINE__, "GET / HTTP/1.1\r\n" HOST "A: b\r\n c\r\n\r\n", "400!" },
    { __LINE__, "GET / HTTP/1.1\r\n" HOST "A: b\nC: d\r\n\r\n", "400!" },
    { __LINE__, "GET / HTTP/1.1\r\n" HOST "A:\rBTransfer-Encoding: chunked\r\n\r\n",
      "400!" },
    { __LINE__, "GET / HTTP/1.1\r\n" HOST "A: \x7f\r\n\r\n", "400!" },
    { __LINE__, "GET / HTTP/1.1\r\n" HOST "A:\r\nB: \t \r\nC:\t\xe9\r\n\r\n", "200" },
    { __LINE__, "GET / HTTP/1.1\r\n" HOST "\r\rX", "400!" },
    { __LINE__, "POST /a HTTP/1.1\r\n" HOST "X: 1\r\n Content-Length: 5\r\n\r\nGET /",
      "400!" },
    /* bodies */
    { __LINE__, POST "Content-Length: 5\r\n\r\nhello" GET, "405 200" },
    { __LINE__, POST "Content-Length: 0\r\n\r\n" GET, "405 200" },
    { __LINE__, "GET / HTTP/1.1\r\n" HOST "Content-Length: 29\r\n\r\n" GET "XX" GET,
      "200 200" },
    { __LINE__, POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", "400!" },
    { __LINE__, POST "Content-Length: 5, 5\r\n\r\nhello", "400!" },
    { __LINE__, POST "Content-Length: +5\r\n\r\nhello", "400!" },
    { __LINE__, POST "Content-Length:\r\n\r\nhello", "400!" },
    { __LINE__, POST "Content-Length:\t5 \r\n\r\nhello" GET, "405 200" },
    { __LINE__, POST "Content-Length: 5\t\r\n\r\nhello", "400!" },
    { __LINE__, POST "Content-Length:\r\nContent-Length: 5\r\n\r\nhello", "400!" },
    { __LINE__, POST "Content-Length: 1048577\r\n\r\n" GET, "413!" },
    { __LINE__, POST "Content-Length: 99999999999999999999999\r\n\r\n" GET, "413!" },
    { __LINE__, CHUNKED "5\r\nhello\r\n0\r\n\r\n" GET, "405 200" },
    { __LINE__, CHUNKED "5;a=b\r\nhello\r\n00\r\nX: y\r\n\r\n" GET, "405 200" },
    { __LINE__, CHUNKED "1;a=b;c=\"\\\"d \xe9\"\r\nx\r\n0 ; e \r\n\r\n" GET, "405 200" },
    { __LINE__,
      CHUNKED "0\r\nHost: u\r\nConnection: close\r\n"
              "Transfer-Encoding: gzip\r\n\r\n" GET,
      "405 200" },
    { __LINE__, CHUNKED "a\r\n0123456789\r\n1\r\nx\r\n0\r\n\r\n" GET, "405 200" },
    { __LINE__, CHUNKED "5 \r\nhello\r\n0\r\n\r\n", "400!" },
    { __LINE__, CHUNKED "+5\r\nhello\r\n0\r\n\r\n", "400!" },
    { __LINE__, CHUNKED "0x5\r\nhello\r\n0\r\n\r\n", "400!" },
    { __LINE__, CHUNKED "\r\n", "400!" },
    { __LINE__, CHUNKED "5\nhello\r\n0\r\n\r\n", "400!" },
    { __LINE__, CHUNKED "5\r\nhelloX\r\n0\r\n\r\n", "400!" },
    { __LINE__, CHUNKED "5\r\nhello\n0\r\n\r\n", "400!" },
    { __LINE__, CHUNKED "1\rXZ??0\r\n\r\n", "400!" },
    { __LINE__, CHUNKED "FFFFFFFFFFFFFFFF\r\n", "413!" },
    { __LINE__, CHUNKED "00000000000000005\r\nhello\r\n0\r\n\r\n", "400!" },
    { __LINE__, CHUNKED "0000000000000005\r\nhello\r\n0\r\n\r\n", "405" },
    { __LINE__, CHUNKED "100001\r\n", "413!" },
    { __LINE__, CHUNKED "0\r\nX: y\r\n z\r\n\r\n", "400!" },
    { __LINE__, CHUNKED "0\r\nContent-Length: 5\r\n\r\n" GET, "405 200" },
    { __LINE__, POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "400!" },
    { __LINE__, POST "Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n", "400!" },
    { __LINE__, POST "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", "400!" },
    { __LINE__, POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "501!" },
    { __LINE__, POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "400!" },
    { __LINE__, POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", "400!" },
    { __LINE__, POST "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n" GET, "405 200" },
    { __LINE__, POST "Transfer-Encoding:\r\n\r\n0\r\n\r\n", "400!" },
    { __LINE__, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "400!" },
    /* Expect */
    { __LINE__,
      "GET / HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nab" GET,
      "100 200 200" },
    { __LINE__,
      "GET / HTTP/1.1\r\n" HOST
      "Expect: 100-Continue\r\nTransfer-Encoding: chunked\r\n\r\n"
      "2\r\nab\r\n0\r\n\r\n" GET,
      "100 200 200" },
    { __LINE__, POST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nab" GET, "405!" },
    { __LINE__, "GET / HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n\r\n" GET, "200 200" },
    { __LINE__, "GET / HTTP/1.1\r\n" HOST "Expect: foo\r\n\r\n" GET, "417 200" },
    { __LINE__, "GET / HTTP/1.1\r\n" HOST "Expect: foo\r\nContent-Length: 2\r\n\r\nab",
      "417!" },
    { __LINE__, "GET / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
      "200!" },
};

static void play(const struct script *script, size_t first, size_t piece, size_t send_max,
                 struct driver *driver)
{
    size_t n = strlen(script->input);

    driver_open(driver, &driver_limits, send_max);
    first = first < n ? first : n;
    driver_feed(driver, script->input, first, first > 0 ? first : 1);
    driver_feed(driver, script->input + first, n - first, piece);
}

static void expect_same(const struct script *script, size_t first, size_t piece,
                        size_t send_max, const struct driver *whole)
{
    static struct driver driver;
    char outcome[OUTCOME_MAX];

    play(script, first, piece, send_max, &driver);
    read_outcome(&driver, outcome, sizeof outcome);
    if (driver.sent_len != whole->sent_len ||
        memcmp(driver.sent, whole->sent, whole->sent_len) != 0 ||
        driver.half_closed != whole->half_closed) {
        fail_msg("%s:%d: split at %zu, pieces of %zu, sends of %zu: \"%s\"", __FILE__,
                 script->line, first, piece, send_max, outcome);
    }
    driver_close(&driver);
}

static void scripts_are_answered_alike_at_every_split(void **state)
{
    static struct driver whole;

    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        const struct script *script = &scripts[i];
        size_t n = strlen(script->input);
        char outcome[OUTCOME_MAX];

        play(script, n, n, SIZE_MAX, &whole);
        read_outcome(&whole, outcome, sizeof outcome);
        if (strcmp(outcome, script->outcome) != 0) {
            fail_msg("%s:%d: \"%s\" instead of \"%s\" for \"%s\"", __FILE__, script->line,
                     outcome, script->outcome, script->input);
        }
        for (size_t split = 0; split <= n; split++) {
            expect_same(script, split, SIZE_MAX, SIZE_MAX, &whole);
        }
        expect_same(script, 0, 1, SIZE_MAX, &whole);
        expect_same(script, 0, 1, 1, &whole);
        expect_same(script, 0, 7, 3, &whole);
        driver_close(&whole);
    }
}

/* Parts of long scripts. */
static char *repeated(const char *head, const char *part, unsigned times,
                      const char *tail)
{
    size_t part_len = strlen(part), len = strlen(head);
    char *text = malloc(len + part_len * times + strlen(tail) + 1);
    char *end = text;

    assert_non_null(text);
    end = stpcpy(end, head);
    for (unsigned i = 0; i < times; i++) {
        end = stpcpy(end, part);
    }
    stpcpy(end, tail);
    return text;
}

struct long_script {
    int line;
    const char *head, *part;
    unsigned times;
    const char *tail, *outcome;
};

#define START "GET / HTTP/1.1\r\n" HOST

static const struct long_script long_scripts[] = {
    { __LINE__, "GET /", "a", 8191, " HTTP/1.1\r\n" HOST "\r\n" GET, "200 200" },
    { __LINE__, "GET /", "a", 8192, " HTTP/1.1\r\n" HOST "\r\n" GET, "414!" },
    { __LINE__, "GET /", "a", 100000, "", "414!" },
    { __LINE__, START, "A: b\r\n", 99, "\r\n" GET, "200 200" },
    { __LINE__, START, "A: b\r\n", 100, "\r\n" GET, "431!" },
    { __LINE__, START "A: ", "b", 16384 - 32, "\r\n\r\n" GET, "200 200" },
    { __LINE__, START "A: ", "b", 16384 - 31, "\r\n\r\n" GET, "431!" },
    { __LINE__, START "A: ", "b", 16000, "\r\n\r\n" GET, "200 200" },
    { __LINE__, START "A: ", "b", 200000, "", "431!" },
    { __LINE__, "", "A", 200000, "", "431!" },
    { __LINE__, CHUNKED "1;", "a", 4095, "\r\nx\r\n0\r\n\r\n" GET, "405 200" },
    { __LINE__, CHUNKED "1;", "a", 4096, "\r\nx\r\n0\r\n\r\n" GET, "400!" },
    { __LINE__, CHUNKED, "1;abc\r\nx\r\n", 2000, "0\r\n\r\n", "400!" },
    { __LINE__, CHUNKED, "10\r\n0123456789abcdef\r\n", 65536, "0\r\n\r\n" GET,
      "405 200" },
    { __LINE__, CHUNKED, "10\r\n0123456789abcdef\r\n", 65537, "0\r\n\r\n" GET, "413!" },
    { __LINE__, CHUNKED "0\r\n", "A: b\r\n", 100, "\r\n" GET, "405 200" },
    { __LINE__, CHUNKED "0\r\n", "A: b\r\n", 101, "\r\n" GET, "431!" },
    { __LINE__, CHUNKED "0\r\nA: ", "b", 20000, "\r\n\r\n" GET, "431!" },
    { __LINE__, POST "Content-Length: 1048576\r\n\r\n", "0123456789abcdef", 65536, GET,
      "405 200" },
    { __LINE__, "", GET, 100, "", NULL },
};

static void long_scripts_are_bounded(void **state)
{
    static struct driver whole;

    (void)state;
    for (size_t i = 0; i < sizeof long_scripts / sizeof *long_scripts; i++) {
        const struct long_script *row = &long_scripts[i];
        char *text = repeated(row->head, row->part, row->times, row->tail);
        struct script script = { row->line, text, row->outcome };
        size_t n = strlen(text);
        char outcome[OUTCOME_MAX];

        play(&script, n, n, SIZE_MAX, &whole);
        read_outcome(&whole, outcome, sizeof outcome);
        if (row->outcome == NULL) {
            assert_int_equal(whole.answers, row->times);
        } else if (strcmp(outcome, row->outcome) != 0) {
            fail_msg("%s:%d: \"%s\" instead of \"%s\"", __FILE__, row->line, outcome,
                     row->outcome);
        }
        expect_same(&script, 0, 1, SIZE_MAX, &whole);
        expect_same(&script, 0, 1000, 100, &whole);
        expect_same(&script, 8190, 3, 1000, &whole);
        driver_close(&whole);
        free(text);
    }
}

/* A GET of this length. */
static size_t write_get(char *to, size_t len)
{
    static const char start[] = "GET / HTTP/1.1\r\n" HOST "X: ";

    memset(to, 'x', len);
    memcpy(to, start, sizeof start - 1);
    memcpy(to + len - 4, "\r\n\r\n", 4);
    return len;
}

/* Heads that came together fill the buffer but for a few bytes, and the last of them has
 * a body. */
static void a_body_is_read_where_there_is_room(void **state)
{
    static const char head[] = POST "Content-Length: 5000\r\n\r\n";
    static const size_t left[] = { 0, 1, 500, 1023, 1024, 4000, 6000 };
    static char input[2 * BUFFER_SIZE];
    static struct driver driver;
    const size_t room = BUFFER_SIZE - sizeof(struct http_input);

    (void)state;
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        size_t heads = room - left[i] - (sizeof head - 1);
        char outcome[OUTCOME_MAX];
        size_t n = write_get(input, heads / 2);

        n += write_get(input + n, heads - heads / 2);
        memcpy(input + n, head, sizeof head - 1);
        n += sizeof head - 1;
        memset(input + n, 'b', 5000);
        n += 5000;
        memcpy(input + n, GET, sizeof GET - 1);
        n += sizeof GET - 1;
        driver_open(&driver, &driver_limits, SIZE_MAX);
        driver_feed(&driver, input, n, SIZE_MAX);
        read_outcome(&driver, outcome, sizeof outcome);
        assert_string_equal(outcome, "200 200 405 200");
        driver_close(&driver);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scripts_are_answered_alike_at_every_split),
        cmocka_unit_test(long_scripts_are_bounded),
        cmocka_unit_test(a_body_is_read_where_there_is_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
