/* What a runtime of threads offers. A benchmark is written once against this table, and
 * must never know which runtime it runs on.
 *
 * Functions that can fail give 0 or -errno. "Thread" is whatever the runtime makes of it:
 * a kernel thread, a user thread or a process. Memory that two threads touch comes from
 * `share`, but for what was written before the second was created. */
#ifndef THREADBENCH_RT_H
#define THREADBENCH_RT_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include "attributes.h"

/* The runtime's own, of one run. A process has a copy at the same address. */
struct rt_world;
struct rt_thread;

/* Room for the runtime's own; a cache line each, so that neighbours do not disturb. */
struct rt_mutex {
    alignas(64) char bytes[64];
};
struct rt_condition {
    alignas(64) char bytes[64];
};

/* At most one thread may read or wait to read, and one write or wait to write. */
struct rt_descriptor {
    int fd; /* closed by rt->close */
    alignas(16) char bytes[48];
};

enum rt_direction { RT_READ, RT_WRITE };

/* Of all threads so far. */
struct rt_usage {
    uint64_t user_us, sys_us;
    uint64_t voluntary, involuntary; /* context switches, by the kernel's count */
};

struct rt {
    const char *name;
    /* Why this build has it not, and then there is nothing else; or NULL. */
    const char *absent;
    /* Descriptors that it can wait for are below; 0: all. */
    int descriptors_max;

    /* What is really loaded, for the row: its kind and version. */
    void (*loaded)(char *text, size_t size);

    /* Calls first(world, argument) as the first thread; returns when it has returned and
     * all others were joined. */
    int (*start)(void (*first)(struct rt_world *world, void *argument), void *argument);

    /* Zeroed memory that all threads see which are created later; it is the run's until
     * the process ends. Pages count when touched. NULL without memory. */
    void *(*share)(size_t bytes);

    int (*create)(struct rt_world *world, struct rt_thread **thread,
                  void (*run)(void *argument), void *argument);
    /* Once for each thread, by its creator. -ECHILD: it did not end well. */
    int (*join)(struct rt_world *world, struct rt_thread *thread);
    void (*yield)(void);
    /* Differs between living threads; never 0. */
    uintptr_t (*self)(const struct rt_world *world);

    int (*mutex_init)(struct rt_mutex *mutex);
    void (*lock)(struct rt_mutex *mutex);
    void (*unlock)(struct rt_mutex *mutex);
    int (*condition_init)(struct rt_condition *condition);
    /* May return without a signal. A condition is always waited for with the same mutex,
     * and told of with that mutex locked. */
    void (*wait)(struct rt_condition *condition, struct rt_mutex *mutex);
    void (*signal)(struct rt_condition *condition);
    void (*broadcast)(struct rt_condition *condition);

    /* Takes fd over. Before the threads that use it are created. */
    void (*open)(struct rt_descriptor *descriptor, int fd);
    void (*close)(struct rt_descriptor *descriptor);
    /* Only the calling thread blocks. Bytes moved, 0 at the end, or -errno. */
    ssize_t (*read)(struct rt_descriptor *descriptor, void *bytes, size_t size);
    ssize_t (*write)(struct rt_descriptor *descriptor, const void *bytes, size_t size);
    /* Until the direction is ready. */
    int (*wait_ready)(struct rt_descriptor *descriptor, enum rt_direction direction);

    /* The calling thread leaves its own account where `usage` finds it. */
    void (*mark)(struct rt_world *world);
    /* As of the last mark of the others where they are processes, else as of now. */
    void (*usage)(const struct rt_world *world, struct rt_usage *usage);
};

extern const struct rt rt_pthread, rt_green, rt_hybrid, rt_process, rt_pth, rt_st,
    rt_nspr;

/* For benchmarks that ask for it: a kernel thread for each user thread. */
extern const struct rt rt_hybrid_system;

/* Of a runtime that shares several; set before it starts. */
extern unsigned rt_kthreads;

/* In the order of the rows; NULL ends it. */
extern const struct rt *const rt_table[];

/* All of size. 0, or -errno; -EPIPE where the stream ends before. */
int rt_read_all(const struct rt *rt, struct rt_descriptor *descriptor, void *bytes,
                size_t size) MUST_CHECK;
int rt_write_all(const struct rt *rt, struct rt_descriptor *descriptor, const void *bytes,
                 size_t size) MUST_CHECK;

/* A pipe, both ends opened. */
int rt_pipe(const struct rt *rt, struct rt_descriptor ends[2]) MUST_CHECK;

#endif
