/* The loop beside a pool of blocking contexts: it starts and retires them as pool_policy
 * says, refuses what is over the limit, and ends them all at the stop. It serves no
 * connection itself and must never block except in poll. */
#include "supervisor.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "listener.h"
#include "log.h"
#include "model.h"
#include "options.h"
#include "pool_policy.h"
#include "refuser.h"

enum {
    READY_MIN = 4, /* kept ready even with fewer workers: a page load brings several
                         connections at once */
    /* How often the pool's size is looked at without a cause: often enough to see a pulse
     * of load within a window. */
    LOOK_MS = POOL_WINDOW_MS / 4,
    PATIENCE_MS = 50, /* at the limit a connection may wait so long for the context of a
                         client that is just leaving */
    /* Between two nudges of contexts that have not left yet: at first, and at last. */
    NUDGE_MS = 100,
    NUDGE_MAX_MS = 1000,
    OWN_FDS = 3
};

struct supervisor {
    const struct server *server;      /* borrowed */
    const struct supervisor_ops *ops; /* borrowed */
    void *pool;                       /* borrowed */
    struct refuser *refuser;          /* owned */
    struct pool_policy policy;
    struct log_limit log_limit;
    unsigned total;     /* contexts started and not yet collected */
    uint64_t refuse_ms; /* the connection that waits is refused from then on; 0: none */
    int wake_fd;        /* owned */
    int reap_fd;        /* borrowed, or -1 */
};

struct supervisor *supervisor_open(const struct server *server,
                                   const struct supervisor_ops *ops, void *pool,
                                   int reap_fd)
{
    struct supervisor *supervisor = calloc(1, sizeof(*supervisor));

    if (supervisor == NULL) {
        return NULL;
    }
    supervisor->server = server;
    supervisor->ops = ops;
    supervisor->pool = pool;
    supervisor->reap_fd = reap_fd;
    supervisor->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (supervisor->wake_fd < 0) {
        goto out;
    }
    supervisor->refuser = refuser_open(server);
    if (supervisor->refuser == NULL) {
        errno = ENOMEM;
        goto out;
    }
    return supervisor;
out:
    supervisor_close(supervisor);
    return NULL;
}

void supervisor_wake(struct supervisor *supervisor)
{
    /* Fails only when the count is full, and then it is readable as well. */
    (void)eventfd_write(supervisor->wake_fd, 1);
}

/* Starts at most count contexts. 0, or -errno of the one that failed. */
static int start_some(struct supervisor *supervisor, unsigned count)
{
    for (; count > 0; count--) {
        int result = supervisor->ops->start(supervisor->pool);
        if (result != 0) {
            return result;
        }
        supervisor->total++;
    }
    return 0;
}

static void adjust(struct supervisor *supervisor)
{
    uint64_t now_ms = clock_now_ms();
    unsigned idle = supervisor->ops->idle(supervisor->pool);
    unsigned surplus;

    if (pool_policy_retire(&supervisor->policy, idle, now_ms, &surplus)) {
        supervisor->ops->retire(supervisor->pool, surplus);
    }
    unsigned wanted =
        pool_policy_start(&supervisor->policy, supervisor->total, idle, now_ms);
    if (wanted == 0) {
        return;
    }
    supervisor->ops->retire(supervisor->pool, 0);
    int result = start_some(supervisor, wanted);
    if (result == 0) {
        return;
    }
    pool_policy_failed(&supervisor->policy, now_ms);
    if (log_allow(&supervisor->log_limit, now_ms)) {
        log_write(LOG_LEVEL_WARN, "no more than %u connections at once for now: %s",
                  supervisor->total, strerror(-result));
    }
}

static void collect(struct supervisor *supervisor)
{
    unsigned stillborn = 0;
    unsigned ended = supervisor->ops->reap(supervisor->pool, &stillborn);

    supervisor->total -= ended;
    if (ended > stillborn) {
        pool_policy_worked(&supervisor->policy);
    } else if (stillborn > 0) {
        pool_policy_failed(&supervisor->policy, clock_now_ms());
    }
}

static bool is_full(struct supervisor *supervisor)
{
    return pool_policy_full(&supervisor->policy, supervisor->total,
                            supervisor->ops->idle(supervisor->pool), clock_now_ms());
}

static int poll_timeout(uint64_t due_ms)
{
    uint64_t now_ms = clock_now_ms();

    if (due_ms <= now_ms) {
        return 0;
    }
    return due_ms - now_ms < LOOK_MS ? (int)(due_ms - now_ms) : LOOK_MS;
}

/* A connection waits while no context is idle. It is given a moment first: a context
 * whose client has just closed may be about to take it, and a refusal could not be taken
 * back. */
static void refuse(struct supervisor *supervisor)
{
    enum { AT_ONCE = REFUSER_MAX };
    uint64_t now_ms = clock_now_ms();

    if (supervisor->refuse_ms == 0) {
        supervisor->refuse_ms = now_ms + PATIENCE_MS;
        return;
    }
    for (int i = 0; i < AT_ONCE && is_full(supervisor); i++) {
        refuser_accept(supervisor->refuser);
    }
    supervisor->refuse_ms = 0;
}

