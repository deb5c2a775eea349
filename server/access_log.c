/* See access_log.h. The thread sleeps until a first line comes, lets more gather for a
 * while, and writes them. What the file does not take stays in the lanes and is tried
 * again; the lanes' writers drop what finds no room there. It must never know what is in a
 * line. */
#include "access_log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "log_file.h"
#include "log_lanes.h"

enum {
    RETRY_MS = 250,          /* between attempts while the file cannot be written */
    COMPLAIN_MS = 10 * 1000, /* at most one complaint in this time */
    LAST_MS = 500,           /* a reader that is slow at the end is given so long */
    BATCHES_MAX = 64,        /* at a stretch; then the thread looks up */
    STACK_BYTES = 256 * 1024
};

/* What the thread is woken for. The first two are what is added to its descriptor, far
 * enough apart for their sums to tell them. */
#define NEWS_LINES UINT64_C(1)
#define NEWS_URGENT (UINT64_C(1) << 16)
#define NEWS_REOPEN (UINT64_C(1) << 32)

struct access_log {
    struct log_lanes *lanes; /* owned, shared between the processes */
    int wake_fd;             /* owned, shared too */
    pid_t opener;            /* the process that writes */
    int reopen_fd;           /* borrowed; -1: none */
    atomic_bool stopping;
    bool started;
    pthread_t thread;

    /* The rest is the thread's. */
    struct log_file file;
    size_t begin, end; /* what of the batch is not written yet; begin may be in a line */
    uint64_t torn;     /* lines that were given up with one part of them written */
    int error;         /* of the last write; 0: it went well */
    bool complained;   /* of it */
    uint64_t dropped_before; /* lines dropped when the trouble began */
    uint64_t reported;       /* lines dropped that were told of */
    uint64_t complain_ms;    /* the next complaint is due then */
    char batch[LOG_FILE_BATCH];
};

int access_log_open(struct access_log **opened, const char *path)
{
    struct access_log *log = calloc(1, sizeof(*log));
    int result;

    if (log == NULL) {
        return -ENOMEM;
    }
    log->file.fd = -1;
    log->opener = getpid();
    log->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (log->wake_fd < 0) {
        result = -errno;
        goto out;
    }
    log->lanes = log_lanes_open();
    if (log->lanes == NULL) {
        result = -errno;
        goto out;
    }
    result = log_file_open(&log->file, path);
out:
    if (result != 0) {
        access_log_close(log);
        log = NULL;
    }
    *opened = log;
    return result;
}

int access_log_give(struct access_log *log, uid_t user, gid_t group)
{
    return log_file_give(&log->file, user, group);
}

/* Only addition of a number that the counter has room for: it cannot fail. */
static void wake(const struct access_log *log, uint64_t news)
{
    ssize_t written = write(log->wake_fd, &news, sizeof(news));

    (void)written;
}

unsigned access_log_claim(struct access_log *log)
{
    /* A child would keep the old file and its space on the disk after a rotation. */
    if (getpid() != log->opener) {
        log_file_close(&log->file);
    }
    return log_lanes_claim(log->lanes);
}

void access_log_add(struct access_log *log, unsigned lane, const char *line, size_t len)
{
    switch (log_lanes_put(log->lanes, lane, line, len)) {
    case LOG_LANES_FIRST:
        wake(log, NEWS_LINES);
        break;
    case LOG_LANES_URGENT:
        wake(log, NEWS_URGENT);
        break;
    case LOG_LANES_QUIET:
    case LOG_LANES_DROPPED:
        break;
    }
}

/* ---- the thread: what it says */

static uint64_t dropped(const struct access_log *log)
{
    return log_lanes_dropped(log->lanes) + log->torn;
}

/* A full pipe is nothing to talk about until lines are dropped. */
static void complain(struct access_log *log, const char *reason)
{
    bool serious = log->error != 0 && log->error != EAGAIN;
    uint64_t lines = dropped(log);
    uint64_t now_ms = clock_now_ms();

    if (now_ms < log->complain_ms ||
        (lines == log->reported && (log->complained || !serious))) {
        return;
    }
    log_write(LOG_LEVEL_WARN, "access log %.200s: %s; %llu lines dropped", log->file.path,
              reason, (unsigned long long)(lines - log->dropped_before));
    log->complained = true;
    log->reported = lines;
    log->complain_ms = now_ms + COMPLAIN_MS;
}

static void recover(struct access_log *log)
{
    uint64_t lines = dropped(log);

    if (log->complained) {
        log_write(LOG_LEVEL_WARN, "access log %.200s: written again; %llu lines dropped",
                  log->file.path, (unsigned long long)(lines - log->dropped_before));
        log->reported = lines;
    }
    log->complained = false;
    log->error = 0;
    log->dropped_before = log->reported;
}

/* ---- the thread: what it does */

/* Sees to it that a batch holds something. False: there is nothing. */
static bool fill(struct access_log *log)
{
    if (log->begin == log->end) {
        log->begin = 0;
        log->end = log_lanes_take(log->lanes, log->batch, log_file_batch(&log->file));
    }
    return log->end > 0;
}

/* Writes what is there. An error leaves the rest where it is: also that of a line of which
 * a full disk took a part only, so that the line becomes whole when there is room again. */
