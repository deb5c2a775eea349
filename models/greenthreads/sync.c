/* Waiters queue on records that lie on their own stacks, and what they wait for is handed
 * to them before they run, so a late comer cannot snatch it and a stray wake-up is seen as
 * one. In a group a latch guards queue and records, and a waiter is woken under it: it
 * cannot leave, and so not end, before its waker is done with it. It must never know a
 * connection. */
#include "sync.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "scheduler_state.h"

struct sync_waiter {
    struct sync_waiter *next;
    struct user_thread *thread;
    bool granted;
};

/* Whose user threads the caller's may meet: asked once for each operation, as it costs a
 * call, and the same before and after a park. */
static bool is_shared(const struct scheduler *here)
{
    return here->group != NULL;
}

static void latch(struct sync_latch *guard, bool shared)
{
    if (shared) {
        (void)pthread_mutex_lock(&guard->mutex);
    }
}

static void unlatch(struct sync_latch *guard, bool shared)
{
    if (shared) {
        (void)pthread_mutex_unlock(&guard->mutex);
    }
}

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

/* The thread whose wait ended; NULL: nobody waited. Under the latch. */
static struct user_thread *queue_grant(struct sync_queue *queue)
{
    struct sync_waiter *waiter = queue->first;
    struct user_thread *thread;

    if (waiter == NULL) {
        return NULL;
    }
    queue->first = waiter->next;
    if (queue->last == waiter) {
        queue->last = NULL;
    }
    thread = waiter->thread;
    waiter->granted = true;
    scheduler_wake(thread);
    return thread;
}

/* Parks until granted (true) or until deadline_ms. The latch is held before and after, and
 * open meanwhile. */
static bool wait_granted(struct sync_waiter *self, struct sync_latch *guard, bool shared,
                         uint64_t deadline_ms)
{
    enum park_result result = PARK_WOKEN;

    while (!self->granted && result != PARK_EXPIRED) {
        unlatch(guard, shared);
        result = scheduler_park(TIMEOUT_NONE, deadline_ms);
        latch(guard, shared);
    }
    return self->granted;
}

void sync_lock(struct sync_mutex *mutex)
{
    const struct scheduler *here = scheduler_current();
    struct user_thread *self = scheduler_running(here);
    bool shared = is_shared(here);

    latch(&mutex->latch, shared);
    assert(mutex->owner != self);
    if (mutex->owner == NULL) {
        mutex->owner = self;
    } else {
        struct sync_waiter waiter = { .thread = self };

        queue_append(&mutex->waiters, &waiter);
        (void)wait_granted(&waiter, &mutex->latch, shared, UINT64_MAX);
    }
    unlatch(&mutex->latch, shared);
}

void sync_unlock(struct sync_mutex *mutex)
{
    const struct scheduler *here = scheduler_current();
    bool shared = is_shared(here);

    latch(&mutex->latch, shared);
    assert(mutex->owner == scheduler_running(here));
    mutex->owner = queue_grant(&mutex->waiters);
    unlatch(&mutex->latch, shared);
}

enum park_result sync_wait(struct sync_condition *condition, struct sync_mutex *mutex,
                           uint64_t deadline_ms)
{
    const struct scheduler *here = scheduler_current();
    struct sync_waiter self = { .thread = scheduler_running(here) };
    bool shared = is_shared(here), granted;

    latch(&condition->latch, shared);
    queue_append(&condition->waiters, &self);
    if (mutex != NULL) {
        sync_unlock(mutex);
    }
    granted = wait_granted(&self, &condition->latch, shared, deadline_ms);
    if (!granted) {
        queue_remove(&condition->waiters, &self);
    }
    unlatch(&condition->latch, shared);
    if (mutex != NULL) {
        sync_lock(mutex);
    }
    return granted ? PARK_WOKEN : PARK_EXPIRED;
}

void sync_signal(struct sync_condition *condition)
{
    bool shared = is_shared(scheduler_current());

    latch(&condition->latch, shared);
    (void)queue_grant(&condition->waiters);
    unlatch(&condition->latch, shared);
}

void sync_broadcast(struct sync_condition *condition)
{
    bool shared = is_shared(scheduler_current());
    struct user_thread *woken;

    latch(&condition->latch, shared);
    do {
        woken = queue_grant(&condition->waiters);
    } while (woken != NULL);
    unlatch(&condition->latch, shared);
}

void sync_acquire(struct sync_semaphore *semaphore)
{
    const struct scheduler *here = scheduler_current();
    bool shared = is_shared(here);

    latch(&semaphore->latch, shared);
    if (semaphore->count > 0) {
        semaphore->count--;
    } else {
        struct sync_waiter waiter = { .thread = scheduler_running(here) };

        queue_append(&semaphore->waiters, &waiter);
        (void)wait_granted(&waiter, &semaphore->latch, shared, UINT64_MAX);
    }
    unlatch(&semaphore->latch, shared);
}

void sync_release(struct sync_semaphore *semaphore)
{
    bool shared = is_shared(scheduler_current());

    latch(&semaphore->latch, shared);
    if (queue_grant(&semaphore->waiters) == NULL) {
        semaphore->count++;
    }
    unlatch(&semaphore->latch, shared);
}
