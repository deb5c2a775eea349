/* A process for each thread: fork, with shared pages and locks between them. It must
 * never know what a process does. */
#include "rt.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rt_kernel.h"

enum { PROCESS_MAX = 32768 };

/* In shared pages. */
struct rt_thread {
    _Atomic bool used;
    pid_t pid;
    struct rt_usage usage; /* its last mark */
};

struct processes {
    _Atomic size_t next; /* where to look for a free one; only a hint */
    _Atomic size_t top;  /* none at or above it was ever used */
    struct rt_thread all[PROCESS_MAX];
};

struct rt_world {
    struct processes *processes; /* shared */
    struct rt_thread *self;      /* NULL in the first */
};

static void process_loaded(char *text, size_t size)
{
    char threads[64];

    kernel_threads_name(threads, sizeof(threads));
    (void)snprintf(text, size, "fork, shared locks of %s", threads);
}

static void *process_share(size_t bytes)
{
    return kernel_pages(bytes, true);
}

static int process_start(void (*first)(struct rt_world *, void *), void *argument)
{
    struct rt_world world = { .processes = process_share(sizeof(struct processes)) };

    if (world.processes == NULL) {
        return -ENOMEM;
    }
    first(&world, argument);
    return 0;
}

/* NULL: all are used. */
static struct rt_thread *slot_take(struct processes *processes)
{
    for (size_t tries = 0; tries < PROCESS_MAX; tries++) {
        size_t at = atomic_fetch_add(&processes->next, 1) % PROCESS_MAX;
        bool used = false;

        if (atomic_compare_exchange_strong(&processes->all[at].used, &used, true)) {
            size_t top = atomic_load(&processes->top);

            while (top <= at &&
                   !atomic_compare_exchange_weak(&processes->top, &top, at + 1)) {
            }
            return &processes->all[at];
        }
    }
    return NULL;
}

static void slot_give(struct processes *processes, struct rt_thread *slot)
{
    slot->usage = (struct rt_usage){ .user_us = 0 };
    atomic_store(&slot->used, false);
    /* Used again first, so that a row of short processes touches one. */
    atomic_store(&processes->next, (size_t)(slot - processes->all));
}

static void process_mark(struct rt_world *world)
{
    if (world->self != NULL) {
        kernel_usage(&world->self->usage, true);
    }
}

static int process_create(struct rt_world *world, struct rt_thread **thread,
                          void (*run)(void *), void *argument)
{
    struct rt_thread *slot = slot_take(world->processes);
    pid_t parent = getpid(), pid;

    if (slot == NULL) {
        return -EAGAIN;
    }
    pid = fork();
    if (pid < 0) {
        int error = errno;

        slot_give(world->processes, slot);
        return -error;
    }
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(1);
        }
        world->self = slot;
        run(argument);
        _exit(0); /* what else happens at an exit is the first process's to do */
    }
    slot->pid = pid;
    *thread = slot;
    return 0;
}

static int process_join(struct rt_world *world, struct rt_thread *thread)
{
    int status = 0;
    pid_t pid;

    do {
        pid = waitpid(thread->pid, &status, 0);
    } while (pid < 0 && errno == EINTR);
    slot_give(world->processes, thread);
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

static uintptr_t process_self(const struct rt_world *world)
{
    return world->self != NULL ? (uintptr_t)world->self : (uintptr_t)world;
}

static int process_mutex_init(struct rt_mutex *mutex)
{
    return kernel_mutex_init(mutex, true);
}

static int process_condition_init(struct rt_condition *condition)
{
    return kernel_condition_init(condition, true);
}

static void process_usage(const struct rt_world *world, struct rt_usage *usage)
{
    struct processes *processes = world->processes;
    size_t top = atomic_load(&processes->top);

    kernel_usage(usage, true);
    for (size_t i = 0; i < top; i++) {
        const struct rt_thread *slot = &processes->all[i];

        if (atomic_load(&slot->used)) {
            usage->user_us += slot->usage.user_us;
            usage->sys_us += slot->usage.sys_us;
            usage->voluntary += slot->usage.voluntary;
            usage->involuntary += slot->usage.involuntary;
        }
    }
}

const struct rt rt_process = {
    .name = "process",
    .loaded = process_loaded,
    .start = process_start,
    .share = process_share,
    .create = process_create,
    .join = process_join,
    .yield = kernel_yield,
    .self = process_self,
    .mutex_init = process_mutex_init,
    .lock = kernel_lock,
    .unlock = kernel_unlock,
    .condition_init = process_condition_init,
    .wait = kernel_wait,
    .signal = kernel_signal,
    .broadcast = kernel_broadcast,
    .open = kernel_open,
    .close = kernel_close,
    .read = kernel_read,
    .write = kernel_write,
    .wait_ready = kernel_wait_ready,
    .mark = process_mark,
    .usage = process_usage,
};
