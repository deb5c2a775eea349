/* Opening, feeding and draining one shard. Its keeper is a user thread like any other: it
 * parks on the inbox, and at the stop waits for the last connection to leave. It must
 * never know a byte of what a connection says. */
#include "shard.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "options.h"
#include "scheduler_group.h"
#include "serve.h"

enum {
    INBOX_BATCH = 64, /* descriptors taken at a time */
    RETRY_MS = 100    /* without memory to watch the inbox */
};

static void stop_deliver(struct scheduler_message *message)
{
    struct shard *shard =
        (struct shard *)((char *)message - offsetof(struct shard, stop));

    shard->stopping = true;
    if (shard->keeper != NULL) {
        scheduler_wake(shard->keeper);
    }
}

bool shard_open(struct shard *shard, const struct server *server, struct offload *offload,
                bool first)
{
    atomic_init(&shard->load, 0);
    shard->server = server;
    shard->offload = offload;
    shard->stop.deliver = stop_deliver;
    scheduler_set_owner(shard->scheduler, shard);
    if (!first) {
        shard->inbox = inbox_open();
        if (shard->inbox == NULL) {
            goto failed;
        }
    }
    shard->worker = worker_open(server, WORKER_COOPERATIVE, WORKER_OWN_CACHE);
    if (shard->worker != NULL) {
        return true;
    }
    errno = ENOMEM;
failed:
    log_write(LOG_LEVEL_ERROR, "cannot start a scheduler: %s", strerror(errno));
    return false;
}

void shard_close(struct shard *shard)
{
    if (!shard->shared) {
        scheduler_close(shard->scheduler);
    }
    inbox_close(shard->inbox);
    worker_close(shard->worker);
}

void shard_stop(struct shard *shard)
{
    scheduler_post(shard->scheduler, &shard->stop);
}

/* Everything that is in the inbox, with a turn for the others after each batch. */
static void inbox_empty(struct shard *shard)
{
    int fds[INBOX_BATCH];
    size_t count = inbox_take(shard->inbox, fds, INBOX_BATCH);

    while (count > 0) {
        for (size_t i = 0; i < count; i++) {
            serve_start(shard, fds[i], SERVE_ADMITTED);
        }
        if (count == INBOX_BATCH) {
            scheduler_yield();
        }
        count = inbox_take(shard->inbox, fds, INBOX_BATCH);
    }
}

/* False: the time is over. */
static bool wait_idle(struct shard *shard, uint64_t deadline_ms)
{
    enum park_result result = PARK_WOKEN;

    while (shard->live > 0 && result != PARK_EXPIRED) {
        result = sync_wait(&shard->idle, NULL, deadline_ms);
    }
    return shard->live == 0;
}

static void wake(void *context)
{
    scheduler_wake(context);
}

void shard_end_refused(struct shard *shard)
{
    worker_end_refused(shard->worker, wake);
}

void shard_drain(struct shard *shard)
{
    /* Nothing may move here after it was told. */
    scheduler_group_close_intake();
    worker_drain(shard->worker, wake);
    if (wait_idle(shard, clock_now_ms() + shard->server->options->grace_ms)) {
        return;
    }
    shard->abandoned = true;
    worker_abandon(shard->worker, wake);
    (void)wait_idle(shard, UINT64_MAX);
}

void shard_keep(void *argument)
{
    struct shard *shard = *(struct shard **)argument;
    struct poller_source source = { .fd = inbox_fd(shard->inbox), .slot = POLLER_NONE };

    shard->keeper = scheduler_self();
    while (!shard->stopping) {
        source.ready = 0;
        inbox_empty(shard);
        /* The stop may have come while a batch yielded. */
        if (!shard->stopping && scheduler_await(&source, POLLER_READ, TIMEOUT_NONE,
                                                UINT64_MAX) == PARK_FAILED) {
            (void)scheduler_park(TIMEOUT_NONE, clock_now_ms() + RETRY_MS);
        }
    }
    scheduler_remove(&source);
    /* Whoever accepts has stopped, so this is the last of it. */
    inbox_empty(shard);
    shard_drain(shard);
    shard->keeper = NULL;
}
