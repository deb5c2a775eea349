/* User threads as a library: a crowd of them over one kernel thread (N:1) or several (M:N),
 * with what a program with threads needs; mutex, condition and semaphore are in sync.h.
 * The model of the server stands on the same parts (scheduler.h), but not on this.
 *
 * Unless said otherwise, functions are for a running user thread, and those that sleep say
 * so; errors are -errno. A user thread may continue on another kernel thread after any of
 * those that sleep: what is thread-local to C, errno among it, does not go with it. */
#ifndef TETRAD_UTHREAD_H
#define TETRAD_UTHREAD_H

#include <stdint.h>

#include "attributes.h"

struct uthread;

/* Runs first(argument) and all that it creates, on the calling kernel thread and
 * kernel_threads - 1 of its own (at most SCHEDULER_GROUP_MAX in all). Returns when no user
 * thread is left: 0. -EDEADLK when all wait for each other: they never run again, and what
 * they held is not freed. -EINVAL: no such number; others: could not start. Not for a user
 * thread. The first one stays on the calling kernel thread. */
int uthread_run(unsigned kernel_threads, void (*first)(void *argument),
                void *argument) MUST_CHECK;

/* How many user threads of the caller's crowd moved between kernel threads so far. */
uint64_t uthread_moves(void);

/* Starts run(argument). *thread is to be joined or detached. -ENOMEM. */
int uthread_create(struct uthread **thread, void *(*run)(void *argument),
                   void *argument) MUST_CHECK;

/* The same on a kernel thread of its own, which it never leaves (1:1), nor do those that it
 * creates. -ENOTSUP in a crowd that runs on one kernel thread only. */
int uthread_create_bound(struct uthread **thread, void *(*run)(void *argument),
                         void *argument) MUST_CHECK;

/* Sleeps until the thread has ended; *result (NULL: not wanted) is what run returned. Frees
 * the handle. Once, by one thread. */
void uthread_join(struct uthread *thread, void **result);

/* Nobody will join it: the handle is freed with the thread. */
void uthread_detach(struct uthread *thread);

/* NULL in the first one. */
struct uthread *uthread_self(void);

/* Lets all that are ready run. */
void uthread_yield(void);

/* Sleeps for that long. */
void uthread_sleep(uint64_t ms);

enum uthread_direction { UTHREAD_READ, UTHREAD_WRITE };

/* Sleeps until the descriptor can be read or written without blocking, which an error or
 * the peer's end makes true too: 0. -ETIMEDOUT at deadline_ms of the monotonic clock
 * (UINT64_MAX: none). -EPERM for one that is never waited for, such as a regular file;
 * others: it cannot be watched. One thread at a time for each descriptor. */
int uthread_wait(int fd, enum uthread_direction direction,
                 uint64_t deadline_ms) MUST_CHECK;

/* Sleeps until one of a few kernel threads has run it: for what would block. -ENOMEM,
 * -EAGAIN (no kernel thread could be started): it was not run. */
int uthread_call(void (*run)(void *argument), void *argument) MUST_CHECK;

#endif
