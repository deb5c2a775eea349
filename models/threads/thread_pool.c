/* The pool's counters and its threads' beginning and end. Threads are joined, never
 * detached, so that none outlives the pool or leaves its stack behind. It must never take
 * a lock that a thread needs between two requests. */
#include "thread_pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "signals.h"

/* Untouched pages of a stack cost address space only, so the size is what the deepest
 * path needs several times over, and a guard page ends it. The sanitizers' frames are far
 * larger. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LARGE_FRAMES 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LARGE_FRAMES 1
#endif

enum {
    CACHE_LINE = 64,
#ifdef LARGE_FRAMES
    STACK_BYTES = 1024 * 1024,
#else
    STACK_BYTES = 128 * 1024,
#endif
    GUARD_BYTES = 4096
};

struct pool_thread {
    pthread_t id;
    struct thread_pool *pool;            /* borrowed */
    struct pool_thread *next, *previous; /* of all threads; the owner's */
    struct pool_thread *next_ended;
    atomic_int fd; /* the socket of the connection it serves; -1: idle */
    bool useless;
};

struct thread_pool {
    struct thread_pool_config config;
    pthread_attr_t attributes;
    sigset_t blocked;            /* in the pool's threads */
    struct pool_thread *threads; /* all that were not joined yet; the owner's */
    /* Read by every thread after every step: kept apart from what changes. */
    _Alignas(CACHE_LINE) atomic_int phase;
    atomic_uint leaving; /* how many more may leave */
    _Alignas(CACHE_LINE) atomic_uint idle;
    _Atomic(struct pool_thread *) ended; /* pushed by threads, taken whole by the owner */
};

struct thread_pool *thread_pool_open(const struct thread_pool_config *config)
{
    struct thread_pool *pool = aligned_alloc(CACHE_LINE, sizeof(*pool));

    if (pool == NULL) {
        return NULL;
    }
    pool->config = *config;
    signals_but_faults(&pool->blocked);
    sigdelset(&pool->blocked, SIGNALS_NUDGE);
    pool->threads = NULL;
    atomic_init(&pool->phase, SERVE_OPEN);
    atomic_init(&pool->leaving, 0);
    atomic_init(&pool->idle, 0);
    atomic_init(&pool->ended, NULL);
    if (pthread_attr_init(&pool->attributes) != 0) {
        free(pool);
        return NULL;
    }
    if (pthread_attr_setstacksize(&pool->attributes, STACK_BYTES) != 0 ||
        pthread_attr_setguardsize(&pool->attributes, GUARD_BYTES) != 0) {
        thread_pool_close(pool);
        return NULL;
    }
    return pool;
}

void thread_pool_close(struct thread_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    pthread_attr_destroy(&pool->attributes);
    free(pool);
}

static void *run_thread(void *argument)
{
    struct pool_thread *self = argument;
    struct thread_pool *pool = self->pool;

    self->useless = !pool->config.body(self, pool->config.context);
    atomic_fetch_sub(&pool->idle, 1);
    self->next_ended = atomic_load_explicit(&pool->ended, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&pool->ended, &self->next_ended, self,
                                                  memory_order_release,
                                                  memory_order_relaxed)) {
        ;
    }
    /* From the push on self may be freed as soon as this thread returns, not before: the
     * owner joins it first. */
    pool->config.wake(pool->config.context);
    return NULL;
}

int thread_pool_start(struct thread_pool *pool)
{
    struct pool_thread *thread = calloc(1, sizeof(*thread));
    sigset_t before;

    if (thread == NULL) {
        return -ENOMEM;
    }
    thread->pool = pool;
    atomic_init(&thread->fd, -1);
    atomic_fetch_add(&pool->idle, 1);
    (void)pthread_sigmask(SIG_SETMASK, &pool->blocked, &before);
    int error = pthread_create(&thread->id, &pool->attributes, run_thread, thread);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        atomic_fetch_sub(&pool->idle, 1);
        free(thread);
        return -error;
    }
    thread->next = pool->threads;
    if (thread->next != NULL) {
        thread->next->previous = thread;
    }
    pool->threads = thread;
    return 0;
}

void thread_pool_retire(struct thread_pool *pool, unsigned count)
{
    atomic_store_explicit(&pool->leaving, count, memory_order_relaxed);
}

unsigned thread_pool_idle(const struct thread_pool *pool)
{
    return atomic_load(&pool->idle);
}

static void unlink_thread(struct thread_pool *pool, struct pool_thread *thread)
{
    if (thread->next != NULL) {
        thread->next->previous = thread->previous;
    }
    if (thread->previous != NULL) {
        thread->previous->next = thread->next;
    } else {
        pool->threads = thread->next;
    }
}

unsigned thread_pool_reap(struct thread_pool *pool, unsigned *useless)
{
    struct pool_thread *thread =
        atomic_exchange_explicit(&pool->ended, NULL, memory_order_acquire);
    unsigned count = 0;

    while (thread != NULL) {
        struct pool_thread *next = thread->next_ended;
        (void)pthread_join(thread->id, NULL);
        unlink_thread(pool, thread);
        *useless += thread->useless;
        count++;
        free(thread);
        thread = next;
    }
    return count;
}

void thread_pool_set_phase(struct thread_pool *pool, enum serve_phase phase)
{
    atomic_store_explicit(&pool->phase, (int)phase, memory_order_release);
    if (phase != SERVE_ABANDON) {
        return;
    }
    /* A reader that takes its bytes slowly can hold a thread in one send for seconds. That
     * the number may meanwhile belong to another thread's socket is no harm: that one is
     * to end as well, and to a file it means nothing. */
    for (struct pool_thread *thread = pool->threads; thread != NULL;
         thread = thread->next) {
        int fd = atomic_load_explicit(&thread->fd, memory_order_relaxed);
        if (fd >= 0) {
            (void)shutdown(fd, SHUT_RDWR);
        }
    }
}

void thread_pool_nudge(struct thread_pool *pool)
{
    for (struct pool_thread *thread = pool->threads; thread != NULL;
         thread = thread->next) {
        (void)pthread_kill(thread->id, SIGNALS_NUDGE);
    }
}

void *thread_pool_context(const struct pool_thread *self)
{
    return self->pool->config.context;
}

void thread_pool_set_busy(struct pool_thread *self, int fd)
{
    struct thread_pool *pool = self->pool;

    atomic_store_explicit(&self->fd, fd, memory_order_relaxed);
    if (atomic_fetch_sub(&pool->idle, 1) == 1) {
        pool->config.wake(pool->config.context);
    }
}

void thread_pool_set_idle(struct pool_thread *self)
{
    atomic_store_explicit(&self->fd, -1, memory_order_relaxed);
    atomic_fetch_add(&self->pool->idle, 1);
}

bool thread_pool_leave(struct pool_thread *self)
{
    atomic_uint *pool_leaving = &self->pool->leaving;
    unsigned leaving = atomic_load_explicit(pool_leaving, memory_order_relaxed);

    while (leaving > 0) {
        if (atomic_compare_exchange_weak_explicit(pool_leaving, &leaving, leaving - 1,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

enum serve_phase thread_pool_phase(const struct pool_thread *self)
{
    return (enum serve_phase)atomic_load_explicit(&self->pool->phase,
                                                  memory_order_acquire);
}
