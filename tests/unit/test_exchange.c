/* What the connection machine says for the log of each request that it answered: one
 * record for each, once, when its last byte was sent or dropped, with the bytes of the body
 * that were sent, whatever way the input came in and the output left. */
#include "http_driver.h"

#define HOST "Host: t\r\n"
#define GET "GET /a HTTP/1.1\r\n" HOST "\r\n"

enum { LOG_MAX = 16 * 1024 };

static void open_recorded(struct driver *driver, size_t send_max)
{
    driver_open(driver, &driver_limits, send_max);
    http_conn_record(&driver->http);
}

/* Appends "status bytes 'line' 'referer' 'user agent' 'host';" for each that is finished. */
static void collect(struct driver *driver, char *log)
{
    struct exchange exchange;

    while (http_conn_finished(&driver->http, &exchange)) {
        const struct slice texts[] = { exchange.line, exchange.referer,
                                       exchange.user_agent, exchange.host };
        size_t len = strlen(log);

        len += (size_t)snprintf(log + len, LOG_MAX - len, "%u %llu", exchange.status,
                                (unsigned long long)exchange.body_bytes);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            len += (size_t)snprintf(log + len, LOG_MAX - len,
                                    texts[i].base == NULL ? " -" : " '%.*s'",
                                    (int)texts[i].len, texts[i].base);
        }
        snprintf(log + len, LOG_MAX - len, ";");
        assert_in_range(exchange.begun_ms, 1000, driver->now_ms);
    }
}

static const struct {
    int line;
    const char *input, *log;
} cases[] = {
    { __LINE__, GET, "200 9 'GET /a HTTP/1.1' - - 't';" },
    { __LINE__, "\r\n" GET "GET /b?c HTTP/1.0\r\nReferer: r\r\nUser-Agent: u a\r\n\r\n",
      "200 9 'GET /a HTTP/1.1' - - 't';200 9 'GET /b?c HTTP/1.0' 'r' 'u a' -;" },
    { __LINE__, "HEAD /a HTTP/1.1\r\n" HOST "\r\n", "200 0 'HEAD /a HTTP/1.1' - - 't';" },
    { __LINE__, "GET http://o.test/a HTTP/1.1\r\n" HOST "Referer:\r\n\r\n",
      "200 9 'GET http://o.test/a HTTP/1.1' '' - 'o.test';" },
    { __LINE__, "PUT /a HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc" GET,
      "405 9 'PUT /a HTTP/1.1' - - 't';200 9 'GET /a HTTP/1.1' - - 't';" },
    { __LINE__,
      "POST /p HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n"
      "\r\n1\r\nx\r\n0\r\n\r\n" GET,
      "405 10 'POST /p HTTP/1.1' - - 't';" },
    /* refused after the head was read */
    { __LINE__, "GET /a HTTP/1.1\r\nUser-Agent: u\r\n\r\n",
      "400 9 'GET /a HTTP/1.1' - 'u' -;" },
    { __LINE__, "GET /a HTTP/1.1\r\n" HOST "Content-Length: 1x\r\n\r\n",
      "400 9 'GET /a HTTP/1.1' - - 't';" },
    { __LINE__, "POST /p HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nz\r\n",
      "400 10 'POST /p HTTP/1.1' - - 't';" },
};

static void test_requests(void **state)
{
    static struct driver driver;
    static const size_t pieces[] = { 1, 2, 7, 1000 };
    char log[LOG_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t j = 0; j < sizeof pieces / sizeof *pieces; j++) {
            log[0] = '\0';
            open_recorded(&driver, pieces[j]);
            driver_feed(&driver, cases[i].input, strlen(cases[i].input), pieces[j]);
            collect(&driver, log);
            driver_end(&driver);
            collect(&driver, log);
            driver_close(&driver);
            CHECK_CASE(cases[i].line, log, strcmp(log, cases[i].log) == 0);
        }
    }
}

