/* The stop, from a signal: a flag and an eventfd, set by a handler that calls nothing but
 * write, alarm and _exit. It must never know what stops. */
#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* What the handlers share with the program; written once more only by them. */
static atomic_int stopping;
static int stop_fd = -1;
static unsigned patience;

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler must not wait for a lock");

static void on_stop(int signal_number)
{
    static const uint64_t one = 1;
    int saved_errno = errno;
    ssize_t written;

    (void)signal_number;
    if (atomic_exchange(&stopping, 1) != 0) {
        _exit(1);
    }
    alarm(patience);
    written = write(stop_fd, &one, sizeof(one));
    (void)written; /* cannot fail: the count is far from full */
    errno = saved_errno;
}

static void on_patience_over(int signal_number)
{
    (void)signal_number;
    _exit(0);
}

/* The alarm ends, with EINTR, the sleep that a context of this process may have begun
 * between its look at the flag and the signal; so long as the process lives, it comes
 * again. */
static void on_stop_in_child(int signal_number)
{
    (void)signal_number;
    atomic_store(&stopping, 1);
    alarm(1);
}

static void on_nudge(int signal_number)
{
    (void)signal_number;
}

/* SA_RESTART, so that file calls in any thread never see EINTR. Calls with a time-out or
 * SO_RCVTIMEO, and those are all that sleep long here, end with EINTR in spite of it. */
static void handle(int signal_number, void (*handler)(int))
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
}

int signals_open(unsigned patience_s)
{
    sigset_t needed;

    patience = patience_s;
    stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop_fd < 0) {
        return -errno;
    }
    atomic_store(&stopping, 0);
    handle(SIGPIPE, SIG_IGN);
    /* A log that reaches a limit of the file size is a write that fails, no more. */
    handle(SIGXFSZ, SIG_IGN);
    /* By default they would end the process; nobody means that by them. */
    handle(SIGUSR1, SIG_IGN);
    handle(SIGUSR2, SIG_IGN);
    handle(SIGTERM, on_stop);
    handle(SIGINT, on_stop);
    handle(SIGALRM, on_patience_over);
    handle(SIGNALS_NUDGE, on_nudge);
    /* A starter may leave SIGCHLD ignored, and then no child could be waited for; or the
     * signals blocked. Both are inherited. */
    handle(SIGCHLD, SIG_DFL);
    sigemptyset(&needed);
    sigaddset(&needed, SIGTERM);
    sigaddset(&needed, SIGINT);
    sigaddset(&needed, SIGCHLD);
    sigaddset(&needed, SIGALRM);
    sigaddset(&needed, SIGNALS_NUDGE);
    sigprocmask(SIG_UNBLOCK, &needed, NULL);
    return stop_fd;
}

/* A descriptor and not a handler, because a handler would run in the thread that serves,
 * and this is nothing that it must know of. */
int signals_user1_open(void)
{
    sigset_t user1;
    int fd;

    sigemptyset(&user1);
    sigaddset(&user1, SIGUSR1);
    fd = signalfd(-1, &user1, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) {
        return -errno;
    }
    /* Blocked in every thread, or one of them would get it. */
    sigprocmask(SIG_BLOCK, &user1, NULL);
    handle(SIGUSR1, SIG_DFL);
    return fd;
}

void signals_but_faults(sigset_t *set)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };

    sigfillset(set);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        sigdelset(set, faults[i]);
    }
}

bool signals_stopping(void)
{
    return atomic_load_explicit(&stopping, memory_order_relaxed) != 0;
}

void signals_in_child(void)
{
    handle(SIGTERM, on_stop_in_child);
    handle(SIGINT, on_stop_in_child);
    handle(SIGALRM, on_stop_in_child);
}
