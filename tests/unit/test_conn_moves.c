/* A connection that changes workers between two steps: when it can, and that its answers,
 * its buffers and its end follow it. */
#include "conn_driver.h"

static struct worker *open_other(struct fixture *fixture)
{
    struct worker *other =
        worker_open(&fixture->server, WORKER_COOPERATIVE, WORKER_OWN_CACHE);

    assert_non_null(other);
    return other;
}

static void move(struct fixture *fixture, struct worker *to)
{
    assert_true(conn_can_move(fixture->conn));
    conn_unbind(fixture->conn);
    conn_rebind(fixture->conn, to);
}

/* The worker it began with may close while it goes on at the other. */
static void an_idle_one_moves_and_is_answered_there(void **state)
{
    struct fixture fixture;
    struct worker *first;

    (void)state;
    open_fixture(&fixture, WORKER_COOPERATIVE);
    say(&fixture, GET_A);
    assert_int_equal(settle(&fixture), CONN_WAIT_READ);
    first = fixture.worker;
    fixture.worker = open_other(&fixture);
    move(&fixture, fixture.worker);
    assert_int_equal(worker_connections(first), 0);
    assert_int_equal(worker_connections(fixture.worker), 1);
    worker_close(first);
    say(&fixture, GET_A GET_A);
    assert_int_equal(settle(&fixture), CONN_WAIT_READ);
    assert_int_equal(count(&fixture, "200 OK"), 3);
    close_fixture(&fixture);
}

static void one_that_holds_something_stays(void **state)
{
    struct fixture fixture;

    (void)state;
    open_fixture(&fixture, WORKER_COOPERATIVE);
    assert_true(conn_can_move(fixture.conn));
    say(&fixture, GET_A);
    assert_int_equal(conn_step(fixture.conn), CONN_WAIT_WORK);
    assert_false(conn_can_move(fixture.conn)); /* its work */
    assert_int_equal(settle(&fixture), CONN_WAIT_READ);
    assert_true(conn_can_move(fixture.conn));
    say(&fixture, "GET /a.txt HT");
    assert_int_equal(settle(&fixture), CONN_WAIT_READ);
    assert_false(conn_can_move(fixture.conn)); /* half a request */
    say(&fixture, "TP/1.1\r\nHost: t\r\n\r\n");
    fixture.script.send_room = 10;
    assert_int_equal(settle(&fixture), CONN_WAIT_WRITE);
    assert_false(conn_can_move(fixture.conn)); /* most of an answer */
    fixture.script.send_room = SIZE_MAX;
    assert_int_equal(settle(&fixture), CONN_WAIT_READ);
    assert_true(conn_can_move(fixture.conn));
    close_fixture(&fixture);
}

/* There may be no worker for it any more. */
static void one_that_belongs_nowhere_is_closed(void **state)
{
    struct fixture fixture;

    (void)state;
    open_fixture(&fixture, WORKER_COOPERATIVE);
    say(&fixture, GET_A);
    assert_int_equal(settle(&fixture), CONN_WAIT_READ);
    conn_unbind(fixture.conn);
    assert_true(conn_deadline(fixture.conn) > 0);
    assert_int_equal(worker_connections(fixture.worker), 0);
    conn_close(fixture.conn);
    assert_int_equal(fixture.script.closes, 1);
    fixture.conn = NULL;
    close_fixture(&fixture);
}

/* Whoever arrives where the end was announced already is told it. */
static void it_is_told_of_the_end_where_it_arrives(void **state)
{
    struct fixture fixture;
    struct worker *first;

    (void)state;
    for (int abandon = 0; abandon < 2; abandon++) {
        open_fixture(&fixture, WORKER_COOPERATIVE);
        first = fixture.worker;
        fixture.worker = open_other(&fixture);
        worker_drain(fixture.worker, NULL);
        if (abandon) {
            worker_abandon(fixture.worker, NULL);
        }
        move(&fixture, fixture.worker);
        worker_close(first);
        say(&fixture, GET_A);
        assert_int_equal(settle(&fixture), abandon ? CONN_CLOSED : CONN_WAIT_READ);
        assert_int_equal(count(&fixture, "Connection: close"), !abandon);
        close_fixture(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_one_moves_and_is_answered_there),
        cmocka_unit_test(one_that_holds_something_stays),
        cmocka_unit_test(one_that_belongs_nowhere_is_closed),
        cmocka_unit_test(it_is_told_of_the_end_where_it_arrives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
