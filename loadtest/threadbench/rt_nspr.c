/* Threads of the NetScape Portable Runtime, where it is installed. Which kind they are is
 * the library's choice. It must never know what a thread does. */
#include "config.h"
#include "rt.h"

#ifdef HAVE_NSPR

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nspr.h>
#include <private/pprio.h>

#include "rt_kernel.h"

enum { NSPR_STACK_BYTES = 128 * 1024 };

struct rt_world {
    char unused;
};

struct rt_thread {
    PRThread *id;
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

static int last_error(void)
{
    PRInt32 error = PR_GetOSError();

    return error > 0 ? -error : -EIO;
}

static void nspr_loaded(char *text, size_t size)
{
    char threads[64];

    kernel_threads_name(threads, sizeof(threads));
    (void)snprintf(text, size, "NSPR %s over %s", PR_GetVersion(), threads);
}

static int nspr_start(void (*first)(struct rt_world *, void *), void *argument)
{
    struct rt_world world = { 0 };

    PR_Init(PR_USER_THREAD, PR_PRIORITY_NORMAL, 0);
    first(&world, argument);
    return 0;
}

static void nspr_main(void *argument)
{
    struct rt_thread *thread = argument;

    thread->run(thread->argument);
}

/* "Local" asks for a user thread; a build that has none gives a kernel thread. */
static int nspr_create(struct rt_world *world, struct rt_thread **thread,
                       void (*run)(void *), void *argument)
{
    struct rt_thread *made = malloc(sizeof(*made));

    (void)world;
    if (made == NULL) {
        return -ENOMEM;
    }
    made->run = run;
    made->argument = argument;
    made->id = PR_CreateThread(PR_USER_THREAD, nspr_main, made, PR_PRIORITY_NORMAL,
                               PR_LOCAL_THREAD, PR_JOINABLE_THREAD, NSPR_STACK_BYTES);
    if (made->id == NULL) {
        free(made);
        return last_error();
    }
    *thread = made;
    return 0;
}

static int nspr_join(struct rt_world *world, struct rt_thread *thread)
{
    PRStatus status = PR_JoinThread(thread->id);

    (void)world;
    free(thread);
    return status == PR_SUCCESS ? 0 : -ECHILD;
}

static void nspr_yield(void)
{
    (void)PR_Sleep(PR_INTERVAL_NO_WAIT);
}

static uintptr_t nspr_self(const struct rt_world *world)
{
    (void)world;
    return (uintptr_t)PR_GetCurrentThread();
}

static int nspr_mutex_init(struct rt_mutex *mutex)
{
    PRLock *made = PR_NewLock();

    pointer_put(mutex->bytes, made);
    return made != NULL ? 0 : -ENOMEM;
}

static void nspr_lock(struct rt_mutex *mutex)
{
    PR_Lock(pointer_get(mutex->bytes));
}

static void nspr_unlock(struct rt_mutex *mutex)
{
    (void)PR_Unlock(pointer_get(mutex->bytes));
}

/* Made by the first who waits, since it is bound to a mutex from the beginning. */
static int nspr_condition_init(struct rt_condition *condition)
{
    pointer_put(condition->bytes, NULL);
    return 0;
}

static void nspr_wait(struct rt_condition *condition, struct rt_mutex *mutex)
{
    if (pointer_get(condition->bytes) == NULL) {
        PRCondVar *made = PR_NewCondVar(pointer_get(mutex->bytes));

        if (made == NULL) {
            (void)fputs("threadbench: no memory for a condition of NSPR\n", stderr);
            abort();
        }
        pointer_put(condition->bytes, made);
    }
    (void)PR_WaitCondVar(pointer_get(condition->bytes), PR_INTERVAL_NO_TIMEOUT);
}

static void nspr_signal(struct rt_condition *condition)
{
    if (pointer_get(condition->bytes) != NULL) {
        (void)PR_NotifyCondVar(pointer_get(condition->bytes));
    }
}

static void nspr_broadcast(struct rt_condition *condition)
{
    if (pointer_get(condition->bytes) != NULL) {
        (void)PR_NotifyAllCondVar(pointer_get(condition->bytes));
    }
}

static void nspr_open(struct rt_descriptor *descriptor, int fd)
{
    descriptor->fd = fd;
    pointer_put(descriptor->bytes, PR_ImportPipe(fd));
}

static void nspr_close(struct rt_descriptor *descriptor)
{
    (void)PR_Close(pointer_get(descriptor->bytes));
}

/* Its layers know files of up to 2 GiB at a time; no benchmark moves as much. */
static ssize_t nspr_read(struct rt_descriptor *descriptor, void *bytes, size_t size)
{
    PRInt32 count = PR_Read(pointer_get(descriptor->bytes), bytes, (PRInt32)size);

    return count < 0 ? last_error() : count;
}

static ssize_t nspr_write(struct rt_descriptor *descriptor, const void *bytes,
                          size_t size)
{
    PRInt32 count = PR_Write(pointer_get(descriptor->bytes), bytes, (PRInt32)size);

    return count < 0 ? last_error() : count;
}

static int nspr_wait_ready(struct rt_descriptor *descriptor, enum rt_direction direction)
{
    PRPollDesc waited = {
        .fd = pointer_get(descriptor->bytes),
        .in_flags = direction == RT_READ ? PR_POLL_READ : PR_POLL_WRITE,
    };

    return PR_Poll(&waited, 1, PR_INTERVAL_NO_TIMEOUT) < 0 ? last_error() : 0;
}

const struct rt rt_nspr = {
    .name = "nspr",
    .loaded = nspr_loaded,
    .start = nspr_start,
    .share = kernel_own_pages,
    .create = nspr_create,
    .join = nspr_join,
    .yield = nspr_yield,
    .self = nspr_self,
    .mutex_init = nspr_mutex_init,
    .lock = nspr_lock,
    .unlock = nspr_unlock,
    .condition_init = nspr_condition_init,
    .wait = nspr_wait,
    .signal = nspr_signal,
    .broadcast = nspr_broadcast,
    .open = nspr_open,
    .close = nspr_close,
    .read = nspr_read,
    .write = nspr_write,
    .wait_ready = nspr_wait_ready,
    .mark = kernel_no_mark,
    .usage = kernel_own_usage,
};

#else

const struct rt rt_nspr = {
    .name = "nspr",
    .absent = "not built in: NSPR was not installed (Debian package libnspr4-dev)",
};

#endif
