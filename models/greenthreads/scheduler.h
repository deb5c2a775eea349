/* User threads of one kernel thread: first-in-first-out, switched only where they park,
 * yield or end. It must never know a connection.
 *
 * Unless said otherwise a function belongs to the kernel thread that runs the scheduler.
 * Those without a scheduler argument are for a user thread that runs. */
#ifndef TETRAD_SCHEDULER_H
#define TETRAD_SCHEDULER_H

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
    PARK_FAILED /* scheduler_await only: no memory to watch the descriptor */
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

/* Runs user threads on the calling kernel thread until none is left. */
void scheduler_run(struct scheduler *scheduler);

/* Any kernel thread. */
void scheduler_post(struct scheduler *scheduler, struct scheduler_message *message);

/* Of the user thread that runs. */
struct scheduler *scheduler_current(void);
struct user_thread *scheduler_self(void);

/* Lets everyone who is ready run, and looks for new events, before the caller runs again.
 */
void scheduler_yield(void);

/* Sleeps until woken or until deadline_ms of the monotonic clock (UINT64_MAX: none) has
 * passed. class names the time-outs of one length that the deadline belongs to;
 * TIMEOUT_NONE: any other sleep. */
enum park_result scheduler_park(enum timeout_class class, uint64_t deadline_ms);

/* Sleeps until the source has one of `bits`, is woken, or expires. With a bit set already
 * it only yields. Adds the source to the poller at its first use, so a connection that
 * never waits is never added. */
enum park_result scheduler_await(struct poller_source *source, unsigned bits,
                                 enum timeout_class class, uint64_t deadline_ms);

/* Ends the watch of a source, if there is one. forget: for a descriptor that is closed
 * next, without a system call. */
void scheduler_remove(struct poller_source *source);
void scheduler_forget(struct poller_source *source);

/* Makes a parked thread run again; does nothing to one that runs or is ready. */
void scheduler_wake(struct user_thread *thread);

/* Live user threads. */
size_t scheduler_threads(const struct scheduler *scheduler);

/* For the stack census, see stack.h. */
const struct stack_pool *scheduler_stacks(const struct scheduler *scheduler);

#endif
