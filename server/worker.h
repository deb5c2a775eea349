/* What one context (a process, a kernel thread, a loop, a scheduler) keeps for its
 * connections: buffers, its view of the site, limits, and the list of live connections
 * for drain. One owner thread per worker. It must never know how the context waits. */
#ifndef TETRAD_WORKER_H
#define TETRAD_WORKER_H

#include <stdbool.h>
#include <stdint.h>

struct server;
struct worker;

/* Blocking contexts may sleep in file work and hold one connection; cooperative ones hold
 * many and must not. */
enum worker_kind { WORKER_BLOCKING, WORKER_COOPERATIVE };

/* One cache for all workers of this process, or one for each. */
enum worker_cache { WORKER_OWN_CACHE, WORKER_SHARED_CACHE };

/* Call it in the process, and before the first use by the thread, that will use the
 * worker. NULL without memory. */
struct worker *worker_open(const struct server *server, enum worker_kind kind,
                           enum worker_cache cache);

/* Every connection must have been closed. NULL is allowed. */
void worker_close(struct worker *worker);

/* For a context that sleeps in its steps and so learns of a stop late: asked before each
 * answer, which then says close. Cheap, any number of times; context is handed to it. */
void worker_ask_stopping(struct worker *worker, bool (*stopping)(void *context),
                         void *context);

/* Live connections of this worker. */
unsigned worker_connections(const struct worker *worker);

/* Drains every live connection (conn_drain) and from now on every new one; calls
 * wake(context) for each, with the context given to conn_open, so that a parked one takes
 * its next step. wake may be NULL, and must not close. */
void worker_drain(struct worker *worker, void (*wake)(void *context));

/* Ends the time to finish: every live connection is to be closed by its context. Calls
 * wake as above; the next conn_step of each says CONN_CLOSED. */
void worker_abandon(struct worker *worker, void (*wake)(void *context));

/* For when too many connections over the limit are held: does the same with the one that
 * was refused first (conn_refuse), if there is one. */
void worker_end_refused(struct worker *worker, void (*wake)(void *context));

#endif
