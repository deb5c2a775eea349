/* One kernel thread for each thread, by the C library. It must never know what a thread
 * does. */
#include "rt.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "annotate.h"
#include "rt_kernel.h"

/* A user thread's stack has 64 KiB; a kernel thread's also holds what the C library keeps
 * for it. The default of 8 MiB would only cost address space. */
enum { PTHREAD_STACK_BYTES = 128 * 1024 * ANNOTATE_STACK_SCALE };

struct rt_world {
    pthread_attr_t attributes;
};

struct rt_thread {
    pthread_t id;
    void (*run)(void *argument);
    void *argument;
};

static void pthread_loaded(char *text, size_t size)
{
    kernel_threads_name(text, size);
}

static int pthread_start(void (*first)(struct rt_world *, void *), void *argument)
{
    struct rt_world world;
    int error = pthread_attr_init(&world.attributes);

    if (error != 0) {
        return -error;
    }
    error = pthread_attr_setstacksize(&world.attributes, PTHREAD_STACK_BYTES);
    if (error == 0) {
        first(&world, argument);
    }
    (void)pthread_attr_destroy(&world.attributes);
    return -error;
}

static void *pthread_main(void *argument)
{
    struct rt_thread *thread = argument;

    thread->run(thread->argument);
    return NULL;
}

static int pthread_make(struct rt_world *world, struct rt_thread **thread,
                        void (*run)(void *), void *argument)
{
    struct rt_thread *made = malloc(sizeof(*made));
    int error;

    if (made == NULL) {
        return -ENOMEM;
    }
    made->run = run;
    made->argument = argument;
    error = pthread_create(&made->id, &world->attributes, pthread_main, made);
    if (error != 0) {
        free(made);
        return -error;
    }
    *thread = made;
    return 0;
}

static int pthread_join_one(struct rt_world *world, struct rt_thread *thread)
{
    int error = pthread_join(thread->id, NULL);

    (void)world;
    free(thread);
    return -error;
}

static uintptr_t pthread_id(const struct rt_world *world)
{
    (void)world;
    return (uintptr_t)pthread_self();
}

static int pthread_mutex_make(struct rt_mutex *mutex)
{
    return kernel_mutex_init(mutex, false);
}

static int pthread_condition_make(struct rt_condition *condition)
{
    return kernel_condition_init(condition, false);
}

const struct rt rt_pthread = {
    .name = "pthread",
    .loaded = pthread_loaded,
    .start = pthread_start,
    .share = kernel_own_pages,
    .create = pthread_make,
    .join = pthread_join_one,
    .yield = kernel_yield,
    .self = pthread_id,
    .mutex_init = pthread_mutex_make,
    .lock = kernel_lock,
    .unlock = kernel_unlock,
    .condition_init = pthread_condition_make,
    .wait = kernel_wait,
    .signal = kernel_signal,
    .broadcast = kernel_broadcast,
    .open = kernel_open,
    .close = kernel_close,
    .read = kernel_read,
    .write = kernel_write,
    .wait_ready = kernel_wait_ready,
    .mark = kernel_no_mark,
    .usage = kernel_own_usage,
};
