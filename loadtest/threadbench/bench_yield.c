/* Threads that yield in a loop and count how often another one ran in between; `io` also
 * writes and reads a file each. Linux may return from a yield without a switch, so the
 * time is told per yield and per switch. It must never know the runtime. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <sys/stat.h>
#include <unistd.h>

#include "run.h"
#include "yield_ucontext.h"

/* As the published program has it. */
enum { IO_FILE_BYTES = 10000 };

/* Yields, and counts if another one ran. */
static void yield_once(struct run *run, uintptr_t self, struct thread_row *row)
{
    run->rt->yield();
    row->reverses += yield_note(run->data, self);
}

/* Its own row is written at the end: rows are neighbours in the cache. */
static void yield_body(struct run *run, size_t number)
{
    uintptr_t self = run->rt->self(run->world);
    struct thread_row row = { .start_ns = run_elapsed_ns(run) };

    for (uint64_t i = 0; i < run->params->reps; i++) {
        yield_once(run, self, &row);
        row.count++;
    }
    row.end_ns = run_elapsed_ns(run);
    run->outcome->rows[number] = row;
}

static void file_write(struct run *run, int fd, const char *bytes)
{
    if (lseek(fd, 0, SEEK_SET) < 0) {
        run_stop(run, "a seek", -errno);
    }
    for (size_t done = 0; done < IO_FILE_BYTES;) {
        ssize_t count = write(fd, bytes + done, IO_FILE_BYTES - done);

        if (count < 0) {
            run_stop(run, "a write to a file", -errno);
        }
        done += (size_t)count;
    }
}

static void file_read(struct run *run, int fd, char *bytes)
{
    if (lseek(fd, 0, SEEK_SET) < 0) {
        run_stop(run, "a seek", -errno);
    }
    for (size_t done = 0; done < IO_FILE_BYTES;) {
        ssize_t count = read(fd, bytes + done, IO_FILE_BYTES - done);

        if (count <= 0) {
            run_stop(run, "a read of a file", count < 0 ? -errno : -EIO);
        }
        done += (size_t)count;
    }
}

/* Only the first and last bytes differ from round to round: to fill and check all of them
 * each time would be most of the time. All are checked in the last round. */
static void stamp(char *bytes, uint64_t round)
{
    bytes[0] = (char)round;
    bytes[IO_FILE_BYTES - 1] = (char)(round >> 8);
}

static void stamp_check(struct run *run, const char *bytes, uint64_t round, size_t number)
{
    struct answer *answer = &run->outcome->answer;

    if (bytes[0] != (char)round || bytes[IO_FILE_BYTES - 1] != (char)(round >> 8)) {
        answer_wrong(answer, "thread %zu read another round's bytes", number);
    }
    if (round + 1 == run->params->reps &&
        answer_pattern_check(bytes + 1, IO_FILE_BYTES - 2, number) != IO_FILE_BYTES - 2) {
        answer_wrong(answer, "thread %zu read other bytes than it wrote", number);
    }
}

static void io_body(struct run *run, size_t number)
{
    struct yielding *yielding = run->data;
    char *bytes = yielding->buffers + number * IO_FILE_BYTES;
    int fd = yielding->fds[number];
    uintptr_t self = run->rt->self(run->world);
    struct thread_row row = { .start_ns = run_elapsed_ns(run) };

    for (uint64_t i = 0; i < run->params->reps; i++) {
        stamp(bytes, i);
        file_write(run, fd, bytes);
        yield_once(run, self, &row);
        row.count++;
        stamp(bytes, i + 1); /* so that what is read must come from the file */
        file_read(run, fd, bytes);
        stamp_check(run, bytes, i, number);
        yield_once(run, self, &row);
    }
    row.end_ns = run_elapsed_ns(run);
    run->outcome->rows[number] = row;
}

/* Removed at once, so nothing is left however the run ends. */
static int file_make(struct run *run)
{
    char path[4096];
    int fd;

    if (snprintf(path, sizeof(path), "%s/threadbench-XXXXXX", run->params->dir) >=
        (int)sizeof(path)) {
        run_stop(run, "--dir", -ENAMETOOLONG);
    }
    fd = mkstemp(path);
    if (fd < 0) {
        run_stop(run, "a file in --dir", -errno);
    }
    (void)unlink(path);
    return fd;
}

static void yielding_make(struct run *run)
{
    struct yielding *yielding = run_share(run, sizeof(*yielding));
    size_t threads = run->params->threads;

    run->data = yielding;
    if (!run->params->disk) {
        return;
    }
    yielding->fds = run_share(run, threads * sizeof(*yielding->fds));
    yielding->buffers = run_share(run, threads * IO_FILE_BYTES);
    for (size_t i = 0; i < threads; i++) {
        yielding->fds[i] = file_make(run);
        answer_pattern_fill(yielding->buffers + i * IO_FILE_BYTES + 1, IO_FILE_BYTES - 2,
                            i);
    }
}

