/* The models greenthreads and hybrid: a user thread per connection, on as many schedulers as
 * there are workers, each in its own kernel thread; the first, in the calling one, also
 * accepts. In greenthreads they share nothing (N:1), in hybrid they are a group and a
 * thread moves to whichever is idle (M:N). Here are start and stop only. It must never
 * know a byte of what a connection says. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "accept.h"
#include "clock.h"
#include "kernel_thread.h"
#include "listener.h"
#include "log.h"
#include "model.h"
#include "offload.h"
#include "options.h"
#include "scheduler_group.h"
#include "shard.h"

struct greenthreads {
    const struct server *server;
    struct offload *offload;
    struct scheduler_group *group; /* NULL: each scheduler for itself */
    struct accepting *accepting;
    struct shard *shards;
    atomic_uint admitted; /* connections of all shards */
    pthread_t *threads;   /* of the shards but the first */
    unsigned count;       /* of shards */
    unsigned started;     /* kernel threads to join */
};

/* The keeper of the first shard. argument: struct greenthreads **. */
static void keep_first(void *argument)
{
    struct greenthreads *green = *(struct greenthreads **)argument;
    struct poller_source stop = { .fd = green->server->stop_fd, .slot = POLLER_NONE };

    while (!(stop.ready & POLLER_READABLE)) {
        if (scheduler_await(&stop, POLLER_READ, TIMEOUT_NONE, UINT64_MAX) ==
            PARK_FAILED) {
            (void)scheduler_park(TIMEOUT_NONE, clock_now_ms() + LISTENER_RETRY_MS);
        }
    }
    scheduler_remove(&stop);
    accept_stop(green->accepting);
    /* Only now can no inbox get another connection. */
    for (unsigned i = 1; i < green->count; i++) {
        shard_stop(&green->shards[i]);
    }
    shard_drain(&green->shards[0]);
}

static void *thread_main(void *argument)
{
    struct shard *shard = argument;

    (void)scheduler_run(shard->scheduler);
    return NULL;
}

static bool out_of_memory(void)
{
    log_write(LOG_LEVEL_ERROR, "cannot start the model: %s", strerror(ENOMEM));
    return false;
}

static bool no_scheduler(int error)
{
    log_write(LOG_LEVEL_ERROR, "cannot start a scheduler: %s", strerror(error));
    return false;
}

/* After it each shard has its scheduler. */
static bool open_schedulers(struct greenthreads *green, bool grouped)
{
    unsigned flags = getenv("TETRAD_STACK_CENSUS") != NULL ? STACK_CENSUS : 0;

    if (grouped) {
        green->group = scheduler_group_open(green->count, flags);
        if (green->group == NULL) {
            return no_scheduler(errno);
        }
    }
    for (unsigned i = 0; i < green->count; i++) {
        struct shard *shard = &green->shards[i];

        shard->shared = grouped;
        shard->admitted = &green->admitted;
        shard->scheduler =
            grouped ? scheduler_group_member(green->group, i) : scheduler_open(flags);
        if (shard->scheduler == NULL) {
            return no_scheduler(errno);
        }
    }
    return true;
}

static bool open_shards(struct greenthreads *green, bool grouped)
{
    size_t size = green->count * sizeof(*green->shards);

    green->threads = calloc(green->count, sizeof(*green->threads));
    green->shards = aligned_alloc(alignof(struct shard), size);
    if (green->threads == NULL || green->shards == NULL) {
        return out_of_memory();
    }
    memset(green->shards, 0, size);
    if (!open_schedulers(green, grouped)) {
        return false;
    }
    for (unsigned i = 0; i < green->count; i++) {
        if (!shard_open(&green->shards[i], green->server, green->offload, i == 0)) {
            return false;
        }
    }
    return true;
}

static bool spawn_keepers(struct greenthreads *green)
{
    green->accepting = accept_start(green->shards, green->count);
    if (green->accepting == NULL ||
        scheduler_spawn(green->shards[0].scheduler, keep_first, &green, sizeof(green)) <
            0) {
        return out_of_memory();
    }
    for (unsigned i = 1; i < green->count; i++) {
        struct shard *shard = &green->shards[i];

        if (scheduler_spawn(shard->scheduler, shard_keep, &shard, sizeof(shard)) < 0) {
            return out_of_memory();
        }
    }
    return true;
}

static bool start_threads(struct greenthreads *green)
{
    for (unsigned i = 1; i < green->count; i++) {
        int result =
            kernel_thread_start(&green->threads[i], thread_main, &green->shards[i]);

        if (result < 0) {
            return no_scheduler(-result);
        }
        green->started++;
    }
    return true;
}

/* A debugging aid: how deep the stacks were used, which a test compares with their size,
 * and how often threads changed kernel threads. */
static void report_census(const struct greenthreads *green)
{
    size_t deepest = 0;

    for (unsigned i = 0; i < green->count; i++) {
        size_t one = stack_pool_deepest(scheduler_stacks(green->shards[i].scheduler));

        if (one > deepest) {
            deepest = one;
        }
    }
    if (deepest > 0) {
        log_write(LOG_LEVEL_INFO, "deepest user-thread stack use %zu of %d bytes",
                  deepest, STACK_BYTES);
        if (green->group != NULL) {
            log_write(LOG_LEVEL_INFO, "user threads moved %ju times",
                      (uintmax_t)scheduler_group_moves(green->group));
        }
    }
}

static void join_threads(struct greenthreads *green)
{
    for (unsigned i = 1; i <= green->started; i++) {
        pthread_join(green->threads[i], NULL);
    }
    green->started = 0;
}

/* Accepts what is half built. */
static void close_all(struct greenthreads *green)
{
    /* File work first: it brings its results home to a scheduler. */
    offload_close(green->offload);
    for (unsigned i = 0; green->shards != NULL && i < green->count; i++) {
        shard_close(&green->shards[i]);
    }
    scheduler_group_close(green->group);
    accept_free(green->accepting);
    free(green->shards);
    free(green->threads);
}

static void give_up(struct greenthreads *green)
{
    if (green->group != NULL) {
        scheduler_group_give_up(green->group);
        return;
    }
    for (unsigned i = 1; i <= green->started; i++) {
        shard_stop(&green->shards[i]);
    }
}

static int run(const struct server *server, bool grouped)
{
    struct greenthreads green = { .server = server, .count = server->options->workers };
    int status = EXIT_FAILURE;

    green.offload = offload_open(OFFLOAD_THREADS, OFFLOAD_REST_MS);
    if (green.offload == NULL) {
        log_write(LOG_LEVEL_ERROR, "cannot start the model: %s", strerror(errno));
        goto out;
    }
    if (!open_shards(&green, grouped) || !spawn_keepers(&green)) {
        goto out;
    }
    if (start_threads(&green)) {
        int result = scheduler_run(green.shards[0].scheduler);

        if (result == 0) {
            status = EXIT_SUCCESS;
        } else {
            log_write(LOG_LEVEL_ERROR, "the model ended: %s", strerror(-result));
        }
    } else {
        give_up(&green);
    }
    join_threads(&green);
    report_census(&green);
out:
    close_all(&green);
    return status;
}

static int greenthreads_run(const struct server *server)
{
    return run(server, false);
}

static int hybrid_run(const struct server *server)
{
    return run(server, true);
}

const struct model greenthreads_model = {
    .name = "greenthreads",
    .summary = "a user thread per connection, parked on edge-triggered epoll",
    .run = greenthreads_run,
};

const struct model hybrid_model = {
    .name = "hybrid",
    .summary = "user threads that move between the kernel threads under them",
    .run = hybrid_run,
};
