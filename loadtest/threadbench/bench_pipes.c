/* Events over many pipes: `storm`, a writer that wakes one at random, and `chain`, where
 * each read writes to the next. Here a thread reads each pipe, on every runtime; rows that
 * wait for all pipes at once are in pipes_events.c. It must never know the runtime. */
#include <errno.h>

#include "pipes.h"

static void pipe_read_all(struct run *run, size_t number)
{
    struct pipes *pipes = run->data;
    struct pipes_count count = { .events = 0 };
    bool chain = run->params->mode == PIPES_CHAIN;
    char bytes[PIPES_READ_BYTES];

    while (count.ended == 0) {
        ssize_t size = run->rt->read(&pipes->ends[number][0], bytes, sizeof(bytes));
        uint64_t before = count.bytes;

        run_must(run, "a read of a pipe", size > 0 ? 0 : size == 0 ? -EPIPE : (int)size);
        (void)pipes_note(&count, bytes, (size_t)size);
        if (!chain || count.bytes == before) {
            continue;
        }
        pipes_pass_on(run, number, count.bytes - before);
        if (pipes_turn_over(run)) {
            run->rt->lock(&pipes->mutex);
            run->rt->signal(&pipes->turned);
            run->rt->unlock(&pipes->mutex);
        }
    }
    pipes->counts[number] = count;
}

/* The last thread writes. */
static void storm_body(struct run *run, size_t number)
{
    if (number < run->params->handles) {
        pipe_read_all(run, number);
    } else {
        pipes_write(run, false);
    }
}

/* The first thread starts each turn and waits for its end. */
static void chain_lead(struct run *run)
{
    struct pipes *pipes = run->data;

    for (uint64_t i = 0; i < run->params->turns; i++) {
        uint64_t began_ns = run_clock_ns();

        pipes_turn_begin(run);
        run->rt->lock(&pipes->mutex);
        while (!pipes_turn_over(run)) {
            run->rt->wait(&pipes->turned, &pipes->mutex);
        }
        run->rt->unlock(&pipes->mutex);
        pipes->turns_ns += run_clock_ns() - began_ns;
    }
    pipes_write_ends(run);
}

static void pipes_run(struct run *run)
{
    size_t handles = run->params->handles;
    struct race storm = { .threads = handles + 1, .body = storm_body };
    struct race chain = { .threads = handles, .body = pipe_read_all, .lead = chain_lead };

    pipes_make(run, handles);
    run_race(run, run->params->mode == PIPES_CHAIN ? &chain : &storm);
    pipes_conclude(run);
    pipes_close(run);
}

static const char *pipes_refuse(const struct params *params)
{
    return params->active > params->handles ? "active is more than handles" : NULL;
}

static const struct word mode_words[] = {
    { .text = "storm", .value = PIPES_STORM },
    { .text = "chain", .value = PIPES_CHAIN },
    { .text = NULL },
};

static const struct word over_words[] = {
    { .text = "pipe", .value = PIPES_OVER_PIPE },
    { .text = "unix", .value = PIPES_OVER_UNIX, .letter = 'u' },
    { .text = "tcp", .value = PIPES_OVER_TCP, .letter = 'i' },
    { .text = NULL },
};

static const struct argument pipes_arguments[] = {
    { .name = "mode",
      .offset = offsetof(struct params, mode),
      .least = 1,
      .most = 0,
      .words = mode_words,
      .help = "a writer and readers, or each read writes to the next" },
    { .name = "handles",
      .offset = offsetof(struct params, handles),
      .letter = 'n',
      .least = 1,
      .most = 20000,
      .help = "pipes" },
    { .name = "over",
      .offset = offsetof(struct params, over),
      .least = 1,
      .most = 0,
      .words = over_words,
      .help = "pipes, pairs of UNIX sockets or of TCP sockets" },
    { .name = "batch",
      .offset = offsetof(struct params, batch),
      .letter = 'e',
      .least = 1,
      .most = 65536,
      .help = "events of one wait" },
    { .name = "limit",
      .offset = offsetof(struct params, limit),
      .letter = 'l',
      .least = 1,
      .most = 1000000000,
      .help = "the reader yields after fewer events, the writer after as many writes" },
    { .name = "seconds",
      .offset = offsetof(struct params, seconds),
      .letter = 't',
      .least = 1,
      .most = 3600,
      .help = "of the storm" },
    { .name = "active",
      .offset = offsetof(struct params, active),
      .least = 1,
      .most = 20000,
      .help = "pipes that the chain begins with" },
    { .name = "writes",
      .offset = offsetof(struct params, writes),
      .least = 0,
      .most = 1000000000,
      .help = "more of each turn of the chain" },
    { .name = "turns",
      .offset = offsetof(struct params, turns),
      .least = 1,
      .most = 1000000,
      .help = "of the chain" },
    { .name = NULL },
};

static const struct metric pipes_metrics[] = {
    { "events_per_s", "events/s", 0 },       { "bytes_per_s", "bytes/s", 0 },
    { "events_per_wake", "events/wake", 1 }, { "switches_per_s", "switches/s", 0 },
    { "us_per_turn", "us/turn", 1 },         { NULL, NULL, 0 },
};

static const char *const pipes_positionals[] = { NULL };

const struct bench bench_pipes = {
    .name = "pipes",
    .help = "events over many pipes",
    .defaults = { .handles = 1024,
                  .batch = 1024,
                  .limit = 1000,
                  .seconds = 15,
                  .active = 1,
                  .writes = 100,
                  .turns = 25 },
    .arguments = pipes_arguments,
    .positionals = pipes_positionals,
    .metrics = pipes_metrics,
    .ranked = 1,
    .refuse = pipes_refuse,
    .run = pipes_run,
    .ways = pipes_ways,
};
