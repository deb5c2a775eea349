/* One libuv loop and the connections it serves: its worker, its deadlines, the
 * connections that want another step. It must never know how connections are accepted. */
#ifndef TETRAD_LOOP_H
#define TETRAD_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

#include "timeout_queue.h"
#include "worker.h"

struct loop_conn;
struct server;

struct loop {
    uv_loop_t uv;
    uv_poll_t sweep;  /* of sweep_fd, a wake_timer set for the earliest deadline: with a
                         timer of its own libuv waits with a time-out each time */
    int sweep_fd;     /* owned */
    uv_timer_t grace; /* the end of the time to finish */
    uv_idle_t again;  /* active while a connection wants another step */
    struct worker *worker;
    struct timeout_queue timeouts;
    uint64_t armed_ms;              /* what sweep is armed for; UINT64_MAX: not */
    struct loop_conn *first, *last; /* connections that want another step, in order */
    atomic_uint load;               /* connections given to this loop, not yet closed */
    bool draining;
};

/* 0 or -errno; on failure nothing is left open. */
int loop_open(struct loop *loop, const struct server *server);

/* Appends a connection to those that want another step, once. */
void loop_step_later(struct loop *loop, struct loop_conn *conn);

/* A connection's deadline was queued: wakes the loop in time for it. */
void loop_arm(struct loop *loop);

/* Drains every connection; those left after grace_ms are closed. When the last is gone,
 * loop_finish_if_empty closes the loop's handles, so that uv_run returns. */
void loop_drain(struct loop *loop, uint64_t grace_ms);
void loop_finish_if_empty(struct loop *loop);

/* After uv_run returned. */
void loop_close(struct loop *loop);

#endif
