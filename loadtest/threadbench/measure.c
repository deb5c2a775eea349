/* A run is a child with a process group of its own, which is killed whole: at the
 * time-out, after a crash, or when somebody interrupts. What it found lies in pages that
 * both see. It must never know what a benchmark computes. */
#include "measure.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

unsigned measure_cpus(void)
{
    cpu_set_t usable;

    return sched_getaffinity(0, sizeof(usable), &usable) == 0
               ? (unsigned)CPU_COUNT(&usable)
               : 1;
}

/* The last ones: the first serves most interrupts. */
static void cpus_keep(uint64_t count)
{
    cpu_set_t usable, kept;

    if (count == 0 || sched_getaffinity(0, sizeof(usable), &usable) < 0) {
        return;
    }
    CPU_ZERO(&kept);
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && count > 0; cpu--) {
        if (CPU_ISSET(cpu, &usable)) {
            CPU_SET(cpu, &kept);
            count--;
        }
    }
    (void)sched_setaffinity(0, sizeof(kept), &kept);
}

/* Pipes by the thousand. Not all may be allowed: then a benchmark says which it lacks. */
static void descriptors_allow(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void first_thread(struct rt_world *world, void *argument)
{
    struct run *run = argument;

    run->world = world;
    if (run->way->loaded != NULL) {
        run->way->loaded(run->outcome->loaded, sizeof(run->outcome->loaded));
    } else {
        run->rt->loaded(run->outcome->loaded, sizeof(run->outcome->loaded));
    }
    run->way->run(run);
    run->outcome->complete = true;
}

static _Noreturn void child_main(const struct plan *plan, const struct way *way,
                                 struct outcome *outcome, pid_t parent,
                                 const sigset_t *before)
{
    struct run run = {
        .rt = way->rt,
        .way = way,
        .params = &plan->params,
        .outcome = outcome,
    };
    int error;

    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Who fails kills its group, so it must be its own. */
    if (getpgrp() != getpid() || getppid() != parent) {
        _exit(1);
    }
    (void)sigprocmask(SIG_SETMASK, before, NULL);
    cpus_keep(plan->cpus);
    descriptors_allow();
    rt_kthreads = (unsigned)plan->kthreads;
    error = way->rt->start(first_thread, &run);
    if (error < 0) {
        answer_wrong(&outcome->answer, "the runtime: %s", strerror(-error));
    }
    exit(outcome->complete ? 0 : 1);
}

static void signals_of_parent(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGCHLD);
    (void)sigaddset(set, SIGINT);
    (void)sigaddset(set, SIGTERM);
    (void)sigaddset(set, SIGHUP);
}

static void status_explain(struct outcome *outcome, int status)
{
    if (outcome->answer.wrong || outcome->absent[0] != '\0' ||
        (outcome->complete && status == 0)) {
        return;
    }
    if (WIFSIGNALED(status)) {
        answer_wrong(&outcome->answer, "ended by signal %d", WTERMSIG(status));
    } else {
        answer_wrong(&outcome->answer, "ended with status %d", WEXITSTATUS(status));
    }
}

/* Processes of a run that ended badly may still wait for each other. Their parent is
 * gone, so they are this one's to wait for: the next run begins when none is left. */
static void group_end(pid_t group)
{
    (void)kill(-group, SIGKILL);
    while (waitpid(-group, NULL, 0) > 0) {
    }
}

/* 0, or -EINTR. */
static int child_await(pid_t child, const struct plan *plan, struct outcome *outcome)
{
    uint64_t deadline_ns = run_clock_ns() + plan->timeout_s * 1000000000;
    bool killed = false;
    int error = 0, status = 0;
    sigset_t set;

    signals_of_parent(&set);
    while (waitpid(child, &status, killed ? 0 : WNOHANG) == 0) {
        uint64_t now_ns = run_clock_ns();
        uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
        struct timespec left = {
            .tv_sec = (time_t)(left_ns / 1000000000),
            .tv_nsec = (long)(left_ns % 1000000000),
        };
        int signal_number = sigtimedwait(&set, NULL, &left);

        if (signal_number == SIGCHLD || (signal_number < 0 && errno == EINTR)) {
            continue;
        }
        if (signal_number < 0) {
            answer_wrong(&outcome->answer, "not done after %llu s",
                         (unsigned long long)plan->timeout_s);
        } else {
            error = -EINTR;
        }
        (void)kill(-child, SIGKILL);
        killed = true;
    }
    group_end(child);
    status_explain(outcome, status);
    return error;
}

