/* The pump: moves bytes between a transport and the protocol machine, and asks the site
 * for answers. One step sends what is queued, answers what is buffered and receives at
 * most once; it never waits by itself. It must never know which model waits for it. */
#include "conn.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "cold_file.h"
#include "conn_state.h"
#include "worker_state.h"

enum {
    STEP_ANSWERS_MAX = 16, /* then the others have their turn */
    STEP_FILE_BYTES_MAX = 2 * 1024 * 1024,
    IOVECS_MAX = 16,
    STEP_FILE_PIECE =
        512 * 1024,          /* one sendfile; what is looked at for being in memory */
    COPY_CHUNK = BUFFER_SIZE /* for a transport without sendfile */
};

struct conn *conn_of_link(struct worker_link *link)
{
    return (struct conn *)(void *)((char *)link - offsetof(struct conn, link));
}

void *conn_context(const struct conn *conn)
{
    return conn->context;
}

/* From now on for the log. Its peer's name is asked for now, because a socket that was
 * reset has none. */
static void record(struct conn *conn)
{
    const struct transport_ops *ops = conn->transport->ops;

    http_conn_record(&conn->http);
    if (ops->peer != NULL) {
        conn->peer = malloc(TRANSPORT_PEER_MAX);
    }
    if (conn->peer != NULL) {
        ops->peer(conn->transport, conn->peer);
    }
}

static void log_finished(struct conn *conn)
{
    struct exchange exchange;

    while (http_conn_finished(&conn->http, &exchange)) {
        access_writer_write(conn->worker->access, &exchange,
                            conn->peer == NULL ? "-" : conn->peer);
    }
}

struct conn *conn_open(struct worker *worker, struct transport *transport, void *context)
{
    struct conn *conn = malloc(sizeof *conn);

    if (conn == NULL) {
        return NULL;
    }
    *conn = (struct conn){ .worker = worker,
                           .transport = transport,
                           .context = context,
                           .now_ms = clock_now_ms() };
    http_conn_init(&conn->http, worker->limits, &worker->buffers, &worker->memo,
                   conn->now_ms);
    if (worker->access != NULL) {
        record(conn);
    }
    worker_add(worker, &conn->link);
    if (worker->draining) {
        conn_drain(conn);
    }
    return conn;
}

void conn_refuse(struct conn *conn)
{
    worker_refuse(conn->worker, &conn->link);
    http_conn_refuse(&conn->http, 503);
}

void conn_close(struct conn *conn)
{
    if (conn == NULL) {
        return;
    }
    work_put(conn->work);
    work_put(conn->cold);
    if (conn->worker != NULL && conn->worker->access != NULL) {
        http_conn_end(&conn->http);
        log_finished(conn);
    }
    http_conn_destroy(&conn->http);
    conn->transport->ops->close(conn->transport);
    if (conn->worker != NULL) {
        worker_remove(conn->worker, &conn->link);
    }
    free(conn->peer);
    free(conn);
}

/* For a transport without sendfile: count bytes, at most COPY_CHUNK, through a buffer. */
static ssize_t copy_file(struct conn *conn, const struct span *span, size_t count)
{
    struct buffer_pool *buffers = &conn->worker->buffers;
    char *buffer = buffer_pool_lend(buffers);
    struct iovec iov = { .iov_base = buffer };
    ssize_t n;

    if (buffer == NULL) {
        return TRANSPORT_BROKEN;
    }
    n = pread(span->fd, buffer, count, span->offset);
    if (n > 0) {
        iov.iov_len = (size_t)n;
        n = conn->transport->ops->sendv(conn->transport, &iov, 1, false);
    } else {
        n = n == 0 ? TRANSPORT_SHORT_FILE : TRANSPORT_BROKEN;
    }
    buffer_pool_return(buffers, buffer);
    return n;
}

/* Sends the front of the queue once. *asked is how many bytes were offered. */
static ssize_t send_front(struct conn *conn, struct output *output, size_t budget,
                          size_t *asked)
{
    const struct transport_ops *ops = conn->transport->ops;
    struct iovec iov[IOVECS_MAX];
    const struct span *front = output_front(output);
    int count;

    if (front->kind == SPAN_FILE) {
        *asked = front->length < budget ? front->length : budget;
        if (ops->sendfile != NULL) {
            return ops->sendfile(conn->transport, front->fd, front->offset, *asked);
        }
        *asked = *asked < COPY_CHUNK ? *asked : COPY_CHUNK;
        return copy_file(conn, front, *asked);
    }
    count = output_iovecs(output, iov, IOVECS_MAX);
    *asked = 0;
    for (int i = 0; i < count; i++) {
        *asked += iov[i].iov_len;
    }
    return ops->sendv(conn->transport, iov, count, *asked < output->bytes);
}

static enum conn_wait fail(struct conn *conn)
{
    conn->broken = true;
    return CONN_CLOSED;
}

