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

/* ---- the run queue */

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
    if (thread->stack == NULL && !thread_begin_anew(scheduler, thread)) {
        thread_postpone(scheduler, thread);
        return &scheduler->main;
    }
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
    if (ended->state == THREAD_PARKED) {
        thread_give_stack_back(scheduler, ended);
        return;
    }
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

    if (to == from) {
        return; /* the kernel thread's own: who was to run has no stack yet */
    }
    scheduler->left = from;
    scheduler->running = to;
    annotate_switch_start(&from->notes, &to->notes, scheduler->ended != NULL);
    context_switch(&from->context, &to->context);
    switch_finish();
}

void thread_main(void *argument)
{
    struct user_thread *self = argument;
    struct scheduler *scheduler;

    switch_finish();
    /* Of a sleep without a stack, from which nothing returned. */
    for (struct poller_source *source = self->sources; source != NULL;
         source = source->next) {
        source->awaited = 0;
    }
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

/* Parked from now on, and not yet away. */
static void park(struct scheduler *scheduler, struct user_thread *self,
                 enum timeout_class class, uint64_t deadline_ms)
{
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
}

enum park_result scheduler_park(enum timeout_class class, uint64_t deadline_ms)
{
    struct scheduler *scheduler = scheduler_current();
    struct user_thread *self = scheduler_running(scheduler);

    if (deadline_ms <= scheduler->now_ms) {
        scheduler_yield();
        return PARK_EXPIRED;
    }
    park(scheduler, self, class, deadline_ms);
    switch_away(scheduler);
    return self->expired ? PARK_EXPIRED : PARK_WOKEN;
}

bool scheduler_expired(void)
{
    return scheduler_self()->expired;
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

/* True: parked for the source, and not yet away. False: *result is known already. */
static bool park_for(struct poller_source *source, unsigned bits,
                     enum timeout_class class, uint64_t deadline_ms,
                     enum park_result *result)
{
    struct scheduler *scheduler = scheduler_current();
    struct user_thread *self = scheduler_running(scheduler);

    if (!source_watch(scheduler, source, self)) {
        *result = PARK_FAILED;
        return false;
    }
    if ((source->ready & bits) != 0 || deadline_ms <= scheduler->now_ms) {
        scheduler_yield();
        *result = deadline_ms <= scheduler_current()->now_ms ? PARK_EXPIRED : PARK_WOKEN;
        return false;
    }
    self->awaits = true;
    scheduler->awaiting++;
    source->awaited = bits;
    park(scheduler, self, class, deadline_ms);
    return true;
}

enum park_result scheduler_await(struct poller_source *source, unsigned bits,
                                 enum timeout_class class, uint64_t deadline_ms)
{
    enum park_result result;

    struct user_thread *self = scheduler_self();

    if (!park_for(source, bits, class, deadline_ms, &result)) {
        return result;
    }
    switch_away(scheduler_current());
    source->awaited = 0;
    return self->expired ? PARK_EXPIRED : PARK_WOKEN;
}

enum park_result scheduler_await_stackless(struct poller_source *source, unsigned bits,
                                           enum timeout_class class, uint64_t deadline_ms)
{
    enum park_result result = PARK_WOKEN;

    if (park_for(source, bits, class, deadline_ms, &result)) {
        struct scheduler *scheduler = scheduler_current();

        assert(scheduler_running(scheduler)->stackless);
        scheduler->ended = scheduler_running(scheduler);
        switch_away(scheduler);
    }
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
