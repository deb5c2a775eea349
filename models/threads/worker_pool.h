/* Workers that a pool's threads share: a thread beside an idle connection needs none, so
 * there are about as many as there are busy ones. It must never know what a worker does. */
#ifndef TETRAD_WORKER_POOL_H
#define TETRAD_WORKER_POOL_H

struct server;
struct worker;
struct worker_pool;

/* NULL without memory. */
struct worker_pool *worker_pool_open(const struct server *server);

/* Every worker must have been given back. NULL is allowed. */
void worker_pool_close(struct worker_pool *pool);

/* For any thread; they wait for each other for a moment only. */

/* The worker that was given back last, or a new one, for this thread alone. NULL without
 * memory. */
struct worker *worker_pool_lend(struct worker_pool *pool);

/* It has no connection. More than are likely to be wanted soon are closed. */
void worker_pool_give_back(struct worker_pool *pool, struct worker *worker);

#endif
