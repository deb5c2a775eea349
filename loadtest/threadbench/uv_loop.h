/* One thread and a loop of libuv, for benchmarks that can be written as callbacks: numbered
 * callers that are posted, or that watch a descriptor. It must never know what they do. */
#ifndef THREADBENCH_UV_LOOP_H
#define THREADBENCH_UV_LOOP_H

#include "run.h"

struct loop;

/* Calls called(run, number) for each of `count` callers when it is due. Ends the run where
 * it fails, like all of these. */
struct loop *loop_open(struct run *run, size_t count,
                       void (*called)(struct run *run, size_t number));
void loop_close(struct loop *loop);

/* What the caller waits for: a post, or a descriptor. */
void loop_add_post(struct loop *loop, size_t number);
void loop_add_watch(struct loop *loop, size_t number, int fd,
                    enum rt_direction direction);
void loop_drop(struct loop *loop, size_t number);

/* Makes a caller due that is not yet. */
void loop_post(struct loop *loop, size_t number);

/* Until loop_end; until at least one was called. */
void loop_run(struct loop *loop);
void loop_once(struct loop *loop);
void loop_end(struct loop *loop);

/* For the row. */
void loop_loaded(char *text, size_t size);

#endif
