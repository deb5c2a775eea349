/* Makes the runs, each in a fresh process, runtimes in turn. It must never know what a
 * benchmark computes. */
#ifndef THREADBENCH_MEASURE_H
#define THREADBENCH_MEASURE_H

#include "plan.h"

struct measured {
    const struct plan *plan;   /* borrowed */
    struct outcome **outcomes; /* plan->rows_count x plan->runs */
    size_t outcome_bytes;
};

/* 0, -ENOMEM, or -EINTR: a signal asked to end; all processes have ended then. The
 * caller's signals SIGCHLD, SIGINT, SIGTERM and SIGHUP are blocked from then on. */
int measure_all(struct measured *measured, const struct plan *plan) MUST_CHECK;

void measure_free(struct measured *measured);

const struct outcome *measure_outcome(const struct measured *measured, size_t rt,
                                      size_t run);

/* The run whose time is the median of a runtime's; that with a wrong answer, if any. */
size_t measure_median(const struct measured *measured, size_t rt);

/* How many CPUs may be used. */
unsigned measure_cpus(void);

#endif
