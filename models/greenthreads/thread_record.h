/* The inside of a user thread, and what becomes of it, for the scheduler*.c files only. It must
 * never know a connection. */
#ifndef TETRAD_THREAD_RECORD_H
#define TETRAD_THREAD_RECORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "annotate.h"
#include "context.h"
#include "scheduler.h"

enum thread_state { THREAD_READY, THREAD_RUNNING, THREAD_PARKED, THREAD_ENDED };

/* What can be switched to: a user thread, or the kernel thread in scheduler_run. */
struct fiber {
    struct context context;
    struct annotate_fiber notes;
};

/* Lies at the top of its own stack, with its argument below; that of a stackless thread in
 * memory of its own, with its argument behind. All of it belongs to the kernel thread of its
 * home, but for `home` and `wake_posted`. */
struct user_thread {
    _Alignas(max_align_t) struct fiber fiber; /* and so is what lies behind the record */
    struct user_thread *next; /* in the run queue, or on the way to another scheduler */
    struct user_thread *later, *earlier; /* in its home's list of all */
    _Atomic(struct scheduler *) home;
    struct timeout_node timeout;
    uint64_t deadline_ms;         /* while parked */
    enum timeout_class class : 8; /* small, for there may be very many that sleep */
    enum thread_state state : 8;
    bool expired;
    bool awaits;    /* counted in its home's `awaiting` */
    bool movable;   /* to another kernel thread, while it is ready */
    bool stackless; /* its record does not lie on the stack */
    bool postponed; /* parked for want of a stack, after it was woken */
    atomic_bool wake_posted;
    struct scheduler_message wake; /* from another kernel thread */
    struct poller_source *sources; /* watched on its behalf */
    void *local;                   /* the user's own */
    const struct scheduler_moves *moves;
    void *moves_context;
    struct stack *stack; /* lent by the pool; NULL: the loop calls it when it next runs */
    void (*run)(void *argument);
    void *argument;
};

/* ---- scheduler.c */

void thread_ready(struct scheduler *scheduler, struct user_thread *thread);
/* Where each begins, on its own stack. */
void thread_main(void *thread);

/* ---- scheduler_thread.c */

void thread_link(struct scheduler *scheduler, struct user_thread *thread);
void thread_unlink(struct scheduler *scheduler, struct user_thread *thread);
/* Ends every watch on its behalf. */
void thread_unwatch(struct scheduler *scheduler, struct user_thread *thread);
void thread_free(struct scheduler *scheduler, struct user_thread *thread);
/* For one that sleeps without. */
void thread_give_stack_back(struct scheduler *scheduler, struct user_thread *thread);
/* For one that the loop cannot call now: it asks again later. */
void thread_postpone(struct scheduler *scheduler, struct user_thread *thread);

/* Makes the loop begin with run, on the spare stack. */
void scheduler_loop_begin(struct scheduler *scheduler, void (*run)(void *scheduler));
/* Whether it may call a thread, which may keep the stack. False without memory. */
bool scheduler_loop_can_call(struct scheduler *scheduler);
/* To the thread that it called, and that parks: it is to begin anew. */
void scheduler_loop_give_stack(struct scheduler *scheduler, struct user_thread *thread);
/* When nobody is on its stack any more. */
void scheduler_loop_end(struct scheduler *scheduler);

#endif
