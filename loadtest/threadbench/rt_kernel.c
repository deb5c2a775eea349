/* Mutexes, conditions and descriptors of the kernel. A failure of a lock is an error of
 * the program, so it ends it. It must never know who calls. */
#include "rt_kernel.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(struct rt_mutex), "a mutex has room");
_Static_assert(sizeof(pthread_cond_t) <= sizeof(struct rt_condition),
               "a condition has room");

static void must(int error)
{
    if (error != 0) {
        (void)fprintf(stderr, "threadbench: a lock failed: %s\n", strerror(error));
        abort();
    }
}

int kernel_mutex_init(struct rt_mutex *mutex, bool between_processes)
{
    pthread_mutexattr_t attributes;
    int error = pthread_mutexattr_init(&attributes);

    if (error != 0) {
        return -error;
    }
    if (between_processes) {
        error = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    }
    if (error == 0) {
        error = pthread_mutex_init((pthread_mutex_t *)mutex->bytes, &attributes);
    }
    (void)pthread_mutexattr_destroy(&attributes);
    return -error;
}

void kernel_lock(struct rt_mutex *mutex)
{
    must(pthread_mutex_lock((pthread_mutex_t *)mutex->bytes));
}

void kernel_unlock(struct rt_mutex *mutex)
{
    must(pthread_mutex_unlock((pthread_mutex_t *)mutex->bytes));
}

int kernel_condition_init(struct rt_condition *condition, bool between_processes)
{
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);

    if (error != 0) {
        return -error;
    }
    if (between_processes) {
        error = pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    }
    if (error == 0) {
        error = pthread_cond_init((pthread_cond_t *)condition->bytes, &attributes);
    }
    (void)pthread_condattr_destroy(&attributes);
    return -error;
}

void kernel_wait(struct rt_condition *condition, struct rt_mutex *mutex)
{
    must(pthread_cond_wait((pthread_cond_t *)condition->bytes,
                           (pthread_mutex_t *)mutex->bytes));
}

void kernel_signal(struct rt_condition *condition)
{
    must(pthread_cond_signal((pthread_cond_t *)condition->bytes));
}

void kernel_broadcast(struct rt_condition *condition)
{
    must(pthread_cond_broadcast((pthread_cond_t *)condition->bytes));
}

void kernel_yield(void)
{
    (void)sched_yield();
}

void kernel_open(struct rt_descriptor *descriptor, int fd)
{
    descriptor->fd = fd;
}

void kernel_close(struct rt_descriptor *descriptor)
{
    (void)close(descriptor->fd);
}

ssize_t kernel_read(struct rt_descriptor *descriptor, void *bytes, size_t size)
{
    ssize_t count;

    do {
        count = read(descriptor->fd, bytes, size);
    } while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count;
}

ssize_t kernel_write(struct rt_descriptor *descriptor, const void *bytes, size_t size)
{
    ssize_t count;

    do {
        count = write(descriptor->fd, bytes, size);
    } while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count;
}

int kernel_wait_ready(struct rt_descriptor *descriptor, enum rt_direction direction)
{
    struct pollfd waited = {
        .fd = descriptor->fd,
        .events = direction == RT_READ ? POLLIN : POLLOUT,
    };
    int count;

    do {
        count = poll(&waited, 1, -1);
    } while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : 0;
}

void *kernel_pages(size_t bytes, bool between_processes)
{
    int flags = MAP_ANONYMOUS | MAP_NORESERVE;
    void *pages;

    flags |= between_processes ? MAP_SHARED : MAP_PRIVATE;
    pages = mmap(NULL, bytes > 0 ? bytes : 1, PROT_READ | PROT_WRITE, flags, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static uint64_t microseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

static void usage_add(struct rt_usage *usage, int who)
{
    struct rusage part;

    if (getrusage(who, &part) < 0) {
        return;
    }
    usage->user_us += microseconds(part.ru_utime);
    usage->sys_us += microseconds(part.ru_stime);
    usage->voluntary += (uint64_t)part.ru_nvcsw;
    usage->involuntary += (uint64_t)part.ru_nivcsw;
}

void kernel_usage(struct rt_usage *usage, bool children)
{
    *usage = (struct rt_usage){ .user_us = 0 };
    usage_add(usage, RUSAGE_SELF);
    if (children) {
        usage_add(usage, RUSAGE_CHILDREN);
    }
}

void kernel_threads_name(char *text, size_t size)
{
    if (confstr(_CS_GNU_LIBPTHREAD_VERSION, text, size) == 0) {
        (void)snprintf(text, size, "unknown C library");
    }
}

void *kernel_own_pages(size_t bytes)
{
    return kernel_pages(bytes, false);
}

void kernel_no_mark(struct rt_world *world)
{
    (void)world;
}

void kernel_own_usage(const struct rt_world *world, struct rt_usage *usage)
{
    (void)world;
    kernel_usage(usage, false);
}
