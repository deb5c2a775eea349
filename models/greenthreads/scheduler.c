/* The run queue, parking, and the turn: run what was ready at its start, each thread
 * switching straight to the next, then look for events and deadlines. Only a turn that
 * left nobody ready sleeps in the poller. The loop that does so has a stack of the pool, and
 * calls a thread without a stack on it. Only if that one parks instead of returning is the
 * stack its own from then on, and the loop begins anew on another: so one that runs and
 * sleeps again costs no switch. It must never know a connection. */
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

static struct user_thread *queue_pop(struct scheduler *scheduler)
{
    struct user_thread *thread = scheduler->first;

    scheduler->turn--;
    scheduler->first = thread->next;
    scheduler->ready--;
    return thread;
}

/* The next of this turn; of the next one, if nothing has to be done in between; else, and for
 * one without a stack, the loop. */
static struct fiber *queue_next(struct scheduler *scheduler)
{
    struct user_thread *thread = scheduler->first;

    if (scheduler->turn == 0 && scheduler->group == NULL && !wants_events(scheduler)) {
        turn_begin(scheduler);
    }
    if (scheduler->turn == 0 || thread == NULL || thread->stack == NULL) {
        return &scheduler->loop;
    }
    (void)queue_pop(scheduler);
    thread->state = THREAD_RUNNING;
    return &thread->fiber;
}

/* It ended, and nobody is on its stack any more. */
static void let_go(struct scheduler *scheduler, struct user_thread *ended)
{
    if (scheduler->group != NULL &&
        atomic_load_explicit(&ended->wake_posted, memory_order_acquire)) {
        ended->state = THREAD_ENDED; /* freed when that arrives */
        scheduler->zombies++;
        return;
    }
    thread_free(scheduler, ended);
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
    } else {
        let_go(scheduler, ended);
    }
}

/* Returns when somebody switches back, maybe on another kernel thread. for_good: never. */
static void switch_to(struct scheduler *scheduler, struct fiber *to, bool for_good)
{
    struct fiber *from = scheduler->running;

    scheduler->left = from;
    scheduler->running = to;
    annotate_switch_start(&from->notes, &to->notes, for_good);
    context_switch(&from->context, &to->context);
    switch_finish();
}

static void loop_main(void *scheduler);

/* The same, to whoever is next. A thread that the loop called keeps the loop's stack. */
static void switch_away(struct scheduler *scheduler)
{
    struct fiber *from = scheduler->running, *to;

    if (from != &scheduler->loop && ((struct user_thread *)from)->stack == NULL) {
        scheduler_loop_give_stack(scheduler, (struct user_thread *)from);
        scheduler_loop_begin(scheduler, loop_main);
    }
    to = queue_next(scheduler);
    if (to != from) {
        switch_to(scheduler, to, scheduler->ended != NULL);
    }
}

static void thread_end(struct scheduler *scheduler, struct user_thread *thread)
{
    thread_unwatch(scheduler, thread);
    timeout_queue_remove(&thread->timeout);
    thread_unlink(scheduler, thread);
    if (scheduler->group != NULL) {
        group_ended(scheduler);
    }
}

/* On a stack of its own: it ended, or sleeps from now on without one. */
static void thread_leave_stack(struct user_thread *self)
{
    struct scheduler *scheduler = scheduler_current();

    if (self->state == THREAD_RUNNING) {
        thread_end(scheduler, self);
    }
    scheduler->ended = self;
    switch_away(scheduler);
}

void thread_main(void *argument)
{
    struct user_thread *self = argument;

    switch_finish();
    self->run(self->argument);
    thread_leave_stack(self);
}

/* On the loop's stack. Returns if it is the loop's still. */
static void call_thread(struct scheduler *scheduler, struct user_thread *thread)
{
    /* Of the sleep before. */
    for (struct poller_source *source = thread->sources; source != NULL;
         source = source->next) {
        source->awaited = 0;
    }
    thread->state = THREAD_RUNNING;
    scheduler->running = &thread->fiber;
    thread->run(thread->argument);
    if (thread->stack != NULL) {
        thread_leave_stack(thread);
    }
    scheduler->running = &scheduler->loop;
    if (thread->state == THREAD_RUNNING) {
        thread_end(scheduler, thread);
        let_go(scheduler, thread);
    }
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

/* True: parked for the source, and not yet away. False: *result says why not. */
static bool park_for(struct user_thread *self, struct poller_source *source,
                     unsigned bits, enum timeout_class class, uint64_t deadline_ms,
                     enum park_result *result)
{
    struct scheduler *scheduler = scheduler_current();

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
    struct user_thread *self = scheduler_self();
    enum park_result result;

    if (!park_for(self, source, bits, class, deadline_ms, &result)) {
        return result;
    }
    switch_away(scheduler_current());
    source->awaited = 0;
    return self->expired ? PARK_EXPIRED : PARK_WOKEN;
}

enum park_result scheduler_await_stackless(struct poller_source *source, unsigned bits,
                                           enum timeout_class class, uint64_t deadline_ms)
{
    struct user_thread *self = scheduler_self();
    enum park_result result = PARK_ASLEEP;

    assert(self->stackless);
    (void)park_for(self, source, bits, class, deadline_ms, &result);
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

/* Runs what is left of the turn. */
static void turn_finish(struct scheduler *scheduler)
{
    while (scheduler->turn > 0 && scheduler->first != NULL) {
        if (scheduler->first->stack != NULL) {
            switch_away(scheduler);
        } else if (scheduler_loop_can_call(scheduler)) {
            call_thread(scheduler, queue_pop(scheduler));
        } else {
            thread_postpone(scheduler, queue_pop(scheduler));
        }
    }
}

/* May begin in the middle of a turn. */
static void loop_main(void *argument)
{
    struct scheduler *scheduler = argument;

    switch_finish();
    turn_finish(scheduler);
    while (scheduler->live && !is_over(scheduler)) {
        if (wants_events(scheduler)) {
            scheduler->turns_unseen = 0;
            scheduler->asked_to_look = false;
            scheduler->live = events_take(scheduler);
        }
        if (scheduler->group != NULL) {
            group_share(scheduler);
        }
        turn_begin(scheduler);
        turn_finish(scheduler);
    }
    switch_to(scheduler, &scheduler->main, true);
}

int scheduler_run(struct scheduler *scheduler)
{
    scheduler_enter(scheduler);
    annotate_fiber_adopt(&scheduler->main.notes);
    annotate_signals_hold(&scheduler->outside);
    scheduler->running = &scheduler->main;
    scheduler->now_ms = clock_now_ms();
    scheduler->live = true;
    if (!is_over(scheduler)) {
        turn_begin(scheduler);
    }
    scheduler_loop_begin(scheduler, loop_main);
    switch_to(scheduler, &scheduler->loop, false);
    scheduler_loop_end(scheduler);
    annotate_signals_let_in(&scheduler->outside);
    scheduler_enter(NULL);
    if (scheduler->group != NULL) {
        scheduler->live = !group_stuck(scheduler);
    }
    return scheduler->live ? 0 : -EDEADLK;
}
