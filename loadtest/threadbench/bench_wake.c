/* How long after it was told a thread runs. Messengers wake workers that multiply matrices
 * and then wait to be told again, as schbench does. It must never know the runtime. */
#include <inttypes.h>
#include <string.h>

#include "run.h"
#include "spread.h"

enum { MATRIX = 16 };

/* Under the messenger's mutex. */
struct worker {
    struct rt_condition told;
    struct worker *next; /* of those that wait */
    uint64_t told_ns;    /* 0: not told */
};

struct messenger {
    struct rt_mutex mutex;
    struct rt_condition asked;
    struct worker *waiting;
    uint64_t left; /* requests that it will not have to give */
};

/* Of each worker alone. */
struct wake_row {
    struct spread wakes, requests;
    uint64_t product;
};

struct wake {
    struct messenger *messengers;
    struct worker *workers;
    struct wake_row *rows;
};

/* `times` products of a matrix with itself, from the same start each time; a number that
 * depends on all of them. */
static uint64_t multiply(uint64_t times)
{
    uint32_t matrix[MATRIX][MATRIX], product[MATRIX][MATRIX];
    uint64_t sum = 0;

    for (uint32_t i = 0; i < MATRIX * MATRIX; i++) {
        matrix[i / MATRIX][i % MATRIX] = i + 1;
    }
    for (uint64_t n = 0; n < times; n++) {
        for (int i = 0; i < MATRIX; i++) {
            for (int j = 0; j < MATRIX; j++) {
                product[i][j] = 0;
                for (int k = 0; k < MATRIX; k++) {
                    product[i][j] += matrix[i][k] * matrix[k][j];
                }
            }
        }
        memcpy(matrix, product, sizeof(matrix));
        sum += matrix[n % MATRIX][MATRIX - 1];
    }
    return sum;
}

/* Until told; the time when that was. */
static uint64_t worker_await(struct run *run, struct messenger *messenger,
                             struct worker *worker)
{
    uint64_t told_ns;

    run->rt->lock(&messenger->mutex);
    worker->told_ns = 0;
    worker->next = messenger->waiting;
    messenger->waiting = worker;
    run->rt->signal(&messenger->asked);
    while (worker->told_ns == 0) {
        run->rt->wait(&worker->told, &messenger->mutex);
    }
    told_ns = worker->told_ns;
    run->rt->unlock(&messenger->mutex);
    return told_ns;
}

static void worker_run(struct run *run, size_t number)
{
    struct wake *wake = run->data;
    struct wake_row *row = &wake->rows[number];
    struct messenger *messenger = &wake->messengers[number / run->params->threads];

    for (uint64_t i = 0; i < run->params->reps; i++) {
        uint64_t told_ns = worker_await(run, messenger, &wake->workers[number]);

        spread_add(&row->wakes, run_clock_ns() - told_ns);
        row->product += multiply(run->params->work);
        spread_add(&row->requests, run_clock_ns() - told_ns);
    }
}

/* Tells all that wait, then waits until one does. */
static void messenger_run(struct run *run, size_t number)
{
    struct wake *wake = run->data;
    struct messenger *messenger = &wake->messengers[number];

    run->rt->lock(&messenger->mutex);
    while (messenger->left > 0) {
        struct worker *worker = messenger->waiting;

        if (worker == NULL) {
            run->rt->wait(&messenger->asked, &messenger->mutex);
            continue;
        }
        messenger->waiting = worker->next;
        messenger->left--;
        worker->told_ns = run_clock_ns();
        run->rt->signal(&worker->told);
    }
    run->rt->unlock(&messenger->mutex);
}

static void wake_body(struct run *run, size_t number)
{
    size_t messengers = run->params->messengers;

    if (number < messengers) {
        messenger_run(run, number);
    } else {
        worker_run(run, number - messengers);
    }
}

