/* When a connection has waited long enough. A send deadline counts from the last byte that
 * the peer acknowledged, which may come long after the transport took it: the socket's
 * buffers hide a slow reader's progress. What it had not acknowledged is asked twice: a
 * little after the transport stopped taking (what was already under way has arrived by
 * then) and at the deadline. Less: it moves. This must never know how a model waits. */
#include "clock.h"
#include "conn_state.h"

enum { SETTLE_MAX_MS = 1000 };

void conn_await_peer(struct conn *conn, uint64_t progress_ms)
{
    if (conn->settle_ms == 0 && !conn->settled) {
        uint64_t part = conn->worker->limits->send_timeout_ms / 4;

        conn->settle_ms = progress_ms + (part < SETTLE_MAX_MS ? part : SETTLE_MAX_MS);
    }
}

/* A blocking send sleeps as long as there is progress; one that was short has slept a tick
 * without any, and sendfile, which fills a pipe and empties it, two. (Or a signal cut it
 * short: then this is early by a tick or two.) */
uint64_t conn_time_of_progress(struct conn *conn, uint64_t before_ms, bool was_short)
{
    uint64_t idle_ms = 2 * (uint64_t)conn->transport->tick_ms;

    if (idle_ms == 0) {
        return before_ms;
    }
    conn->now_ms = clock_now_ms();
    if (!was_short) {
        return conn->now_ms;
    }
    return conn->now_ms - before_ms < idle_ms ? before_ms : conn->now_ms - idle_ms;
}

uint64_t conn_deadline(const struct conn *conn)
{
    return conn->settle_ms != 0 ? conn->settle_ms : http_conn_deadline(&conn->http);
}

uint64_t conn_time_left(const struct conn *conn)
{
    uint64_t deadline_ms = conn_deadline(conn);

    return deadline_ms > conn->now_ms ? deadline_ms - conn->now_ms : 0;
}

enum timeout_class conn_timeout(const struct conn *conn)
{
    if (conn->settle_ms != 0) {
        return TIMEOUT_SETTLE;
    }
    switch (http_conn_phase(&conn->http)) {
    case HTTP_IDLE:
        return TIMEOUT_KEEPALIVE;
    case HTTP_HEAD:
        return TIMEOUT_HEADER;
    case HTTP_BODY:
        return TIMEOUT_BODY;
    case HTTP_SENDING:
        return TIMEOUT_SEND;
    case HTTP_LINGER:
        return TIMEOUT_LINGER;
    case HTTP_NO_DEADLINE:
        break;
    }
    return TIMEOUT_NONE;
}

ssize_t conn_unacked(const struct conn *conn)
{
    return conn->transport->ops->unacked == NULL
               ? -1
               : conn->transport->ops->unacked(conn->transport);
}

void conn_expire(struct conn *conn)
{
    conn->now_ms = clock_now_ms();
    if (conn_time_left(conn) > 0) {
        return;
    }
    if (conn->settle_ms != 0) {
        conn->unacked = conn_unacked(conn);
        conn->settle_ms = 0;
        conn->settled = true;
    } else if (http_conn_phase(&conn->http) == HTTP_SENDING &&
               conn_unacked(conn) < conn->unacked) {
        http_conn_sent(&conn->http, 0, conn->now_ms);
        conn->settled = false;
        conn_await_peer(conn, conn->now_ms);
    } else {
        http_conn_expire(&conn->http, conn->now_ms);
    }
}
