/* User threads of the library that the server's models greenthreads and hybrid stand on,
 * with reads and writes that block the calling user thread only: on one kernel thread
 * (green), on several that share them (hybrid), or on one each (hybrid-system). It must
 * never know what a user thread does. */
#include "rt.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <unistd.h>

#include "rt_kernel.h"
#include "scheduler.h"
#include "sync.h"
#include "uthread.h"

/* How its user threads switch; the build says so. */
#ifndef THREADBENCH_CONTEXT
#define THREADBENCH_CONTEXT "unknown switch"
#endif

_Static_assert(sizeof(struct sync_mutex) <= sizeof(struct rt_mutex), "a mutex has room");
_Static_assert(sizeof(struct sync_condition) <= sizeof(struct rt_condition),
               "a condition has room");
_Static_assert(sizeof(struct poller_source) <=
                   sizeof(struct rt_descriptor) - offsetof(struct rt_descriptor, bytes),
               "a descriptor has room");

struct rt_world {
    void (*first)(struct rt_world *, void *);
    void *argument;
};

/* Freed by the join. */
struct rt_thread {
    struct uthread *handle;
    void (*run)(void *argument);
    void *argument;
};

static void green_loaded(char *text, size_t size)
{
    (void)snprintf(text, size, "tetrad N:1, %s", THREADBENCH_CONTEXT);
}

static void hybrid_loaded(char *text, size_t size)
{
    (void)snprintf(text, size, "tetrad M:N on %u, %s", rt_kthreads, THREADBENCH_CONTEXT);
}

static void system_loaded(char *text, size_t size)
{
    (void)snprintf(text, size, "tetrad 1:1 beside %u, %s", rt_kthreads,
                   THREADBENCH_CONTEXT);
}

static void green_first(void *argument)
{
    struct rt_world *world = argument;

    world->first(world, world->argument);
}

static int green_start(void (*first)(struct rt_world *, void *), void *argument)
{
    struct rt_world world = { .first = first, .argument = argument };

    return uthread_run(1, green_first, &world);
}

static int hybrid_start(void (*first)(struct rt_world *, void *), void *argument)
{
    struct rt_world world = { .first = first, .argument = argument };

    return uthread_run(rt_kthreads, green_first, &world);
}

static void *green_main(void *argument)
{
    struct rt_thread *thread = argument;

    thread->run(thread->argument);
    return NULL;
}

static int thread_create(int (*create)(struct uthread **, void *(*)(void *), void *),
                         struct rt_thread **thread, void (*run)(void *), void *argument)
{
    struct rt_thread *made = malloc(sizeof(*made));
    int error;

    if (made == NULL) {
        return -ENOMEM;
    }
    *made = (struct rt_thread){ .run = run, .argument = argument };
    error = create(&made->handle, green_main, made);
    if (error < 0) {
        free(made);
        return error;
    }
    *thread = made;
    return 0;
}

static int green_create(struct rt_world *world, struct rt_thread **thread,
                        void (*run)(void *), void *argument)
{
    (void)world;
    return thread_create(uthread_create, thread, run, argument);
}

static int system_create(struct rt_world *world, struct rt_thread **thread,
                         void (*run)(void *), void *argument)
{
    (void)world;
    return thread_create(uthread_create_bound, thread, run, argument);
}

static int green_join(struct rt_world *world, struct rt_thread *thread)
{
    (void)world;
    uthread_join(thread->handle, NULL);
    free(thread);
    return 0;
}

static uintptr_t green_self(const struct rt_world *world)
{
    (void)world;
    return (uintptr_t)scheduler_self();
}

static int green_mutex_init(struct rt_mutex *mutex)
{
    memset(mutex, 0, sizeof(*mutex));
    return 0;
}

static void green_lock(struct rt_mutex *mutex)
{
    sync_lock((struct sync_mutex *)mutex->bytes);
}

static void green_unlock(struct rt_mutex *mutex)
{
    sync_unlock((struct sync_mutex *)mutex->bytes);
}

static int green_condition_init(struct rt_condition *condition)
{
    memset(condition, 0, sizeof(*condition));
    return 0;
}

