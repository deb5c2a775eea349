/* The run queue, parking, and the turn: run what was ready at its start, each thread
 * switching straight to the next, then look for events and deadlines. Only a turn that
 * left nobody ready sleeps in the poller. It must never know a connection. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "annotate_signals.h"
#include "clock.h"
#include "scheduler_state.h"

enum {
    ALIGNMENT = 64,
    /* While somebody is ready and nobody waits for a descriptor the poller is asked this
     * seldom: a system call for each turn would cost ten times what the switches do. */
    TURNS_UNSEEN_MAX = 64
};

static _Thread_local struct scheduler *current;

/* Not inlined, so that no compiler remembers over a switch where `current` lies. */
__attribute__((noinline)) struct scheduler *scheduler_current(void)
{
    __asm__ volatile(""); /* what has no effect could be called once for two calls */
    return current;
}

void scheduler_enter(struct scheduler *scheduler)
{
    current = scheduler;
}

struct user_thread *scheduler_self(void)
{
    return scheduler_running(scheduler_current());
}

size_t scheduler_threads(const struct scheduler *scheduler)
{
    return scheduler->threads;
}

struct stack_pool *scheduler_stacks(const struct scheduler *scheduler)
{
    return scheduler->stacks;
}

void scheduler_set_owner(struct scheduler *scheduler, void *owner)
{
    scheduler->owner = owner;
}

void *scheduler_owner(void)
{
    return scheduler_current()->owner;
}

/* ---- the run queue and the list of all */

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

void thread_ready(struct scheduler *scheduler, struct user_thread *thread)
{
    if (thread->awaits) {
        thread->awaits = false;
        scheduler->awaiting--;
    }
    queue_append(scheduler, thread);
}

void thread_link(struct scheduler *scheduler, struct user_thread *thread)
{
    thread->earlier = NULL;
    thread->later = scheduler->all;
    if (scheduler->all != NULL) {
        scheduler->all->earlier = thread;
    }
    scheduler->all = thread;
    scheduler->threads++;
}

void thread_unlink(struct scheduler *scheduler, struct user_thread *thread)
{
    if (thread->earlier == NULL) {
        scheduler->all = thread->later;
    } else {
        thread->earlier->later = thread->later;
    }
    if (thread->later != NULL) {
        thread->later->earlier = thread->earlier;
    }
    scheduler->threads--;
}

void thread_free(struct scheduler *scheduler, struct user_thread *thread)
{
    annotate_fiber_destroy(&thread->fiber.notes);
    stack_return(scheduler->stacks, thread->stack);
}

/* ---- the switch */

static bool deadline_passed(const struct scheduler *scheduler)
{
    return scheduler->due_ms != UINT64_MAX && scheduler->due_ms <= clock_now_ms();
}

/* Whether the poller is to be asked before the next turn. */
static bool wants_events(const struct scheduler *scheduler)
{
    return scheduler->ready == 0 || scheduler->awaiting > 0 || scheduler->asked_to_look ||
           scheduler->turns_unseen >= TURNS_UNSEEN_MAX ||
           atomic_load_explicit(&scheduler->posted, memory_order_relaxed) ||
           deadline_passed(scheduler);
}

static void turn_begin(struct scheduler *scheduler)
{
    scheduler->turn = scheduler->ready;
    scheduler->turns_unseen++;
}

/* The next of this turn; of the next one, if nothing has to be done in between; else the
 * kernel thread's loop. */
static struct fiber *queue_next(struct scheduler *scheduler)
{
    struct user_thread *thread = scheduler->first;

    if (scheduler->turn == 0 && scheduler->group == NULL && !wants_events(scheduler)) {
        turn_begin(scheduler);
    }
    if (scheduler->turn == 0 || thread == NULL) {
        return &scheduler->main;
    }
    scheduler->turn--;
    scheduler->first = thread->next;
    scheduler->ready--;
    thread->state = THREAD_RUNNING;
    return &thread->fiber;
}

/* On the other side of every switch. */
static void switch_finish(void)
{
    struct scheduler *scheduler = scheduler_current();
    struct user_thread *ended = scheduler->ended;

    annotate_switch_finish(&scheduler->running->notes, &scheduler->left->notes);
    if (ended == NULL) {
        return;
    }
    scheduler->ended = NULL;
    if (scheduler->group != NULL &&
        atomic_load_explicit(&ended->wake_posted, memory_order_acquire)) {
        ended->state = THREAD_ENDED; /* freed when that arrives */
        scheduler->zombies++;
        return;
    }
    thread_free(scheduler, ended);
}