/* A head that is refused while it comes is logged with what came of its line. */
static void test_lines_as_they_came(void **state)
{
    static const struct {
        int line;
        const char *input, *log;
    } refused[] = {
        { __LINE__, "\x16\x03\x01", "400 '\x16\x03\x01'" },
        { __LINE__, "GET /a HTTP/1.1\nHost: t\n\n", "400 'GET /a HTTP/1.1'" },
        { __LINE__, "GET /a HTTP/1.1\rX: y\r\nZ: z", "400 'GET /a HTTP/1.1\rX: y'" },
        { __LINE__, "GET /a HTTP/2.0\r\n" HOST, "505 'GET /a HTTP/2.0'" },
        { __LINE__, "GET /a HTTP/1.1\r\n : x\r\n", "400 'GET /a HTTP/1.1'" },
        { __LINE__, "\r\n\r\n\r\n\r\n\r\nGET", "400 'GET'" },
        { __LINE__, "\rGET / HTTP/1.1\r\n", "400 'GET / HTTP/1.1'" },
        { __LINE__, "\n", "400 ''" },
    };
    static struct driver driver;
    char log[LOG_MAX], start[LOG_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct exchange exchange;

        open_recorded(&driver, SIZE_MAX);
        driver_feed(&driver, refused[i].input, strlen(refused[i].input), SIZE_MAX);
        assert_true(http_conn_finished(&driver.http, &exchange));
        snprintf(start, sizeof start, "%u '%.*s'", exchange.status,
                 (int)exchange.line.len, exchange.line.base);
        CHECK_CASE(refused[i].line, start, strcmp(start, refused[i].log) == 0);
        assert_null(exchange.host.base);
        log[0] = '\0';
        collect(&driver, log);
        assert_string_equal(log, "");
        driver_close(&driver);
    }
}

/* Longer texts than are kept: one byte more than the maximum tells it. */
static void test_long_texts(void **state)
{
    static struct driver driver;
    char head[8 * 1024], padding[4 * 1024];
    struct exchange exchange;
    int len;

    (void)state;
    memset(padding, 'x', sizeof padding);
    len = snprintf(head, sizeof head,
                   "GET /%.*s HTTP/1.1\r\nHost: %.*s\r\nReferer: %.*s\r\nUser-Agent: "
                   "%.*s\r\n\r\n",
                   3000, padding, 300, padding, 1000, padding, EXCHANGE_USER_AGENT_MAX,
                   padding);
    open_recorded(&driver, SIZE_MAX);
    for (int i = 0; i < 20; i++) {
        driver_feed(&driver, head, (size_t)len, SIZE_MAX);
        assert_true(http_conn_finished(&driver.http, &exchange));
        assert_int_equal(exchange.line.len, EXCHANGE_LINE_MAX + 1);
        assert_int_equal(exchange.host.len, EXCHANGE_HOST_MAX + 1);
        assert_int_equal(exchange.referer.len, EXCHANGE_REFERER_MAX + 1);
        assert_int_equal(exchange.user_agent.len, EXCHANGE_USER_AGENT_MAX);
        assert_memory_equal(exchange.line.base, "GET /xxx", 8);
        assert_false(http_conn_finished(&driver.http, &exchange));
        assert_int_equal(driver.pool.lent, 0);
    }
    driver_close(&driver);
}

/* Answers the request that is there, so that its answer is queued and not sent. */
static size_t queue_answer(struct driver *driver, const char *input)
{
    char *where;

    assert_true(http_conn_space(&driver->http, &where) > 0);
    memcpy(where, input, strlen(input));
    http_conn_received(&driver->http, strlen(input), driver->now_ms);
    assert_non_null(http_conn_request(&driver->http));
    driver_answer(driver, http_conn_request(&driver->http));
    return http_conn_output(&driver->http)->bytes;
}

/* Cut after every number of bytes: the head's do not count. */
static void test_cut_answers(void **state)
{
    static struct driver driver;
    size_t total = 1;

    (void)state;
    for (size_t sent = 0; sent < total; sent++) {
        struct exchange exchange;

        open_recorded(&driver, SIZE_MAX);
        total = queue_answer(&driver, GET);
        if (sent > 0) {
            http_conn_sent(&driver.http, sent, driver.now_ms);
        }
        assert_false(http_conn_finished(&driver.http, &exchange));
        http_conn_end(&driver.http);
        assert_int_equal(http_conn_want(&driver.http), HTTP_WANT_CLOSE);
        assert_true(http_conn_finished(&driver.http, &exchange));
        assert_int_equal(exchange.status, 200);
        assert_int_equal(exchange.body_bytes, sent + 9 > total ? sent + 9 - total : 0);
        assert_false(http_conn_finished(&driver.http, &exchange));
        driver_close(&driver);
    }
}

