/* The life of a blocking context, a process or a kernel thread: accept a connection,
 * serve it to its end, accept the next. It must never know which of the two it runs in,
 * nor how many there are. */
#ifndef TETRAD_SERVE_BLOCKING_H
#define TETRAD_SERVE_BLOCKING_H

#include <stdbool.h>

struct server;
struct worker;

/* A send, and the first receive of those that find nothing, looks up after this long; a
 * receive that goes on waiting does so for its connection's deadline only, so whoever
 * changes the phase must end its sleep by a signal (signals.h, SIGNALS_NUDGE). */
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
};

/* Serves until the phase changes, leave says true, or the listener is stopped. The
 * context counts as idle when it comes and when it returns. Blocks. */
void serve_blocking(const struct server *server, struct worker *worker,
                    const struct serve_hooks *hooks, void *context);

#endif