/* Waits for the pool, a connection to refuse, due_ms, or stop_fd (-1: not for that).
 * True once stop_fd is readable. */
static bool await(struct supervisor *supervisor, bool full, uint64_t due_ms, int stop_fd)
{
    struct pollfd fds[OWN_FDS + REFUSER_FDS] = {
        { .fd = stop_fd, .events = POLLIN },
        { .fd = supervisor->wake_fd, .events = POLLIN },
        { .fd = supervisor->reap_fd, .events = POLLIN },
    };
    struct refuser *refuser = supervisor->refuser;
    /* While the one that waits is given its moment, poll would only say so again. */
    bool accepting = full && clock_now_ms() >= supervisor->refuse_ms;
    unsigned count = refuser_pollfds(refuser, fds + OWN_FDS, accepting);
    uint64_t refuser_ms = refuser_deadline(refuser, accepting);
    eventfd_t wakes;

    if (full && supervisor->refuse_ms != 0 && supervisor->refuse_ms < due_ms) {
        due_ms = supervisor->refuse_ms;
    }
    if (refuser_ms < due_ms) {
        due_ms = refuser_ms;
    }
    if (poll(fds, OWN_FDS + count, poll_timeout(due_ms)) < 0) {
        return false; /* EINTR: the next round asks again */
    }
    if (fds[1].revents != 0) {
        (void)eventfd_read(supervisor->wake_fd, &wakes);
    }
    bool waiting = refuser_step(refuser, fds + OWN_FDS, count);
    if (waiting) {
        refuse(supervisor);
    } else if (accepting || !full) {
        supervisor->refuse_ms = 0;
    }
    return fds[0].revents != 0;
}

static void serve(struct supervisor *supervisor)
{
    bool stopped = false;

    while (!stopped) {
        collect(supervisor);
        adjust(supervisor);
        bool full = is_full(supervisor);
        uint64_t due_ms = UINT64_MAX;
        if (supervisor->policy.resume_ms > clock_now_ms()) {
            due_ms = supervisor->policy.resume_ms;
        }
        stopped = await(supervisor, full, due_ms, supervisor->server->stop_fd);
    }
}

/* The refused have their answer already and are kept only so that they can read it. */
static bool is_over(const struct supervisor *supervisor, uint64_t stopped_ms)
{
    return supervisor->total == 0 && (refuser_held(supervisor->refuser) == 0 ||
                                      clock_now_ms() >= stopped_ms + REFUSER_HOLD_MS);
}

static void stop(struct supervisor *supervisor)
{
    uint64_t stopped_ms = clock_now_ms();
    uint64_t abandon_ms = stopped_ms + supervisor->server->options->grace_ms;
    uint64_t nudge_ms = 0, nudge_pause_ms = NUDGE_MS;

    /* The phase first: a context that the listener wakes finds it. */
    supervisor->ops->set_phase(supervisor->pool, SERVE_DRAIN);
    listener_stop(supervisor->server->listener);
    while (!is_over(supervisor, stopped_ms)) {
        uint64_t now_ms = clock_now_ms();

        if (now_ms >= nudge_ms) {
            supervisor->ops->nudge(supervisor->pool);
            nudge_ms = now_ms + nudge_pause_ms;
            nudge_pause_ms =
                nudge_pause_ms < NUDGE_MAX_MS / 2 ? nudge_pause_ms * 2 : NUDGE_MAX_MS;
        }
        if (now_ms >= abandon_ms) {
            supervisor->ops->set_phase(supervisor->pool, SERVE_ABANDON);
            refuser_abandon(supervisor->refuser);
            abandon_ms = UINT64_MAX;
        }
        /* stop_fd stays readable and would turn this into a spin. */
        (void)await(supervisor, false, nudge_ms < abandon_ms ? nudge_ms : abandon_ms, -1);
        collect(supervisor);
    }
}

int supervisor_run(struct supervisor *supervisor)
{
    const struct options *options = supervisor->server->options;
    unsigned ready = options->workers > READY_MIN ? options->workers : READY_MIN;
    int result = listener_set_blocking(supervisor->server->listener);

    if (result == 0) {
        pool_policy_init(&supervisor->policy, ready, options->max_connections,
                         clock_now_ms());
        result = start_some(supervisor, 1);
    }
    if (result != 0) {
        log_write(LOG_LEVEL_ERROR, "cannot start to serve: %s", strerror(-result));
        return 1;
    }
    serve(supervisor);
    stop(supervisor);
    return 0;
}

void supervisor_in_child(struct supervisor *supervisor)
{
    refuser_close(supervisor->refuser);
    supervisor->refuser = NULL;
}

void supervisor_close(struct supervisor *supervisor)
{
    if (supervisor == NULL) {
        return;
    }
    refuser_close(supervisor->refuser);
    if (supervisor->wake_fd >= 0) {
        close(supervisor->wake_fd);
    }
    free(supervisor);
}
