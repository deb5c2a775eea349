/* How a connection ends: its deadlines, lingering, the peer's half-close, drain, limits;
 * and what it holds while it rests. */
#include "http_outcome.h"

#define GET "GET / HTTP/1.1\r\nHost: t\r\n\r\n"
#define HOST "Host: t\r\n"
#define POST "POST /p HTTP/1.1\r\nHost: t\r\n"

static void feed_text(struct driver *driver, const char *text)
{
    driver_feed(driver, text, strlen(text), SIZE_MAX);
}

/* Lets the time pass to the deadline, which must be `after` ms away. */
static void pass(struct driver *driver, uint64_t after)
{
    bool half_closed = driver->half_closed;

    assert_int_equal(http_conn_deadline(&driver->http), driver->now_ms + after);
    driver->now_ms += after - 1;
    http_conn_expire(&driver->http, driver->now_ms);
    driver_run(driver);
    assert_false(driver->closed || driver->half_closed != half_closed);
    driver->now_ms++;
    http_conn_expire(&driver->http, driver->now_ms);
    driver_run(driver);
}

static void expect_outcome(struct driver *driver, const char *wanted)
{
    char outcome[OUTCOME_MAX];

    read_outcome(driver, outcome, sizeof outcome);
    assert_string_equal(outcome, wanted);
    driver_close(driver);
}

static void silence_closes_without_a_word(void **state)
{
    static struct driver driver;

    (void)state;
    driver_open(&driver, &driver_limits, SIZE_MAX);
    pass(&driver, driver_limits.header_timeout_ms);
    expect_outcome(&driver, "!");
    driver_open(&driver, &driver_limits, SIZE_MAX);
    feed_text(&driver, GET "\r\n");
    pass(&driver, driver_limits.keepalive_timeout_ms);
    expect_outcome(&driver, "200!");
}

static void a_head_has_a_total_time_from_its_first_byte(void **state)
{
    static struct driver driver;

    (void)state;
    driver_open(&driver, &driver_limits, SIZE_MAX);
    driver.now_ms += 5000;
    feed_text(&driver, "G");
    driver.now_ms += 4000;
    feed_text(&driver, "ET / HT");
    pass(&driver, driver_limits.header_timeout_ms - 4000);
    assert_true(driver.half_closed);
    pass(&driver, HTTP_LINGER_SILENCE_MS);
    expect_outcome(&driver, "408!");
}

static void a_body_may_trickle_but_not_stall(void **state)
{
    static struct driver driver;

    (void)state;
    driver_open(&driver, &driver_limits, SIZE_MAX);
    feed_text(&driver, POST "Content-Length: 100\r\n\r\n");
    driver.now_ms += driver_limits.body_timeout_ms - 1;
    feed_text(&driver, "x");
    pass(&driver, driver_limits.body_timeout_ms);
    expect_outcome(&driver, "408!");
}

static void lingering_ends_by_silence_total_or_the_peer(void **state)
{
    static struct driver driver;

    (void)state;
    for (int how = 0; how < 2; how++) {
        driver_open(&driver, &driver_limits, SIZE_MAX);
        feed_text(&driver, "junk \r\n\r\n");
        assert_true(driver.half_closed);
        for (int i = 0; i < 10; i++) {
            driver.now_ms += 999;
            feed_text(&driver, "more");
            assert_false(driver.closed);
        }
        if (how == 0) {
            driver.now_ms += 999;
            feed_text(&driver, "too late");
        } else {
            driver_end(&driver);
        }
        assert_true(driver.closed);
        expect_outcome(&driver, "400!");
    }
}

static void a_peer_that_half_closes_gets_all_its_answers(void **state)
{
    static struct driver driver;

    (void)state;
    driver_open(&driver, &driver_limits, 10);
    feed_text(&driver, GET GET);
    driver_end(&driver);
    assert_true(driver.closed);
    expect_outcome(&driver, "200 200!");
    driver_open(&driver, &driver_limits, 10);
    feed_text(&driver, GET "GET / HT");
    driver_end(&driver);
    expect_outcome(&driver, "200!");
}

