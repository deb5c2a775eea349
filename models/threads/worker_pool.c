/* A stack of free workers under a lock, which a thread takes once in its life and once per
 * idle time of a connection, never between two requests. Last in, first out: what is
 * lent is what the CPU's cache still has. It must never know what a worker does. */
#include "worker_pool.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "worker.h"

enum {
    /* A worker is 100 KiB with its buffers, of which about 20 were touched, and costs some
     * microseconds to open. */
    FREE_MAX = 64,
    /* So many that were closed are worth a look for pages that can go back to the system:
     * between them lie the records of connections, which stay. */
    TRIM_AFTER = 64
};

struct worker_pool {
    const struct server *server; /* borrowed */
    pthread_mutex_t lock;
    unsigned count;
    unsigned closed;               /* since the last look */
    struct worker *free[FREE_MAX]; /* owned */
};

struct worker_pool *worker_pool_open(const struct server *server)
{
    struct worker_pool *pool = calloc(1, sizeof(*pool));

    if (pool == NULL) {
        return NULL;
    }
    pool->server = server;
    if (pthread_mutex_init(&pool->lock, NULL) != 0) {
        free(pool);
        return NULL;
    }
    return pool;
}

void worker_pool_close(struct worker_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    while (pool->count > 0) {
        worker_close(pool->free[--pool->count]);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

struct worker *worker_pool_lend(struct worker_pool *pool)
{
    struct worker *worker = NULL;

    pthread_mutex_lock(&pool->lock);
    if (pool->count > 0) {
        worker = pool->free[--pool->count];
    }
    pthread_mutex_unlock(&pool->lock);
    return worker != NULL
               ? worker
               : worker_open(pool->server, WORKER_BLOCKING, WORKER_SHARED_CACHE);
}

void worker_pool_give_back(struct worker_pool *pool, struct worker *worker)
{
    bool trim = false;

    pthread_mutex_lock(&pool->lock);
    if (pool->count < FREE_MAX) {
        pool->free[pool->count++] = worker;
        worker = NULL;
    } else if (++pool->closed == TRIM_AFTER) {
        pool->closed = 0;
        trim = true;
    }
    pthread_mutex_unlock(&pool->lock);
    worker_close(worker);
#ifdef __GLIBC__
    if (trim) {
        (void)malloc_trim(0); /* by a thread that has nothing else to do */
    }
#else
    (void)trim;
#endif
}
