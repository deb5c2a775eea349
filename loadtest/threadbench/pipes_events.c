/* One thread that waits for all pipes at once, by each of the kernel's ways, and the loop
 * that reads them one after the other. The writer of the storm is a kernel thread beside
 * it, as published. It must never know what is written. */
#include "uv_loop.h"
#include "pipes.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/utsname.h>
#include <unistd.h>

/* As published: the reader goes first. */
enum { WRITER_NICE = 10 };

void events_ready(struct run *run, struct events *events, size_t number)
{
    char bytes[PIPES_READ_BYTES];
    bool more = true;

    while (more) {
        ssize_t size = read(events->fds[number], bytes, sizeof(bytes));
        uint64_t before = events->counted->bytes;

        if (size < 0 && errno == EAGAIN) {
            return; /* a wake for what an earlier read has taken */
        }
        run_must(run, "a read of a pipe", size > 0 ? 0 : size == 0 ? -EPIPE : -errno);
        more = pipes_note(events->counted, bytes, (size_t)size);
        if (run->params->mode == PIPES_CHAIN) {
            pipes_pass_on(run, number, events->counted->bytes - before);
        }
    }
}

/* Pipe number i of a walk that begins where the last one ended. */
static size_t walk_at(const struct events *events, size_t i)
{
    size_t at = events->from + i;

    return at < events->count ? at : at - events->count;
}

enum { LONG_BITS = sizeof(unsigned long) * CHAR_BIT };

/* The C library's set ends at 1024 descriptors, the kernel's does not. */
struct select_own {
    int above; /* the largest descriptor, and one */
    size_t longs;
    unsigned long *wanted, *found;
};

static void select_open(struct run *run, struct events *events)
{
    struct select_own *own = run_share(run, sizeof(*own));

    for (size_t i = 0; i < events->count; i++) {
        own->above = events->fds[i] >= own->above ? events->fds[i] + 1 : own->above;
    }
    own->longs = (size_t)own->above / LONG_BITS + 1;
    own->wanted = run_share(run, own->longs * sizeof(long));
    own->found = run_share(run, own->longs * sizeof(long));
    for (size_t i = 0; i < events->count; i++) {
        own->wanted[events->fds[i] / LONG_BITS] |= 1UL << (events->fds[i] % LONG_BITS);
    }
    events->own = own;
}

static void select_wait(struct run *run, struct events *events)
{
    struct select_own *own = events->own;
    size_t taken = 0, i;
    int count;

    memcpy(own->found, own->wanted, own->longs * sizeof(long));
    count = select(own->above, (fd_set *)(void *)own->found, NULL, NULL, NULL);
    run_must(run, "select", count < 0 ? -errno : 0);
    for (i = 0; i < events->count && taken < (size_t)count && taken < events->batch;
         i++) {
        size_t number = walk_at(events, i);
        int fd = events->fds[number];

        if ((own->found[fd / LONG_BITS] >> (fd % LONG_BITS)) & 1) {
            events_ready(run, events, number);
            taken++;
        }
    }
    events->from = walk_at(events, i) % events->count;
}

static void poll_open(struct run *run, struct events *events)
{
    struct pollfd *polled = run_share(run, events->count * sizeof(*polled));

    for (size_t i = 0; i < events->count; i++) {
        polled[i] = (struct pollfd){ .fd = events->fds[i], .events = POLLIN };
    }
    events->own = polled;
}

static void poll_wait(struct run *run, struct events *events)
{
    struct pollfd *polled = events->own;
    int count = poll(polled, events->count, -1);
    size_t taken = 0, i;

    run_must(run, "poll", count < 0 ? -errno : 0);
    for (i = 0; i < events->count && taken < (size_t)count && taken < events->batch;
         i++) {
        size_t number = walk_at(events, i);

        if (polled[number].revents != 0) {
            events_ready(run, events, number);
            taken++;
        }
    }
    events->from = walk_at(events, i) % events->count;
}

