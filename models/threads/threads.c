/* The threads model: a kernel thread per connection, from a pool of parked threads that
 * all sleep in accept. The main thread only supervises. It must never serve a connection
 * in the main thread. */
#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <string.h>

#include "log.h"
#include "model.h"
#include "options.h"
#include "serve_blocking.h"
#include "supervisor.h"
#include "thread_pool.h"
#include "worker_pool.h"

struct threads {
    const struct server *server;   /* borrowed */
    struct thread_pool *pool;      /* owned */
    struct worker_pool *workers;   /* owned */
    struct supervisor *supervisor; /* owned */
};

/* What a serving thread is given. */

static enum serve_phase phase(void *self)
{
    return thread_pool_phase(self);
}

static void busy(void *self, int fd)
{
    thread_pool_set_busy(self, fd);
}

static void idle(void *self)
{
    thread_pool_set_idle(self);
}

static bool leave(void *self)
{
    return thread_pool_leave(self);
}

static struct worker *lend(void *self)
{
    const struct threads *threads = thread_pool_context(self);

    return worker_pool_lend(threads->workers);
}

static void give_back(void *self, struct worker *worker)
{
    const struct threads *threads = thread_pool_context(self);

    worker_pool_give_back(threads->workers, worker);
}

static const struct serve_hooks hooks = {
    .phase = phase,
    .busy = busy,
    .idle = idle,
    .leave = leave,
    .lend = lend,
    .give_back = give_back,
};

static bool serve_thread(struct pool_thread *self, void *context)
{
    const struct threads *threads = context;
    const struct sched_param no_priority = { .sched_priority = 0 };

    /* A thread of the default class preempts the one that wakes it. Where client and
     * server share a CPU, each request then costs a switch of its own; as a batch thread
     * it lets several requests queue up first. Without the right to it the thread serves
     * all the same. */
    if (threads->server->options->scheduler == SCHEDULER_BATCH) {
        (void)sched_setscheduler(0, SCHED_BATCH, &no_priority);
    }
    return serve_blocking(threads->server, &hooks, self);
}

static void wake(void *context)
{
    const struct threads *threads = context;

    supervisor_wake(threads->supervisor);
}

/* What the supervisor is given. */

static int start(void *context)
{
    const struct threads *threads = context;

    return thread_pool_start(threads->pool);
}

static void retire(void *context, unsigned count)
{
    const struct threads *threads = context;

    thread_pool_retire(threads->pool, count);
}

static unsigned count_idle(void *context)
{
    const struct threads *threads = context;

    return thread_pool_idle(threads->pool);
}

static unsigned reap(void *context, unsigned *stillborn)
{
    const struct threads *threads = context;

    return thread_pool_reap(threads->pool, stillborn);
}

static void set_phase(void *context, enum serve_phase next)
{
    const struct threads *threads = context;

    thread_pool_set_phase(threads->pool, next);
}

static void nudge(void *context)
{
    const struct threads *threads = context;

    thread_pool_nudge(threads->pool);
}

static const struct supervisor_ops ops = {
    .start = start,
    .retire = retire,
    .idle = count_idle,
    .reap = reap,
    .set_phase = set_phase,
    .nudge = nudge,
};

static int threads_run(const struct server *server)
{
    struct threads threads = { .server = server };
    const struct thread_pool_config config = { .body = serve_thread,
                                               .wake = wake,
                                               .context = &threads };
    int status = 1;

#ifdef M_ARENA_MAX
    /* An arena for each of many threads is memory that serving, which allocates nothing
     * per request, never needs. */
    (void)mallopt(M_ARENA_MAX, 2);
#endif
    threads.pool = thread_pool_open(&config);
    threads.workers = worker_pool_open(server);
    if (threads.pool != NULL && threads.workers != NULL) {
        threads.supervisor = supervisor_open(server, &ops, &threads, -1);
    }
    if (threads.supervisor != NULL) {
        status = supervisor_run(threads.supervisor);
    } else {
        log_write(LOG_LEVEL_ERROR, "threads cannot start: %s", strerror(errno));
    }
    supervisor_close(threads.supervisor);
    thread_pool_close(threads.pool);
    worker_pool_close(threads.workers);
    return status;
}

const struct model threads_model = {
    .name = "threads",
    .summary = "a kernel thread per connection, from a pool that grows on demand",
    .connections_max = 8192,
    .run = threads_run,
};
