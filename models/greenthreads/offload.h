/* File work that may sleep, run by a few kernel threads for all schedulers of the process
 * while only the user thread that asked for it waits. It must never know what the work
 * does. */
#ifndef TETRAD_OFFLOAD_H
#define TETRAD_OFFLOAD_H

#include <stdbool.h>

#include "attributes.h"
#include "work.h"

/* What the users here ask for: one thread may wait for a slow disk while the other goes
 * on, and both stay over the pauses of a client that reads one cold file after another. */
enum { OFFLOAD_THREADS = 2, OFFLOAD_REST_MS = 1000 };

struct offload;

/* NULL with errno set. As many kernel threads at most, each started when there is work for
 * it; one without work for rest_ms ends. */
struct offload *offload_open(unsigned kernel_threads, unsigned rest_ms);

/* Drops what was not started, waits for what was. Before the schedulers close, after they
 * have run. NULL is allowed. */
void offload_close(struct offload *offload);

/* Runs the work and parks the calling user thread until it is done: 0. -ECANCELED once
 * *given_up is set and the user thread is woken: then the work may still be running, and
 * its asker must not look at it. Another -errno: it was not begun, for want of memory or
 * of a thread. Any scheduler's user threads. */
int offload_run(struct offload *offload, struct work *work,
                const bool *given_up) MUST_CHECK;

#endif
