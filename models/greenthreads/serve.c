/* The loop of a connection's user thread: step, then wait for what the step names. It
 * parks between two steps only. The socket's readiness bits are cleared before a step and
 * never after it, so an event that comes while the step runs, or while the thread waits
 * for its turn, ends the next park at once. It must never know a byte of what is said. */
#include "serve.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "conn.h"
#include "log.h"
#include "offload.h"
#include "scheduler.h"
#include "shard.h"
#include "transport_socket.h"

/* What a user thread serves, and where: another shard after a move. It lasts from one run
 * to the next, as no stack does. */
struct conversation {
    struct shard *shard;
    struct conn *conn; /* NULL: not yet begun */
    struct transport_socket transport;
    struct poller_source source;
    enum serve_kind kind;
};

/* Until the next request: a stack is not needed for that. */
static enum park_result rest(struct conversation *self)
{
    bool bare = self->kind == SERVE_ADMITTED && conn_can_move(self->conn);
    enum timeout_class class = conn_timeout(self->conn);
    uint64_t deadline_ms = conn_deadline(self->conn);

    if (self->shard->shared) {
        (void)scheduler_set_movable(bare);
    }
    return bare
               ? scheduler_await_stackless(&self->source, POLLER_READ, class, deadline_ms)
               : scheduler_await(&self->source, POLLER_READ, class, deadline_ms);
}

enum course {
    GO_ON,
    SLEEP, /* without a stack */
    END
};

static enum course course_after(enum park_result result, struct conn *conn)
{
    switch (result) {
    case PARK_EXPIRED:
        conn_expire(conn);
        return GO_ON;
    case PARK_WOKEN:
        return GO_ON;
    case PARK_ASLEEP:
        return SLEEP;
    case PARK_FAILED:
        break;
    }
    return END;
}

static enum course do_file_work(struct conversation *self)
{
    static struct log_limit limit;
    struct work *work = conn_work(self->conn);
    int result = offload_run(self->shard->offload, work, &self->shard->abandoned);

    if (result == -ECANCELED) {
        return END;
    }
    if (result != 0) {
        /* Rather than failing a request that could be answered. */
        if (log_allow(&limit, clock_now_ms())) {
            log_write(LOG_LEVEL_WARN,
                      "no thread for file work (%s): a worker waits for it",
                      strerror(-result));
        }
        work_run(work);
    }
    return GO_ON;
}

static enum course wait_for(enum conn_wait wait, struct conversation *self)
{
    struct conn *conn = self->conn;

    if (self->shard->shared) {
        (void)scheduler_set_movable(false);
    }
    switch (wait) {
    case CONN_AGAIN:
        scheduler_yield();
        /* A peer that always has more to say must not outlive its deadline by it. */
        conn_expire(conn);
        return GO_ON;
    case CONN_WAIT_READ:
        return course_after(rest(self), conn);
    case CONN_WAIT_WRITE:
        return course_after(scheduler_await(&self->source, POLLER_WRITE,
                                            conn_timeout(conn), conn_deadline(conn)),
                            conn);
    case CONN_WAIT_WORK:
        return do_file_work(self);
    case CONN_CLOSED:
        break;
    }
    return END;
}

/* True: at its end. False: it sleeps without a stack. */
static bool converse(struct conversation *self)
{
    struct poller_source *source = &self->source;
    enum course course;
    enum conn_wait wait;

    do {
        source->ready &= POLLER_FINAL | POLLER_URGENT;
        wait = conn_step(self->conn);
        if (wait == CONN_WAIT_READ && (source->ready & POLLER_URGENT) != 0) {
            /* The short receive may have been due to it, with more behind it. */
            source->ready &= ~(unsigned)POLLER_URGENT;
            wait = CONN_AGAIN;
        }
        course = wait_for(wait, self);
    } while (course == GO_ON);
    if (course == SLEEP) {
        return false;
    }
    scheduler_forget(source);
    return true;
}

static void live_less(struct shard *shard)
{
    shard->live--;
    if (shard->live == 0) {
        sync_broadcast(&shard->idle);
    }
}

static void leave(struct shard *shard, enum serve_kind kind)
{
    switch (kind) {
    case SERVE_ADMITTED:
        atomic_fetch_sub_explicit(&shard->load, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(shard->admitted, 1, memory_order_relaxed);
        break;
    case SERVE_REFUSED:
        shard->refused--;
        break;
    }
    live_less(shard);
}

/* ---- moving to another shard, between two steps */

static void move_out(void *context)
{
    const struct conversation *self = context;

    conn_unbind(self->conn);
    atomic_fetch_sub_explicit(&self->shard->load, 1, memory_order_relaxed);
    live_less(self->shard);
}

static void move_in(void *context, void *owner)
{
    struct conversation *self = context;
    struct shard *shard = owner;

    self->shard = shard;
    atomic_fetch_add_explicit(&shard->load, 1, memory_order_relaxed);
    shard->live++;
    conn_rebind(self->conn, shard->worker);
}

static const struct scheduler_moves moves = { .leave = move_out, .arrive = move_in };

/* ---- */

static bool begin(struct conversation *self)
{
    self->conn = conn_open(self->shard->worker, &self->transport.base, scheduler_self());
    if (self->conn == NULL) {
        self->transport.base.ops->close(&self->transport.base);
        return false;
    }
    if (self->kind == SERVE_REFUSED) {
        conn_refuse(self->conn);
    }
    if (self->shard->abandoned) {
        conn_abandon(self->conn);
    }
    scheduler_set_moves(&moves, self);
    return true;
}

/* Runs once for each time that it wakes from its rest, and the last time to the end. */
static void serve(void *argument)
{
    struct conversation *self = argument;

    if (self->conn != NULL || begin(self)) {
        if (scheduler_expired()) {
            conn_expire(self->conn);
        }
        if (!converse(self)) {
            return;
        }
        conn_close(self->conn);
    }
    leave(self->shard, self->kind);
}

void serve_start(struct shard *shard, int fd, enum serve_kind kind)
{
    static struct log_limit limit;
    struct conversation self = { .shard = shard,
                                 .source = { .fd = fd, .slot = POLLER_NONE },
                                 .kind = kind };

    transport_socket_open(&self.transport, fd);
    shard->live++;
    if (kind == SERVE_REFUSED) {
        shard->refused++;
    }
    if (scheduler_spawn_stackless(shard->scheduler, serve, &self, sizeof(self)) == 0) {
        return;
    }
    if (log_allow(&limit, clock_now_ms())) {
        log_write(LOG_LEVEL_WARN, "no memory for a user thread; a connection is closed");
    }
    close(fd);
    leave(shard, kind);
}
