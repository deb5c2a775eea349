/* Changes below the document root, by inotify; see file_watch.h. Many events become one
 * step of the counter, so a file that is written without pause costs its readers a
 * bounded number of checks. */
#include "file_watch.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    WATCH_PAUSE_MS = 10,          /* between two steps of the counter */
    WATCH_READS_MAX = 256,        /* before a step, of some 100 events each */
    WATCH_DIRECTORIES_MAX = 1024, /* each takes kernel memory, out of a limit that all
                                     programs of the user share */
    WATCH_STACK_SIZE = 64 * 1024,
    WATCH_EVENTS = IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVED_FROM |
                   IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF
};

/* In memory that forked children share. */
struct shared_part {
    atomic_ullong generation;
    atomic_uint directories;
};

struct file_watch {
    int inotify_fd, stop_fd;
    struct shared_part *shared;
    sem_t running;
    pthread_t thread;
    pid_t opened_by;
};

/* Reads what is there, but no end of it: a file may be written faster than its events are
 * read. True if an event came. */
static bool take_events(struct file_watch *watch)
{
    _Alignas(struct inotify_event) char events[4096];
    bool any = false;

    for (int reads = 0; reads < WATCH_READS_MAX; reads++) {
        ssize_t n = read(watch->inotify_fd, events, sizeof events);

        if (n <= 0) {
            break;
        }
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *event =
                (const struct inotify_event *)(const void *)(events + at);

            if ((event->mask & IN_IGNORED) != 0) {
                atomic_fetch_sub(&watch->shared->directories, 1);
            }
            at += (ssize_t)(sizeof *event + event->len);
        }
        any = true;
    }
    return any;
}

/* Leaves the process its table of descriptors: while threads share one, the kernel counts
 * a reference to the file in each system call. The copy keeps what the watch needs, and
 * closes the rest, or what the process closes would stay open here. Where that is
 * forbidden, or not to be had, the table stays shared, which works as well. */
static void leave_table(const struct file_watch *watch)
{
#ifdef CLOSE_RANGE_UNSHARE
    int high = watch->inotify_fd > watch->stop_fd ? watch->inotify_fd : watch->stop_fd;

    if (close_range((unsigned)high + 1, UINT_MAX, CLOSE_RANGE_UNSHARE) != 0) {
        return;
    }
    for (int fd = 0; fd < high; fd++) {
        /* Standard error stays: what finds a fault in this thread says so there. */
        if (fd != watch->inotify_fd && fd != watch->stop_fd && fd != STDERR_FILENO) {
            (void)close(fd);
        }
    }
#else
    (void)watch;
#endif
}

static void *watch_run(void *argument)
{
    struct file_watch *watch = argument;
    struct pollfd waits[] = { { .fd = watch->stop_fd, .events = POLLIN },
                              { .fd = watch->inotify_fd, .events = POLLIN } };

    leave_table(watch);
    (void)sem_post(&watch->running);
    while (waits[0].revents == 0) {
        if (poll(waits, 2, -1) > 0 && waits[1].revents != 0 && take_events(watch)) {
            atomic_fetch_add_explicit(&watch->shared->generation, 1,
                                      memory_order_release);
            (void)poll(waits, 1, WATCH_PAUSE_MS);
        }
    }
    return NULL;
}

/* Signals belong to the program's other threads. */
static bool start_thread(struct file_watch *watch)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error;

    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    (void)pthread_attr_setstacksize(&attributes, WATCH_STACK_SIZE);
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    (void)sem_init(&watch->running, 0, 0);
    error = pthread_create(&watch->thread, &attributes, watch_run, watch);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    /* A process that forks while a thread starts gives its child the locks that the start
     * holds, and nobody there to open them. */
    while (error == 0 && sem_wait(&watch->running) != 0) {
    }
    return error == 0;
}

static void give_back(struct file_watch *watch)
{
    if (watch->shared != MAP_FAILED) {
        munmap(watch->shared, sizeof *watch->shared);
    }
    if (watch->stop_fd >= 0) {
        close(watch->stop_fd);
    }
    if (watch->inotify_fd >= 0) {
        close(watch->inotify_fd);
    }
    free(watch);
}

struct file_watch *file_watch_open(void)
{
    struct file_watch *watch = malloc(sizeof *watch);

    if (watch == NULL) {
        return NULL;
    }
    *watch = (struct file_watch){ .inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK),
                                  .stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                                  .shared = mmap(NULL, sizeof *watch->shared,
                                                 PROT_READ | PROT_WRITE,
                                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0),
                                  .opened_by = getpid() };
    if (watch->inotify_fd < 0 || watch->stop_fd < 0 || watch->shared == MAP_FAILED ||
        !start_thread(watch)) {
        give_back(watch);
        return NULL;
    }
    return watch;
}

void file_watch_close(struct file_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    if (watch->opened_by == getpid()) {
        (void)eventfd_write(watch->stop_fd, 1);
        (void)pthread_join(watch->thread, NULL);
    }
    give_back(watch);
}

/* By the descriptor's link in /proc: no path to be resolved on a disk, and none that
 * could by now mean another directory. */
void file_watch_directory(struct file_watch *watch, int directory_fd)
{
    char link[sizeof "/proc/self/fd/" + 3 * sizeof directory_fd];

    if (watch == NULL ||
        atomic_load(&watch->shared->directories) >= WATCH_DIRECTORIES_MAX) {
        return;
    }
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", directory_fd);
    /* Where it is watched already, this fails and is not counted again. */
    if (inotify_add_watch(watch->inotify_fd, link,
                          WATCH_EVENTS | IN_ONLYDIR | IN_MASK_CREATE) >= 0) {
        atomic_fetch_add(&watch->shared->directories, 1);
    }
}

uint64_t file_watch_generation(const struct file_watch *watch)
{
    return watch == NULL
               ? 0
               : atomic_load_explicit(&watch->shared->generation, memory_order_acquire);
}