static void yield_conclude(struct run *run)
{
    const struct params *params = run->params;
    struct outcome *outcome = run->outcome;
    double yields = (double)params->threads * (double)params->reps;
    uint64_t reverses = 0;

    for (size_t i = 0; i < params->threads; i++) {
        answer_expect_of(&outcome->answer, i, "the count", outcome->rows[i].count,
                         params->reps);
        reverses += outcome->rows[i].reverses;
        if (params->disk) {
            (void)close(((struct yielding *)run->data)->fds[i]);
        }
    }
    answer_say(&outcome->answer, "%zu x %" PRIu64, (size_t)params->threads, params->reps);
    outcome->metrics[0] = outcome->real_s * 1e9 / (params->disk ? 2 * yields : yields);
    outcome->metrics[1] = run_ratio(outcome->real_s * 1e9, (double)reverses);
    outcome->metrics[2] = (double)reverses;
}

static void yield_run(struct run *run)
{
    const struct params *params = run->params;
    struct race race = {
        .threads = params->threads,
        .body = params->disk ? io_body : yield_body,
    };

    yielding_make(run);
    run_race(run, &race);
    yield_conclude(run);
}

static void ucontext_run(struct run *run)
{
    yielding_make(run);
    yield_ucontext_race(run, run->data);
    yield_conclude(run);
}

static const struct way threads_ways[] = {
    { .name = "hybrid-system", .rt = &rt_hybrid_system, .run = yield_run },
    { .name = NULL },
};

/* The bare contexts have no disk form. */
static const struct way yield_ways[] = {
    { .name = "hybrid-system", .rt = &rt_hybrid_system, .run = yield_run },
    { .name = "ucontext",
      .rt = &rt_pthread,
      .run = ucontext_run,
      .loaded = yield_ucontext_loaded },
    { .name = NULL },
};

static size_t yield_rows(const struct params *params)
{
    return params->threads;
}

static void yield_layout(const struct params *params, const struct outcome *outcome)
{
    (void)printf("%6s %10s %12s %12s %10s\n", "Thread", "Count", "Start", "End",
                 "Reverses");
    for (size_t i = 0; i < params->threads; i++) {
        const struct thread_row *row = &outcome->rows[i];

        (void)printf("%6zu %10" PRIu64 " %12.6f %12.6f %10" PRIu64 "\n", i, row->count,
                     (double)row->start_ns / 1e9, (double)row->end_ns / 1e9,
                     row->reverses);
    }
    (void)printf("Total elapsed time: %.6f\n", outcome->real_s);
    (void)printf("# %.1f ns per yield, ", outcome->metrics[0]);
    if (isnan(outcome->metrics[1])) {
        (void)printf("no switch seen\n");
    } else {
        (void)printf("%.1f ns per switch seen\n", outcome->metrics[1]);
    }
}

static const struct word disk_words[] = { { .text = "i", .value = 1 },
                                          { .text = "none", .value = 0 },
                                          { .text = NULL } };

/* The published program takes all of them, the disk form all but the first, and `yield`
 * the last two. */
enum { FROM_DIR = 1, FROM_REPS = 2 };
static const struct argument test1_arguments[] = {
    { .name = "disk",
      .offset = offsetof(struct params, disk),
      .least = 1,
      .most = 0,
      .words = disk_words,
      .help = "the disk form" },
    { .name = "dir",
      .offset = offsetof(struct params, dir),
      .text = true,
      .help = "where the files of the disk form go" },
    { .name = "reps",
      .offset = offsetof(struct params, reps),
      .least = 1,
      .most = 1000000000,
      .help = "of each thread" },
    { .name = "threads",
      .offset = offsetof(struct params, threads),
      .least = 1,
      .most = 30000,
      .help = "that yield to each other" },
    { .name = NULL },
};

static const struct metric yield_metrics[] = {
    { "ns_per_yield", "ns/yield", 1 },
    { "ns_per_switch", "ns/switch", 1 },
    { "reverses", "reverses", 0 },
    { NULL, NULL, 0 },
};

static const char *const test1_positionals[] = { "reps", "threads", "disk", NULL };
static const char *const no_positionals[] = { NULL };

const struct bench bench_yield = {
    .name = "yield",
    .help = "threads that yield, and what a real switch costs",
    .defaults = { .reps = 100000, .threads = 10 },
    .arguments = &test1_arguments[FROM_REPS],
    .positionals = no_positionals,
    .metrics = yield_metrics,
    .rows = yield_rows,
    .run = yield_run,
    .ways = yield_ways,
};

const struct bench bench_test1 = {
    .name = "test1",
    .help = "the same as published: test1 REPS THREADS [i]",
    .defaults = { .reps = 100000, .threads = 10, .dir = "." },
    .arguments = test1_arguments,
    .positionals = test1_positionals,
    .metrics = yield_metrics,
    .rows = yield_rows,
    .run = yield_run,
    .ways = threads_ways,
    .layout = yield_layout,
    .always_layout = true,
};

const struct bench bench_io = {
    .name = "io",
    .help = "the same, and a file of 10,000 bytes is written and read",
    .defaults = { .reps = 10000, .threads = 10, .disk = 1, .dir = "." },
    .arguments = &test1_arguments[FROM_DIR],
    .positionals = no_positionals,
    .metrics = yield_metrics,
    .rows = yield_rows,
    .run = yield_run,
    .ways = threads_ways,
};
