/* The line lies in shared memory: threads arrive, the first thread waits for the last of
 * them, looks at clocks and /proc while all stand, and lets them go. It must never know a
 * benchmark. */
#include "run.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <unistd.h>

#include "census.h"

struct runner {
    struct run *run;
    const struct race *race;
    size_t number;
    struct rt_thread *thread;
};

struct line {
    struct rt_mutex mutex;
    struct rt_condition arrived, opened;
    size_t expected, arrivals;
    unsigned phase;
    uint64_t opened_ns;
};

uint64_t run_clock_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t run_elapsed_ns(const struct run *run)
{
    return run_clock_ns() - run->line->opened_ns;
}

_Noreturn void run_stop(struct run *run, const char *what, int error)
{
    answer_wrong(&run->outcome->answer, "%s: %s", what, strerror(-error));
    /* The others may wait for ever for the one that failed. Nobody but this run is in the
     * group: the process that measures made it. */
    (void)kill(0, SIGKILL);
    _exit(1);
}

_Noreturn void run_absent(struct run *run, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(run->outcome->absent, sizeof(run->outcome->absent), format,
                    arguments);
    va_end(arguments);
    (void)kill(0, SIGKILL);
    _exit(1);
}

void run_must(struct run *run, const char *what, int error)
{
    if (error < 0) {
        run_stop(run, what, error);
    }
}

void *run_share(struct run *run, size_t bytes)
{
    void *memory = run->rt->share(bytes);

    if (memory == NULL) {
        run_stop(run, "shared memory", -ENOMEM);
    }
    return memory;
}

void run_pipe(struct run *run, struct rt_descriptor ends[2])
{
    run_must(run, "a pipe", rt_pipe(run->rt, ends));
}

double run_ratio(double dividend, double divisor)
{
    return divisor > 0 ? dividend / divisor : NAN;
}

uint64_t run_switches(const struct run *run)
{
    return run->outcome->used.voluntary + run->outcome->used.involuntary;
}

static void line_arrive(struct run *run)
{
    const struct rt *rt = run->rt;
    struct line *line = run->line;
    unsigned phase;

    rt->mark(run->world);
    rt->lock(&line->mutex);
    phase = line->phase;
    if (++line->arrivals == line->expected) {
        rt->signal(&line->arrived);
    }
    while (line->phase == phase) {
        rt->wait(&line->opened, &line->mutex);
    }
    rt->unlock(&line->mutex);
}

static void line_await(struct run *run)
{
    const struct rt *rt = run->rt;
    struct line *line = run->line;

    rt->lock(&line->mutex);
    while (line->arrivals < line->expected) {
        rt->wait(&line->arrived, &line->mutex);
    }
    rt->unlock(&line->mutex);
}

static void line_open(struct run *run, size_t expected_next)
{
    const struct rt *rt = run->rt;
    struct line *line = run->line;

    rt->lock(&line->mutex);
    line->arrivals = 0;
    line->expected = expected_next;
    line->phase++;
    rt->broadcast(&line->opened);
    rt->unlock(&line->mutex);
}

void run_finish(struct run *run)
{
    line_arrive(run);
}

static void runner_main(void *argument)
{
    struct runner *runner = argument;
    struct run *run = runner->run;

    line_arrive(run);
    runner->race->body(run, runner->number);
    line_arrive(run);
    if (runner->race->after != NULL) {
        runner->race->after(run, runner->number);
    }
}

static void moment_take(const struct run *run, struct moment *moment)
{
    run->rt->usage(run->world, &moment->usage);
    moment->ns = run_clock_ns();
}

/* While all stand at the line. */
static void census_note(struct run *run)
{
    struct outcome *outcome = run->outcome;
    struct census census;

    run_must(run, "/proc", census_take(getpgrp(), &census));
    if (census.kernel_threads > outcome->kernel_threads) {
        outcome->kernel_threads = census.kernel_threads;
    }
    if (census.memory_kib > outcome->peak_kib) {
        outcome->peak_kib = census.memory_kib;
    }
}

static void line_make(struct run *run, size_t expected)
{
    const struct rt *rt = run->rt;

    run->line = run_share(run, sizeof(*run->line));
    run->line->expected = expected;
    run_must(run, "a mutex", rt->mutex_init(&run->line->mutex));
    run_must(run, "a condition", rt->condition_init(&run->line->arrived));
    run_must(run, "a condition", rt->condition_init(&run->line->opened));
}

static void outcome_fill(struct run *run, const struct moment *ended)
{
    const struct moment *began = &run->began;
    struct outcome *outcome = run->outcome;

    outcome->real_s = (double)(ended->ns - began->ns) / 1e9;
    outcome->used = (struct rt_usage){
        .user_us = ended->usage.user_us - began->usage.user_us,
        .sys_us = ended->usage.sys_us - began->usage.sys_us,
        .voluntary = ended->usage.voluntary - began->usage.voluntary,
        .involuntary = ended->usage.involuntary - began->usage.involuntary,
    };
}

void run_race(struct run *run, const struct race *race)
{
    struct runner *runners = run_share(run, race->threads * sizeof(*runners));
    uint64_t created_ns = run_clock_ns();
    struct moment ended;

    line_make(run, race->threads);
    for (size_t i = 0; i < race->threads; i++) {
        runners[i] = (struct runner){ .run = run, .race = race, .number = i };
        run_must(
            run, "a thread",
            run->rt->create(run->world, &runners[i].thread, runner_main, &runners[i]));
    }
    line_await(run);
    run->outcome->create_s = (double)(run_clock_ns() - created_ns) / 1e9;
    census_note(run);
    moment_take(run, &run->began);
    run->line->opened_ns = run->began.ns;
    line_open(run, race->threads + race->more_at_finish);
    if (race->lead != NULL) {
        race->lead(run);
    }
    line_await(run);
    moment_take(run, &ended);
    census_note(run);
    line_open(run, 0);
    for (size_t i = 0; i < race->threads; i++) {
        run_must(run, "a join", run->rt->join(run->world, runners[i].thread));
    }
    run->outcome->end_s = (double)(run_clock_ns() - ended.ns) / 1e9;
    outcome_fill(run, &ended);
}
