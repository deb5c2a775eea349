/* The pump: one connection from accept to close, as steps between which a model waits.
 * All that a model needs; the protocol's state is out of its reach. Between two steps a
 * connection is at rest: no borrowed pointer, no errno. */
#ifndef TETRAD_CONN_H
#define TETRAD_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "timeout_queue.h"
#include "transport.h"
#include "work.h"
#include "worker.h"

struct conn;

enum conn_wait {
    CONN_AGAIN,     /* stopped for fairness: step again after the others had their turn */
    CONN_WAIT_READ, /* only after EAGAIN or a short receive: an edge-triggered poller may
                       sleep */
    CONN_WAIT_WRITE, /* only after EAGAIN or a short send */
    CONN_WAIT_WORK,  /* run conn_work, then step again; no deadline meanwhile */
    CONN_CLOSED      /* nothing is left to do: conn_close */
};

/* A connection over an open transport (taken; closed by conn_close). context is the
 * model's own, handed to the wake function of worker_drain. NULL without memory: the
 * transport is still the caller's. */
struct conn *conn_open(struct worker *worker, struct transport *transport, void *context);

/* For a connection over the limit, before its first step: it is answered 503 and closed.
 */
void conn_refuse(struct conn *conn);

/* Sends what is queued, answers what is buffered, receives at most once. Blocks only as
 * the transport does. */
enum conn_wait conn_step(struct conn *conn);

/* After CONN_WAIT_WORK: the work to run, by anyone, before the next step. Borrowed;
 * work_get to keep it. */
struct work *conn_work(struct conn *conn);

/* In ms of clock_now_ms; UINT64_MAX: none. Changes only inside the calls of this header.
 */
uint64_t conn_deadline(const struct conn *conn);
enum timeout_class conn_timeout(const struct conn *conn);

/* How long the deadline was away when the last step ended or last slept, in ms; 0: it had
 * passed; a very long time: there is none. Cheap: for a context that asks after each step.
 */
uint64_t conn_time_left(const struct conn *conn);

/* The deadline passed: answers 408, renews it (a slow reader that did make progress), or
 * ends the connection. Step next. Does nothing if the deadline has not passed. */
void conn_expire(struct conn *conn);

/* Finish the request at hand, then close. Step next. */
void conn_drain(struct conn *conn);

/* The time to finish is over: the next conn_step says CONN_CLOSED. */
void conn_abandon(struct conn *conn);

/* For a context whose connections change workers between two steps: whether this one can
 * (it holds no buffer and waits for no work); then unbind, on its worker's thread, and
 * rebind, on the new worker's, with nothing but conn_deadline and conn_close in between. */
bool conn_can_move(const struct conn *conn);
void conn_unbind(struct conn *conn);
void conn_rebind(struct conn *conn, struct worker *worker);

/* Closes the transport and frees everything. NULL is allowed, and one that is unbound. */
void conn_close(struct conn *conn);

#endif
