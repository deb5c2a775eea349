/* Waiters queue on records that lie on their own stacks, and what they wait for is handed
 * to them before they run, so a late comer cannot snatch it and a stray wake-up is seen as
 * one. It must never know a kernel thread. */
#include "sync.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

struct sync_waiter {
    struct sync_waiter *next;
    struct user_thread *thread;
    bool granted;
};

/* Not inlined: the compiler would see that a record on the caller's stack is kept, and not
 * that the caller stays until it was removed. */
__attribute__((noinline)) static void queue_append(struct sync_queue *queue,
                                                   struct sync_waiter *waiter)
{
    if (queue->first == NULL) {
        queue->first = waiter;
    } else {
        queue->last->next = waiter;
    }
    queue->last = waiter;
}

static void queue_remove(struct sync_queue *queue, const struct sync_waiter *waiter)
{
    struct sync_waiter **link = &queue->first;
    struct sync_waiter *before = NULL;

    while (*link != waiter) {
        before = *link;
        link = &before->next;
    }
    *link = waiter->next;
    if (queue->last == waiter) {
        queue->last = before;
    }
}

/* The thread whose wait ended; NULL: nobody waited. */
static struct user_thread *queue_grant(struct sync_queue *queue)
{
    struct sync_waiter *waiter = queue->first;

    if (waiter == NULL) {
        return NULL;
    }
    queue->first = waiter->next;
    if (queue->last == waiter) {
        queue->last = NULL;
    }
    waiter->granted = true;
    scheduler_wake(waiter->thread);
    return waiter->thread;
}

void sync_lock(struct sync_mutex *mutex)
{
    struct sync_waiter self = { .thread = scheduler_self() };

    assert(mutex->owner != self.thread);
    if (mutex->owner == NULL) {
        mutex->owner = self.thread;
        return;
    }
    queue_append(&mutex->waiters, &self);
    while (!self.granted) {
        (void)scheduler_park(TIMEOUT_NONE, UINT64_MAX);
    }
}

void sync_unlock(struct sync_mutex *mutex)
{
    assert(mutex->owner == scheduler_self());
    mutex->owner = queue_grant(&mutex->waiters);
}

enum park_result sync_wait(struct sync_condition *condition, struct sync_mutex *mutex,
                           uint64_t deadline_ms)
{
    struct sync_waiter self = { .thread = scheduler_self() };
    enum park_result result = PARK_WOKEN;

    queue_append(&condition->waiters, &self);
    if (mutex != NULL) {
        sync_unlock(mutex);
    }
    while (!self.granted && result != PARK_EXPIRED) {
        result = scheduler_park(TIMEOUT_NONE, deadline_ms);
    }
    if (!self.granted) {
        queue_remove(&condition->waiters, &self);
    }
    if (mutex != NULL) {
        sync_lock(mutex);
    }
    return self.granted ? PARK_WOKEN : PARK_EXPIRED;
}

void sync_signal(struct sync_condition *condition)
{
    (void)queue_grant(&condition->waiters);
}

void sync_broadcast(struct sync_condition *condition)
{
    struct user_thread *woken;

    do {
        woken = queue_grant(&condition->waiters);
    } while (woken != NULL);
}
