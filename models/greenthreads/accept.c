/* Accepts until the queue is empty, with a turn for the connections in between; pauses
 * when the process is out of descriptors or memory. The listening sockets alone are
 * watched level-triggered: a connection that failed before it was accepted must not hide
 * those behind it. It must never know how a connection is served. */
#include "accept.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "listener.h"
#include "options.h"
#include "refuser.h"
#include "scheduler.h"
#include "serve.h"
#include "shard.h"
#include "sync.h"

enum { ACCEPTS_PER_TURN = 64 };

struct acceptor {
    struct accepting *accepting;
    struct user_thread *self; /* NULL: not running */
    unsigned index;           /* of the listening socket */
};

struct accepting {
    struct shard *shards; /* borrowed */
    unsigned shard_count;
    unsigned running; /* acceptors */
    struct sync_condition ended;
    unsigned count;
    struct acceptor acceptors[];
};

/* The one with the fewest connections. */
static struct shard *least_loaded(const struct accepting *accepting)
{
    struct shard *least = NULL;
    unsigned least_load = UINT_MAX;

    for (unsigned i = 0; i < accepting->shard_count; i++) {
        struct shard *shard = &accepting->shards[i];
        unsigned load = atomic_load_explicit(&shard->load, memory_order_relaxed);

        if (load < least_load) {
            least = shard;
            least_load = load;
        }
    }
    return least;
}

static void admit(struct shard *to, struct shard *first, int fd)
{
    atomic_fetch_add_explicit(first->admitted, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&to->load, 1, memory_order_relaxed);
    if (to != first && inbox_put(to->inbox, fd) == 0) {
        return;
    }
    if (to != first) {
        atomic_fetch_sub_explicit(&to->load, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&first->load, 1, memory_order_relaxed);
    }
    serve_start(first, fd, SERVE_ADMITTED);
}

static void place(const struct accepting *accepting, int fd)
{
    struct shard *first = &accepting->shards[0];
    unsigned limit = first->server->options->max_connections;

    if (atomic_load_explicit(first->admitted, memory_order_relaxed) < limit) {
        admit(least_loaded(accepting), first, fd);
    } else {
        while (first->refused >= REFUSER_MAX) {
            shard_end_refused(first);
            scheduler_yield();
        }
        serve_start(first, fd, SERVE_REFUSED);
    }
}

/* What accept said last: NONE, RETRY and STOPPED end a turn early. */
static enum accept_result accept_turn(const struct acceptor *acceptor)
{
    const struct accepting *accepting = acceptor->accepting;
    struct listener *listener = accepting->shards[0].server->listener;
    enum accept_result result = ACCEPT_OK;

    for (unsigned i = 0; i < ACCEPTS_PER_TURN && result == ACCEPT_OK; i++) {
        int fd;

        result = listener_accept(listener, acceptor->index, &fd);
        if (result == ACCEPT_OK) {
            place(accepting, fd);
        }
    }
    return result;
}

static void pause_accepting(void)
{
    (void)scheduler_park(TIMEOUT_NONE, clock_now_ms() + LISTENER_RETRY_MS);
}

static void accept_loop(void *argument)
{
    struct acceptor *acceptor = *(struct acceptor **)argument;
    struct accepting *accepting = acceptor->accepting;
    struct poller_source source = {
        .fd = listener_fd(accepting->shards[0].server->listener, acceptor->index),
        .level = true,
        .slot = POLLER_NONE,
    };
    enum accept_result result = ACCEPT_OK;

    acceptor->self = scheduler_self();
    while (result != ACCEPT_STOPPED) {
        source.ready = 0;
        result = accept_turn(acceptor);
        switch (result) {
        case ACCEPT_OK:
            scheduler_yield();
            break;
        case ACCEPT_NONE:
            if (scheduler_await(&source, POLLER_READ, TIMEOUT_NONE, UINT64_MAX) ==
                PARK_FAILED) {
                pause_accepting();
            }
            break;
        case ACCEPT_RETRY:
            scheduler_remove(&source); /* or the poller would report it all the time */
            pause_accepting();
            break;
        case ACCEPT_STOPPED:
            break;
        }
    }
    scheduler_remove(&source);
    acceptor->self = NULL;
    accepting->running--;
    sync_broadcast(&accepting->ended);
}

struct accepting *accept_start(struct shard *shards, unsigned count)
{
    unsigned sockets = listener_count(shards[0].server->listener);
    struct accepting *accepting =
        calloc(1, sizeof(*accepting) + sockets * sizeof(accepting->acceptors[0]));

    if (accepting == NULL) {
        return NULL;
    }
    accepting->shards = shards;
    accepting->shard_count = count;
    accepting->count = sockets;
    for (unsigned i = 0; i < sockets; i++) {
        struct acceptor *acceptor = &accepting->acceptors[i];

        acceptor->accepting = accepting;
        acceptor->index = i;
        if (scheduler_spawn(shards[0].scheduler, accept_loop, &acceptor,
                            sizeof(acceptor)) < 0) {
            /* Those before it never run: the scheduler drops them. */
            free(accepting);
            return NULL;
        }
        accepting->running++;
    }
    return accepting;
}

void accept_stop(struct accepting *accepting)
{
    listener_stop(accepting->shards[0].server->listener);
    for (unsigned i = 0; i < accepting->count; i++) {
        if (accepting->acceptors[i].self != NULL) {
            scheduler_wake(accepting->acceptors[i].self);
        }
    }
    while (accepting->running > 0) {
        (void)sync_wait(&accepting->ended, NULL, UINT64_MAX);
    }
}

void accept_free(struct accepting *accepting)
{
    free(accepting);
}
