/* One blocking context: the accept loop and the one loop over conn_step that the models
 * with a context per connection share. It must never know what a context is made of. */
#include "serve_blocking.h"

#include <stdint.h>
#include <unistd.h>

#include "conn.h"
#include "listener.h"
#include "model.h"
#include "transport_socket.h"
#include "work.h"
#include "worker.h"

/* One step, and the work that it may ask for. */
static enum conn_wait step(struct conn *conn)
{
    enum conn_wait wait = conn_step(conn);

    if (wait == CONN_WAIT_WORK) {
        work_run(conn_work(conn));
    }
    return wait;
}

/* The next step may sleep: until the connection's deadline at most. */
static void look_at_deadline(struct conn *conn, struct transport_socket *transport,
                             enum conn_wait wait)
{
    uint64_t left_ms = conn_time_left(conn);

    if (left_ms == 0) {
        conn_expire(conn);
        left_ms = conn_time_left(conn);
    }
    if (wait == CONN_WAIT_WRITE) {
        transport_socket_send_within(transport, left_ms);
    } else {
        transport_socket_receive_within(transport, left_ms);
    }
}

static void serve_conn(struct conn *conn, struct transport_socket *transport,
                       struct worker *worker, const struct serve_hooks *hooks,
                       void *context)
{
    enum serve_phase reached = SERVE_OPEN;
    enum conn_wait wait;

    /* The first step comes before the first look at the phase: a request that arrived
     * together with the stop is answered, not reset. */
    while ((wait = step(conn)) != CONN_CLOSED) {
        enum serve_phase phase;

        look_at_deadline(conn, transport, wait);
        phase = hooks->phase(context);
        if (phase == reached) {
            continue;
        }
        reached = phase;
        if (phase == SERVE_DRAIN) {
            worker_drain(worker, NULL);
        } else {
            worker_abandon(worker, NULL);
        }
    }
}

static void serve_socket(int fd, struct worker *worker, const struct serve_hooks *hooks,
                         void *context)
{
    struct transport_socket transport;
    struct conn *conn = NULL;

    transport_socket_open(&transport, fd);
    /* Without a tick the socket could hold this context for ever. */
    if (transport_socket_set_tick(&transport, SERVE_TICK_MS) == 0) {
        conn = conn_open(worker, &transport.base, context);
    }
    if (conn == NULL) {
        transport.base.ops->close(&transport.base);
        return;
    }
    serve_conn(conn, &transport, worker, hooks, context);
    conn_close(conn);
}

/* What a worker asks before an answer. */
struct stopping {
    const struct serve_hooks *hooks;
    void *context;
};

static bool is_stopping(void *context)
{
    const struct stopping *stopping = context;

    return stopping->hooks->phase(stopping->context) != SERVE_OPEN;
}

void serve_blocking(const struct server *server, struct worker *worker,
                    const struct serve_hooks *hooks, void *context)
{
    struct stopping stopping = { hooks, context };
    int fd;

    worker_ask_stopping(worker, is_stopping, &stopping);

    while (hooks->phase(context) == SERVE_OPEN && !hooks->leave(context)) {
        switch (listener_accept_blocking(server->listener, &fd)) {
        case ACCEPT_OK:
            hooks->busy(context, fd);
            serve_socket(fd, worker, hooks, context);
            hooks->idle(context);
            break;
        case ACCEPT_NONE:
        case ACCEPT_RETRY:
            break;
        case ACCEPT_STOPPED:
            return;
        }
    }
}
