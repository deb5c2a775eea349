/* The life of a blocking context, a process or a kernel thread: accept a connection,
 * serve it to its end, accept the next. It must never know which of the two it runs in,
 * nor how many there are. */
#ifndef TETRAD_SERVE_BLOCKING_H
#define TETRAD_SERVE_BLOCKING_H

#include <stdbool.h>

struct server;
struct worker;

/* A send that waits, and a receive at first, looks up after this long. A connection that
 * brought nothing for so long is waited for until its deadline, so whoever changes the phase
 * must end that sleep by a signal (signals.h, SIGNALS_NUDGE). */
enum { SERVE_TICK_MS = 250 };

enum serve_phase {
    SERVE_OPEN,   /* accept and serve */
    SERVE_DRAIN,  /* finish the request at hand, close, leave */
    SERVE_ABANDON /* the time to finish is over: close and leave */
};

/* What the context's owner wants to hear and to say; all are given `context` and must be
 * cheap: phase is asked after every step of a connection. */
struct serve_hooks {
    enum serve_phase (*phase)(void *context);
    void (*busy)(void *context, int fd); /* a connection was accepted; fd is borrowed */
    void (*idle)(void *context);         /* it is closed, the next is waited for */
    bool (*leave)(void *context);        /* true: the pool is too large, end here */
    /* A worker, for this context alone until it gives it back, which it does at its end and
     * while its connection is idle. NULL without memory. */
    struct worker *(*lend)(void *context);
    void (*give_back)(void *context, struct worker *worker);
};

/* Serves until the phase changes, leave says true, or the listener is stopped; false if it
 * ended for want of a worker. The context counts as idle when it comes and when it returns.
 * Blocks. */
bool serve_blocking(const struct server *server, const struct serve_hooks *hooks,
                    void *context);

#endif
