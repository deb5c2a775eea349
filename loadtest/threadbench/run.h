/* One run of one benchmark on one runtime, in a process group of its own: threads that
 * start from a line and stop at one, and what is measured in between. It must never know
 * what they compute. */
#ifndef THREADBENCH_RUN_H
#define THREADBENCH_RUN_H

#include "bench.h"

struct line;

struct run {
    const struct rt *rt;
    const struct way *way;
    struct rt_world *world;
    const struct params *params;
    struct outcome *outcome;
    void *data;        /* the benchmark's own, shared */
    struct line *line; /* shared */
    struct moment began;
};

/* Threads that all stand ready before one moves. `body` is what is measured; all of them
 * have ended it before one goes on. */
struct race {
    size_t threads;
    /* Others that come to the finish: created by bodies, they call run_finish. */
    size_t more_at_finish;
    void (*body)(struct run *run, size_t number);
    /* The first thread's own part, meanwhile; NULL: none. */
    void (*lead)(struct run *run);
    /* By each thread when the measurement is over; NULL: nothing. */
    void (*after)(struct run *run, size_t number);
};

/* Runs the race and fills in the outcome's times, threads, memory and switches. By the
 * first thread. */
void run_race(struct run *run, const struct race *race);

/* For those that a body created; returns when the measurement is over. */
void run_finish(struct run *run);

/* Since the start, by any thread. */
uint64_t run_elapsed_ns(const struct run *run);

uint64_t run_clock_ns(void);

/* Shared memory, or the end of the run. */
void *run_share(struct run *run, size_t bytes);

/* A pipe, or the end of the run. */
void run_pipe(struct run *run, struct rt_descriptor ends[2]);

/* By any thread: this run cannot go on. Says why and ends the whole group. */
_Noreturn void run_stop(struct run *run, const char *what, int error);

/* By the first thread: this row cannot be had on this machine. Says why, and ends the run
 * without an answer. */
_Noreturn void run_absent(struct run *run, const char *format, ...) PRINTF_LIKE(2, 3);

/* Ends the run where error is negative. */
void run_must(struct run *run, const char *what, int error);

/* dividend / divisor; NAN where that says nothing. */
double run_ratio(double dividend, double divisor);

/* Of the whole race. */
uint64_t run_switches(const struct run *run);

#endif
