/* Keeps a pool of blocking contexts as large as the demand asks for: each serves one
 * connection at a time, some are kept ready, the connections over the limit are refused
 * here. It must never know whether a context is a process or a thread. */
#ifndef TETRAD_SUPERVISOR_H
#define TETRAD_SUPERVISOR_H

#include "attributes.h"
#include "serve_blocking.h"

struct server;
struct supervisor;

/* What a pool can do; all are called by the supervisor's thread only, none blocks. */
struct supervisor_ops {
    /* Starts one context, which counts as idle from this call on. 0 or -errno. */
    int (*start)(void *pool);
    /* Asks this many idle contexts to leave when they next look; what was asked before is
     * forgotten. One that has just accepted serves its connection first. */
    void (*retire)(void *pool, unsigned count);
    unsigned (*idle)(void *pool);
    /* Collects the contexts that ended and returns how many. stillborn: how many of them
     * were of no use, so that starting more at once would help nobody. */
    unsigned (*reap)(void *pool, unsigned *stillborn);
    /* Tells every context; SERVE_ABANDON must end them all, soon. */
    void (*set_phase)(void *pool, enum serve_phase phase);
    /* Sends every context SIGNALS_NUDGE, so that it looks at the phase. */
    void (*nudge)(void *pool);
};

/* reap_fd: readable when ops->reap has something to do, cleared by it; -1: only
 * supervisor_wake says so. NULL with errno set. */
struct supervisor *supervisor_open(const struct server *server,
                                   const struct supervisor_ops *ops, void *pool,
                                   int reap_fd);

/* A model's run(): serves until the stop, drains, collects every context. */
int supervisor_run(struct supervisor *supervisor) MUST_CHECK;

/* The last idle context has become busy, or one has ended. From any thread or forked
 * child. */
void supervisor_wake(struct supervisor *supervisor);

/* In a forked child: closes what only the supervisor serves. supervisor_wake still works.
 */
void supervisor_in_child(struct supervisor *supervisor);

/* NULL is allowed. */
void supervisor_close(struct supervisor *supervisor);

#endif