/* Returns when somebody switches back, maybe on another kernel thread. */
static void switch_away(struct scheduler *scheduler)
{
    struct fiber *from = scheduler->running, *to = queue_next(scheduler);

    scheduler->left = from;
    scheduler->running = to;
    annotate_switch_start(&from->notes, &to->notes, scheduler->ended != NULL);
    context_switch(&from->context, &to->context);
    switch_finish();
}

void thread_unwatch(struct scheduler *scheduler, struct user_thread *thread)
{
    while (thread->sources != NULL) {
        struct poller_source *source = thread->sources;

        thread->sources = source->next;
        poller_remove(scheduler->poller, source);
    }
}

static void thread_main(void *argument)
{
    struct user_thread *self = argument;
    struct scheduler *scheduler;

    switch_finish();
    self->run(self->argument);
    scheduler = scheduler_current();
    thread_unwatch(scheduler, self);
    timeout_queue_remove(&self->timeout);
    thread_unlink(scheduler, self);
    if (scheduler->group != NULL) {
        group_ended(scheduler);
    }
    scheduler->ended = self;
    switch_away(scheduler);
}

static struct user_thread *thread_make(struct scheduler *scheduler, void (*run)(void *),
                                       const void *argument, size_t argument_size)
{
    struct stack *stack = stack_take(scheduler->stacks);
    struct user_thread *thread;
    uintptr_t top;

    if (stack == NULL) {
        return NULL;
    }
    top = (uintptr_t)stack->low + stack->size - stack->colour;
    top = (top - sizeof(*thread)) & ~(uintptr_t)(ALIGNMENT - 1);
    thread = (struct user_thread *)top;
    top = (top - argument_size) & ~(uintptr_t)(ALIGNMENT - 1);
    *thread = (struct user_thread){ .stack = stack, .run = run, .argument = (void *)top };
    atomic_init(&thread->home, scheduler);
    if (argument_size > 0) {
        memcpy(thread->argument, argument, argument_size);
    }
    annotate_fiber_make(&thread->fiber.notes, stack->low, stack->size);
    context_make(&thread->fiber.context, stack->low, top - (uintptr_t)stack->low,
                 thread_main, thread);
    return thread;
}

static int spawn(struct scheduler *scheduler, void (*run)(void *), const void *argument,
                 size_t argument_size, bool movable)
{
    struct user_thread *thread = thread_make(scheduler, run, argument, argument_size);

    if (thread == NULL) {
        return -ENOMEM;
    }
    thread->movable = movable;
    thread_link(scheduler, thread);
    queue_append(scheduler, thread);
    if (scheduler->group != NULL) {
        group_spawned(scheduler);
    }
    return 0;
}

int scheduler_spawn(struct scheduler *scheduler, void (*run)(void *argument),
                    const void *argument, size_t argument_size)
{
    return spawn(scheduler, run, argument, argument_size, false);
}

int scheduler_spawn_movable(struct scheduler *scheduler, void (*run)(void *argument),
                            const void *argument, size_t argument_size)
{
    return spawn(scheduler, run, argument, argument_size, true);
}

void scheduler_set_moves(const struct scheduler_moves *moves, void *context)
{
    struct user_thread *self = scheduler_self();

    self->moves = moves;
    self->moves_context = context;
}

bool scheduler_set_movable(bool movable)
{
    struct user_thread *self = scheduler_self();
    bool before = self->movable;

    self->movable = movable;
    return before;
}

void scheduler_set_local(void *local)
{
    scheduler_self()->local = local;
}

void *scheduler_local(void)
{
    return scheduler_self()->local;
}

/* ---- parking */

void scheduler_pass(void)
{
    struct scheduler *scheduler = scheduler_current();

    queue_append(scheduler, scheduler_running(scheduler));
    switch_away(scheduler);
}

void scheduler_yield(void)
{
    scheduler_current()->asked_to_look = true;
    scheduler_pass();
}

enum park_result scheduler_park(enum timeout_class class, uint64_t deadline_ms)
{
    struct scheduler *scheduler = scheduler_current();
    struct user_thread *self = scheduler_running(scheduler);