static int measure_one(const struct plan *plan, const struct way *way,
                       struct outcome *outcome, const sigset_t *before)
{
    pid_t parent = getpid(), child;

    if (way->rt->absent != NULL) {
        (void)snprintf(outcome->absent, sizeof(outcome->absent), "%s", way->rt->absent);
        return 0;
    }
    (void)fflush(NULL); /* else the child would write it once more */
    child = fork();
    if (child < 0) {
        answer_wrong(&outcome->answer, "fork: %s", strerror(errno));
        return 0;
    }
    if (child == 0) {
        child_main(plan, way, outcome, parent, before);
    }
    (void)setpgid(child, child); /* whoever of the two comes first */
    return child_await(child, plan, outcome);
}

static size_t rows_of(const struct plan *plan)
{
    return plan->bench->rows != NULL ? plan->bench->rows(&plan->params) : 0;
}

static struct outcome *outcome_make(const struct measured *measured)
{
    void *pages = mmap(NULL, measured->outcome_bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct outcome *outcome = pages;

    if (pages == MAP_FAILED) {
        return NULL;
    }
    outcome->rows_count = rows_of(measured->plan);
    outcome->text_max = measured->plan->bench->text_max;
    return outcome;
}

int measure_all(struct measured *measured, const struct plan *plan)
{
    sigset_t blocked, before;

    *measured = (struct measured){
        .plan = plan,
        .outcomes = calloc(plan->rows_count * plan->runs, sizeof(struct outcome *)),
        .outcome_bytes = sizeof(struct outcome) +
                         rows_of(plan) * sizeof(struct thread_row) +
                         plan->bench->text_max,
    };
    if (measured->outcomes == NULL) {
        return -ENOMEM;
    }
    signals_of_parent(&blocked);
    (void)sigprocmask(SIG_BLOCK, &blocked, &before);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (size_t i = 0; i < plan->rows_count * plan->runs; i++) {
        /* Each round begins with another runtime, so that none is always the first. */
        size_t run = i / plan->rows_count;
        size_t rt = (i + run) % plan->rows_count;
        struct outcome *outcome = outcome_make(measured);
        int error;

        if (outcome == NULL) {
            return -ENOMEM;
        }
        measured->outcomes[rt * plan->runs + run] = outcome;
        error = measure_one(plan, &plan->rows[rt], outcome, &before);
        if (error < 0) {
            return error;
        }
    }
    return 0;
}

void measure_free(struct measured *measured)
{
    for (size_t i = 0; i < measured->plan->rows_count * measured->plan->runs; i++) {
        if (measured->outcomes != NULL && measured->outcomes[i] != NULL) {
            (void)munmap(measured->outcomes[i], measured->outcome_bytes);
        }
    }
    free(measured->outcomes);
}

const struct outcome *measure_outcome(const struct measured *measured, size_t rt,
                                      size_t run)
{
    return measured->outcomes[rt * measured->plan->runs + run];
}

/* Runs are ordered by it; less is better. */
static double cost_of(const struct bench *bench, const struct outcome *outcome)
{
    return bench->ranked > 0 ? -outcome->metrics[bench->ranked - 1] : outcome->real_s;
}

/* How many runs were better; of two equal ones, the earlier is. */
static size_t faster_runs(const struct measured *measured, size_t rt, size_t run)
{
    const struct bench *bench = measured->plan->bench;
    double own = cost_of(bench, measure_outcome(measured, rt, run));
    size_t faster = 0;

    for (size_t i = 0; i < measured->plan->runs; i++) {
        double other = cost_of(bench, measure_outcome(measured, rt, i));

        faster += other < own || (other == own && i < run);
    }
    return faster;
}

size_t measure_median(const struct measured *measured, size_t rt)
{
    size_t median = 0;

    for (size_t i = 0; i < measured->plan->runs; i++) {
        if (measure_outcome(measured, rt, i)->answer.wrong) {
            return i;
        }
        if (faster_runs(measured, rt, i) == measured->plan->runs / 2) {
            median = i;
        }
    }
    return median;
}