static void nothing_close(struct events *events)
{
    (void)events; /* its memory ends with the run */
}

struct epoll_own {
    int fd;
    struct epoll_event found[];
};

static void epoll_open_with(struct run *run, struct events *events, uint32_t bits)
{
    struct epoll_own *own =
        run_share(run, sizeof(*own) + events->batch * sizeof(own->found[0]));

    own->fd = epoll_create1(EPOLL_CLOEXEC);
    run_must(run, "epoll", own->fd < 0 ? -errno : 0);
    for (size_t i = 0; i < events->count; i++) {
        struct epoll_event event = { .events = EPOLLIN | bits, .data = { .u64 = i } };

        run_must(run, "epoll",
                 epoll_ctl(own->fd, EPOLL_CTL_ADD, events->fds[i], &event) < 0 ? -errno
                                                                               : 0);
    }
    events->own = own;
}

static void epoll_open(struct run *run, struct events *events)
{
    epoll_open_with(run, events, 0);
}

static void epoll_et_open(struct run *run, struct events *events)
{
    epoll_open_with(run, events, EPOLLET);
}

static void epoll_wait_once(struct run *run, struct events *events)
{
    struct epoll_own *own = events->own;
    int count = epoll_wait(own->fd, own->found, (int)events->batch, -1);

    run_must(run, "epoll", count < 0 ? -errno : 0);
    for (int i = 0; i < count; i++) {
        events_ready(run, events, own->found[i].data.u64);
    }
}

static void epoll_close(struct events *events)
{
    (void)close(((struct epoll_own *)events->own)->fd);
}

static void called(struct run *run, size_t number)
{
    events_ready(run, ((struct pipes *)run->data)->events, number);
}

static void uv_open(struct run *run, struct events *events)
{
    struct loop *loop = loop_open(run, events->count, called);

    for (size_t i = 0; i < events->count; i++) {
        loop_add_watch(loop, i, events->fds[i], RT_READ);
    }
    ((struct pipes *)run->data)->events = events;
    events->own = loop;
}

static void uv_wait(struct run *run, struct events *events)
{
    (void)run;
    loop_once(events->own);
}

static void uv_close_all(struct events *events)
{
    loop_close(events->own);
}

static const struct event_kind event_uv = { uv_open, uv_wait, uv_close_all };
static const struct event_kind event_select = { select_open, select_wait, nothing_close };
static const struct event_kind event_poll = { poll_open, poll_wait, nothing_close };
static const struct event_kind event_epoll = { epoll_open, epoll_wait_once, epoll_close };
static const struct event_kind event_epoll_et = { epoll_et_open, epoll_wait_once,
                                                  epoll_close };

static struct events *events_make(struct run *run)
{
    struct pipes *pipes = run->data;
    struct events *events = run_share(run, sizeof(*events));