static void green_wait(struct rt_condition *condition, struct rt_mutex *mutex)
{
    (void)sync_wait((struct sync_condition *)condition->bytes,
                    (struct sync_mutex *)mutex->bytes, UINT64_MAX);
}

static void green_signal(struct rt_condition *condition)
{
    sync_signal((struct sync_condition *)condition->bytes);
}

static void green_broadcast(struct rt_condition *condition)
{
    sync_broadcast((struct sync_condition *)condition->bytes);
}

static struct poller_source *source_of(struct rt_descriptor *descriptor)
{
    return (struct poller_source *)descriptor->bytes;
}

static void green_open(struct rt_descriptor *descriptor, int fd)
{
    int flags = fcntl(fd, F_GETFL);

    descriptor->fd = fd;
    *source_of(descriptor) = (struct poller_source){ .fd = fd, .slot = POLLER_NONE };
    /* A regular file has no readiness: it is read and written at once, as ever. */
    if (flags >= 0) {
        (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    }
}

static void green_close(struct rt_descriptor *descriptor)
{
    scheduler_remove(source_of(descriptor));
    (void)close(descriptor->fd);
}

/* Bits that came while the caller looked end the wait at once, so they are cleared before
 * each look and never after it. */
static void source_clear(struct rt_descriptor *descriptor, enum rt_direction direction)
{
    source_of(descriptor)->ready &=
        ~(unsigned)(direction == RT_READ ? POLLER_READABLE : POLLER_WRITABLE);
}

static int source_await(struct rt_descriptor *descriptor, enum rt_direction direction)
{
    unsigned bits = direction == RT_READ ? POLLER_READ : POLLER_WRITE;

    return scheduler_await(source_of(descriptor), bits, TIMEOUT_NONE, UINT64_MAX) ==
                   PARK_FAILED
               ? -ENOMEM
               : 0;
}

static ssize_t green_read(struct rt_descriptor *descriptor, void *bytes, size_t size)
{
    for (;;) {
        ssize_t count;
        int error;

        source_clear(descriptor, RT_READ);
        count = kernel_read(descriptor, bytes, size);
        if (count != -EAGAIN) {
            return count;
        }
        error = source_await(descriptor, RT_READ);
        if (error < 0) {
            return error;
        }
    }
}

static ssize_t green_write(struct rt_descriptor *descriptor, const void *bytes,
                           size_t size)
{
    for (;;) {
        ssize_t count;
        int error;

        source_clear(descriptor, RT_WRITE);
        count = kernel_write(descriptor, bytes, size);
        if (count != -EAGAIN) {
            return count;
        }
        error = source_await(descriptor, RT_WRITE);
        if (error < 0) {
            return error;
        }
    }
}

static int green_wait_ready(struct rt_descriptor *descriptor, enum rt_direction direction)
{
    struct pollfd look = {
        .fd = descriptor->fd,
        .events = direction == RT_READ ? POLLIN : POLLOUT,
    };

    for (;;) {
        int error;

        source_clear(descriptor, direction);
        if (poll(&look, 1, 0) > 0) {
            return 0;
        }
        error = source_await(descriptor, direction);
        if (error < 0) {
            return error;
        }
    }
}

#define RUNTIME(NAME, LOADED, START, CREATE)                                             \
    {                                                                                    \
        .name = NAME, .loaded = LOADED, .start = START, .share = kernel_own_pages,       \
        .create = CREATE, .join = green_join, .yield = uthread_yield,                    \
        .self = green_self, .mutex_init = green_mutex_init, .lock = green_lock,          \
        .unlock = green_unlock, .condition_init = green_condition_init,                  \
        .wait = green_wait, .signal = green_signal, .broadcast = green_broadcast,        \
        .open = green_open, .close = green_close, .read = green_read,                    \
        .write = green_write, .wait_ready = green_wait_ready, .mark = kernel_no_mark,    \
        .usage = kernel_own_usage                                                        \
    }

const struct rt rt_green = RUNTIME("green", green_loaded, green_start, green_create);
const struct rt rt_hybrid = RUNTIME("hybrid", hybrid_loaded, hybrid_start, green_create);
const struct rt rt_hybrid_system =
    RUNTIME("hybrid-system", system_loaded, hybrid_start, system_create);
