/* The run queue, parking, and the turn: run what was ready at its start, each thread
 * switching straight to the next, then look for events and deadlines. Only a turn that
 * left nobody ready sleeps in the poller. It must never know a connection. */
#include "scheduler.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include "annotate.h"
#include "clock.h"
#include "context.h"

enum thread_state { THREAD_READY, THREAD_RUNNING, THREAD_PARKED, THREAD_ENDED };

/* What can be switched to: a user thread, or the kernel thread in scheduler_run. */
struct fiber {
    struct context context;
    struct annotate_fiber notes;
};

/* Lies at the top of its own stack. */
struct user_thread {
    struct fiber fiber;
    struct user_thread *next; /* in the run queue */
    struct scheduler *scheduler;
    struct timeout_node timeout;
    uint64_t deadline_ms; /* while parked */
    enum timeout_class class;
    enum thread_state state;
    bool expired;
    struct stack *stack; /* lent by the pool */
    void (*run)(void *argument);
    void *argument;
};

struct scheduler {
    struct fiber main;
    struct fiber *running, *left; /* now, and before the last switch */
    struct user_thread *ended;    /* its stack goes back after the switch away from it */

    struct user_thread *first, *last; /* the run queue */
    size_t ready;                     /* its length */
    size_t turn;                      /* threads still to run in this turn */
    size_t threads;
    uint64_t now_ms;  /* read once a turn */
    sigset_t outside; /* for annotate_signals_hold */

    struct poller *poller;
    struct stack_pool *stacks;
    /* Deadlines by class, and all other sleeps: any one list of the second serves, for it
     * takes deadlines in every order. */
    struct timeout_queue timeouts, sleeps;

    pthread_mutex_t post_lock; /* guards the messages */
    struct scheduler_message *messages, *messages_last;
    struct poller_source post; /* an eventfd: a message came */
    struct poller_source *named[POLLER_BATCH];
};

enum { ALIGNMENT = 64 };

static const enum timeout_class SLEEP_CLASS = TIMEOUT_LINGER;

static _Thread_local struct scheduler *current;

struct scheduler *scheduler_current(void)
{
    return current;
}

struct user_thread *scheduler_self(void)
{
    assert(current->running != &current->main);
    return (struct user_thread *)current->running;
}

size_t scheduler_threads(const struct scheduler *scheduler)
{
    return scheduler->threads;
}

const struct stack_pool *scheduler_stacks(const struct scheduler *scheduler)
{
    return scheduler->stacks;
}

struct scheduler *scheduler_open(unsigned stack_flags)
{
    struct scheduler *scheduler = calloc(1, sizeof(*scheduler));
    int error;

    if (scheduler == NULL) {
        return NULL;
    }
    scheduler->post = (struct poller_source){ .fd = -1, .slot = POLLER_NONE };
    timeout_queue_init(&scheduler->timeouts);
    timeout_queue_init(&scheduler->sleeps);
    error = pthread_mutex_init(&scheduler->post_lock, NULL);
    if (error != 0) {
        free(scheduler);
        errno = error;
        return NULL;
    }
    scheduler->poller = poller_open();
    scheduler->stacks = stack_pool_open(stack_flags);
    scheduler->post.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (scheduler->poller == NULL || scheduler->stacks == NULL ||
        scheduler->post.fd < 0) {
        goto failed;
    }
    error = -poller_add(scheduler->poller, &scheduler->post);
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

static void messages_deliver(struct scheduler *scheduler)
{
    struct scheduler_message *message;

    pthread_mutex_lock(&scheduler->post_lock);
    message = scheduler->messages;
    scheduler->messages = NULL;
    pthread_mutex_unlock(&scheduler->post_lock);
    while (message != NULL) {
        struct scheduler_message *next = message->next;

        message->deliver(message);
        message = next;
    }
}

/* Those that were spawned for a run that never came. */
static void threads_drop(struct scheduler *scheduler)
{
    while (scheduler->first != NULL) {
        struct user_thread *thread = scheduler->first;

        scheduler->first = thread->next;
        scheduler->threads--;
        annotate_fiber_destroy(&thread->fiber.notes);
        stack_return(scheduler->stacks, thread->stack);
    }
    assert(scheduler->threads == 0);
}

void scheduler_close(struct scheduler *scheduler)
{
    if (scheduler == NULL) {
        return;
    }
    threads_drop(scheduler);
    messages_deliver(scheduler);
    if (scheduler->post.fd >= 0) {
        (void)close(scheduler->post.fd);
    }
    poller_close(scheduler->poller);
    stack_pool_close(scheduler->stacks);
    pthread_mutex_destroy(&scheduler->post_lock);
    free(scheduler);
}

void scheduler_post(struct scheduler *scheduler, struct scheduler_message *message)
{
    bool first;

    message->next = NULL;
    pthread_mutex_lock(&scheduler->post_lock);
    first = scheduler->messages == NULL;
    if (first) {
        scheduler->messages = message;
    } else {
        scheduler->messages_last->next = message;
    }
    scheduler->messages_last = message;
    /* Inside the lock: once the message is delivered the scheduler may end and close.
     * Its counter is far from its maximum, so the write cannot fail. */
    if (first) {
        (void)eventfd_write(scheduler->post.fd, 1);
    }
    pthread_mutex_unlock(&scheduler->post_lock);
}

static void queue_append(struct scheduler *scheduler, struct user_thread *thread)
{
    thread->state = THREAD_READY;
    thread->next = NULL;
    if (scheduler->first == NULL) {
        scheduler->first = thread;
    } else {
        scheduler->last->next = thread;
    }
    scheduler->last = thread;
    scheduler->ready++;
}

/* The next of this turn, else the kernel thread's loop. */
static struct fiber *queue_next(struct scheduler *scheduler)
{
    struct user_thread *thread = scheduler->first;

