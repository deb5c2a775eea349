/* What a benchmark is: its parameters, its numbers and its program. It must never know
 * how they are read from a command line or printed. */
#ifndef THREADBENCH_BENCH_H
#define THREADBENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answer.h"
#include "rt.h"

enum { METRICS_MAX = 10, LOADED_MAX = 80 };

/* Of every benchmark; each names those that it takes. */
struct params {
    uint64_t threads, messages, mailbox;
    uint64_t reps, disk;
    uint64_t items, cap, signal, alloc;
    uint64_t count, creators, live;
    uint64_t size, rounds;
    uint64_t mode, trips, block;
    uint64_t handles, over, batch, limit, seconds;
    uint64_t active, writes, turns;
    uint64_t groups, members, loops;
    uint64_t messengers, work;
    uint64_t seed;
    const char *dir, *string;
};

/* A word that stands for a number. */
struct word {
    const char *text; /* NULL ends a list */
    uint64_t value;
    char letter; /* an option of the published program that means it, or 0 */
};

struct argument {
    const char *name;         /* NULL ends a list */
    size_t offset;            /* in struct params */
    bool text;                /* a const char *, else a uint64_t */
    char letter;              /* its name in the published program, or 0 */
    uint64_t least, most;     /* numbers allowed; least > most: words only */
    const struct word *words; /* or NULL */
    const char *help;
};

struct metric {
    const char *name;  /* of JSON */
    const char *title; /* of the table */
    int decimals;
};

struct moment {
    uint64_t ns; /* of the monotonic clock */
    struct rt_usage usage;
};

/* What one thread has to say. */
struct thread_row {
    uint64_t count, start_ns, end_ns, reverses;
};

/* In pages that the process which measures shares with the one that is measured. */
struct outcome {
    bool complete; /* the run came to its end, with a right answer or a wrong one */
    struct answer answer;
    char loaded[LOADED_MAX];
    char absent[ANSWER_TEXT_MAX]; /* why it cannot be had here; then there is no answer */
    uint64_t kernel_threads;
    uint64_t peak_kib;
    double create_s, real_s;
    double end_s; /* from the end of the work until all were joined */
    struct rt_usage used;
    double metrics[METRICS_MAX]; /* NAN: does not apply */
    size_t rows_count, text_max;
    struct thread_row rows[]; /* text follows them, see outcome_text */
};

/* What the benchmark has to say in words, text_max bytes with the zero at the end. */
static inline char *outcome_text(const struct outcome *outcome)
{
    return (char *)&outcome->rows[outcome->rows_count];
}

struct run;

/* What a row measures: a runtime, or a way of its own to do a benchmark's work. */
struct way {
    const char *name;    /* NULL ends a list */
    const struct rt *rt; /* starts it, shares its memory, keeps its account */
    /* As the first thread of the runtime: computes, checks, fills the outcome. */
    void (*run)(struct run *run);
    void (*loaded)(char *text, size_t size); /* NULL: the runtime's */
    const void *detail;                      /* the benchmark's own */
};

struct bench {
    const char *name;
    const char *help;
    struct params defaults;
    const struct argument *arguments;
    /* Names of those that may be given without one, in order; NULL ends it. */
    const char *const *positionals;
    const struct metric *metrics; /* a NULL name ends it */
    /* Threads that report a row, or NULL: none. */
    size_t (*rows)(const struct params *params);
    size_t text_max; /* of what it has to say in words */
    /* What else is wrong with the parameters; NULL: nothing. */
    const char *(*refuse)(const struct params *params);
    /* 1 + the number of the metric that orders runs, where they all take as long; more of it
     * is better. 0: their time orders them. */
    size_t ranked;
    void (*run)(struct run *run); /* on every runtime */
    const struct way *ways;       /* more rows; NULL: none */
    /* Prints as the published program did; NULL: it is not one. */
    void (*layout)(const struct params *params, const struct outcome *outcome);
    bool always_layout; /* the name is the published program's */
    /* Instead of all that: does something else and gives the exit status. */
    int (*tool)(const struct params *params);
};

extern const struct bench bench_message, bench_yield, bench_test1, bench_io, bench_aqueue,
    bench_crew, bench_create, bench_ctx, bench_pipe, bench_pipes, bench_hack, bench_wake,
    bench_mktree;

/* NULL ends it. */
extern const struct bench *const bench_table[];

#endif
