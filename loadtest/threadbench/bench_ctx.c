/* A token round a ring of threads joined by pipes; each sums an array of its own first,
 * so that a switch also pays for a cold cache. What the same work costs one thread alone
 * is measured before and subtracted. It must never know the runtime. */
#include <inttypes.h>

#include "uv_loop.h"

enum { ALONE_MAX = 10000 };

struct ring {
    struct rt_descriptor (*pipes)[2]; /* thread i reads pipes[i] */
    uint32_t *arrays;
    size_t words; /* of each array */
    uint64_t *sums;
    struct loop *loop; /* of the event form */
    uint64_t hops_left;
};

static uint64_t array_sum(const struct ring *ring, size_t number)
{
    const uint32_t *array = ring->arrays + number * ring->words;
    uint64_t sum = 0;

    for (size_t i = 0; i < ring->words; i++) {
        sum += array[i];
    }
    return sum;
}

static void ctx_body(struct run *run, size_t number)
{
    struct ring *ring = run->data;
    size_t next = number + 1 < run->params->threads ? number + 1 : 0;
    uint64_t token, sum = 0;

    for (uint64_t i = 0; i < run->params->rounds; i++) {
        run_must(run, "a read of a pipe",
                 rt_read_all(run->rt, &ring->pipes[number][0], &token, sizeof(token)));
        sum += array_sum(ring, number);
        token++;
        run_must(run, "a write to a pipe",
                 rt_write_all(run->rt, &ring->pipes[next][1], &token, sizeof(token)));
    }
    ring->sums[number] = sum;
}

static void token_put(struct run *run)
{
    struct ring *ring = run->data;
    uint64_t token = 0;

    run_must(run, "a write to a pipe",
             rt_write_all(run->rt, &ring->pipes[0][1], &token, sizeof(token)));
}

/* ns for one write, sum and read by one thread, with its array in the cache. */
static double alone_ns(struct run *run)
{
    struct ring *ring = run->data;
    uint64_t times = run->params->rounds < ALONE_MAX ? run->params->rounds : ALONE_MAX;
    uint64_t began = run_clock_ns(), token = 0, sum = 0;

    for (uint64_t i = 0; i < times; i++) {
        run_must(run, "a write to a pipe",
                 rt_write_all(run->rt, &ring->pipes[0][1], &token, sizeof(token)));
        sum += array_sum(ring, 0);
        run_must(run, "a read of a pipe",
                 rt_read_all(run->rt, &ring->pipes[0][0], &token, sizeof(token)));
        token++;
    }
    answer_expect(&run->outcome->answer, "the token of one thread", token, times);
    answer_expect(&run->outcome->answer, "the sum of one thread", sum,
                  times * ring->words);
    return (double)(run_clock_ns() - began) / (double)times;
}

static void ring_make(struct run *run)
{
    struct ring *ring = run_share(run, sizeof(*ring));
    size_t threads = run->params->threads;

    ring->words = run->params->size / sizeof(uint32_t);
    ring->pipes = run_share(run, threads * sizeof(*ring->pipes));
    ring->sums = run_share(run, threads * sizeof(*ring->sums));
    ring->arrays = run_share(run, threads * ring->words * sizeof(*ring->arrays));
    for (size_t i = 0; i < threads * ring->words; i++) {
        ring->arrays[i] = 1;
    }
    for (size_t i = 0; i < threads; i++) {
        run_pipe(run, ring->pipes[i]);
    }
    run->data = ring;
}

static void ctx_check(struct run *run)
{
    struct ring *ring = run->data;
    struct answer *answer = &run->outcome->answer;
    uint64_t rounds = run->params->rounds, token = 0;

    run_must(run, "a read of a pipe",
             rt_read_all(run->rt, &ring->pipes[0][0], &token, sizeof(token)));
    answer_expect(answer, "the token", token, run->params->threads * rounds);
    for (size_t i = 0; i < run->params->threads; i++) {
        answer_expect_of(answer, i, "the sum", ring->sums[i], rounds * ring->words);
        run->rt->close(&ring->pipes[i][0]);
        run->rt->close(&ring->pipes[i][1]);
    }
    answer_say(answer, "token %" PRIu64, token);
}

