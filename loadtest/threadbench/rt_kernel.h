/* What kernel threads and processes have in common: the kernel makes them wait. It must
 * never know which of the two it serves. */
#ifndef THREADBENCH_RT_KERNEL_H
#define THREADBENCH_RT_KERNEL_H

#include <stdbool.h>

#include "rt.h"

int kernel_mutex_init(struct rt_mutex *mutex, bool between_processes) MUST_CHECK;
void kernel_lock(struct rt_mutex *mutex);
void kernel_unlock(struct rt_mutex *mutex);

int kernel_condition_init(struct rt_condition *condition,
                          bool between_processes) MUST_CHECK;
void kernel_wait(struct rt_condition *condition, struct rt_mutex *mutex);
void kernel_signal(struct rt_condition *condition);
void kernel_broadcast(struct rt_condition *condition);

void kernel_yield(void);

void kernel_open(struct rt_descriptor *descriptor, int fd);
void kernel_close(struct rt_descriptor *descriptor);
ssize_t kernel_read(struct rt_descriptor *descriptor, void *bytes, size_t size);
ssize_t kernel_write(struct rt_descriptor *descriptor, const void *bytes, size_t size);
int kernel_wait_ready(struct rt_descriptor *descriptor, enum rt_direction direction);

/* Zeroed pages, shared with processes that are forked later or not. */
void *kernel_pages(size_t bytes, bool between_processes);

/* Of this process; children: with those that were waited for. */
void kernel_usage(struct rt_usage *usage, bool children);

/* For the table of a runtime whose threads are all in one process: its memory is shared
 * anyhow, the kernel adds up its threads, and so nothing is to be left by any of them. */
void *kernel_own_pages(size_t bytes);
void kernel_no_mark(struct rt_world *world);
void kernel_own_usage(const struct rt_world *world, struct rt_usage *usage);

/* The C library's name for its threads, such as "NPTL 2.36". */
void kernel_threads_name(char *text, size_t size);

#endif
