/* Two threads and pipes: one number to and fro, or a flood of blocks one way. It must
 * never know the runtime. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include <fcntl.h>

#include "uv_loop.h"

enum { PIPE_BOUNCE, PIPE_FLOOD };

struct pipes {
    struct rt_descriptor there[2], back[2];
    char *blocks[2];   /* a block of each thread */
    uint64_t answered; /* right answers, or right blocks */

    struct loop *loop; /* of the event form */
    uint64_t blocks_done[2];
    size_t block_used[2]; /* bytes of the block under way */
};

static void bounce(struct run *run, size_t number)
{
    struct pipes *pipes = run->data;
    struct rt_descriptor *from = number == 0 ? &pipes->back[0] : &pipes->there[0];
    struct rt_descriptor *to = number == 0 ? &pipes->there[1] : &pipes->back[1];
    uint64_t right = 0;

    for (uint32_t i = 0; i < run->params->trips; i++) {
        uint32_t value = i;

        if (number == 0) {
            run_must(run, "a write to a pipe",
                     rt_write_all(run->rt, to, &value, sizeof(value)));
        }
        run_must(run, "a read of a pipe",
                 rt_read_all(run->rt, from, &value, sizeof(value)));
        if (number == 1) {
            value++;
            run_must(run, "a write to a pipe",
                     rt_write_all(run->rt, to, &value, sizeof(value)));
        }
        right += value == i + 1;
    }
    if (number == 0) {
        pipes->answered = right;
    }
}

/* Each block carries its number in front; the rest stays as it is. */
static void flood(struct run *run, size_t number)
{
    struct pipes *pipes = run->data;
    uint64_t *block = (uint64_t *)(void *)pipes->blocks[number];
    uint64_t right = 0;

    for (uint64_t i = 0; i < run->params->trips; i++) {
        if (number == 0) {
            block[0] = i;
            run_must(run, "a write to a pipe",
                     rt_write_all(run->rt, &pipes->there[1], block, run->params->block));
        } else {
            run_must(run, "a read of a pipe",
                     rt_read_all(run->rt, &pipes->there[0], block, run->params->block));
            right += block[0] == i;
        }
    }
    if (number == 1) {
        pipes->answered = right;
    }
}

static void pipes_make(struct run *run)
{
    struct pipes *pipes = run_share(run, sizeof(*pipes));
    size_t block = run->params->block;

    run_pipe(run, pipes->there);
    run_pipe(run, pipes->back);
    for (size_t i = 0; i < 2; i++) {
        pipes->blocks[i] = run_share(run, block);
    }
    answer_pattern_fill(pipes->blocks[0], block, 0);
    run->data = pipes;
}

static void pipe_check(struct run *run)
{
    struct pipes *pipes = run->data;
    struct answer *answer = &run->outcome->answer;
    const struct params *params = run->params;

    answer_expect(answer, "the number of right answers", pipes->answered, params->trips);
    if (params->mode == PIPE_FLOOD) {
        /* The number in front was checked with each block, and hides the pattern there.
         */
        answer_pattern_fill(pipes->blocks[1], sizeof(uint64_t), 0);
        answer_expect(answer, "the first byte that differs",
                      answer_pattern_check(pipes->blocks[1], params->block, 0),
                      params->block);
    }
    answer_say(answer, "%" PRIu64 " right", pipes->answered);
    for (size_t i = 0; i < 2; i++) {
        run->rt->close(&pipes->there[i]);
        run->rt->close(&pipes->back[i]);
    }
}

/* Side 0 began, and adds nothing. */
static void bounce_called(struct run *run, size_t side)
{
    struct pipes *pipes = run->data;
    struct rt_descriptor *from = side == 0 ? &pipes->back[0] : &pipes->there[0];
    struct rt_descriptor *to = side == 0 ? &pipes->there[1] : &pipes->back[1];
    uint32_t value;

    run_must(run, "a read of a pipe", rt_read_all(run->rt, from, &value, sizeof(value)));
    if (side == 1) {
        value++;
    } else {
        pipes->answered += value == ++pipes->blocks_done[0];
        if (pipes->blocks_done[0] == run->params->trips) {
            loop_end(pipes->loop);
            return;
        }
    }
    run_must(run, "a write to a pipe", rt_write_all(run->rt, to, &value, sizeof(value)));
}

