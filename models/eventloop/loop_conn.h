/* A connection on a libuv loop: one uv_poll handle whose interest changes only with the
 * direction. It must never know what the bytes mean. */
#ifndef TETRAD_LOOP_CONN_H
#define TETRAD_LOOP_CONN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

#include "conn.h"
#include "loop.h"
#include "transport_socket.h"

struct loop_conn {
    uv_poll_t poll;
    struct loop *loop;
    struct conn *conn;
    struct transport_socket transport;
    struct timeout_node timeout;
    struct loop_work *work; /* file work under way; NULL: none */
    struct loop_conn *next; /* in the loop's list of those that want another step */
    atomic_uint *total;     /* counts this connection until it closes */
    int armed;              /* UV_READABLE, UV_WRITABLE or 0 */
    bool queued;            /* in that list */
};

/* Opens a connection over an accepted non-blocking socket and takes its first step. Takes
 * fd. refused: it is over the limit. *total was counted up for it, and is counted down
 * when it is gone, like loop->load. */
void loop_conn_open(struct loop *loop, int fd, bool refused, atomic_uint *total);

/* One step, and whatever it asks to wait for. May free the connection. */
void loop_conn_step(struct loop_conn *conn);

/* For worker_drain and its like. */
void loop_conn_wake(void *context);

/* Its deadline may have passed. */
void loop_conn_expired(struct timeout_node *node);

#endif
