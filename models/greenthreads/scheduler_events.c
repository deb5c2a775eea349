/* What comes to a scheduler from outside: messages of other kernel threads, readiness, and
 * deadlines; and its opening and closing. It must never know a connection. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include "annotate_signals.h"
#include "clock.h"
#include "scheduler_state.h"
#include "wake_timer.h"

/* From so far away on a deadline is worth a system call that sets the timer. */
enum { FAR_MS = 100 };

/* 0 or -errno. */
static int timer_open(struct scheduler *scheduler)
{
    scheduler->timer.fd = wake_timer_open();
    return scheduler->timer.fd < 0 ? scheduler->timer.fd
                                   : poller_add(scheduler->poller, &scheduler->timer);
}

struct scheduler *scheduler_open(unsigned stack_flags)
{
    struct scheduler *scheduler = calloc(1, sizeof(*scheduler));
    int error;

    if (scheduler == NULL) {
        return NULL;
    }
    /* Edge-triggered, each read of it would be told as room to write. */
    scheduler->post =
        (struct poller_source){ .fd = -1, .level = true, .slot = POLLER_NONE };
    scheduler->timer = scheduler->post;
    scheduler->timer_ms = UINT64_MAX;
    timeout_queue_init(&scheduler->timeouts, TIMEOUT_SLACK_MS);
    timeout_queue_init(&scheduler->sleeps, 0);
    error = pthread_mutex_init(&scheduler->post_lock, NULL);
    if (error != 0) {
        free(scheduler);
        errno = error;
        return NULL;
    }
    scheduler->poller = poller_open();
    scheduler->stacks = stack_pool_open(stack_flags);
    scheduler->keeps_spare = (stack_flags & STACK_CENSUS) == 0;
    if (scheduler->poller == NULL || scheduler->stacks == NULL) {
        goto failed;
    }
    errno = ENOMEM;
    scheduler->spare = stack_take(scheduler->stacks);
    if (scheduler->spare == NULL) {
        goto failed;
    }
    scheduler->post.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (scheduler->post.fd < 0) {
        goto failed;
    }
    error = -poller_add(scheduler->poller, &scheduler->post);
    if (error == 0) {
        error = -timer_open(scheduler);
    }
    if (error == 0) {
        return scheduler;
    }
    errno = error;
failed:
    error = errno;
    scheduler_close(scheduler);
    errno = error;
    return NULL;
}

/* Those that were spawned for a run that never came, or that nothing could ever wake. */
void threads_drop(struct scheduler *scheduler)
{
    while (scheduler->all != NULL) {
        struct user_thread *thread = scheduler->all;

        timeout_queue_remove(&thread->timeout);
        thread_unlink(scheduler, thread);
        thread_free(scheduler, thread);
    }
    if (scheduler->spare != NULL) {
        stack_return(scheduler->stacks, scheduler->spare);
        scheduler->spare = NULL;
    }
    scheduler->keeps_spare = false;
}

void scheduler_close(struct scheduler *scheduler)
{
    if (scheduler == NULL) {
        return;
    }
    threads_drop(scheduler);
    messages_flush(scheduler);
    if (scheduler->post.fd >= 0) {
        (void)close(scheduler->post.fd);
    }
    if (scheduler->timer.fd >= 0) {
        (void)close(scheduler->timer.fd);
    }
    poller_close(scheduler->poller);
    stack_pool_close(scheduler->stacks);
    pthread_mutex_destroy(&scheduler->post_lock);
    free(scheduler);
}

/* ---- messages */

void messages_deliver(struct scheduler *scheduler)
{
    struct scheduler_message *message;

    pthread_mutex_lock(&scheduler->post_lock);
    message = scheduler->messages;
    scheduler->messages = NULL;
    atomic_store_explicit(&scheduler->posted, false, memory_order_relaxed);
    pthread_mutex_unlock(&scheduler->post_lock);
    while (message != NULL) {
        struct scheduler_message *next = message->next;

        message->deliver(message);
        message = next;
    }
}

void messages_flush(struct scheduler *scheduler)
{
    /* One that runs may close another, that never ran. */
    struct scheduler *outer = scheduler_current();

    scheduler_enter(scheduler);
    messages_deliver(scheduler);
    scheduler_enter(outer);
}

void scheduler_poke(struct scheduler *scheduler)
{
    /* Its counter is far from its maximum, so the write cannot fail. */
    (void)eventfd_write(scheduler->post.fd, 1);
}

void scheduler_post(struct scheduler *scheduler, struct scheduler_message *message)
{
    bool first;

    message->next = NULL;
    pthread_mutex_lock(&scheduler->post_lock);
    first = scheduler->messages == NULL;
    if (first) {
        atomic_store_explicit(&scheduler->posted, true, memory_order_relaxed);
        scheduler->messages = message;
    } else {
        scheduler->messages_last->next = message;
    }
    scheduler->messages_last = message;
    /* Inside the lock: once the message is delivered the scheduler may end and close. */
    if (first) {
        scheduler_poke(scheduler);
    }
    pthread_mutex_unlock(&scheduler->post_lock);
}

