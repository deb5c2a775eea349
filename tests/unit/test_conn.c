/* The pump over a transport that is a script: what each step asks to wait for, and that it
 * asks for it only when a poller may sleep; partial sends, a file that shrinks, a broken
 * peer, drain, slow readers. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "conn.h"
#include "http_conn.h"
#include "server.h"
#include "site.h"
#include "tree.h"
#include "unit.h"

enum { LARGE = 3 * 1024 * 1024, SENT_ROOM = 64 * 1024 };

/* What the next receive gives: bytes of `input`, its end, or nothing yet. */
struct script {
    struct transport base;
    const char *input;
    size_t input_len, take; /* bytes for one receive at most */
    bool ended, broken;
    size_t send_room;       /* bytes taken before the transport says wait */
    size_t sent, file_sent; /* all bytes; those of files */
    ssize_t unacked;
    bool file_is_short;
    size_t file_left; /* 0: as much as is asked for */
    unsigned receives, shutdowns, closes;
    char bytes[SENT_ROOM]; /* what was sent from memory */
    size_t bytes_len;
};

static ssize_t script_recv(struct transport *transport, void *to, size_t room, bool wait)
{
    struct script *script = (struct script *)transport;
    size_t n = script->input_len < room ? script->input_len : room;

    (void)wait;
    script->receives++;
    n = n < script->take ? n : script->take;
    if (script->broken) {
        return TRANSPORT_BROKEN;
    }
    if (n == 0) {
        return script->ended ? 0 : TRANSPORT_WAIT_READ;
    }
    memcpy(to, script->input, n);
    script->input += n;
    script->input_len -= n;
    return (ssize_t)n;
}

static size_t script_take(struct script *script, size_t n)
{
    size_t part = n < script->send_room ? n : script->send_room;

    script->send_room -= part;
    script->sent += part;
    return part;
}

static ssize_t script_sendv(struct transport *transport, const struct iovec *iov,
                            int count, bool more)
{
    struct script *script = (struct script *)transport;
    size_t n = 0;

    (void)more;
    for (int i = 0; i < count; i++) {
        size_t part = script_take(script, iov[i].iov_len);

        if (script->bytes_len + part <= sizeof script->bytes) {
            memcpy(script->bytes + script->bytes_len, iov[i].iov_base, part);
            script->bytes_len += part;
        }
        n += part;
    }
    return n > 0 ? (ssize_t)n : TRANSPORT_WAIT_WRITE;
}

static ssize_t script_sendfile(struct transport *transport, int fd, off_t offset,
                               size_t count)
{
    struct script *script = (struct script *)transport;
    size_t n;

    (void)fd;
    (void)offset;
    if (script->file_is_short) {
        return TRANSPORT_SHORT_FILE;
    }
    if (script->file_left > 0 && script->file_left < count) {
        count = script->file_left;
        script->file_is_short = true;
    }
    n = script_take(script, count);
    script->file_sent += n;
    return n > 0 ? (ssize_t)n : TRANSPORT_WAIT_WRITE;
}

static ssize_t script_unacked(const struct transport *transport)
{
    return ((const struct script *)transport)->unacked;
}

static int script_shutdown(struct transport *transport)
{
    ((struct script *)transport)->shutdowns++;
    return 0;
}

static void script_close(struct transport *transport)
{
    ((struct script *)transport)->closes++;
}

static const struct transport_ops script_ops = {
    .recv = script_recv,
    .sendv = script_sendv,
    .sendfile = script_sendfile,
    .unacked = script_unacked,
    .shutdown = script_shutdown,
    .close = script_close,
};

static const struct transport_ops copying_ops = {
    .recv = script_recv,
    .sendv = script_sendv,
    .shutdown = script_shutdown,
    .close = script_close,
};

struct fixture {
    struct tree tree;
    struct http_limits limits;
    struct server server;
    struct worker *worker;
    struct script script;
    struct conn *conn;
};

static void open_fixture(struct fixture *fixture, enum worker_kind kind)
{
    struct site_options options = {
        .index = "", .model = "test", .revalidate_ms = 1000, .cache_bytes = 1 << 20
    };
    char *large = malloc(LARGE);

    memset(fixture, 0, sizeof(*fixture));
    tree_open(&fixture->tree);
    tree_text(&fixture->tree, "a.txt", "0123456789");
    assert_non_null(large);
    memset(large, 'x', LARGE);
    tree_write(&fixture->tree, "large", large, LARGE);
    free(large);
    options.root = fixture->tree.path;
    fixture->limits = (struct http_limits){ .header_timeout_ms = 10000,
                                            .keepalive_timeout_ms = 10000,
                                            .body_timeout_ms = 10000,
                                            .send_timeout_ms = 40 };
    assert_int_equal(site_open(&fixture->server.site, &options), 0);
    fixture->server.limits = &fixture->limits;
    fixture->worker = worker_open(&fixture->server, kind, WORKER_OWN_CACHE);
    assert_non_null(fixture->worker);
    fixture->script.base.ops = &script_ops;
    fixture->script.take = fixture->script.send_room = SIZE_MAX;
    fixture->conn = conn_open(fixture->worker, &fixture->script.base, fixture);
    assert_non_null(fixture->conn);
}

static void close_fixture(struct fixture *fixture)
{
    conn_close(fixture->conn);
    assert_int_equal(fixture->script.closes, 1);
    assert_int_equal(worker_connections(fixture->worker), 0);
    worker_close(fixture->worker);
    site_close(fixture->server.site);
    tree_close(&fixture->tree);
}

static void say(struct fixture *fixture, const char *text)
{
    fixture->script.input = text;
    fixture->script.input_len = strlen(text);
}

/* Steps, running file work inline, until it is not CONN_AGAIN or CONN_WAIT_WORK. */
static enum conn_wait settle(struct fixture *fixture)
{
    enum conn_wait wait = conn_step(fixture->conn);

    while (wait == CONN_AGAIN || wait == CONN_WAIT_WORK) {
        if (wait == CONN_WAIT_WORK) {
            assert_int_equal(conn_step(fixture->conn), CONN_WAIT_WORK);
            work_run(conn_work(fixture->conn));
        }
        wait = conn_step(fixture->conn);
    }
    return wait;
}

static unsigned count(const struct fixture *fixture, const char *text)
{
    const char *at = fixture->script.bytes, *end = at + fixture->script.bytes_len;
    unsigned n = 0;

    at = memmem(at, (size_t)(end - at), text, strlen(text));
    while (at != NULL) {
        n++;
        at = memmem(at + 1, (size_t)(end - at) - 1, text, strlen(text));
    }
    return n;
}

#define GET_A "GET /a.txt HTTP/1.1\r\nHost: t\r\n\r\n"
#define GET_LARGE "GET /large HTTP/1.1\r\nHost: t\r\n\r\n"

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
        cmocka_unit_test(a_transport_without_sendfile_gets_a_copy),
        cmocka_unit_test(a_file_that_ends_early_breaks_the_connection),
        cmocka_unit_test(a_file_cut_while_it_is_sent_is_seen_at_once),
        cmocka_unit_test(an_answer_that_closes_lingers),
        cmocka_unit_test(a_broken_peer_ends_it),
        cmocka_unit_test(a_refused_connection_is_told_without_being_read),
        cmocka_unit_test(drain_answers_what_has_arrived_and_ends_the_idle),
        cmocka_unit_test(drain_lets_an_answer_arrive),
        cmocka_unit_test(a_reader_that_acknowledges_nothing_is_cut_at_the_deadline),
        cmocka_unit_test(a_reader_that_acknowledges_a_little_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
