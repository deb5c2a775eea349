/* The prefork model: a process per connection. The parent forks, collects and ends the
 * children; the supervisor says when. It must never serve a connection itself. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "clock.h"
#include "log.h"
#include "model.h"
#include "options.h"
#include "scoreboard.h"
#include "signals.h"
#include "supervisor.h"

/* A child that ended younger than this without a single connection was of no use. */
enum { STILLBORN_MS = 1000 };

struct prefork {
    const struct server *server;   /* borrowed */
    struct scoreboard *scoreboard; /* owned */
    struct supervisor *supervisor; /* owned */
    uint64_t *forked_ms;           /* owned; when the child of each slot was forked */
    struct log_limit log_limit;
    sigset_t mask; /* as it was before the model ran */
    int child_fd;  /* owned; SIGCHLD as a descriptor */
};

/* Never returns. */
static void become_child(struct prefork *prefork, int slot, pid_t parent)
{
    const struct child child = { .server = prefork->server,
                                 .scoreboard = prefork->scoreboard,
                                 .supervisor = prefork->supervisor,
                                 .slot = slot };

    /* A parent that was killed takes its children along; it may have been before prctl.
     */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
        _exit(EXIT_FAILURE);
    }
    signals_in_child();
    (void)sigprocmask(SIG_SETMASK, &prefork->mask, NULL);
    close(prefork->child_fd);
    supervisor_in_child(prefork->supervisor);
    /* Not exit: what the parent registered, buffered or opened is not the child's to end. */
    _exit(child_run(&child));
}

static int start(void *pool)
{
    struct prefork *prefork = pool;
    int slot = scoreboard_claim(prefork->scoreboard);

    if (slot < 0) {
        return -EAGAIN;
    }
    /* Until signals_in_child, a signal to the child would be taken for one to the parent
     * and stop them all: it has to wait. */
    sigset_t all, before;
    pid_t parent = getpid();
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        become_child(prefork, slot, parent);
    }
    int result = pid < 0 ? -errno : 0;
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    if (pid < 0) {
        scoreboard_release(prefork->scoreboard, slot);
        return result;
    }
    prefork->forked_ms[slot] = clock_now_ms();
    scoreboard_set_pid(prefork->scoreboard, slot, pid);
    return 0;
}

static void retire(void *pool, unsigned count)
{
    struct prefork *prefork = pool;

    scoreboard_retire(prefork->scoreboard, count);
}

static unsigned idle(void *pool)
{
    struct prefork *prefork = pool;

    return scoreboard_idle(prefork->scoreboard);
}

static void report(struct prefork *prefork, pid_t pid, int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return;
    }
    if (!log_allow(&prefork->log_limit, clock_now_ms())) {
        return;
    }
    if (WIFSIGNALED(status)) {
        log_write(LOG_LEVEL_WARN, "child %d ended by signal %d (%s)", (int)pid,
                  WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        log_write(LOG_LEVEL_WARN, "child %d ended with status %d", (int)pid,
                  WEXITSTATUS(status));
    }
}

static unsigned reap(void *pool, unsigned *stillborn)
{
    struct prefork *prefork = pool;
    struct signalfd_siginfo news;
    unsigned ended = 0;
    int status;

    /* Cleared before the children are collected: one that ends in between is news again.
     * Several that end at once are one signal, so all are collected each time. */
    ssize_t size = read(prefork->child_fd, &news, sizeof(news));
    (void)size;
    for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0;
         pid = waitpid(-1, &status, WNOHANG)) {
        int slot = scoreboard_find(prefork->scoreboard, pid);
        if (slot < 0) {
            continue; /* left over by what ran in this process before */
        }
        bool of_use = scoreboard_was_busy(prefork->scoreboard, slot) ||
                      clock_now_ms() - prefork->forked_ms[slot] >= STILLBORN_MS;
        *stillborn += !of_use;
        ended++;
        scoreboard_release(prefork->scoreboard, slot);
        report(prefork, pid, status);
    }
    return ended;
}

/* Not one of these can have been given to another process: none is collected yet. */
static void signal_children(const struct prefork *prefork, int signal_number)
{
    for (unsigned i = 0; i < scoreboard_slots(prefork->scoreboard); i++) {
        pid_t pid = scoreboard_pid(prefork->scoreboard, (int)i);
        if (pid > 0) {
            (void)kill(pid, signal_number);
        }
    }
}

static void set_phase(void *pool, enum serve_phase phase)
{
    struct prefork *prefork = pool;

    scoreboard_set_phase(prefork->scoreboard, phase);
    if (phase == SERVE_ABANDON) {
        signal_children(prefork, SIGKILL);
    }
}

static void nudge(void *pool)
{
    signal_children(pool, SIGNALS_NUDGE);
}

static const struct supervisor_ops ops = {
    .start = start,
    .retire = retire,
    .idle = idle,
    .reap = reap,
    .set_phase = set_phase,
    .nudge = nudge,
};

static int prefork_open(struct prefork *prefork)
{
    unsigned slots = prefork->server->options->max_connections;
    sigset_t child_ended;

    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &child_ended, &prefork->mask) != 0) {
        return -errno;
    }
    prefork->child_fd = signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK);
    if (prefork->child_fd < 0) {
        return -errno;
    }
    prefork->scoreboard = scoreboard_open(slots);
    if (prefork->scoreboard == NULL) {
        return -errno;
    }
    prefork->forked_ms = calloc(slots, sizeof(*prefork->forked_ms));
    if (prefork->forked_ms == NULL) {
        return -ENOMEM;
    }
    prefork->supervisor =
        supervisor_open(prefork->server, &ops, prefork, prefork->child_fd);
    return prefork->supervisor == NULL ? -errno : 0;
}

static void prefork_close(struct prefork *prefork)
{
    supervisor_close(prefork->supervisor);
    free(prefork->forked_ms);
    scoreboard_close(prefork->scoreboard);
    if (prefork->child_fd >= 0) {
        close(prefork->child_fd);
    }
    (void)sigprocmask(SIG_SETMASK, &prefork->mask, NULL);
}

static int prefork_run(const struct server *server)
{
    struct prefork prefork = { .server = server, .child_fd = -1 };
    int result = prefork_open(&prefork);
    int status = 1;

    if (result == 0) {
        status = supervisor_run(prefork.supervisor);
    } else {
        log_write(LOG_LEVEL_ERROR, "prefork cannot start: %s", strerror(-result));
    }
    prefork_close(&prefork);
    return status;
}

const struct model prefork_model = {
    .name = "prefork",
    .summary = "a process per connection, from a pool that grows on demand",
    .connections_max = 512,
    .run = prefork_run,
};
