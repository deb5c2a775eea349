/* File work that may sleep, run by a few kernel threads for all schedulers of the process
 * while only the user thread that asked for it waits. It must never know what the work
 * does. */
#ifndef TETRAD_OFFLOAD_H
#define TETRAD_OFFLOAD_H

#include <stdbool.h>

#include "work.h"

struct offload;

/* NULL with errno set. */
struct offload *offload_open(unsigned kernel_threads);

/* Drops what was not started, waits for what was. Before the schedulers close, after they
 * have run. NULL is allowed. */
void offload_close(struct offload *offload);

/* Runs the work and parks the calling user thread until it is done: true. False once
 * *given_up is set and the user thread is woken: then the work may still be running, and
 * its asker must not look at it. Any scheduler's user threads. */
bool offload_run(struct offload *offload, struct work *work, const bool *given_up);

#endif
