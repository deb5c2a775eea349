/* See loop_conn.h. uv_poll rather than uv_tcp: the one pump keeps its own recv, send and
 * sendfile, and in libuv 1.44 each uv_poll_start costs a change of the epoll set, so it
 * is called only when the direction turns. It must never know what the bytes mean. */
#include "loop_conn.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"

/* File work on libuv's thread pool; it may outlive the connection that asked for it. */
struct loop_work {
    uv_work_t request;
    struct work *work;      /* a reference */
    struct loop_conn *conn; /* NULL once that is closed */
};

static void on_closed(uv_handle_t *handle)
{
    struct loop_conn *conn = handle->data;
    struct loop *loop = conn->loop;

    atomic_fetch_sub_explicit(conn->total, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&loop->load, 1, memory_order_relaxed);
    free(conn);
    loop_finish_if_empty(loop);
}

static void close_now(struct loop_conn *conn)
{
    if (conn->work != NULL) {
        conn->work->conn = NULL;
    }
    timeout_queue_remove(&conn->timeout);
    /* libuv first forgets the descriptor, then it may be closed. */
    uv_close((uv_handle_t *)&conn->poll, on_closed);
    conn_close(conn->conn);
    conn->conn = NULL;
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct loop_conn *conn = poll->data;

    (void)events;
    if (status < 0) {
        /* An error on the socket, for which libuv has stopped the watch. The next recv or
         * send tells it, or the one after the bytes that came before it. */
        conn->armed = 0;
    }
    if (!conn->queued) {
        loop_conn_step(conn);
    }
}

static void arm(struct loop_conn *conn, int events)
{
    if (conn->armed == events) {
        return;
    }
    conn->armed = events;
    if (events == 0) {
        uv_poll_stop(&conn->poll);
    } else if (uv_poll_start(&conn->poll, events, on_event) != 0) {
        conn_abandon(conn->conn);
        loop_step_later(conn->loop, conn);
    }
}

static void run_work(uv_work_t *request)
{
    work_run(((struct loop_work *)request->data)->work);
}

static void after_work(uv_work_t *request, int status)
{
    struct loop_work *self = request->data;
    struct loop_conn *conn = self->conn;

    (void)status; /* never cancelled */
    work_put(self->work);
    free(self);
    if (conn != NULL) {
        conn->work = NULL;
        loop_step_later(conn->loop, conn);
    }
}

static void start_work(struct loop_conn *conn)
{
    struct loop_work *self;

    if (conn->work != NULL) {
        return;
    }
    self = malloc(sizeof *self);
    if (self == NULL) {
        conn_abandon(conn->conn);
        loop_step_later(conn->loop, conn);
        return;
    }
    self->request.data = self;
    self->work = work_get(conn_work(conn->conn));
    self->conn = conn;
    conn->work = self;
    uv_queue_work(&conn->loop->uv, &self->request, run_work, after_work);
}

static void follow_deadline(struct loop_conn *conn)
{
    timeout_queue_set(&conn->loop->timeouts, &conn->timeout, conn_timeout(conn->conn),
                      conn_deadline(conn->conn));
    loop_arm(conn->loop);
}

void loop_conn_step(struct loop_conn *conn)
{
    switch (conn_step(conn->conn)) {
    case CONN_CLOSED:
        close_now(conn);
        return;
    case CONN_AGAIN:
        loop_step_later(conn->loop, conn);
        break;
    case CONN_WAIT_READ:
        arm(conn, UV_READABLE);
        break;
    case CONN_WAIT_WRITE:
        arm(conn, UV_WRITABLE);
        break;
    case CONN_WAIT_WORK:
        arm(conn, 0);
        start_work(conn);
        break;
    }
    follow_deadline(conn);
}

void loop_conn_wake(void *context)
{
    struct loop_conn *conn = context;

    loop_step_later(conn->loop, conn);
}

void loop_conn_expired(struct timeout_node *node)
{
    struct loop_conn *conn =
        (struct loop_conn *)(void *)((char *)node - offsetof(struct loop_conn, timeout));

    conn_expire(conn->conn);
    if (conn->queued) {
        follow_deadline(conn);
    } else {
        loop_conn_step(conn);
    }
}

static void give_up(struct loop *loop, int fd, struct loop_conn *conn, atomic_uint *total)
{
    static struct log_limit limit;

    if (log_allow(&limit, clock_now_ms())) {
        log_write(LOG_LEVEL_WARN, "no memory for a connection");
    }
    close(fd);
    free(conn);
    atomic_fetch_sub_explicit(total, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&loop->load, 1, memory_order_relaxed);
}

void loop_conn_open(struct loop *loop, int fd, bool refused, atomic_uint *total)
{
    struct loop_conn *conn = calloc(1, sizeof *conn);

    if (conn == NULL) {
        give_up(loop, fd, NULL, total);
        return;
    }
    conn->loop = loop;
    conn->total = total;
    transport_socket_open(&conn->transport, fd);
    conn->conn = conn_open(loop->worker, &conn->transport.base, conn);
    if (conn->conn == NULL) {
        give_up(loop, fd, conn, total);
        return;
    }
    if (uv_poll_init_socket(&loop->uv, &conn->poll, fd) != 0) {
        /* The transport owns the descriptor now; conn_close closes it. */
        conn_close(conn->conn);
        give_up(loop, -1, conn, total);
        return;
    }
    conn->poll.data = conn;
    if (refused) {
        conn_refuse(conn->conn);
    }
    loop_conn_step(conn);
}
