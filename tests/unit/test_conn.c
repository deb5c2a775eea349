/* The pump over a transport that is a script: what each step asks to wait for, and that it
 * asks for it only when a poller may sleep; partial sends, a file that shrinks, a broken
 * peer, drain, slow readers. */
#include "conn_driver.h"

#include "clock.h"

static void a_short_receive_is_answered_and_waits(void **state)
{
    struct fixture fixture;

    (void)state;
    open_fixture(&fixture, WORKER_BLOCKING);
    say(&fixture, GET_A);
    assert_int_equal(conn_step(fixture.conn), CONN_WAIT_READ);
    assert_int_equal(fixture.script.receives, 1); /* none to be told EAGAIN */
    assert_int_equal(count(&fixture, "200 OK"), 1);
    assert_int_equal(conn_timeout(fixture.conn), TIMEOUT_KEEPALIVE);
    assert_int_equal(conn_step(fixture.conn), CONN_WAIT_READ);
    close_fixture(&fixture);
}

static void many_pipelined_requests_take_turns(void **state)
{
    static char text[100 * sizeof GET_A];
    struct fixture fixture;
    unsigned turns = 0;

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        strcat(text, GET_A);
    }
    open_fixture(&fixture, WORKER_BLOCKING);
    say(&fixture, text);
    while (conn_step(fixture.conn) == CONN_AGAIN) {
        turns++;
    }
    assert_true(turns >= 100 / 16);
    assert_int_equal(count(&fixture, "200 OK"), 100);
    close_fixture(&fixture);
}

static void a_full_transport_waits_for_write_and_stops_receiving(void **state)
{
    struct fixture fixture;
    unsigned receives;

    (void)state;
    open_fixture(&fixture, WORKER_BLOCKING);
    fixture.script.send_room = 100;
    say(&fixture, GET_A GET_A);
    assert_int_equal(settle(&fixture), CONN_WAIT_WRITE);
    receives = fixture.script.receives;
    assert_int_equal(conn_step(fixture.conn), CONN_WAIT_WRITE);
    assert_int_equal(fixture.script.receives, receives);
    fixture.script.send_room = SIZE_MAX;
    assert_int_equal(settle(&fixture), CONN_WAIT_READ);
    assert_int_equal(count(&fixture, "0123456789"), 2);
    close_fixture(&fixture);
}

static void a_large_file_goes_by_sendfile_in_turns(void **state)
{
    struct fixture fixture;

    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        open_fixture(&fixture, kind == 0 ? WORKER_BLOCKING : WORKER_COOPERATIVE);
        say(&fixture, GET_LARGE);
        assert_int_equal(settle(&fixture), CONN_WAIT_READ);
        assert_int_equal(fixture.script.file_sent, LARGE);
        close_fixture(&fixture);
    }
}

/* A short piece may mean that the file was cut: one more call tells, but not where the
 * socket says that it is full. */
static void a_full_socket_is_not_asked_twice(void **state)
{
    struct fixture fixture;

    (void)state;
    for (unsigned full = 0; full < 2; full++) {
        open_fixture(&fixture, WORKER_COOPERATIVE);
        fixture.script.says_full = full;
        fixture.script.send_room = 10000;
        say(&fixture, GET_LARGE);
        assert_int_equal(settle(&fixture), CONN_WAIT_WRITE);
        assert_int_equal(fixture.script.send_room, 0);
        assert_int_equal(fixture.script.sendfiles, full ? 1 : 2);
        close_fixture(&fixture);
    }
}

static void a_transport_without_sendfile_gets_a_copy(void **state)
{
    struct fixture fixture;

    (void)state;
    open_fixture(&fixture, WORKER_BLOCKING);
    fixture.script.base.ops = &copying_ops;
    say(&fixture, GET_LARGE);
    assert_int_equal(settle(&fixture), CONN_WAIT_READ);
    assert_true(fixture.script.sent > LARGE);
    close_fixture(&fixture);
}

static void a_file_that_ends_early_breaks_the_connection(void **state)
{
    struct fixture fixture;

    (void)state;
    open_fixture(&fixture, WORKER_BLOCKING);
    fixture.script.file_is_short = true;
    say(&fixture, GET_LARGE GET_A);
    assert_int_equal(settle(&fixture), CONN_CLOSED);
    assert_int_equal(conn_step(fixture.conn), CONN_CLOSED);
    assert_int_equal(count(&fixture, "HTTP/1.1"), 1);
    close_fixture(&fixture);
}

/* The first send takes what is left of the file, which is less than was asked for; the
 * transport could take more, so nobody would ever be woken to see the end. */