static void station_called(struct run *run, size_t number)
{
    struct ring *ring = run->data;
    size_t next = number + 1 < run->params->threads ? number + 1 : 0;
    uint64_t token;

    run_must(run, "a read of a pipe",
             rt_read_all(run->rt, &ring->pipes[number][0], &token, sizeof(token)));
    ring->sums[number] += array_sum(ring, number);
    token++;
    run_must(run, "a write to a pipe",
             rt_write_all(run->rt, &ring->pipes[next][1], &token, sizeof(token)));
    if (--ring->hops_left == 0) {
        loop_end(ring->loop);
    }
}

static void stations_lead(struct run *run)
{
    token_put(run);
    loop_run(((struct ring *)run->data)->loop);
}

static void ctx_run_race(struct run *run, const struct race *race)
{
    struct outcome *outcome = run->outcome;
    double hops = (double)run->params->threads * (double)run->params->rounds;
    double alone;

    alone = alone_ns(run);
    run_race(run, race);
    ctx_check(run);
    outcome->metrics[0] = (outcome->real_s * 1e9 / hops - alone) / 1e3;
    outcome->metrics[1] = outcome->real_s * 1e6 / hops;
    outcome->metrics[2] = alone / 1e3;
    outcome->metrics[3] = (double)run_switches(run) / hops;
}

static void ctx_run(struct run *run)
{
    struct race race = {
        .threads = run->params->threads,
        .body = ctx_body,
        .lead = token_put,
    };

    ring_make(run);
    ctx_run_race(run, &race);
}

static void ctx_uv_run(struct run *run)
{
    static const struct race race = { .threads = 0, .lead = stations_lead };
    size_t threads = run->params->threads;
    struct ring *ring;

    ring_make(run);
    ring = run->data;
    ring->hops_left = threads * run->params->rounds;
    ring->loop = loop_open(run, threads, station_called);
    for (size_t i = 0; i < threads; i++) {
        loop_add_watch(ring->loop, i, ring->pipes[i][0].fd, RT_READ);
    }
    ctx_run_race(run, &race);
    loop_close(ring->loop);
}

static const struct way ctx_ways[] = {
    { .name = "uv", .rt = &rt_pthread, .run = ctx_uv_run, .loaded = loop_loaded },
    { .name = NULL },
};

static const struct argument ctx_arguments[] = {
    { .name = "threads",
      .offset = offsetof(struct params, threads),
      .least = 2,
      .most = 10000,
      .help = "in the ring" },
    { .name = "size",
      .offset = offsetof(struct params, size),
      .least = 0,
      .most = 67108864,
      .help = "bytes of the array that each sums" },
    { .name = "rounds",
      .offset = offsetof(struct params, rounds),
      .letter = 'n',
      .least = 1,
      .most = 1000000000,
      .help = "of the token" },
    { .name = NULL },
};

static const struct metric ctx_metrics[] = {
    { "us_per_switch", "us/switch", 2 },
    { "us_per_hop", "us/hop", 2 },
    { "us_alone", "us alone", 2 },
    { "switches_per_hop", "switches/hop", 2 },
    { NULL, NULL, 0 },
};

static const char *const ctx_positionals[] = { NULL };

const struct bench bench_ctx = {
    .name = "ctx",
    .help = "a token round a ring of pipes, less what it costs alone",
    .defaults = { .threads = 2, .rounds = 100000 },
    .arguments = ctx_arguments,
    .positionals = ctx_positionals,
    .metrics = ctx_metrics,
    .run = ctx_run,
    .ways = ctx_ways,
};
