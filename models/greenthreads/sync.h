/* Mutex and condition for the user threads of one scheduler. They order what happens
 * across a park; between two parks no lock is needed, since nobody else runs. It must
 * never know a kernel thread: none of this is safe between two of them. */
#ifndef TETRAD_SYNC_H
#define TETRAD_SYNC_H

#include <stdint.h>

#include "scheduler.h"

struct sync_waiter;

/* First-in-first-out; all zero is an empty one. */
struct sync_queue {
    struct sync_waiter *first, *last;
};

/* All zero is an unlocked mutex, and a condition that nobody awaits. */
struct sync_mutex {
    struct user_thread *owner; /* NULL: unlocked */
    struct sync_queue waiters;
};

struct sync_condition {
    struct sync_queue waiters;
};

/* Sleeps until it is the caller's; those who wait get it in the order they came. */
void sync_lock(struct sync_mutex *mutex);
void sync_unlock(struct sync_mutex *mutex);

/* Unlocks, sleeps until signalled or until deadline_ms, locks again. mutex may be NULL
 * where what is waited for is tested without parking in between. */
enum park_result sync_wait(struct sync_condition *condition, struct sync_mutex *mutex,
                           uint64_t deadline_ms);

/* Ends the wait of the one who came first; of all. */
void sync_signal(struct sync_condition *condition);
void sync_broadcast(struct sync_condition *condition);

#endif