/* True if the piece of a file that is to be sent next must first be read from the disk,
 * which a cooperative worker leaves to somebody who may sleep. */
static bool is_cold(struct conn *conn, const struct output *output)
{
    const struct span *front = output_front(output);

    if (!conn->worker->cooperative || front->kind != SPAN_FILE || conn->warm) {
        conn->warm = false;
        return false;
    }
    conn->cold =
        cold_file_work(front->fd, front->offset,
                       front->length < STEP_FILE_PIECE ? front->length : STEP_FILE_PIECE);
    return conn->cold != NULL;
}

/* A piece of a file was sent in part. It may have been cut, which only the next call tells,
 * or the socket may be full; then to try again would be to run after the peer, who takes
 * a little at a time, at the cost of both. */
static bool may_be_cut(const struct conn *conn)
{
    const struct transport *transport = conn->transport;

    return conn->worker->cooperative &&
           (transport->ops->has_room == NULL || transport->ops->has_room(transport));
}

static enum conn_wait wait_for_peer(struct conn *conn, uint64_t progress_ms)
{
    conn_await_peer(conn, progress_ms);
    return CONN_WAIT_WRITE;
}

/* Sends until the queue is empty (CONN_WAIT_READ), the transport takes no more, or the
 * step's share is used up. */
static enum conn_wait flush(struct conn *conn)
{
    struct output *output = http_conn_output(&conn->http);
    uint64_t progress_ms = conn->now_ms;
    size_t budget = STEP_FILE_BYTES_MAX;

    while (!output_empty(output)) {
        bool is_file = output_front(output)->kind == SPAN_FILE;
        size_t asked = 0;
        ssize_t n;

        if (is_cold(conn, output)) {
            return CONN_WAIT_WORK;
        }
        n = send_front(conn, output, budget < STEP_FILE_PIECE ? budget : STEP_FILE_PIECE,
                       &asked);
        progress_ms =
            conn_time_of_progress(conn, progress_ms, n > 0 && (size_t)n < asked);
        if (n == TRANSPORT_WAIT_WRITE) {
            return wait_for_peer(conn, progress_ms);
        }
        if (n < 0) {
            return fail(conn); /* a file that ended early too: never pad, never go on */
        }
        conn->settle_ms = 0;
        conn->settled = false;
        http_conn_sent(&conn->http, (size_t)n, progress_ms);
        if (conn->worker->access != NULL) {
            log_finished(conn);
        }
        /* A blocking send that is short has slept: enough. */
        if ((size_t)n < asked && !(is_file && may_be_cut(conn))) {
            return wait_for_peer(conn, progress_ms);
        }
        budget -= (size_t)n < budget ? (size_t)n : budget;
        if (budget == 0 && !output_empty(output)) {
            return CONN_AGAIN;
        }
    }
    return CONN_WAIT_READ;
}

/* ---- answering */

static void drop(const struct response *response)
{
    if (response->release != NULL) {
        response->release(response->owner);
    }
}

static bool is_stopping(const struct worker *worker)
{
    return worker->stopping != NULL && worker->stopping(worker->stopping_context);
}

/* Answers one request; false while it waits for file work. */
static bool answer(struct conn *conn, const struct request *request)
{
    struct response *response = &conn->worker->response;

    if (site_handle(conn->worker->view, request, &conn->work, conn->now_ms, response) ==
        SITE_PENDING) {
        return false;
    }
    if (is_stopping(conn->worker)) {
        http_conn_drain(&conn->http);
    }
    if (request->expects_continue && response->status < 400) {
        drop(response);
        http_conn_continue(&conn->http, conn->now_ms);
    } else {
        http_conn_respond(&conn->http, response, conn->now_ms);
    }
    return true;
}

/* Answers what is buffered, up to the step's share: CONN_AGAIN if requests are left,
 * CONN_WAIT_WORK if one needs file work, CONN_WAIT_READ if input is used up. */
static enum conn_wait answer_buffered(struct conn *conn)
{
    const struct request *request = http_conn_request(&conn->http);
    unsigned answers = 0;

    while (request != NULL) {
        if (answers == STEP_ANSWERS_MAX || !http_conn_can_respond(&conn->http)) {
            return CONN_AGAIN;
        }
        if (!answer(conn, request)) {
            return CONN_WAIT_WORK;
        }
        answers++;
        request = http_conn_request(&conn->http);
    }
    return CONN_WAIT_READ;
}

/* Answers and sends. What is answered is sent before file work or another turn is waited
 * for. */
static enum conn_wait answer_and_flush(struct conn *conn)
{
    enum conn_wait answered = answer_buffered(conn);
    enum conn_wait flushed = flush(conn);

    return flushed == CONN_WAIT_READ ? answered : flushed;
}

/* ---- receiving and the end */

/* Receives once: CONN_AGAIN if something came, CONN_WAIT_READ if not. *more: further bytes
 * may be here already. */
