/* Modes threads, threads-batch and processes: who serves a connection is made for it, and
 * sleeps in recv. It must never know what is sent. */
#include "floor.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    STACK_BYTES = 256 * 1024 /* address space: only what is touched is memory */
};

static void serve_blocking(int fd)
{
    char bytes[FLOOR_INPUT_MAX];

    while (recv(fd, bytes, sizeof bytes, 0) > 0) {
        size_t sent = 0;

        while (sent < floor_response.len) {
            ssize_t n =
                send(fd, floor_response.base + sent, floor_response.len - sent, 0);

            if (n < 0) {
                close(fd);
                return;
            }
            sent += (size_t)n;
        }
    }
    close(fd);
}

static int accept_blocking(int listener)
{
    int fd;

    do {
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    } while (fd < 0 && (errno == ECONNABORTED || errno == EINTR));
    if (fd < 0) {
        floor_die("accept");
    }
    return fd;
}

static void *thread_body(void *fd)
{
    serve_blocking((int)(intptr_t)fd);
    return NULL;
}

void floor_serve_threads(int listener)
{
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (;;) {
        int fd = accept_blocking(listener);
        pthread_t thread;

        errno = pthread_create(&thread, &attributes, thread_body, (void *)(intptr_t)fd);
        if (errno != 0) {
            floor_die("pthread_create");
        }
    }
}

/* Threads inherit the class of the one that makes them. */
void floor_serve_threads_batch(int listener)
{
    const struct sched_param no_priority = { .sched_priority = 0 };

    if (sched_setscheduler(0, SCHED_BATCH, &no_priority) < 0) {
        floor_die("SCHED_BATCH");
    }
    floor_serve_threads(listener);
}

static sigset_t family_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGCHLD);
    return set;
}

/* The children that live. */
static pid_t *children;
static size_t child_count, child_room;

static void remember_child(pid_t pid)
{
    if (child_count == child_room) {
        child_room = child_room * 2 + 16;
        children = realloc(children, child_room * sizeof *children);
        if (children == NULL) {
            floor_die("memory");
        }
    }
    children[child_count++] = pid;
}

static void forget_child(pid_t pid)
{
    for (size_t i = 0; i < child_count; i++) {
        if (children[i] == pid) {
            children[i] = children[--child_count];
            return;
        }
    }
}

static void fork_for(int fd, int listener, const sigset_t *signals)
{
    pid_t parent = getpid(), pid = fork();

    if (pid == 0) {
        /* However the parent ends, its children end with it. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            sigprocmask(SIG_UNBLOCK, signals, NULL);
            close(listener);
            serve_blocking(fd);
        }
        _exit(EXIT_SUCCESS);
    }
    if (pid > 0) {
        remember_child(pid);
    }
    close(fd); /* without a child the client is turned away */
}

/* True if it is time to end. Children are reaped at once: only then is what they used in
 * the account of this process. */
static bool heed_signal(int signals)
{
    struct signalfd_siginfo info;
    pid_t pid;

    if (read(signals, &info, sizeof info) != sizeof info) {
        floor_die("signalfd");
    }
    if (info.ssi_signo != SIGCHLD) {
        return true;
    }
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
        forget_child(pid);
    }
    return false;
}

void floor_serve_processes(int listener)
{
    const sigset_t set = family_signals();
    struct pollfd waited[2] = { { .fd = listener, .events = POLLIN },
                                { .fd = -1, .events = POLLIN } };
    bool over = false;

    sigprocmask(SIG_BLOCK, &set, NULL);
    waited[1].fd = signalfd(-1, &set, SFD_CLOEXEC);
    if (waited[1].fd < 0) {
        floor_die("signalfd");
    }
    while (!over && poll(waited, 2, -1) >= 0) {
        if (waited[0].revents != 0) {
            fork_for(accept_blocking(listener), listener, &set);
        }
        over = waited[1].revents != 0 && heed_signal(waited[1].fd);
    }
    for (size_t i = 0; i < child_count; i++) {
        kill(children[i], SIGKILL);
    }
    while (wait(NULL) > 0) {
    }
}
