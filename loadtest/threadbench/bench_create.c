/* Empty threads, created and joined in batches. Each counts itself, so that none is
 * missed. It must never know the runtime. */
#include <inttypes.h>
#include <stdatomic.h>

#include "run.h"

struct creating {
    _Atomic uint64_t ran;
    struct rt_thread **living; /* `live` for each creator */
};

static void child_body(void *argument)
{
    struct run *run = argument;
    struct creating *creating = run->data;

    atomic_fetch_add_explicit(&creating->ran, 1, memory_order_relaxed);
}

/* Of a creator's last batch: they stand at the finish, where kernel threads are counted.
 */
static void last_child_body(void *argument)
{
    child_body(argument);
    run_finish(argument);
}

static uint64_t share_of(const struct params *params, size_t number)
{
    return params->count / params->creators + (number < params->count % params->creators);
}

static uint64_t last_batch_of(const struct params *params, size_t number)
{
    uint64_t share = share_of(params, number);

    return share < params->live ? share : params->live;
}

static struct rt_thread **living_of(const struct run *run, size_t number)
{
    return ((struct creating *)run->data)->living + number * run->params->live;
}

static void batch_create(struct run *run, size_t number, uint64_t size,
                         void (*body)(void *))
{
    struct rt_thread **living = living_of(run, number);

    for (uint64_t i = 0; i < size; i++) {
        run_must(run, "a thread", run->rt->create(run->world, &living[i], body, run));
    }
}

static void batch_join(struct run *run, size_t number, uint64_t size)
{
    struct rt_thread **living = living_of(run, number);

    for (uint64_t i = 0; i < size; i++) {
        run_must(run, "a join", run->rt->join(run->world, living[i]));
    }
}

static void create_body(struct run *run, size_t number)
{
    uint64_t last = last_batch_of(run->params, number);
    uint64_t left = share_of(run->params, number) - last;

    while (left > 0) {
        uint64_t size = left < run->params->live ? left : run->params->live;

        batch_create(run, number, size, child_body);
        batch_join(run, number, size);
        left -= size;
    }
    batch_create(run, number, last, last_child_body);
}

static void create_after(struct run *run, size_t number)
{
    batch_join(run, number, last_batch_of(run->params, number));
}

static void create_run(struct run *run)
{
    const struct params *params = run->params;
    struct race race = {
        .threads = params->creators,
        .body = create_body,
        .after = create_after,
    };
    struct outcome *outcome = run->outcome;
    struct creating *creating = run_share(run, sizeof(*creating));
    double count = (double)params->count;

    creating->living =
        run_share(run, params->creators * params->live * sizeof(struct rt_thread *));
    run->data = creating;
    for (size_t i = 0; i < params->creators; i++) {
        race.more_at_finish += last_batch_of(params, i);
    }
    run_race(run, &race);
    answer_expect(&outcome->answer, "the number of threads that ran", creating->ran,
                  params->count);
    answer_say(&outcome->answer, "%" PRIu64 " ran", (uint64_t)creating->ran);
    outcome->metrics[0] = outcome->real_s * 1e6 / count;
    outcome->metrics[1] = run_ratio(count, outcome->real_s);
    outcome->metrics[2] = (double)run_switches(run) / count;
}

static const char *create_refuse(const struct params *params)
{
    return params->creators * params->live > 30000 ? "more than 30000 would be alive"
                                                   : NULL;
}

static const struct argument create_arguments[] = {
    { .name = "count",
      .offset = offsetof(struct params, count),
      .letter = 'n',
      .least = 1,
      .most = 1000000000,
      .help = "threads created in all" },
    { .name = "creators",
      .offset = offsetof(struct params, creators),
      .least = 1,
      .most = 1000,
      .help = "threads that create them" },
    { .name = "live",
      .offset = offsetof(struct params, live),
      .least = 1,
      .most = 10000,
      .help = "that each creates before it joins them" },
    { .name = NULL },
};

static const struct metric create_metrics[] = {
    { "us_per_thread", "us/thread", 2 },
    { "threads_per_s", "threads/s", 0 },
    { "switches_per_thread", "switches/thread", 2 },
    { NULL, NULL, 0 },
};

static const char *const create_positionals[] = { NULL };

const struct bench bench_create = {
    .name = "create",
    .help = "empty threads, created and joined",
    .defaults = { .count = 100000, .creators = 1, .live = 1 },
    .arguments = create_arguments,
    .positionals = create_positionals,
    .metrics = create_metrics,
    .refuse = create_refuse,
    .run = create_run,
};