static void flush(struct access_log *log)
{
    for (unsigned i = 0; i < BATCHES_MAX && fill(log); i++) {
        ssize_t n =
            log_file_write(&log->file, log->batch + log->begin, log->end - log->begin);

        if (n <= 0) {
            log->error = n < 0 ? (int)-n : EIO;
            complain(log,
                     log->error == EAGAIN ? "nobody reads it" : strerror(log->error));
            return;
        }
        log->begin += (size_t)n;
        if (log->error != 0) {
            recover(log);
        }
    }
    if (dropped(log) != log->reported) {
        complain(log, "too many lines at once");
        log->complained = false;
        log->dropped_before = log->reported;
    }
}

/* The part of a line whose beginning is in the old file does not belong into a new one. */
static void give_up_torn_line(struct access_log *log)
{
    const char *rest = log->batch + log->begin;

    if (log->begin < log->end && log->begin > 0 && rest[-1] != '\n') {
        const char *newline = memchr(rest, '\n', log->end - log->begin);

        log->begin += (size_t)(newline - rest) + 1;
        log->torn++;
    }
}

/* What came before goes into the old file, if that takes it. */
static void reopen(struct access_log *log)
{
    int result;

    flush(log);
    result = log_file_reopen(&log->file);
    if (result == 0) {
        give_up_torn_line(log);
        return;
    }
    log_write(LOG_LEVEL_WARN,
              "cannot reopen the access log %.200s: %s; the old one stays",
              log->file.path, strerror(-result));
}

/* True if the file is to be opened again. */
static bool take_reopen(const struct access_log *log)
{
    char anything[256];
    bool asked = false;

    while (log->reopen_fd >= 0 && read(log->reopen_fd, anything, sizeof(anything)) > 0) {
        asked = true;
    }
    return asked;
}

/* Waits for news and returns them; 0: time ran out, or there is room again. */
static uint64_t await(const struct access_log *log, int timeout_ms)
{
    /* Only EAGAIN ends by there being room; a full device would always be ready. */
    struct pollfd fds[] = {
        { .fd = log->wake_fd, .events = POLLIN },
        { .fd = log->reopen_fd, .events = POLLIN },
        { .fd = log->error == EAGAIN ? log_file_poll_fd(&log->file) : -1,
          .events = POLLOUT },
    };
    uint64_t news = 0;

    (void)poll(fds, sizeof(fds) / sizeof(fds[0]), timeout_ms);
    if (read(log->wake_fd, &news, sizeof(news)) < 0) {
        news = 0;
    }
    return take_reopen(log) ? news + NEWS_REOPEN : news;
}

static bool is_empty(const struct access_log *log)
{
    return log->begin == log->end && log_lanes_empty(log->lanes);
}

static void *run(void *argument)
{
    struct access_log *log = argument;

    while (!atomic_load(&log->stopping)) {
        int idle_ms = is_empty(log) ? -1 : 0;
        uint64_t news = await(log, log->error != 0 ? RETRY_MS : idle_ms);

        if (news > 0 && news < NEWS_URGENT) {
            news += await(log, ACCESS_LOG_FLUSH_MS);
        }
        /* While the file takes nothing, no line needs to wake anybody. */
        if (log->error == 0) {
            log_lanes_rest(log->lanes);
        }
        if (news >= NEWS_REOPEN) {
            reopen(log);
        }
        flush(log);
    }
    return NULL;
}

int access_log_start(struct access_log *log, int reopen_fd)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);

    if (error != 0) {
        return -error;
    }
    log->reopen_fd = reopen_fd;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&log->thread, &attributes, run, log);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    log->started = error == 0;
    return -error;
}

/* ---- the end */

static uint64_t count_lines(const char *bytes, size_t len)
{
    uint64_t lines = 0;

    for (size_t i = 0; i < len; i++) {
        lines += bytes[i] == '\n';
    }
    return lines;
}

/* The lines that are given up. */
static uint64_t give_up(struct access_log *log)
{
    uint64_t lines = dropped(log) - log->reported;

    while (fill(log)) {
        lines += count_lines(log->batch + log->begin, log->end - log->begin);
        log->begin = log->end;
    }
    return lines;
}

static void write_last(struct access_log *log)
{
    uint64_t limit_ms = clock_now_ms() + LAST_MS;
    uint64_t lines;

    flush(log);
    while (!is_empty(log) && (log->error == 0 || log->error == EAGAIN) &&
           clock_now_ms() < limit_ms) {
        log_file_wait(&log->file, LAST_MS / 4);
        flush(log);
    }
    lines = give_up(log);
    if (lines > 0) {
        log_write(LOG_LEVEL_WARN, "access log %.200s: the last %llu lines are lost",
                  log->file.path, (unsigned long long)lines);
    }
}

void access_log_close(struct access_log *log)
{
    if (log == NULL) {
        return;
    }
    if (log->started) {
        atomic_store(&log->stopping, true);
        wake(log, NEWS_URGENT);
        pthread_join(log->thread, NULL);
        write_last(log);
    }
    log_file_close(&log->file);
    log_lanes_close(log->lanes);
    if (log->wake_fd >= 0) {
        close(log->wake_fd);
    }
    free(log);
}
