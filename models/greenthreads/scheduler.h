/* User threads of one kernel thread: first-in-first-out, switched only where they park,
 * yield or end. Several kernel threads share a crowd of them by scheduler_group.h. It must
 * never know a connection.
 *
 * Unless said otherwise a function belongs to the kernel thread that runs the scheduler.
 * Those without a scheduler argument are for a user thread that runs. */
#ifndef TETRAD_SCHEDULER_H
#define TETRAD_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attributes.h"
#include "poller.h"
#include "stack.h"
#include "timeout_queue.h"

struct scheduler;
struct user_thread;

enum park_result {
    PARK_WOKEN, /* for what it waited, or for another reason: look again */
    PARK_EXPIRED,
    PARK_FAILED, /* of an await: it cannot be watched, see source->error */
    PARK_ASLEEP  /* scheduler_await_stackless only: return at once */
};

/* A parcel from any kernel thread to a scheduler. deliver runs there, between two user
 * threads, and must not park; the message is the deliverer's from then on. */
struct scheduler_message {
    void (*deliver)(struct scheduler_message *message);
    struct scheduler_message *next;
};

/* stack_flags: enum stack_flags. May be called by any thread, and so may spawn, as long
 * as the scheduler does not run yet. NULL with errno set. */
struct scheduler *scheduler_open(unsigned stack_flags);

/* Delivers the messages that are left, then frees all. After scheduler_run, or instead of
 * it (then what was spawned never runs); when no other kernel thread can post. NULL is
 * allowed. */
void scheduler_close(struct scheduler *scheduler);

/* Starts run(copy of the argument) as a user thread; the copy lies on its stack, aligned
 * for anything. It ends when run returns. 0, or -ENOMEM. */
int scheduler_spawn(struct scheduler *scheduler, void (*run)(void *argument),
                    const void *argument, size_t argument_size) MUST_CHECK;

/* The same for a thread that sleeps without a stack, see scheduler_await_stackless; it has none
 * before it runs, either. The copy does not lie on the stack, and is aligned as malloc does.
 */
int scheduler_spawn_stackless(struct scheduler *scheduler, void (*run)(void *argument),
                              const void *argument, size_t argument_size) MUST_CHECK;

/* Runs user threads on the calling kernel thread until none is left: 0. -EDEADLK if all
 * are parked, and no descriptor, deadline or announced message can wake one; they never
 * run again. */
int scheduler_run(struct scheduler *scheduler);

/* Any kernel thread. */
void scheduler_post(struct scheduler *scheduler, struct scheduler_message *message);

/* Announces a message from a kernel thread that runs no scheduler of the same group, and
 * ends that: while one is expected, parked threads are no deadlock. */
void scheduler_expect(struct scheduler *scheduler);
void scheduler_expect_no_more(struct scheduler *scheduler);

/* The scheduler of the calling kernel thread, NULL without one. Not to be remembered across a
 * park: a user thread may continue on another kernel thread than it was left on. */
struct scheduler *scheduler_current(void);
struct user_thread *scheduler_self(void);

/* Lets everyone who is ready run, and looks for new events, before the caller runs again.
 */
void scheduler_yield(void);

/* The same, but events are looked for only every 64th time while nobody waits for a
 * descriptor. */
void scheduler_pass(void);

/* Sleeps until woken or until deadline_ms of the monotonic clock (UINT64_MAX: none) has
 * passed. class names the time-outs of one length that the deadline belongs to;
 * TIMEOUT_NONE: any other sleep. */
enum park_result scheduler_park(enum timeout_class class, uint64_t deadline_ms);

/* Sleeps until the source has one of `bits`, is woken, or expires. With a bit set already
 * it only yields. Adds the source to the poller at its first use, so a connection that
 * never waits is never added. */
enum park_result scheduler_await(struct poller_source *source, unsigned bits,
                                 enum timeout_class class, uint64_t deadline_ms);

/* The same, but without a stack. PARK_ASLEEP: it sleeps as soon as run has returned, which it
 * must do without calling anything here; after the sleep run(argument) begins anew. All that
 * lasts, the source among it, lies in the argument. For a thread of
 * scheduler_spawn_stackless. */
enum park_result scheduler_await_stackless(struct poller_source *source, unsigned bits,
                                           enum timeout_class class,
                                           uint64_t deadline_ms);

/* Whether the caller's last sleep ended with its deadline. */
bool scheduler_expired(void);

/* Ends the watch of a source, if there is one. forget: for a descriptor that is closed
 * next, without a system call. By the user thread that awaited it, with whose end every
 * watch of it ends too. */
void scheduler_remove(struct poller_source *source);
void scheduler_forget(struct poller_source *source);

/* Of all that the calling user thread watches: before it tells another one that it is done
 * with what they share. */
void scheduler_remove_all(void);

/* Makes a parked thread run again; does nothing to one that runs or is ready. From any
 * kernel thread of its group, if the thread cannot end before this returns: a thread that
 * is about to park on another kernel thread is woken when it has. */
void scheduler_wake(struct user_thread *thread);

/* How a user thread of a group changes kernel threads, while it is ready and not running:
 * leave is called on the old one, then arrive on the new one, with its scheduler's owner
 * below. Neither may park. What it awaits is watched anew at its next wait. */
struct scheduler_moves {
    void (*leave)(void *context);
    void (*arrive)(void *context, void *owner);
};

/* Of the calling user thread. moves: NULL, or borrowed while it lives. */
void scheduler_set_moves(const struct scheduler_moves *moves, void *context);

/* Whether it may move at all; at first not, unless spawned so. Returns what held. */
bool scheduler_set_movable(bool movable);
int scheduler_spawn_movable(struct scheduler *scheduler, void (*run)(void *argument),
                            const void *argument, size_t argument_size) MUST_CHECK;

/* A pointer of the calling user thread's own; NULL at first. */
void scheduler_set_local(void *local);
void *scheduler_local(void);

/* Before it runs. owner: for arrive, and for its user threads. */
void scheduler_set_owner(struct scheduler *scheduler, void *owner);
void *scheduler_owner(void);

/* Live user threads. */
size_t scheduler_threads(const struct scheduler *scheduler);

/* For the stack census, see stack.h. */
struct stack_pool *scheduler_stacks(const struct scheduler *scheduler);

#endif