/* Two answers are queued, the second is cut; the first counts when its last byte is sent. */
static void test_pipelined_answers(void **state)
{
    static struct driver driver;
    struct exchange exchange;
    size_t first, both;

    (void)state;
    open_recorded(&driver, SIZE_MAX);
    first = queue_answer(&driver, GET GET);
    driver_answer(&driver, http_conn_request(&driver.http));
    both = http_conn_output(&driver.http)->bytes;
    http_conn_sent(&driver.http, first - 1, driver.now_ms);
    assert_false(http_conn_finished(&driver.http, &exchange));
    http_conn_sent(&driver.http, 1, driver.now_ms);
    assert_true(http_conn_finished(&driver.http, &exchange));
    assert_int_equal(exchange.body_bytes, 9);
    assert_false(http_conn_finished(&driver.http, &exchange));
    http_conn_sent(&driver.http, both - first - 2, driver.now_ms);
    assert_false(http_conn_finished(&driver.http, &exchange));
    http_conn_end(&driver.http);
    assert_true(http_conn_finished(&driver.http, &exchange));
    assert_int_equal(exchange.body_bytes, 7);
    assert_false(http_conn_finished(&driver.http, &exchange));
    driver_close(&driver);
}

/* A peer that asks and takes nothing: answers wait once the records have no room. */
static void test_room(void **state)
{
    static struct driver driver;
    struct exchange exchange;
    char head[4 * 1024], padding[3 * 1024];
    unsigned answers = 0, logged = 0;

    (void)state;
    memset(padding, 'x', sizeof padding);
    snprintf(head, sizeof head, "GET /%.*s HTTP/1.1\r\n" HOST "\r\n", 3000, padding);
    open_recorded(&driver, SIZE_MAX);
    while (http_conn_can_respond(&driver.http)) {
        queue_answer(&driver, head);
        answers++;
    }
    /* Records of their longest would take all the room with seven. */
    assert_in_range(answers, 7, 16);
    driver_send(&driver);
    while (http_conn_finished(&driver.http, &exchange)) {
        logged++;
    }
    assert_int_equal(logged, answers);
    assert_true(http_conn_can_respond(&driver.http));
    driver_close(&driver);
}

/* When a request began: with its first bytes, not with the empty line of the one before. */
static void test_begin(void **state)
{
    static struct driver driver;
    struct exchange exchange;

    (void)state;
    open_recorded(&driver, SIZE_MAX);
    driver_feed(&driver, GET, strlen(GET), SIZE_MAX);
    assert_true(http_conn_finished(&driver.http, &exchange));
    assert_int_equal(exchange.begun_ms, 1000);
    driver.now_ms = 2000;
    driver_feed(&driver, "\r\n", 2, SIZE_MAX);
    driver.now_ms = 3000;
    driver_feed(&driver, "GET /a", 6, SIZE_MAX);
    driver.now_ms = 4000;
    driver_feed(&driver, &GET[6], strlen(GET) - 6, SIZE_MAX);
    assert_true(http_conn_finished(&driver.http, &exchange));
    assert_int_equal(exchange.begun_ms, 3000);
    driver.now_ms = 5000;
    driver_feed(&driver, "\x01", 1, SIZE_MAX);
    assert_true(http_conn_finished(&driver.http, &exchange));
    assert_int_equal(exchange.begun_ms, 5000);
    driver_close(&driver);
}

/* A deadline, and a refusal of a connection that has said nothing. */
static void test_without_a_whole_request(void **state)
{
    static struct driver driver;
    char log[LOG_MAX] = "";

    (void)state;
    open_recorded(&driver, SIZE_MAX);
    driver_feed(&driver, "GET /slow HT", 12, SIZE_MAX);
    driver.now_ms += driver_limits.header_timeout_ms;
    http_conn_expire(&driver.http, driver.now_ms);
    driver_run(&driver);
    collect(&driver, log);
    driver_close(&driver);
    open_recorded(&driver, SIZE_MAX);
    http_conn_refuse(&driver.http, 503);
    driver_run(&driver);
    collect(&driver, log);
    driver_close(&driver);
    assert_string_equal(log, "408 7 'GET /slow HT' - - -;503 4 '' - - -;");
}

static void test_nothing_is_recorded_unasked(void **state)
{
    static struct driver driver;
    struct exchange exchange;

    (void)state;
    driver_open(&driver, &driver_limits, SIZE_MAX);
    driver_feed(&driver, GET GET, strlen(GET GET), SIZE_MAX);
    assert_int_equal(driver.answers, 2);
    assert_false(http_conn_finished(&driver.http, &exchange));
    assert_int_equal(driver.pool.lent, 0);
    driver_close(&driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_lines_as_they_came),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_cut_answers),
        cmocka_unit_test(test_pipelined_answers),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_begin),
        cmocka_unit_test(test_without_a_whole_request),
        cmocka_unit_test(test_nothing_is_recorded_unasked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
