/* User threads of State Threads, where it is installed. It must never know what a thread
 * does. */
#include "config.h"
#include "rt.h"

#ifdef HAVE_ST

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <st.h>
#include <unistd.h>

#include "rt_kernel.h"

enum { ST_STACK_BYTES = 64 * 1024 };

struct rt_world {
    char unused;
};

struct rt_thread {
    st_thread_t id;
    void (*run)(void *argument);
    void *argument;
};

/* The library keeps its objects itself; in our room lie the pointers. */
static void pointer_put(char *bytes, const void *pointer)
{
    memcpy(bytes, &pointer, sizeof(pointer));
}

static void *pointer_get(const char *bytes)
{
    void *pointer;

    memcpy(&pointer, bytes, sizeof(pointer));
    return pointer;
}

static void threads_loaded(char *text, size_t size)
{
    (void)snprintf(text, size, "State Threads %s, N:1, %s", ST_VERSION,
                   st_get_eventsys_name());
}

static int threads_start(void (*first)(struct rt_world *, void *), void *argument)
{
    struct rt_world world = { 0 };

    /* epoll if it was built with it: else that call succeeds and changes nothing. Then poll,
     * which has no bound as select has. */
    (void)st_set_eventsys(ST_EVENTSYS_ALT);
    if (st_get_eventsys() != ST_EVENTSYS_ALT) {
        (void)st_set_eventsys(ST_EVENTSYS_POLL);
    }
    if (st_init() < 0) {
        return -errno;
    }
    first(&world, argument);
    return 0;
}

static void *threads_main(void *argument)
{
    struct rt_thread *thread = argument;

    thread->run(thread->argument);
    return NULL;
}

static int threads_create(struct rt_world *world, struct rt_thread **thread,
                          void (*run)(void *), void *argument)
{
    struct rt_thread *made = malloc(sizeof(*made));

    (void)world;
    if (made == NULL) {
        return -ENOMEM;
    }
    made->run = run;
    made->argument = argument;
    made->id = st_thread_create(threads_main, made, 1, ST_STACK_BYTES);
    if (made->id == NULL) {
        free(made);
        return -ENOMEM;
    }
    *thread = made;
    return 0;
}

static int threads_join(struct rt_world *world, struct rt_thread *thread)
{
    int error = st_thread_join(thread->id, NULL) < 0 ? -errno : 0;

    (void)world;
    free(thread);
    return error;
}

/* It has no yield; this is what its manual says in place of one. */
static void threads_yield(void)
{
    (void)st_usleep(0);
}

static uintptr_t threads_self(const struct rt_world *world)
{
    (void)world;
    return (uintptr_t)st_thread_self();
}

static int mutex_make(struct rt_mutex *mutex)
{
    st_mutex_t made = st_mutex_new();

    pointer_put(mutex->bytes, made);
    return made != NULL ? 0 : -ENOMEM;
}

static void mutex_lock(struct rt_mutex *mutex)
{
    (void)st_mutex_lock(pointer_get(mutex->bytes));
}

static void mutex_unlock(struct rt_mutex *mutex)
{
    (void)st_mutex_unlock(pointer_get(mutex->bytes));
}

static int condition_make(struct rt_condition *condition)
{
    st_cond_t made = st_cond_new();

    pointer_put(condition->bytes, made);
    return made != NULL ? 0 : -ENOMEM;
}

/* Its conditions have no mutex. Nobody runs between the two calls, so no signal is lost. */
static void condition_wait(struct rt_condition *condition, struct rt_mutex *mutex)
{
    mutex_unlock(mutex);
    (void)st_cond_wait(pointer_get(condition->bytes));
    mutex_lock(mutex);
}

static void condition_signal(struct rt_condition *condition)
{
    (void)st_cond_signal(pointer_get(condition->bytes));
}

static void condition_broadcast(struct rt_condition *condition)
{
    (void)st_cond_broadcast(pointer_get(condition->bytes));
}

static void descriptor_open(struct rt_descriptor *descriptor, int fd)
{
    descriptor->fd = fd;
    pointer_put(descriptor->bytes, st_netfd_open(fd));
}

static void descriptor_close(struct rt_descriptor *descriptor)
{
    (void)st_netfd_close(pointer_get(descriptor->bytes));
}

static ssize_t descriptor_read(struct rt_descriptor *descriptor, void *bytes, size_t size)
{
    ssize_t count =
        st_read(pointer_get(descriptor->bytes), bytes, size, ST_UTIME_NO_TIMEOUT);

    return count < 0 ? -errno : count;
}

static ssize_t descriptor_write(struct rt_descriptor *descriptor, const void *bytes,
                                size_t size)
{
    ssize_t count =
        st_write(pointer_get(descriptor->bytes), bytes, size, ST_UTIME_NO_TIMEOUT);

    return count < 0 ? -errno : count;
}

static int descriptor_wait_ready(struct rt_descriptor *descriptor,
                                 enum rt_direction direction)
{
    int how = direction == RT_READ ? POLLIN : POLLOUT;

    return st_netfd_poll(pointer_get(descriptor->bytes), how, ST_UTIME_NO_TIMEOUT) < 0
               ? -errno
               : 0;
}

const struct rt rt_st = {
    .name = "st",
    .loaded = threads_loaded,
    .start = threads_start,
    .share = kernel_own_pages,
    .create = threads_create,
    .join = threads_join,
    .yield = threads_yield,
    .self = threads_self,
    .mutex_init = mutex_make,
    .lock = mutex_lock,
    .unlock = mutex_unlock,
    .condition_init = condition_make,
    .wait = condition_wait,
    .signal = condition_signal,
    .broadcast = condition_broadcast,
    .open = descriptor_open,
    .close = descriptor_close,
    .read = descriptor_read,
    .write = descriptor_write,
    .wait_ready = descriptor_wait_ready,
    .mark = kernel_no_mark,
    .usage = kernel_own_usage,
};

#else

const struct rt rt_st = {
    .name = "st",
    .absent = "not built in: State Threads was not installed (Debian package libst-dev)",
};

#endif