static void a_drained_connection_says_close_or_goes(void **state)
{
    static struct driver driver;

    (void)state;
    driver_open(&driver, &driver_limits, SIZE_MAX);
    feed_text(&driver, GET "GET / ");
    http_conn_drain(&driver.http);
    feed_text(&driver, "HTTP/1.1\r\n" HOST "\r\n" GET);
    assert_non_null(memmem(driver.sent, driver.sent_len, "Connection: close\r\n", 19));
    expect_outcome(&driver, "200 200!");
    driver_open(&driver, &driver_limits, SIZE_MAX);
    feed_text(&driver, GET);
    http_conn_drain(&driver.http);
    driver_run(&driver);
    assert_true(driver.closed);
    expect_outcome(&driver, "200!");
}

static void the_last_of_max_requests_says_close(void **state)
{
    static struct driver driver;
    struct http_limits limits = driver_limits;

    (void)state;
    limits.max_requests = 2;
    driver_open(&driver, &limits, SIZE_MAX);
    feed_text(&driver, GET GET GET);
    expect_outcome(&driver, "200 200!");
}

static void a_connection_over_the_limit_is_told(void **state)
{
    static struct driver driver;

    (void)state;
    driver_open(&driver, &driver_limits, SIZE_MAX);
    http_conn_refuse(&driver.http, 503);
    driver_run(&driver);
    feed_text(&driver, GET);
    driver_end(&driver);
    expect_outcome(&driver, "503!");
}

static void an_idle_connection_holds_no_buffer(void **state)
{
    static struct driver driver;

    (void)state;
    driver_open(&driver, &driver_limits, 5);
    assert_int_equal(driver.pool.lent, 0);
    feed_text(&driver, GET GET);
    assert_int_equal(driver.pool.lent, 0);
    feed_text(&driver, "G");
    assert_int_equal(driver.pool.lent, 1);
    driver_close(&driver);
}

static void a_stalled_send_ends_and_progress_renews(void **state)
{
    static struct driver driver;
    char *where;

    (void)state;
    driver_open(&driver, &driver_limits, SIZE_MAX);
    driver_run(&driver);
    assert_true(http_conn_space(&driver.http, &where) >= sizeof GET);
    memcpy(where, GET, sizeof GET - 1);
    http_conn_received(&driver.http, sizeof GET - 1, driver.now_ms);
    driver_answer(&driver, http_conn_request(&driver.http));
    driver.now_ms += 15000;
    http_conn_sent(&driver.http, 1, driver.now_ms);
    assert_int_equal(http_conn_deadline(&driver.http), driver.now_ms + 20000);
    http_conn_expire(&driver.http, driver.now_ms + 19999);
    assert_int_equal(http_conn_want(&driver.http), HTTP_WANT_OUTPUT);
    http_conn_expire(&driver.http, driver.now_ms + 20000);
    assert_int_equal(http_conn_want(&driver.http), HTTP_WANT_CLOSE);
    driver_close(&driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_closes_without_a_word),
        cmocka_unit_test(a_head_has_a_total_time_from_its_first_byte),
        cmocka_unit_test(a_body_may_trickle_but_not_stall),
        cmocka_unit_test(lingering_ends_by_silence_total_or_the_peer),
        cmocka_unit_test(a_peer_that_half_closes_gets_all_its_answers),
        cmocka_unit_test(a_drained_connection_says_close_or_goes),
        cmocka_unit_test(the_last_of_max_requests_says_close),
        cmocka_unit_test(a_connection_over_the_limit_is_told),
        cmocka_unit_test(an_idle_connection_holds_no_buffer),
        cmocka_unit_test(a_stalled_send_ends_and_progress_renews),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