    if (deadline_ms <= scheduler->now_ms) {
        scheduler_yield();
        return PARK_EXPIRED;
    }
    self->deadline_ms = deadline_ms;
    self->class = class;
    self->expired = false;
    if (class == TIMEOUT_NONE && deadline_ms != UINT64_MAX) {
        timeout_queue_set(&scheduler->sleeps, &self->timeout, SLEEP_CLASS, deadline_ms);
    } else {
        timeout_queue_set(&scheduler->timeouts, &self->timeout, class, deadline_ms);
    }
    if (deadline_ms < scheduler->due_ms) {
        scheduler->due_ms = deadline_ms;
    }
    self->state = THREAD_PARKED;
    switch_away(scheduler);
    return self->expired ? PARK_EXPIRED : PARK_WOKEN;
}

/* False, and why in source->error. */
static bool source_watch(struct scheduler *scheduler, struct poller_source *source,
                         struct user_thread *self)
{
    if (source->slot != POLLER_NONE) {
        assert(source->waiter == self);
        return true;
    }
    source->ready = 0;
    source->error = poller_add(scheduler->poller, source);
    if (source->error < 0) {
        return false;
    }
    source->waiter = self;
    source->next = self->sources;
    self->sources = source;
    return true;
}

enum park_result scheduler_await(struct poller_source *source, unsigned bits,
                                 enum timeout_class class, uint64_t deadline_ms)
{
    struct scheduler *scheduler = scheduler_current();
    struct user_thread *self = scheduler_running(scheduler);
    enum park_result result;

    if (!source_watch(scheduler, source, self)) {
        return PARK_FAILED;
    }
    if (source->ready & bits) {
        scheduler_yield();
        return deadline_ms <= scheduler_current()->now_ms ? PARK_EXPIRED : PARK_WOKEN;
    }
    if (deadline_ms > scheduler->now_ms) {
        self->awaits = true;
        scheduler->awaiting++;
    }
    source->awaited = bits;
    result = scheduler_park(class, deadline_ms);
    source->awaited = 0;
    return result;
}

/* Out of its thread's list; false if it is not watched. */
static bool source_unlink(struct poller_source *source)
{
    struct user_thread *self = scheduler_self();
    struct poller_source **link = &self->sources;

    if (source->slot == POLLER_NONE) {
        return false;
    }
    assert(source->waiter == self);
    while (*link != source) {
        link = &(*link)->next;
    }
    *link = source->next;
    return true;
}

void scheduler_remove(struct poller_source *source)
{
    if (source_unlink(source)) {
        poller_remove(scheduler_current()->poller, source);
    }
}

void scheduler_forget(struct poller_source *source)
{
    if (source_unlink(source)) {
        poller_forget(scheduler_current()->poller, source);
    }
}

void scheduler_remove_all(void)
{
    struct scheduler *scheduler = scheduler_current();

    thread_unwatch(scheduler, scheduler_running(scheduler));
}

void scheduler_wake(struct user_thread *thread)
{
    struct scheduler *home = atomic_load_explicit(&thread->home, memory_order_acquire);

    if (home != scheduler_current()) {
        group_wake_remote(thread, home);
    } else if (thread->state == THREAD_PARKED) {
        thread_ready(home, thread);
    }
}

/* ---- the turn */

static bool is_over(const struct scheduler *scheduler)
{
    return scheduler->group != NULL ? group_over(scheduler) : scheduler->threads == 0;
}

int scheduler_run(struct scheduler *scheduler)
{
    bool live = true;

    scheduler_enter(scheduler);
    annotate_fiber_adopt(&scheduler->main.notes);
    annotate_signals_hold(&scheduler->outside);
    scheduler->running = &scheduler->main;
    scheduler->now_ms = clock_now_ms();
    while (live && !is_over(scheduler)) {
        turn_begin(scheduler);
        if (scheduler->turn > 0) {
            switch_away(scheduler);
        }
        if (!is_over(scheduler) && wants_events(scheduler)) {
            scheduler->turns_unseen = 0;
            scheduler->asked_to_look = false;
            live = events_take(scheduler);
        }
        if (scheduler->group != NULL) {
            group_share(scheduler);
        }
    }
    annotate_signals_let_in(&scheduler->outside);
    scheduler_enter(NULL);
    if (scheduler->group != NULL) {
        live = !group_stuck(scheduler);
    }
    return live ? 0 : -EDEADLK;
}