/* Moves as much of one block as goes at once. */
static void flood_called(struct run *run, size_t side)
{
    struct pipes *pipes = run->data;
    char *block = pipes->blocks[side];
    uint64_t *number = (uint64_t *)(void *)block;
    size_t used = pipes->block_used[side], left = run->params->block - used;
    ssize_t count;

    if (side == 0 && used == 0) {
        *number = pipes->blocks_done[0];
    }
    count = side == 0 ? run->rt->write(&pipes->there[1], block + used, left)
                      : run->rt->read(&pipes->there[0], block + used, left);
    if (count == -EAGAIN) {
        return;
    }
    run_must(run, "a pipe", (int)count);
    pipes->block_used[side] += (size_t)count;
    if (pipes->block_used[side] < run->params->block) {
        return;
    }
    pipes->block_used[side] = 0;
    if (side == 1) {
        pipes->answered += *number == pipes->blocks_done[1];
    }
    if (++pipes->blocks_done[side] == run->params->trips) {
        loop_drop(pipes->loop, side);
    }
}

static void sides_lead(struct run *run)
{
    struct pipes *pipes = run->data;
    uint32_t value = 0;

    if (run->params->mode == PIPE_BOUNCE) {
        run_must(run, "a write to a pipe",
                 rt_write_all(run->rt, &pipes->there[1], &value, sizeof(value)));
    }
    loop_run(pipes->loop);
}

static void pipe_run_race(struct run *run, const struct race *race)
{
    const struct params *params = run->params;
    bool flooding = params->mode == PIPE_FLOOD;
    struct outcome *outcome = run->outcome;
    double trips = (double)params->trips;

    run_race(run, race);
    pipe_check(run);
    outcome->metrics[0] = flooding ? NAN : outcome->real_s * 1e6 / trips;
    outcome->metrics[1] =
        flooding ? run_ratio(trips * (double)params->block / 1e6, outcome->real_s) : NAN;
    outcome->metrics[2] = (double)run_switches(run) / trips;
}

static void pipe_run(struct run *run)
{
    struct race race = {
        .threads = 2,
        .body = run->params->mode == PIPE_FLOOD ? flood : bounce,
    };

    pipes_make(run);
    pipe_run_race(run, &race);
}

static void pipe_uv_run(struct run *run)
{
    static const struct race race = { .threads = 0, .lead = sides_lead };
    bool flooding = run->params->mode == PIPE_FLOOD;
    struct rt_descriptor *first;
    struct pipes *pipes;

    pipes_make(run);
    pipes = run->data;
    first = flooding ? &pipes->there[1] : &pipes->back[0];
    pipes->loop = loop_open(run, 2, flooding ? flood_called : bounce_called);
    for (int i = 0; i < 2; i++) {
        run_must(run, "a pipe",
                 fcntl(pipes->there[i].fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0);
    }
    loop_add_watch(pipes->loop, 0, first->fd, flooding ? RT_WRITE : RT_READ);
    loop_add_watch(pipes->loop, 1, pipes->there[0].fd, RT_READ);
    pipe_run_race(run, &race);
    loop_close(pipes->loop);
}

static const struct way pipe_ways[] = {
    { .name = "uv", .rt = &rt_pthread, .run = pipe_uv_run, .loaded = loop_loaded },
    { .name = NULL },
};

static const struct word mode_words[] = {
    { .text = "bounce", .value = PIPE_BOUNCE },
    { .text = "flood", .value = PIPE_FLOOD },
    { .text = NULL },
};

static const struct argument pipe_arguments[] = {
    { .name = "mode",
      .offset = offsetof(struct params, mode),
      .least = 1,
      .most = 0,
      .words = mode_words,
      .help = "a number to and fro, or blocks one way" },
    { .name = "trips",
      .offset = offsetof(struct params, trips),
      .letter = 'n',
      .least = 1,
      .most = 1000000000,
      .help = "to and fro, or blocks" },
    { .name = "block",
      .offset = offsetof(struct params, block),
      .least = 8,
      .most = 67108864,
      .help = "bytes of a block" },
    { .name = NULL },
};

static const struct metric pipe_metrics[] = {
    { "us_per_trip", "us/trip", 2 },
    { "MB_per_s", "MB/s", 0 },
    { "switches_per_trip", "switches/trip", 2 },
    { NULL, NULL, 0 },
};

static const char *const pipe_positionals[] = { NULL };

const struct bench bench_pipe = {
    .name = "pipe",
    .help = "two threads, a number to and fro or a flood",
    .defaults = { .mode = PIPE_BOUNCE, .trips = 100000, .block = 65536 },
    .arguments = pipe_arguments,
    .positionals = pipe_positionals,
    .metrics = pipe_metrics,
    .run = pipe_run,
    .ways = pipe_ways,
};
