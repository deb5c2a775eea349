/* How large a pool of contexts should be, as arithmetic: when to start some and how many,
 * when to let some go, and when to hold back because starting fails. Pure: it must never
 * know what a context is, nor read a clock. */
#ifndef TETRAD_POOL_POLICY_H
#define TETRAD_POOL_POLICY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    POOL_STEP_MAX = 64,    /* started at once: more would keep the starter from its
                              other duties for too long */
    POOL_CALM_MS = 2000,   /* without a shortage: the step begins small again */
    POOL_WINDOW_MS = 1000, /* idle for all this time is surplus */
    POOL_BACKOFF_MS = 100, /* after the first failure; doubles with each further one */
    POOL_BACKOFF_MAX_MS = 2000 /* so long may a recovered system go unnoticed */
};

struct pool_policy {
    unsigned ready;       /* idle contexts to keep, at most the limit */
    unsigned limit;       /* contexts in all */
    unsigned step;        /* how many the next shortage starts */
    uint64_t shortage_ms; /* when the last one was */
    uint64_t window_ms;   /* when the present window began */
    unsigned window_idle; /* the fewest idle seen in it */
    unsigned failures;    /* in a row */
    uint64_t failed_ms;   /* when the last one was */
    uint64_t resume_ms;   /* nothing is started before */
};

void pool_policy_init(struct pool_policy *policy, unsigned ready, unsigned limit,
                      uint64_t now_ms);

/* How many contexts to start now, when idle of total are idle. Every start that is asked
 * for counts as done. */
unsigned pool_policy_start(struct pool_policy *policy, unsigned total, unsigned idle,
                           uint64_t now_ms);

/* True at the end of a window: *surplus idle contexts are to be let go, in place of what
 * the window before has left of its own. To be called several times in a window. */
bool pool_policy_retire(struct pool_policy *policy, unsigned idle, uint64_t now_ms,
                        unsigned *surplus);

/* A start failed, or contexts ended before they were of use: hold back. */
void pool_policy_failed(struct pool_policy *policy, uint64_t now_ms);

/* A context ended that had been of use: starting helps. */
void pool_policy_worked(struct pool_policy *policy);

/* True if a new connection will find no context, now or soon. While starting is held back
 * and there is no context at all, it may wait: they come back, or nobody could answer. */
bool pool_policy_full(const struct pool_policy *policy, unsigned total, unsigned idle,
                      uint64_t now_ms);

#endif
