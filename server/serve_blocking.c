/* One blocking context: the accept loop and the one loop over conn_step that the models
 * with a context per connection share. It must never know what a context is made of. */
#include "serve_blocking.h"

#include <stdint.h>
#include <unistd.h>

#include "clock.h"
#include "conn.h"
#include "listener.h"
#include "model.h"
#include "transport_socket.h"
#include "work.h"
#include "worker.h"

struct life {
    const struct serve_hooks *hooks;
    void *context;
    struct worker *worker; /* lent; NULL: none could be had */
};

static bool is_stopping(void *context)
{
    const struct life *life = context;

    return life->hooks->phase(life->context) != SERVE_OPEN;
}

/* False without memory. */
static bool borrow_worker(struct life *life)
{
    life->worker = life->hooks->lend(life->context);
    if (life->worker == NULL) {
        return false;
    }
    worker_ask_stopping(life->worker, is_stopping, life);
    return true;
}

static void return_worker(struct life *life)
{
    if (life->worker != NULL) {
        life->hooks->give_back(life->context, life->worker);
        life->worker = NULL;
    }
}

/* ---- one connection */

struct meeting {
    struct life *life;
    struct conn *conn;
    struct transport_socket transport;
    enum serve_phase reached; /* what the connection was told */
};

/* One step, and the work that it may ask for. */
static enum conn_wait step(struct meeting *meeting)
{
    enum conn_wait wait = conn_step(meeting->conn);

    if (wait == CONN_WAIT_WORK) {
        work_run(conn_work(meeting->conn));
    }
    return wait;
}

/* What else but its bytes can move the connection: true if the deadline or the phase did,
 * and a step is due. */
static bool look_up(struct meeting *meeting, uint64_t left_ms)
{
    struct life *life = meeting->life;
    enum serve_phase phase = life->hooks->phase(life->context);

    if (left_ms == 0) {
        conn_expire(meeting->conn);
    }
    if (phase == meeting->reached) {
        return left_ms == 0;
    }
    meeting->reached = phase;
    if (phase == SERVE_DRAIN) {
        worker_drain(life->worker, NULL);
    } else {
        worker_abandon(life->worker, NULL);
    }
    return true;
}

/* Sleeps until the peer says something, the deadline, or a signal. True: it was the
 * deadline, and nothing else. */
static bool sleep_on(struct meeting *meeting)
{
    uint64_t deadline_ms = conn_deadline(meeting->conn);
    uint64_t now_ms = clock_now_ms();

    while (now_ms < deadline_ms) {
        if (transport_socket_await(&meeting->transport, deadline_ms - now_ms)) {
            return false;
        }
        now_ms = clock_now_ms();
    }
    return true;
}

/* The connection is idle, or somebody's bytes are slow to come. An idle one holds nothing
 * of a worker, so another context has it meanwhile. False: there is none any more. */
static bool rest(struct meeting *meeting)
{
    bool idle = conn_can_move(meeting->conn), expired;

    if (idle) {
        conn_unbind(meeting->conn);
        return_worker(meeting->life);
    }
    expired = sleep_on(meeting);
    if (idle) {
        if (!borrow_worker(meeting->life)) {
            return false;
        }
        conn_rebind(meeting->conn, meeting->life->worker);
    }
    /* What came in time is read first, however late this context comes to it. */
    if (expired) {
        conn_expire(meeting->conn);
    }
    return true;
}

/* A receive that waits does so for a tick at most, which suits a busy connection: it costs
 * no call of its own. What a tick did not bring, or what has less time than that, is waited
 * for differently. */
static bool wants_rest(const struct meeting *meeting, enum conn_wait wait,
                       uint64_t left_ms)
{
    return wait == CONN_WAIT_READ &&
           (meeting->transport.overslept || left_ms < SERVE_TICK_MS);
}

static void serve_conn(struct meeting *meeting)
{
    enum conn_wait wait;

    /* The first step comes before the first look at the phase: a request that arrived
     * together with the stop is answered, not reset. */
    while ((wait = step(meeting)) != CONN_CLOSED) {
        uint64_t left_ms = conn_time_left(meeting->conn);

        if (look_up(meeting, left_ms)) {
            continue;
        }
        if (wait == CONN_WAIT_WRITE) {
            transport_socket_send_within(&meeting->transport, left_ms < SERVE_TICK_MS
                                                                  ? (unsigned)left_ms
                                                                  : SERVE_TICK_MS);
        } else if (wants_rest(meeting, wait, left_ms)) {
            if (!rest(meeting)) {
                return;
            }
            (void)look_up(meeting, conn_time_left(meeting->conn));
        }
    }
}

static void serve_socket(int fd, struct life *life)
{
    struct meeting meeting = { .life = life, .reached = SERVE_OPEN };
    struct transport_socket *transport = &meeting.transport;

    transport_socket_open(transport, fd);
    /* Without a tick the socket could hold this context for ever. */
    if (transport_socket_set_tick(transport, SERVE_TICK_MS) == 0) {
        meeting.conn = conn_open(life->worker, &transport->base, life->context);
    }
    if (meeting.conn == NULL) {
        transport->base.ops->close(&transport->base);
        return;
    }
    serve_conn(&meeting);
    conn_close(meeting.conn);
}

/* ---- one context */

bool serve_blocking(const struct server *server, const struct serve_hooks *hooks,
                    void *context)
{
    struct life life = { .hooks = hooks, .context = context };
    enum accept_result result = ACCEPT_NONE;
    int fd;

    if (!borrow_worker(&life)) {
        return false;
    }
    while (life.worker != NULL && result != ACCEPT_STOPPED &&
           hooks->phase(context) == SERVE_OPEN && !hooks->leave(context)) {
        result = listener_accept_blocking(server->listener, &fd);
        if (result == ACCEPT_OK) {
            hooks->busy(context, fd);
            serve_socket(fd, &life);
            hooks->idle(context);
        }
    }
    bool useful = life.worker != NULL;
    return_worker(&life);
    return useful;
}
