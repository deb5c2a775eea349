/* Mutex, condition and semaphore for user threads, of one scheduler or of a group. In one
 * scheduler they order what happens across a park, and cost no atomic operation: nobody
 * else runs between two parks. It must never know a connection. */
#ifndef TETRAD_SYNC_H
#define TETRAD_SYNC_H

#include <pthread.h>
#include <stdint.h>

#include "scheduler.h"

struct sync_waiter;

/* First-in-first-out; all zero is an empty one. */
struct sync_queue {
    struct sync_waiter *first, *last;
};

/* For user threads of several kernel threads: held for a few instructions, never across a
 * park. */
struct sync_latch {
    pthread_mutex_t mutex;
};

/* All zero is an unlocked mutex, a condition that nobody awaits, and a semaphore of 0. */
struct sync_mutex {
    struct user_thread *owner; /* NULL: unlocked */
    struct sync_queue waiters;
    struct sync_latch latch;
};

struct sync_condition {
    struct sync_queue waiters;
    struct sync_latch latch;
};

struct sync_semaphore {
    unsigned long count;
    struct sync_queue waiters;
    struct sync_latch latch;
};

/* Sleeps until it is the caller's; those who wait get it in the order they came. */
void sync_lock(struct sync_mutex *mutex);
void sync_unlock(struct sync_mutex *mutex);

/* Unlocks, sleeps until signalled or until deadline_ms, locks again. mutex may be NULL
 * where what is waited for is tested without parking in between, in one scheduler. */
enum park_result sync_wait(struct sync_condition *condition, struct sync_mutex *mutex,
                           uint64_t deadline_ms);

/* Ends the wait of the one who came first; of all. */
void sync_signal(struct sync_condition *condition);
void sync_broadcast(struct sync_condition *condition);

/* Takes one, and sleeps until there is one; gives one. */
void sync_acquire(struct sync_semaphore *semaphore);
void sync_release(struct sync_semaphore *semaphore);

#endif
