/* The inside of a scheduler and of a user thread, for the scheduler*.c files and sync.c only:
 * the switch, what comes from outside, what passes between kernel threads, and locks.
 * It must never know a connection. */
#ifndef TETRAD_SCHEDULER_STATE_H
#define TETRAD_SCHEDULER_STATE_H

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

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
    struct fiber fiber;
    struct user_thread *next; /* in the run queue, or on the way to another scheduler */
    struct user_thread *later, *earlier; /* in its home's list of all */
    _Atomic(struct scheduler *) home;
    struct timeout_node timeout;
    uint64_t deadline_ms; /* while parked */
    enum timeout_class class;
    enum thread_state state;
    bool expired;
    bool awaits;    /* counted in its home's `awaiting` */
    bool movable;   /* to another kernel thread, while it is ready */
    bool stackless; /* its record does not lie on the stack */
    atomic_bool wake_posted;
    struct scheduler_message wake; /* from another kernel thread */
    struct poller_source *sources; /* watched on its behalf */
    void *local;                   /* the user's own */
    const struct scheduler_moves *moves;
    void *moves_context;
    struct stack *stack; /* lent by the pool; NULL: it begins anew when it next runs */
    void (*run)(void *argument);
    void *argument;
};

struct scheduler {
    struct fiber main;
    struct fiber *running, *left; /* now, and before the last switch */
    struct user_thread *ended; /* its stack goes back after the switch away from it; the
                                     thread itself too, unless it is parked */

    struct user_thread *first, *last; /* the run queue */
    size_t ready;                     /* its length */
    size_t turn;                      /* threads still to run in this turn */
    unsigned turns_unseen;            /* since the poller was last asked */
    bool asked_to_look;               /* ask it after this turn */
    size_t threads;
    struct user_thread *all; /* their list */
    size_t awaiting;         /* threads parked for a descriptor */
    size_t expected;         /* posts to come from other kernel threads */
    uint64_t now_ms;         /* read when the poller is asked */
    uint64_t due_ms;         /* no deadline comes sooner */
    sigset_t outside;        /* for annotate_signals_hold */

    struct poller *poller;
    struct stack_pool *stacks;
    /* Deadlines by class, and all other sleeps: any one list of the second serves, for it
     * takes deadlines in every order. */
    struct timeout_queue timeouts, sleeps;

    pthread_mutex_t post_lock; /* guards the messages */
    struct scheduler_message *messages, *messages_last;
    atomic_bool posted;        /* there are some: to be read without the lock */
    struct poller_source post; /* an eventfd: a message came */
    struct poller_source *named[POLLER_BATCH];

    struct scheduler_group *group; /* NULL: alone, one kernel thread */
    struct scheduler *sibling;     /* the next member; guarded by the group */
    atomic_uint_fast64_t *hungry;  /* the word of the group that has: */
    uint64_t hungry_bit;           /* 0: takes no threads */
    uint64_t gift_ms;              /* when it gave threads last */
    struct scheduler_message gift; /* from whoever took the bit away */
    struct user_thread *given;     /* with it */
    bool gift_may_come;            /* the bit was set, or a gift is on its way */
    struct user_thread *closer;    /* waits for that gift */
    size_t zombies;                /* threads that ended before a wake-up came */
    bool bound;                    /* for one thread only, and over with it */
    bool resting;                  /* guarded by the group */
    void *owner;                   /* the user's own */
};

/* Of all sleeps that belong to no class; see `sleeps`. */
static const enum timeout_class SLEEP_CLASS = TIMEOUT_LINGER;

/* ---- scheduler.c */

void scheduler_enter(struct scheduler *scheduler);

/* The user thread that runs. */
static inline struct user_thread *scheduler_running(const struct scheduler *scheduler)
{
    assert(scheduler->running != &scheduler->main);
    return (struct user_thread *)scheduler->running;
}

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
/* On a stack again; false without memory: then it asks later. */
bool thread_begin_anew(struct scheduler *scheduler, struct user_thread *thread);
void thread_postpone(struct scheduler *scheduler, struct user_thread *thread);

/* ---- scheduler_events.c */

void messages_deliver(struct scheduler *scheduler);
/* The same for one that does not run. */
void messages_flush(struct scheduler *scheduler);
void threads_drop(struct scheduler *scheduler);

/* Sleeps until something happens if nobody is ready. False: nothing ever can. */
bool events_take(struct scheduler *scheduler);

/* Ends a sleep in events_take. Any kernel thread. */
void scheduler_poke(struct scheduler *scheduler);

/* ---- scheduler_group.c: for members only. */

void group_spawned(struct scheduler *scheduler);
void group_ended(struct scheduler *scheduler);
/* No thread is left, or none can ever run again, which is the second. */
bool group_over(const struct scheduler *scheduler);
bool group_stuck(const struct scheduler *scheduler);

/* Around a sleep: asks for threads if none is ready; whether all members now wait for each
 * other, given that this one waits for nothing else. */
void group_hunger(struct scheduler *scheduler);
bool group_rest(struct scheduler *scheduler);
void group_wake(struct scheduler *scheduler);

/* Gives what is more than enough to a member that asked. */
void group_share(struct scheduler *scheduler);

void group_wake_remote(struct user_thread *thread, struct scheduler *home);

#endif