static void wake_make(struct run *run)
{
    const struct params *params = run->params;
    size_t workers = params->messengers * params->threads;
    struct wake *wake = run_share(run, sizeof(*wake));

    wake->messengers = run_share(run, params->messengers * sizeof(*wake->messengers));
    wake->workers = run_share(run, workers * sizeof(*wake->workers));
    wake->rows = run_share(run, workers * sizeof(*wake->rows));
    for (size_t i = 0; i < params->messengers; i++) {
        struct messenger *messenger = &wake->messengers[i];

        run_must(run, "a mutex", run->rt->mutex_init(&messenger->mutex));
        run_must(run, "a condition", run->rt->condition_init(&messenger->asked));
        messenger->left = params->threads * params->reps;
    }
    for (size_t i = 0; i < workers; i++) {
        run_must(run, "a condition", run->rt->condition_init(&wake->workers[i].told));
    }
    run->data = wake;
}

static void wake_conclude(struct run *run, size_t workers)
{
    static const unsigned parts[] = { 500, 900, 990, 999 };
    const struct params *params = run->params;
    const struct wake *wake = run->data;
    struct outcome *outcome = run->outcome;
    struct spread *wakes = run_share(run, sizeof(*wakes));
    struct spread *requests = run_share(run, sizeof(*requests));
    uint64_t product = multiply(params->work);

    for (size_t i = 0; i < workers; i++) {
        spread_merge(wakes, &wake->rows[i].wakes);
        spread_merge(requests, &wake->rows[i].requests);
        answer_expect_of(&outcome->answer, i, "the product", wake->rows[i].product,
                         product * params->reps);
    }
    answer_expect(&outcome->answer, "the number of requests", wakes->count,
                  workers * params->reps);
    answer_say(&outcome->answer, "%" PRIu64 " requests", wakes->count);
    for (size_t i = 0; i < 4; i++) {
        outcome->metrics[i] = (double)spread_at(wakes, parts[i]) / 1e3;
    }
    outcome->metrics[4] = (double)wakes->most / 1e3;
    outcome->metrics[5] = (double)spread_at(requests, 500) / 1e3;
    outcome->metrics[6] = (double)spread_at(requests, 990) / 1e3;
    outcome->metrics[7] = run_ratio((double)wakes->count, outcome->real_s);
}

static void wake_run(struct run *run)
{
    size_t workers = run->params->messengers * run->params->threads;
    struct race race = {
        .threads = run->params->messengers + workers,
        .body = wake_body,
    };

    wake_make(run);
    run_race(run, &race);
    wake_conclude(run, workers);
}

static const struct argument wake_arguments[] = {
    { .name = "messengers",
      .offset = offsetof(struct params, messengers),
      .letter = 'm',
      .least = 1,
      .most = 1000,
      .help = "that wake workers" },
    { .name = "workers",
      .offset = offsetof(struct params, threads),
      .letter = 't',
      .least = 1,
      .most = 1000,
      .help = "of each messenger" },
    { .name = "reps",
      .offset = offsetof(struct params, reps),
      .least = 1,
      .most = 100000000,
      .help = "requests of each worker" },
    { .name = "work",
      .offset = offsetof(struct params, work),
      .least = 0,
      .most = 1000000,
      .help = "products of two matrices of 16 x 16 in each request" },
    { .name = NULL },
};

static const struct metric wake_metrics[] = {
    { "wake_us_p50", "p50 us", 1 },
    { "wake_us_p90", "p90 us", 1 },
    { "wake_us_p99", "p99 us", 1 },
    { "wake_us_p99_9", "p99.9 us", 1 },
    { "wake_us_max", "max us", 1 },
    { "request_us_p50", "req p50", 1 },
    { "request_us_p99", "req p99", 1 },
    { "requests_per_s", "requests/s", 0 },
    { NULL, NULL, 0 },
};

static const char *const wake_positionals[] = { NULL };

const struct bench bench_wake = {
    .name = "wake",
    .help = "how long after it was told a thread runs (schbench)",
    .defaults = { .messengers = 2, .threads = 8, .reps = 2000, .work = 4 },
    .arguments = wake_arguments,
    .positionals = wake_positionals,
    .metrics = wake_metrics,
    .run = wake_run,
};
