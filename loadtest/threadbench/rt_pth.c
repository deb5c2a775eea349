/* User threads of GNU Pth, where it is installed. It must never know what a thread does. */
#include "config.h"
#include "rt.h"

#ifdef HAVE_PTH

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include <fcntl.h>
#include <pth.h>
#include <sys/select.h>
#include <unistd.h>

#include "rt_kernel.h"

/* Of the size that green has; Pth does not guard it. */
enum { PTH_STACK_BYTES = 64 * 1024 };

_Static_assert(sizeof(pth_mutex_t) <= sizeof(struct rt_mutex), "a mutex has room");
_Static_assert(sizeof(pth_cond_t) <= sizeof(struct rt_condition), "a condition has room");

struct rt_world {
    pth_attr_t attributes;
};

static void pth_loaded(char *text, size_t size)
{
    /* 0xVRRTLL: T is 2 for a release, LL its level. */
    long version = pth_version();

    (void)snprintf(text, size, "GNU Pth %lx.%lx.%lx, N:1", version >> 20,
                   (version >> 12) & 0xff, version & 0xff);
}

static int pth_start(void (*first)(struct rt_world *, void *), void *argument)
{
    struct rt_world world;

    if (!pth_init()) {
        return -errno;
    }
    world.attributes = pth_attr_new();
    if (world.attributes == NULL) {
        return -ENOMEM;
    }
    (void)pth_attr_set(world.attributes, PTH_ATTR_STACK_SIZE,
                       (unsigned int)PTH_STACK_BYTES);
    (void)pth_attr_set(world.attributes, PTH_ATTR_JOINABLE, TRUE);
    first(&world, argument);
    (void)pth_attr_destroy(world.attributes);
    (void)pth_kill();
    return 0;
}

/* Pth's own function returns a pointer, which nobody wants. */
struct rt_thread {
    pth_t id;
    void (*run)(void *argument);
    void *argument;
};

static void *pth_main(void *argument)
{
    struct rt_thread *thread = argument;

    thread->run(thread->argument);
    return NULL;
}

static int pth_make(struct rt_world *world, struct rt_thread **thread,
                    void (*run)(void *), void *argument)
{
    struct rt_thread *made = malloc(sizeof(*made));

    if (made == NULL) {
        return -ENOMEM;
    }
    made->run = run;
    made->argument = argument;
    made->id = pth_spawn(world->attributes, pth_main, made);
    if (made->id == NULL) {
        free(made);
        return -EAGAIN;
    }
    *thread = made;
    return 0;
}

static int pth_join_one(struct rt_world *world, struct rt_thread *thread)
{
    int joined = pth_join(thread->id, NULL);

    (void)world;
    free(thread);
    return joined ? 0 : -ECHILD;
}

static void pth_yield_once(void)
{
    (void)pth_yield(NULL);
}

static uintptr_t pth_id(const struct rt_world *world)
{
    (void)world;
    return (uintptr_t)pth_self();
}

static int pth_mutex_make(struct rt_mutex *mutex)
{
    return pth_mutex_init((pth_mutex_t *)mutex->bytes) ? 0 : -errno;
}

static void pth_lock(struct rt_mutex *mutex)
{
    (void)pth_mutex_acquire((pth_mutex_t *)mutex->bytes, FALSE, NULL);
}

static void pth_unlock(struct rt_mutex *mutex)
{
    (void)pth_mutex_release((pth_mutex_t *)mutex->bytes);
}

static int pth_condition_make(struct rt_condition *condition)
{
    return pth_cond_init((pth_cond_t *)condition->bytes) ? 0 : -errno;
}

static void pth_await(struct rt_condition *condition, struct rt_mutex *mutex)
{
    (void)pth_cond_await((pth_cond_t *)condition->bytes, (pth_mutex_t *)mutex->bytes,
                         NULL);
}

static void pth_signal(struct rt_condition *condition)
{
    (void)pth_cond_notify((pth_cond_t *)condition->bytes, FALSE);
}

static void pth_broadcast(struct rt_condition *condition)
{
    (void)pth_cond_notify((pth_cond_t *)condition->bytes, TRUE);
}

/* What pth_read asks of a descriptor before each call would be two more system calls. */
static void pth_open_one(struct rt_descriptor *descriptor, int fd)
{
    descriptor->fd = fd;
    (void)pth_fdmode(fd, PTH_FDMODE_NONBLOCK);
}

static int pth_wait_ready(struct rt_descriptor *descriptor, enum rt_direction direction)
{
    struct pollfd waited = {
        .fd = descriptor->fd,
        .events = direction == RT_READ ? POLLIN : POLLOUT,
    };

    return pth_poll(&waited, 1, -1) < 0 ? -errno : 0;
}

/* Tried first, like in the other runtimes of user threads. */
static ssize_t pth_read_some(struct rt_descriptor *descriptor, void *bytes, size_t size)
{
    ssize_t count = kernel_read(descriptor, bytes, size);

    while (count == -EAGAIN) {
        int error = pth_wait_ready(descriptor, RT_READ);

        if (error < 0) {
            return error;
        }
        count = kernel_read(descriptor, bytes, size);
    }
    return count;
}

static ssize_t pth_write_some(struct rt_descriptor *descriptor, const void *bytes,
                              size_t size)
{
    ssize_t count = kernel_write(descriptor, bytes, size);

    while (count == -EAGAIN) {
        int error = pth_wait_ready(descriptor, RT_WRITE);

        if (error < 0) {
            return error;
        }
        count = kernel_write(descriptor, bytes, size);
    }
    return count;
}

const struct rt rt_pth = {
    .name = "pth",
    .descriptors_max = FD_SETSIZE,
    .loaded = pth_loaded,
    .start = pth_start,
    .share = kernel_own_pages,
    .create = pth_make,
    .join = pth_join_one,
    .yield = pth_yield_once,
    .self = pth_id,
    .mutex_init = pth_mutex_make,
    .lock = pth_lock,
    .unlock = pth_unlock,
    .condition_init = pth_condition_make,
    .wait = pth_await,
    .signal = pth_signal,
    .broadcast = pth_broadcast,
    .open = pth_open_one,
    .close = kernel_close,
    .read = pth_read_some,
    .write = pth_write_some,
    .wait_ready = pth_wait_ready,
    .mark = kernel_no_mark,
    .usage = kernel_own_usage,
};

#else

const struct rt rt_pth = {
    .name = "pth",
    .absent = "not built in: GNU Pth was not installed (Debian package libpth-dev)",
};

#endif