static enum conn_wait receive(struct conn *conn, bool *more)
{
    char *where;
    size_t room = http_conn_space(&conn->http, &where);
    bool wait = !conn->probe;
    ssize_t n;

    *more = false;
    if (room == 0) {
        return fail(conn);
    }
    n = conn->transport->ops->recv(conn->transport, where, room, wait);
    conn->now_ms = clock_now_ms(); /* a blocking receive may have slept */
    if (conn->probe) {
        conn->probe = false;
        http_conn_drain(&conn->http);
    }
    if (n == TRANSPORT_WAIT_READ) {
        return CONN_WAIT_READ;
    }
    if (n < 0) {
        return fail(conn);
    }
    *more = n == 0 || (size_t)n == room;
    http_conn_received(&conn->http, (size_t)n, conn->now_ms);
    return CONN_AGAIN;
}

static enum conn_wait half_close(struct conn *conn)
{
    if (conn->transport->ops->shutdown(conn->transport) < 0) {
        return fail(conn);
    }
    conn->linger = false;
    http_conn_half_closed(&conn->http, conn->now_ms);
    return CONN_AGAIN; /* the peer's end may be here already */
}

/* Nothing is owed and nothing is buffered: what is the connection waiting for? */
static enum conn_wait rest(struct conn *conn, bool more)
{
    const struct transport_ops *ops = conn->transport->ops;

    switch (http_conn_want(&conn->http)) {
    case HTTP_WANT_CLOSE:
        /* A request that comes in the same moment would make a bare close a reset, which
         * wipes what the peer has not received yet. */
        return conn->linger && http_conn_phase(&conn->http) != HTTP_NO_DEADLINE &&
                       conn_unacked(conn) != 0
                   ? half_close(conn)
                   : fail(conn);
    case HTTP_WANT_HALF_CLOSE:
        return half_close(conn);
    case HTTP_WANT_INPUT:
        http_conn_rest(&conn->http);
        if (more || (ops->pending != NULL && ops->pending(conn->transport))) {
            return CONN_AGAIN;
        }
        return CONN_WAIT_READ;
    case HTTP_WANT_ANSWER:
    case HTTP_WANT_OUTPUT:
        break;
    }
    return CONN_AGAIN;
}

static bool work_is_pending(struct conn *conn)
{
    if (conn->cold != NULL && work_done(conn->cold)) {
        work_put(conn->cold);
        conn->cold = NULL;
        conn->warm = true;
    }
    return conn->cold != NULL || (conn->work != NULL && !work_done(conn->work));
}

enum conn_wait conn_step(struct conn *conn)
{
    enum conn_wait wait;
    bool more = false;

    if (conn->broken) {
        return CONN_CLOSED;
    }
    if (work_is_pending(conn)) {
        return CONN_WAIT_WORK;
    }
    if (http_conn_want(&conn->http) != HTTP_WANT_INPUT) {
        conn->now_ms = clock_now_ms();
        wait = answer_and_flush(conn);
        if (wait != CONN_WAIT_READ) {
            return wait;
        }
        if (http_conn_want(&conn->http) != HTTP_WANT_INPUT) {
            return rest(conn, false);
        }
    }
    wait = receive(conn, &more);
    if (wait == CONN_AGAIN) {
        wait = answer_and_flush(conn);
    }
    return wait == CONN_WAIT_READ ? rest(conn, more) : wait;
}

struct work *conn_work(struct conn *conn)
{
    return conn->cold != NULL ? conn->cold : conn->work;
}

void conn_drain(struct conn *conn)
{
    switch (http_conn_want(&conn->http)) {
    case HTTP_WANT_INPUT:
        conn->probe = true;
        break;
    case HTTP_WANT_OUTPUT:
        /* Of an answer that did not say close: it may still be on its way at the end. */
        conn->probe = conn->linger = true;
        break;
    case HTTP_WANT_ANSWER:
    case HTTP_WANT_HALF_CLOSE:
    case HTTP_WANT_CLOSE:
        http_conn_drain(&conn->http);
        break;
    }
}

void conn_abandon(struct conn *conn)
{
    conn->broken = true;
}

bool conn_can_move(const struct conn *conn)
{
    return conn->work == NULL && conn->cold == NULL && !conn->warm &&
           http_conn_is_bare(&conn->http);
}

void conn_unbind(struct conn *conn)
{
    assert(conn_can_move(conn));
    worker_remove(conn->worker, &conn->link);
    conn->worker = NULL;
}

void conn_rebind(struct conn *conn, struct worker *worker)
{
    conn->worker = worker;
    http_conn_rebind(&conn->http, &worker->buffers, &worker->memo);
    worker_add(worker, &conn->link);
    if (worker->draining) {
        conn_drain(conn);
    }
    if (worker->abandoning) {
        conn_abandon(conn);
    }
}