    events->kind = run->way->detail;
    events->count = pipes->count;
    events->batch = run->params->batch;
    events->counted = pipes->counts;
    events->fds = run_share(run, pipes->count * sizeof(*events->fds));
    for (size_t i = 0; i < pipes->count; i++) {
        events->fds[i] = pipes->ends[i][0].fd;
        run_must(run, "a pipe",
                 fcntl(events->fds[i], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0);
    }
    return events;
}

static void wait_once(struct run *run, struct events *events)
{
    uint64_t before = events->counted->events;

    events->kind->wait(run, events);
    events->counted->wakes++;
    if (events->counted->events - before < run->params->limit &&
        run->params->mode == PIPES_STORM) {
        (void)sched_yield();
    }
}

static void events_lead(struct run *run)
{
    struct pipes *pipes = run->data;
    struct events *events = events_make(run);
    bool chain = run->params->mode == PIPES_CHAIN;

    events->kind->open(run, events);
    for (uint64_t i = 0; chain && i < run->params->turns; i++) {
        uint64_t began_ns = run_clock_ns();

        pipes_turn_begin(run);
        while (!pipes_turn_over(run)) {
            wait_once(run, events);
        }
        pipes->turns_ns += run_clock_ns() - began_ns;
    }
    if (chain) {
        pipes_write_ends(run);
    }
    while (events->counted->ended < pipes->count) {
        wait_once(run, events);
    }
    events->kind->close(events);
}

static void writer_body(struct run *run, size_t number)
{
    (void)number;
    (void)setpriority(PRIO_PROCESS, 0, WRITER_NICE); /* of this kernel thread alone */
    pipes_write(run, false);
}

static void events_run(struct run *run)
{
    struct race race = { .threads = run->params->mode == PIPES_CHAIN ? 0 : 1,
                         .body = writer_body,
                         .lead = events_lead };

    pipes_make(run, 1);
    run_race(run, &race);
    pipes_conclude(run);
    pipes_close(run);
}

/* No events at all: writer and reader walk through the pipes in the same order, and the
 * reader blocks in the one whose turn it is. */
static void busy_lead(struct run *run)
{
    struct pipes *pipes = run->data;
    struct pipes_count *count = pipes->counts;
    bool *over = run_share(run, pipes->count * sizeof(*over));
    char bytes[PIPES_READ_BYTES];

    for (size_t i = 0; count->ended < pipes->count;
         i = i + 1 < pipes->count ? i + 1 : 0) {
        uint64_t before = count->ended;
        ssize_t size;

        /* The writer may be a round ahead, and its last byte was found with another. */
        if (over[i]) {
            continue;
        }
        size = run->rt->read(&pipes->ends[i][0], bytes, sizeof(bytes));
        run_must(run, "a read of a pipe", size > 0 ? 0 : size == 0 ? -EPIPE : (int)size);
        (void)pipes_note(count, bytes, (size_t)size);
        over[i] = count->ended > before;
    }
}

static void busy_body(struct run *run, size_t number)
{
    (void)number;
    (void)setpriority(PRIO_PROCESS, 0, WRITER_NICE);
    pipes_write(run, true);
}

static void busy_run(struct run *run)
{
    static const struct race race = { .threads = 1,
                                      .body = busy_body,
                                      .lead = busy_lead };

    if (run->params->mode == PIPES_CHAIN) {
        run_absent(run, "a chain has no order in which a busy loop could read it");
    }
    pipes_make(run, 1);
    run_race(run, &race);
    pipes_conclude(run);
    pipes_close(run);
    run->outcome->metrics[2] = NAN;
}

static void kernel_loaded(char *text, size_t size)
{
    struct utsname name;

    (void)snprintf(text, size, "%s", "Linux");
    if (uname(&name) == 0) {
        (void)snprintf(text, size, "Linux %.30s", name.release);
    }
}

static void uring_loaded(char *text, size_t size)
{
    char linux_name[LOADED_MAX / 2];

    kernel_loaded(linux_name, sizeof(linux_name));
    (void)snprintf(text, size, "multishot poll, for kevent; %s", linux_name);
}

#define EVENT_ROW(NAME, KIND, LOADED)                                                    \
    {                                                                                    \
        .name = NAME, .rt = &rt_pthread, .run = events_run, .loaded = LOADED,            \
        .detail = &KIND                                                                  \
    }

const struct way pipes_ways[] = {
    EVENT_ROW("select", event_select, kernel_loaded),
    EVENT_ROW("poll", event_poll, kernel_loaded),
    EVENT_ROW("epoll", event_epoll, kernel_loaded),
    EVENT_ROW("epoll-et", event_epoll_et, kernel_loaded),
    EVENT_ROW("io_uring", event_uring, uring_loaded),
    EVENT_ROW("uv", event_uv, loop_loaded),
    { .name = "busy", .rt = &rt_pthread, .run = busy_run, .loaded = kernel_loaded },
    { .name = NULL },
};
