/* A child: serves one connection after another until it is retired, stopped or told to
 * end by a signal of its own. It must never know how children are made or replaced. */
#include "child.h"

#include <stddef.h>

#include "log.h"
#include "scoreboard.h"
#include "serve_blocking.h"
#include "signals.h"
#include "supervisor.h"
#include "worker.h"

static enum serve_phase phase(void *context)
{
    const struct child *child = context;
    enum serve_phase common = scoreboard_phase(child->scoreboard);

    /* SIGTERM to this one child: it finishes and leaves, the others go on. */
    return common == SERVE_OPEN && signals_stopping() ? SERVE_DRAIN : common;
}

static void busy(void *context, int fd)
{
    const struct child *child = context;

    (void)fd;
    if (scoreboard_set_busy(child->scoreboard, child->slot)) {
        supervisor_wake(child->supervisor);
    }
}

static void idle(void *context)
{
    const struct child *child = context;

    scoreboard_set_idle(child->scoreboard, child->slot);
}

static bool leave(void *context)
{
    const struct child *child = context;

    return scoreboard_is_retired(child->scoreboard, child->slot);
}

/* The process has one connection at a time, so one worker. */
static struct worker *lend(void *context)
{
    const struct child *child = context;

    return child->worker;
}

static void give_back(void *context, struct worker *worker)
{
    (void)context;
    (void)worker;
}

static const struct serve_hooks hooks = {
    .phase = phase,
    .busy = busy,
    .idle = idle,
    .leave = leave,
    .lend = lend,
    .give_back = give_back,
};

int child_run(const struct child *child)
{
    struct child self = *child;

    self.worker = worker_open(child->server, WORKER_BLOCKING, WORKER_OWN_CACHE);
    if (self.worker == NULL) {
        log_write(LOG_LEVEL_ERROR, "a child cannot serve: out of memory");
        return 1;
    }
    (void)serve_blocking(child->server, &hooks, &self);
    worker_close(self.worker);
    return 0;
}