    if (scheduler->turn == 0) {
        return &scheduler->main;
    }
    scheduler->turn--;
    scheduler->first = thread->next;
    scheduler->ready--;
    thread->state = THREAD_RUNNING;
    return &thread->fiber;
}

/* On the other side of every switch. */
static void switch_finish(struct scheduler *scheduler)
{
    struct user_thread *ended = scheduler->ended;

    annotate_switch_finish(&scheduler->running->notes, &scheduler->left->notes);
    if (ended == NULL) {
        return;
    }
    scheduler->ended = NULL;
    annotate_fiber_destroy(&ended->fiber.notes);
    stack_return(scheduler->stacks, ended->stack);
}

/* Returns when somebody switches back. */
static void switch_away(struct scheduler *scheduler)
{
    struct fiber *from = scheduler->running, *to = queue_next(scheduler);

    scheduler->left = from;
    scheduler->running = to;
    annotate_switch_start(&from->notes, &to->notes, scheduler->ended != NULL);
    context_switch(&from->context, &to->context);
    switch_finish(scheduler);
}

static void thread_main(void *argument)
{
    struct user_thread *self = argument;
    struct scheduler *scheduler = self->scheduler;

    switch_finish(scheduler);
    self->run(self->argument);
    self->state = THREAD_ENDED;
    timeout_queue_remove(&self->timeout);
    scheduler->threads--;
    scheduler->ended = self;
    switch_away(scheduler);
}

int scheduler_spawn(struct scheduler *scheduler, void (*run)(void *argument),
                    const void *argument, size_t argument_size)
{
    struct stack *stack = stack_take(scheduler->stacks);
    struct user_thread *thread;
    uintptr_t top;

    if (stack == NULL) {
        return -ENOMEM;
    }
    top = (uintptr_t)stack->low + stack->size;
    top = (top - sizeof(*thread)) & ~(uintptr_t)(ALIGNMENT - 1);
    thread = (struct user_thread *)top;
    top = (top - argument_size) & ~(uintptr_t)(ALIGNMENT - 1);
    *thread = (struct user_thread){
        .scheduler = scheduler,
        .stack = stack,
        .run = run,
        .argument = (void *)top,
    };
    if (argument_size > 0) {
        memcpy(thread->argument, argument, argument_size);
    }
    annotate_fiber_make(&thread->fiber.notes, stack->low, stack->size);
    context_make(&thread->fiber.context, stack->low, top - (uintptr_t)stack->low,
                 thread_main, thread);
    scheduler->threads++;
    queue_append(scheduler, thread);
    return 0;
}

void scheduler_yield(void)
{
    queue_append(current, scheduler_self());
    switch_away(current);
}

enum park_result scheduler_park(enum timeout_class class, uint64_t deadline_ms)
{
    struct user_thread *self = scheduler_self();

