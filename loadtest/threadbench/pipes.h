/* Many pipes, one writer that picks one at random, and whoever reads them: what the forms
 * of the benchmark `pipes` have in common. It must never know how a reader waits. */
#ifndef THREADBENCH_PIPES_H
#define THREADBENCH_PIPES_H

#include <stdatomic.h>

#include "run.h"

enum { PIPES_STORM, PIPES_CHAIN };
enum { PIPES_OVER_PIPE, PIPES_OVER_UNIX, PIPES_OVER_TCP };

/* One read takes as much, as in the published program. */
enum { PIPES_READ_BYTES = 1024 };

/* What a reader found; its own until the finish. */
struct pipes_count {
    uint64_t events, bytes, wakes;
    uint64_t ended; /* pipes in which the end was found */
};

struct events;

/* Shared. */
struct pipes {
    size_t count;
    struct rt_descriptor (*ends)[2];
    /* Of the chain: copies of the write ends, for whoever begins a turn; a descriptor has
     * one writer, and that is another reader. */
    struct rt_descriptor *starts;
    uint64_t written;           /* by the writer, without the ends */
    struct pipes_count *counts; /* one of each reader */
    size_t readers;

    /* Of the chain. */
    _Atomic uint64_t fired, left;
    uint64_t turns_ns;
    struct rt_mutex mutex;
    struct rt_condition turned;

    struct events *events; /* where one thread waits for all */
};

/* Makes run->data. Read ends are left blocking. */
void pipes_make(struct run *run, size_t readers);
void pipes_close(struct run *run);

/* The writer's part: for --seconds a byte to pipes at random, or one after the other, and
 * then the end to each. */
void pipes_write(struct run *run, bool in_turn);
void pipes_write_ends(struct run *run);

/* Accounts for what one read gave; true: the pipe may hold more. */
bool pipes_note(struct pipes_count *count, const char *bytes, size_t size);

/* What a read of a chain's pipe gave: `bytes` are fired, and as many are passed on as are
 * left. */
void pipes_pass_on(struct run *run, size_t number, size_t bytes);
void pipes_turn_begin(struct run *run);
bool pipes_turn_over(const struct run *run);

/* Sums up, checks and fills in the metrics. */
void pipes_conclude(struct run *run);

/* A descriptor becomes a wake. Functions end the run where they fail. */
struct event_kind {
    void (*open)(struct run *run, struct events *events);
    /* Blocks until one is ready, and calls events_ready for up to --batch of them. */
    void (*wait)(struct run *run, struct events *events);
    void (*close)(struct events *events);
};

struct events {
    const struct event_kind *kind;
    size_t count, batch;
    int *fds;
    struct pipes_count *counted;
    size_t from; /* where the next look begins, so that no pipe is always the last */
    void *own;   /* of the kind */
};

void events_ready(struct run *run, struct events *events, size_t number);

extern const struct event_kind event_uring;

/* Rows of their own. */
extern const struct way pipes_ways[];

#endif