static void a_file_cut_while_it_is_sent_is_seen_at_once(void **state)
{
    struct fixture fixture;

    (void)state;
    open_fixture(&fixture, WORKER_COOPERATIVE);
    fixture.script.file_left = 1000;
    say(&fixture, GET_LARGE GET_A);
    assert_int_equal(settle(&fixture), CONN_CLOSED);
    assert_int_equal(fixture.script.file_sent, 1000);
    close_fixture(&fixture);
}

static void an_answer_that_closes_lingers(void **state)
{
    struct fixture fixture;

    (void)state;
    open_fixture(&fixture, WORKER_BLOCKING);
    say(&fixture, "junk \r\n\r\n");
    assert_int_equal(settle(&fixture), CONN_WAIT_READ);
    assert_int_equal(fixture.script.shutdowns, 1);
    assert_int_equal(conn_timeout(fixture.conn), TIMEOUT_LINGER);
    say(&fixture, "more junk");
    assert_int_equal(settle(&fixture), CONN_WAIT_READ);
    fixture.script.ended = true;
    assert_int_equal(settle(&fixture), CONN_CLOSED);
    close_fixture(&fixture);
}

static void a_broken_peer_ends_it(void **state)
{
    struct fixture fixture;

    (void)state;
    open_fixture(&fixture, WORKER_BLOCKING);
    fixture.script.broken = true;
    assert_int_equal(conn_step(fixture.conn), CONN_CLOSED);
    close_fixture(&fixture);
}

static void a_refused_connection_is_told_without_being_read(void **state)
{
    struct fixture fixture;

    (void)state;
    open_fixture(&fixture, WORKER_BLOCKING);
    conn_refuse(fixture.conn);
    assert_int_equal(settle(&fixture), CONN_WAIT_READ);
    assert_int_equal(count(&fixture, "HTTP/1.1 503 Service Unavailable"), 1);
    assert_int_equal(count(&fixture, "Retry-After"), 1);
    assert_int_equal(fixture.script.shutdowns, 1);
    close_fixture(&fixture);
}

static unsigned woken;

static void note_wake(void *context)
{
    (void)context;
    woken++;
}

static void drain_answers_what_has_arrived_and_ends_the_idle(void **state)
{
    struct fixture fixture;

    (void)state;
    woken = 0;
    open_fixture(&fixture, WORKER_COOPERATIVE);
    worker_drain(fixture.worker, note_wake);
    assert_int_equal(woken, 1);
    assert_int_equal(settle(&fixture), CONN_CLOSED);
    close_fixture(&fixture);
    open_fixture(&fixture, WORKER_COOPERATIVE);
    say(&fixture, GET_A);
    worker_drain(fixture.worker, NULL);
    assert_int_equal(settle(&fixture), CONN_WAIT_READ);
    assert_int_equal(count(&fixture, "200 OK"), 1);
    assert_int_equal(count(&fixture, "Connection: close"), 1);
    worker_abandon(fixture.worker, note_wake);
    assert_int_equal(woken, 2);
    assert_int_equal(conn_step(fixture.conn), CONN_CLOSED);
    close_fixture(&fixture);
}

static void *last_woken;

static void note_whom(void *context)
{
    last_woken = context;
}

/* Each once, the one refused first before the others; those admitted stay. */
static void refused_ones_are_ended_in_their_order(void **state)
{
    enum { COUNT = 3 };
    struct script scripts[COUNT] = { 0 };
    struct conn *refused[COUNT];
    struct fixture fixture;

    (void)state;
    open_fixture(&fixture, WORKER_COOPERATIVE);
    for (size_t i = 0; i < COUNT; i++) {
        scripts[i].base.ops = &script_ops;
        scripts[i].send_room = SIZE_MAX;
        refused[i] = conn_open(fixture.worker, &scripts[i].base, &scripts[i]);
        assert_non_null(refused[i]);
        conn_refuse(refused[i]);
        while (conn_step(refused[i]) == CONN_AGAIN) {
        }
        assert_int_equal(scripts[i].shutdowns, 1);
    }
    conn_close(refused[0]); /* it left by itself */
    for (size_t i = 1; i < COUNT; i++) {
        worker_end_refused(fixture.worker, note_whom);
        assert_ptr_equal(last_woken, &scripts[i]);
        assert_int_equal(conn_step(refused[i]), CONN_CLOSED);
    }
    last_woken = NULL;
    worker_end_refused(fixture.worker, note_whom);
    assert_null(last_woken);
    say(&fixture, GET_A);
    assert_int_equal(settle(&fixture), CONN_WAIT_READ);
    assert_int_equal(count(&fixture, "200 OK"), 1);
    for (size_t i = 1; i < COUNT; i++) {
        conn_close(refused[i]);
    }
    close_fixture(&fixture);
}

