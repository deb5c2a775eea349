/* The command line: which benchmark, with what, on which runtimes, how often. It must
 * never know how a run is made. */
#ifndef THREADBENCH_PLAN_H
#define THREADBENCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "bench.h"

enum { PLAN_ROWS_MAX = 32, PLAN_ERROR_MAX = 200 };

struct plan {
    const struct bench *bench;
    struct params params;
    struct way rows[PLAN_ROWS_MAX];
    size_t rows_count;
    const char *rt_list;
    uint64_t runs;
    uint64_t cpus;     /* 0: all that may be used */
    uint64_t kthreads; /* of hybrid */
    uint64_t timeout_s;
    bool json;
    bool layout; /* print as the published program did */
    bool help;   /* nothing but help was asked for; bench may be NULL */
};

/* Strings of argv are borrowed. false: the error says why, in one line. */
bool plan_read(struct plan *plan, int argc, char **argv,
               char error[PLAN_ERROR_MAX]) MUST_CHECK;

/* Of one benchmark; NULL: the list of them. */
void plan_help(FILE *file, const struct bench *bench);

/* The benchmark's parameter in words, or its number. */
void plan_value(const struct params *params, const struct argument *argument, char *text,
                size_t size);

#endif