void scheduler_expect(struct scheduler *scheduler)
{
    scheduler->expected++;
}

void scheduler_expect_no_more(struct scheduler *scheduler)
{
    assert(scheduler->expected > 0);
    scheduler->expected--;
}

/* ---- deadlines */

/* A node's deadline may have grown since it was queued; a thread that is awake sets it
 * anew when it parks. */
static void timeout_fire(struct timeout_queue *queue, struct timeout_node *node,
                         struct scheduler *scheduler)
{
    struct user_thread *thread =
        (struct user_thread *)((char *)node - offsetof(struct user_thread, timeout));

    if (thread->state != THREAD_PARKED) {
        return;
    }
    if (thread->deadline_ms > scheduler->now_ms) {
        timeout_queue_set(queue, node,
                          thread->class == TIMEOUT_NONE ? SLEEP_CLASS : thread->class,
                          thread->deadline_ms);
        return;
    }
    /* One that was woken before knows already why. */
    thread->expired = thread->expired || !thread->postponed;
    thread->postponed = false;
    thread_ready(scheduler, thread);
}

static void deadlines_check(struct scheduler *scheduler)
{
    struct timeout_queue *queues[] = { &scheduler->timeouts, &scheduler->sleeps };

    for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
        struct timeout_node *node = timeout_queue_expired(queues[i], scheduler->now_ms);

        while (node != NULL) {
            timeout_fire(queues[i], node, scheduler);
            node = timeout_queue_expired(queues[i], scheduler->now_ms);
        }
    }
}

static uint64_t next_due(const struct scheduler *scheduler)
{
    uint64_t next = timeout_queue_next(&scheduler->timeouts);
    uint64_t sleep = timeout_queue_next(&scheduler->sleeps);

    return sleep < next ? sleep : next;
}

/* Sees to it that the next deadline ends the wait, by the timer if it is far away. What is
 * left to be the poller's time-out: 0 if somebody is ready, -1 if an event has to come. */
static int deadline_arm(struct scheduler *scheduler)
{
    uint64_t now;

    if (scheduler->ready > 0) {
        return 0;
    }
    if (scheduler->awaiting == 0) {
        /* A deadline that was given up must not hide that nothing is left to wait for. */
        scheduler->due_ms = next_due(scheduler);
    }
    if (scheduler->due_ms >= scheduler->timer_ms) {
        return -1;
    }
    now = clock_now_ms();
    if (scheduler->due_ms <= now) {
        return 0;
    }
    if (scheduler->due_ms - now >= FAR_MS) {
        wake_timer_set(scheduler->timer.fd, scheduler->due_ms);
        scheduler->timer_ms = scheduler->due_ms;
        return -1;
    }
    return (int)(scheduler->due_ms - now);
}

/* Or the poller would go on telling. */
static void timer_stop(struct scheduler *scheduler)
{
    scheduler->timer.ready = 0;
    scheduler->timer_ms = UINT64_MAX;
    wake_timer_stop(scheduler->timer.fd);
}

/* ---- the wait */

/* Nobody is ready, and no descriptor, deadline or announced message is waited for. */
static bool waits_for_nothing(const struct scheduler *scheduler, int timeout_ms)
{
    return timeout_ms < 0 && scheduler->awaiting == 0 && scheduler->expected == 0 &&
           scheduler->due_ms == UINT64_MAX;
}

/* False: all that could wake somebody waits itself. */
static bool may_sleep(struct scheduler *scheduler, int timeout_ms)
{
    bool nothing = waits_for_nothing(scheduler, timeout_ms);

    if (scheduler->group == NULL) {
        return !nothing;
    }
    return !(nothing && group_rest(scheduler));
}

bool events_take(struct scheduler *scheduler)
{
    int timeout_ms, count;
    eventfd_t ignored;

    if (scheduler->group != NULL) {
        group_hunger(scheduler);
    }
    timeout_ms = deadline_arm(scheduler);
    if (!may_sleep(scheduler, timeout_ms)) {
        return false;
    }
    annotate_signals_let_in(&scheduler->outside);
    count = poller_wait(scheduler->poller, timeout_ms, scheduler->named);
    annotate_signals_hold(&scheduler->outside);
    if (scheduler->group != NULL) {
        group_wake(scheduler);
    }
    for (int i = 0; i < count; i++) {
        struct user_thread *thread = scheduler->named[i]->waiter;

        if (thread->state == THREAD_PARKED) {
            thread_ready(scheduler, thread);
        }
    }
    scheduler->now_ms = clock_now_ms();
    if (scheduler->post.ready & POLLER_READABLE) {
        scheduler->post.ready = 0;
        (void)eventfd_read(scheduler->post.fd, &ignored);
        messages_deliver(scheduler);
    }
    if (scheduler->timer.ready & POLLER_READABLE) {
        timer_stop(scheduler);
    }
    if (scheduler->due_ms <= scheduler->now_ms) {
        deadlines_check(scheduler);
        scheduler->due_ms = next_due(scheduler);
    }
    if (scheduler->group != NULL && scheduler->ready > 0) {
        group_hunger(scheduler); /* takes its bit back, or it would give to itself */
    }
    return true;
}