    if (deadline_ms <= current->now_ms) {
        scheduler_yield();
        return PARK_EXPIRED;
    }
    self->deadline_ms = deadline_ms;
    self->class = class;
    self->expired = false;
    if (class == TIMEOUT_NONE && deadline_ms != UINT64_MAX) {
        timeout_queue_set(&current->sleeps, &self->timeout, SLEEP_CLASS, deadline_ms);
    } else {
        timeout_queue_set(&current->timeouts, &self->timeout, class, deadline_ms);
    }
    self->state = THREAD_PARKED;
    switch_away(current);
    return self->expired ? PARK_EXPIRED : PARK_WOKEN;
}

enum park_result scheduler_await(struct poller_source *source, unsigned bits,
                                 enum timeout_class class, uint64_t deadline_ms)
{
    enum park_result result;

    if (source->slot == POLLER_NONE) {
        source->ready = 0;
        if (poller_add(current->poller, source) < 0) {
            return PARK_FAILED;
        }
    }
    if (source->ready & bits) {
        scheduler_yield();
        return deadline_ms <= current->now_ms ? PARK_EXPIRED : PARK_WOKEN;
    }
    source->waiter = scheduler_self();
    source->awaited = bits;
    result = scheduler_park(class, deadline_ms);
    source->awaited = 0;
    return result;
}

void scheduler_remove(struct poller_source *source)
{
    poller_remove(current->poller, source);
}

void scheduler_forget(struct poller_source *source)
{
    poller_forget(current->poller, source);
}

void scheduler_wake(struct user_thread *thread)
{
    if (thread->state == THREAD_PARKED) {
        queue_append(thread->scheduler, thread);
    }
}

/* A node's deadline may have grown since it was queued; a thread that is awake sets it
 * anew when it parks. */
static void timeout_fire(struct timeout_queue *queue, struct timeout_node *node,
                         uint64_t now_ms)
{
    struct user_thread *thread =
        (struct user_thread *)((char *)node - offsetof(struct user_thread, timeout));

    if (thread->state != THREAD_PARKED) {
        return;
    }
    if (thread->deadline_ms > now_ms) {
        timeout_queue_set(queue, node,
                          thread->class == TIMEOUT_NONE ? SLEEP_CLASS : thread->class,
                          thread->deadline_ms);
        return;
    }
    thread->expired = true;
    scheduler_wake(thread);
}

static void deadlines_check(struct scheduler *scheduler)
{
    struct timeout_queue *queues[] = { &scheduler->timeouts, &scheduler->sleeps };

    for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
        struct timeout_node *node = timeout_queue_expired(queues[i], scheduler->now_ms);

        while (node != NULL) {
            timeout_fire(queues[i], node, scheduler->now_ms);
            node = timeout_queue_expired(queues[i], scheduler->now_ms);
        }
    }
}

/* For the poller: 0 if somebody is ready, -1 if only an event can make somebody so. */
static int sleep_ms(const struct scheduler *scheduler)
{
    uint64_t next = timeout_queue_next(&scheduler->timeouts);
    uint64_t sleep = timeout_queue_next(&scheduler->sleeps);
    uint64_t now;

    if (scheduler->ready > 0) {
        return 0;
    }
    if (sleep < next) {
        next = sleep;
    }
    if (next == UINT64_MAX) {
        return -1;
    }
    now = clock_now_ms();
    if (next <= now) {
        return 0;
    }
    return next - now < INT_MAX ? (int)(next - now) : INT_MAX;
}

static void events_take(struct scheduler *scheduler)
{
    eventfd_t ignored;
    int count;

    annotate_signals_let_in(&scheduler->outside);
    count = poller_wait(scheduler->poller, sleep_ms(scheduler), scheduler->named);
    annotate_signals_hold(&scheduler->outside);
    for (int i = 0; i < count; i++) {
        scheduler_wake(scheduler->named[i]->waiter);
    }
    scheduler->now_ms = clock_now_ms();
    if (scheduler->post.ready & POLLER_READABLE) {
        scheduler->post.ready = 0;
        (void)eventfd_read(scheduler->post.fd, &ignored);
        messages_deliver(scheduler);
    }
    deadlines_check(scheduler);
}

void scheduler_run(struct scheduler *scheduler)
{
    current = scheduler;
    annotate_fiber_adopt(&scheduler->main.notes);
    annotate_signals_hold(&scheduler->outside);
    scheduler->running = &scheduler->main;
    scheduler->now_ms = clock_now_ms();
    while (scheduler->threads > 0) {
        scheduler->turn = scheduler->ready;
        if (scheduler->turn > 0) {
            switch_away(scheduler);
        }
        if (scheduler->threads > 0) {
            events_take(scheduler);
        }
    }
    annotate_signals_let_in(&scheduler->outside);
    current = NULL;
}
