/* One scheduler with all that its connections need: N of them make `--workers N`. They share
 * nothing; under M:N a connection moves from one to another between two steps. It must
 * never know a byte of what a connection says. */
#ifndef TETRAD_SHARD_H
#define TETRAD_SHARD_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "attributes.h"
#include "inbox.h"
#include "offload.h"
#include "scheduler.h"
#include "server.h"
#include "sync.h"
#include "worker.h"

enum { SHARD_CACHE_LINE = 64 };

/* Owned by the kernel thread of its scheduler once that runs, but for `load`. */
struct shard {
    /* Connections given to it and not yet closed, refused ones aside. Written by both
     * ends of the inbox, so on a cache line of its own. */
    alignas(SHARD_CACHE_LINE) atomic_uint load;

    alignas(SHARD_CACHE_LINE) const struct server *server; /* borrowed */
    /* Those of all shards, and on their way between two; borrowed. Their sum would miss one
     * that moves while it is taken. */
    atomic_uint *admitted;
    struct offload *offload;     /* borrowed */
    struct scheduler *scheduler; /* owned, or borrowed from the group if shared */
    struct worker *worker;
    struct inbox *inbox; /* NULL in the first, which accepts */

    struct user_thread *keeper; /* receives, stops and drains */
    struct scheduler_message stop;
    bool shared;    /* its scheduler is one of a group: connections move */
    bool stopping;  /* nothing is accepted any more */
    bool abandoned; /* the time to finish is over */

    unsigned live;              /* user threads that serve a connection */
    unsigned refused;           /* of them with a connection over the limit */
    struct sync_condition idle; /* live became 0 */
};

/* In a zeroed shard with the scheduler and `admitted` set. false after logging why. What was opened is
 * closed by shard_close either way. */
bool shard_open(struct shard *shard, const struct server *server, struct offload *offload,
                bool first) MUST_CHECK;
void shard_close(struct shard *shard);

/* Asks a shard that has an inbox to take what is in it, drain and end. Any thread. */
void shard_stop(struct shard *shard);

/* For when too many connections over the limit are held: ends the one that was told so
 * first, in its thread's next turn. */
void shard_end_refused(struct shard *shard);

/* Finishes what is live, in the time that the options grant. For the keeper. */
void shard_drain(struct shard *shard);

/* The keeper of a shard with an inbox, as a user thread. argument: struct shard **. */
void shard_keep(void *argument);

#endif
