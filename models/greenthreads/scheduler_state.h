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

#include "scheduler.h"
#include "thread_record.h"

struct scheduler {
    struct fiber main;            /* the kernel thread's own stack, in scheduler_run */
    struct fiber loop;            /* where threads without a stack are called */
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
    uint64_t timer_ms;       /* what the timer is set for; UINT64_MAX: not set */
    sigset_t outside;        /* for annotate_signals_hold */

    struct poller *poller;
    struct stack_pool *stacks;
    struct stack *loop_stack;
    struct stack *spare; /* where the loop begins next; NULL only while it calls nobody */
    bool keeps_spare; /* what comes back, if there is none: not in a census, which looks
                            at each use */
    bool live;        /* something can still happen */
    /* Deadlines by class, and all other sleeps: any one list of the second serves, for it
     * takes deadlines in every order. */
    struct timeout_queue timeouts, sleeps;

    pthread_mutex_t post_lock; /* guards the messages */
    struct scheduler_message *messages, *messages_last;
    atomic_bool posted;         /* there are some: to be read without the lock */
    struct poller_source post;  /* an eventfd: a message came */
    struct poller_source timer; /* a wake_timer, for what is due later */
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
    assert(scheduler->running != &scheduler->loop);
    return (struct user_thread *)scheduler->running;
}

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
