/* Threads that come and go with the demand: who is idle, who should leave, who has ended
 * and is to be joined. It must never know what the threads do. */
#ifndef TETRAD_THREAD_POOL_H
#define TETRAD_THREAD_POOL_H

#include <stdbool.h>

#include "serve_blocking.h"

struct thread_pool;
struct pool_thread;

struct thread_pool_config {
    /* A thread's whole life; false: it was of no use. The thread counts as idle when it
     * comes and when it returns. */
    bool (*body)(struct pool_thread *self, void *context);
    /* The last idle thread has become busy, or one has ended. Any thread. */
    void (*wake)(void *context);
    void *context; /* borrowed */
};

/* NULL without memory. */
struct thread_pool *thread_pool_open(const struct thread_pool_config *config);

/* Every thread must have been collected. NULL is allowed. */
void thread_pool_close(struct thread_pool *pool);

/* For the thread that owns the pool. */

int thread_pool_start(struct thread_pool *pool); /* one more thread; 0 or -errno */

/* So many idle threads may leave; what was said before is forgotten. */
void thread_pool_retire(struct thread_pool *pool, unsigned count);
unsigned thread_pool_idle(const struct thread_pool *pool);

/* Joins the threads that ended and returns how many; *useless: those whose body said so.
 */
unsigned thread_pool_reap(struct thread_pool *pool, unsigned *useless);
/* SERVE_ABANDON also shuts the sockets of the busy threads down, so that none sleeps on.
 */
void thread_pool_set_phase(struct thread_pool *pool, enum serve_phase phase);
/* Ends the sleep in which a thread may be, by SIGNALS_NUDGE. */
void thread_pool_nudge(struct thread_pool *pool);

/* For the threads in the pool. */

/* What its body was given. */
void *thread_pool_context(const struct pool_thread *self);

/* fd: the connection's socket, borrowed until the thread is idle again. */
void thread_pool_set_busy(struct pool_thread *self, int fd);
void thread_pool_set_idle(struct pool_thread *self);

/* True to as many idle threads as are to leave: the caller must. */
bool thread_pool_leave(struct pool_thread *self);
enum serve_phase thread_pool_phase(const struct pool_thread *self);

#endif
