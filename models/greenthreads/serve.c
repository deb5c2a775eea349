/* The loop of a connection's user thread: step, then wait for what the step names. It
 * parks between two steps only. The socket's readiness bits are cleared before a step and
 * never after it, so an event that comes while the step runs, or while the thread waits
 * for its turn, ends the next park at once. It must never know a byte of what is said. */
#include "serve.h"

#include <stdbool.h>
#include <unistd.h>

#include "clock.h"
#include "conn.h"
#include "log.h"
#include "offload.h"
#include "scheduler.h"
#include "shard.h"
#include "transport_socket.h"

/* What a user thread starts with; copied to its stack. */
struct task {
    struct shard *shard;
    int fd;
    enum serve_kind kind;
};

static enum park_result await(struct poller_source *source, const struct conn *conn,
                              enum poller_bits bits)
{
    return scheduler_await(source, bits, conn_timeout(conn), conn_deadline(conn));
}

/* False: the connection is at its end. */
static bool wait_for(enum conn_wait wait, struct shard *shard, struct conn *conn,
                     struct poller_source *source)
{
    enum park_result result = PARK_WOKEN;

    switch (wait) {
    case CONN_AGAIN:
        scheduler_yield();
        /* A peer that always has more to say must not outlive its deadline by it. */
        conn_expire(conn);
        break;
    case CONN_WAIT_READ:
        result = await(source, conn, POLLER_READ);
        break;
    case CONN_WAIT_WRITE:
        result = await(source, conn, POLLER_WRITE);
        break;
    case CONN_WAIT_WORK:
        return offload_run(shard->offload, conn_work(conn), &shard->abandoned);
    case CONN_CLOSED:
        return false;
    }
    if (result == PARK_EXPIRED) {
        conn_expire(conn);
    }
    return result != PARK_FAILED;
}

/* A connection over the limit. It has its answer, and is held for its peer to read it. */
struct refusal {
    struct refusal *next;
    struct conn *conn;
    struct user_thread *thread;
};

static void converse(struct shard *shard, struct conn *conn, int fd)
{
    struct poller_source source = { .fd = fd, .slot = POLLER_NONE };
    enum conn_wait wait;

    do {
        source.ready &= POLLER_FINAL | POLLER_URGENT;
        wait = conn_step(conn);
        if (wait == CONN_WAIT_READ && (source.ready & POLLER_URGENT) != 0) {
            /* The short receive may have been due to it, with more behind it. */
            source.ready &= ~(unsigned)POLLER_URGENT;
            wait = CONN_AGAIN;
        }
    } while (wait_for(wait, shard, conn, &source));
    scheduler_forget(&source);
}

static void converse_refused(struct shard *shard, struct conn *conn, int fd)
{
    struct refusal self = { .conn = conn, .thread = scheduler_self() };
    struct refusal **link = &shard->refusals;

    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = &self;
    conn_refuse(conn);
    converse(shard, conn, fd);
    for (link = &shard->refusals; *link != NULL && *link != &self;) {
        link = &(*link)->next;
    }
    if (*link == &self) {
        *link = self.next;
    }
}

void serve_end_refusal(struct shard *shard)
{
    struct refusal *first = shard->refusals;

    if (first != NULL) {
        shard->refusals = first->next;
        conn_abandon(first->conn);
        scheduler_wake(first->thread);
    }
}

static void leave(struct shard *shard, enum serve_kind kind)
{
    switch (kind) {
    case SERVE_ADMITTED:
        atomic_fetch_sub_explicit(&shard->load, 1, memory_order_relaxed);
        break;
    case SERVE_REFUSED:
        shard->refused--;
        break;
    }
    shard->live--;
    if (shard->live == 0) {
        sync_broadcast(&shard->idle);
    }
}

static void serve(void *argument)
{
    const struct task *task = argument;
    struct shard *shard = task->shard;
    struct transport_socket transport;
    struct conn *conn;

    transport_socket_open(&transport, task->fd);
    conn = conn_open(shard->worker, &transport.base, scheduler_self());
    if (conn == NULL) {
        transport.base.ops->close(&transport.base);
    } else {
        if (shard->abandoned) {
            conn_abandon(conn);
        }
        if (task->kind == SERVE_REFUSED) {
            converse_refused(shard, conn, task->fd);
        } else {
            converse(shard, conn, task->fd);
        }
        conn_close(conn);
    }
    leave(shard, task->kind);
}

void serve_start(struct shard *shard, int fd, enum serve_kind kind)
{
    static struct log_limit limit;
    struct task task = { .shard = shard, .fd = fd, .kind = kind };

    shard->live++;
    if (kind == SERVE_REFUSED) {
        shard->refused++;
    }
    if (scheduler_spawn(shard->scheduler, serve, &task, sizeof(task)) == 0) {
        return;
    }
    if (log_allow(&limit, clock_now_ms())) {
        log_write(LOG_LEVEL_WARN, "no memory for a user thread; a connection is closed");
    }
    close(fd);
    leave(shard, kind);
}