/* The stop is for those over the limit too. */
static void a_refused_one_is_abandoned_like_others(void **state)
{
    struct fixture fixture;

    (void)state;
    woken = 0;
    open_fixture(&fixture, WORKER_COOPERATIVE);
    conn_refuse(fixture.conn);
    assert_int_equal(settle(&fixture), CONN_WAIT_READ);
    worker_drain(fixture.worker, note_wake);
    worker_abandon(fixture.worker, note_wake);
    assert_int_equal(woken, 2);
    assert_int_equal(settle(&fixture), CONN_CLOSED);
    close_fixture(&fixture);
}

/* Calls conn_expire at each deadline until the connection closes, or `most` times. Each
 * deadline is waited for: it is a condition of the coarse clock. */
static unsigned expire(struct fixture *fixture, ssize_t acknowledged, unsigned most)
{
    unsigned times = 0;

    while (times < most && conn_step(fixture->conn) != CONN_CLOSED) {
        while (clock_now_ms() < conn_deadline(fixture->conn)) {
        }
        fixture->script.unacked -= acknowledged;
        conn_expire(fixture->conn);
        times++;
    }
    return times;
}

/* The stop comes in the middle of an answer that did not say close. */
static void drain_lets_an_answer_arrive(void **state)
{
    struct fixture fixture;

    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        open_fixture(&fixture, WORKER_COOPERATIVE);
        fixture.script.send_room = 100;
        say(&fixture, GET_A);
        assert_int_equal(settle(&fixture), CONN_WAIT_WRITE);
        worker_drain(fixture.worker, NULL);
        fixture.script.send_room = SIZE_MAX;
        fixture.script.unacked = kind; /* 0: it has all arrived */
        say(&fixture, kind == 2 ? GET_A : "");
        assert_int_equal(settle(&fixture), kind == 0 ? CONN_CLOSED : CONN_WAIT_READ);
        assert_int_equal(fixture.script.shutdowns, kind == 0 ? 0 : 1);
        assert_int_equal(count(&fixture, "Connection: close"), kind == 2 ? 1 : 0);
        close_fixture(&fixture);
    }
}

static void a_reader_that_acknowledges_nothing_is_cut_at_the_deadline(void **state)
{
    struct fixture fixture;
    uint64_t begun = clock_now_ms();

    (void)state;
    open_fixture(&fixture, WORKER_BLOCKING);
    fixture.script.send_room = 100;
    fixture.script.unacked = 100000;
    say(&fixture, GET_LARGE);
    assert_int_equal(settle(&fixture), CONN_WAIT_WRITE);
    assert_int_equal(conn_timeout(fixture.conn), TIMEOUT_SETTLE);
    assert_int_equal(expire(&fixture, 0, 10), 2);
    assert_true(clock_now_ms() - begun >= fixture.limits.send_timeout_ms);
    close_fixture(&fixture);
}

static void a_reader_that_acknowledges_a_little_lives(void **state)
{
    struct fixture fixture;

    (void)state;
    open_fixture(&fixture, WORKER_BLOCKING);
    fixture.script.send_room = 100;
    fixture.script.unacked = 100000;
    say(&fixture, GET_LARGE);
    assert_int_equal(settle(&fixture), CONN_WAIT_WRITE);
    assert_int_equal(expire(&fixture, 1, 6), 6);
    assert_int_equal(conn_step(fixture.conn), CONN_WAIT_WRITE);
    close_fixture(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_receive_is_answered_and_waits),
        cmocka_unit_test(many_pipelined_requests_take_turns),
        cmocka_unit_test(a_full_transport_waits_for_write_and_stops_receiving),
        cmocka_unit_test(a_large_file_goes_by_sendfile_in_turns),
        cmocka_unit_test(a_full_socket_is_not_asked_twice),
        cmocka_unit_test(a_transport_without_sendfile_gets_a_copy),
        cmocka_unit_test(a_file_that_ends_early_breaks_the_connection),
        cmocka_unit_test(a_file_cut_while_it_is_sent_is_seen_at_once),
        cmocka_unit_test(an_answer_that_closes_lingers),
        cmocka_unit_test(a_broken_peer_ends_it),
        cmocka_unit_test(a_refused_connection_is_told_without_being_read),
        cmocka_unit_test(refused_ones_are_ended_in_their_order),
        cmocka_unit_test(a_refused_one_is_abandoned_like_others),
        cmocka_unit_test(drain_answers_what_has_arrived_and_ends_the_idle),
        cmocka_unit_test(drain_lets_an_answer_arrive),
        cmocka_unit_test(a_reader_that_acknowledges_nothing_is_cut_at_the_deadline),
        cmocka_unit_test(a_reader_that_acknowledges_a_little_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
