/* The loop around the connections: first the idle ones are opened, then comes the load,
 * then what is still on its way is waited for. */
#include "tload_load.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "tload_client.h"

/* So often is looked for time-outs, and for connections to be tried again. */
static const uint64_t TICK_NS = 50000000;

enum {
    EVENTS = 256,
    OPENING =
        100 /* idle connections that are opened at a time: a listener's queue is short */
};

/* What the loop knows beside the connections. */
struct loop {
    struct tload_load load;
    volatile sig_atomic_t *stop;
    uint64_t tick;      /* the next one */
    uint64_t due_count; /* requests of an open loop that have been due */
    unsigned next_idle; /* the next idle client to be opened */
};

static uint64_t cpu_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static bool more_is_due(const struct loop *loop)
{
    const struct tload_load *load = &loop->load;
    uint64_t limit = load->options->requests;

    return load->options->rate > 0 && load->start && !load->stopping &&
           (limit == 0 || loop->due_count < limit);
}

/* Gives requests that are due to their connections. */
static void deal_out(struct loop *loop)
{
    struct tload_load *load = &loop->load;

    while (more_is_due(loop)) {
        uint64_t due = tload_due_ns(load, loop->due_count);
        struct tload_client *client =
            &load->clients[loop->due_count % load->options->clients];

        if (due > load->now || (load->end && due >= load->end)) {
            return;
        }
        loop->due_count++;
        client->owed++;
        tload_client_begin(load, client);
    }
}

static void tick(struct loop *loop)
{
    const struct tload_options *options = loop->load.options;

    if (loop->load.now < loop->tick) {
        return;
    }
    loop->tick = loop->load.now + TICK_NS;
    for (unsigned i = 0; i < options->clients + options->idle; i++) {
        tload_client_tick(&loop->load, &loop->load.clients[i]);
    }
}

static void go_on(struct tload_load *load)
{
    struct tload_client *client = load->again;

    load->again = NULL;
    while (client) {
        struct tload_client *next = client->again_next;

        client->again = false;
        tload_client_begin(load, client);
        client = next;
    }
}

static int wait_events(struct loop *loop, struct epoll_event *events, uint64_t until)
{
    struct tload_load *load = &loop->load;
    uint64_t wait_ns;

    until = until < loop->tick ? until : loop->tick;
    if (load->again) {
        until = load->now;
    }
    if (more_is_due(loop)) {
        uint64_t due = tload_due_ns(load, loop->due_count);

        until = due < until ? due : until;
    }
    wait_ns = until > load->now ? until - load->now : 0;
    if (load->options->rate > 0 && wait_ns > 0) {
        /* An open loop must not be a millisecond late. */
        struct pollfd set = { .fd = load->epoll, .events = POLLIN };
        struct timespec time = { .tv_sec = (time_t)(wait_ns / 1000000000),
                                 .tv_nsec = (long)(wait_ns % 1000000000) };

        ppoll(&set, 1, &time, NULL);
        wait_ns = 0;
    }
    return epoll_wait(load->epoll, events, EVENTS, (int)((wait_ns + 999999) / 1000000));
}

/* One turn, which waits for something to do, at most until then. */
static int turn(struct loop *loop, uint64_t until)
{
    struct tload_load *load = &loop->load;
    struct epoll_event events[EVENTS];
    int count = wait_events(loop, events, until);

    if (count < 0 && errno != EINTR) {
        return -errno;
    }
    load->now = tload_clock_ns();
    deal_out(loop);
    for (int i = 0; i < count; i++) {
        tload_client_event(load, events[i].data.ptr, events[i].events);
    }
    go_on(load);
    tick(loop);
    return 0;
}

static int open_idle(struct loop *loop)
{
    struct tload_load *load = &loop->load;
    const struct tload_options *options = load->options;
    int error = 0;

    load->idle_left = options->idle;
    while (load->idle_left > 0 && !*loop->stop && !error) {
        while (load->busy < OPENING && loop->next_idle < options->idle) {
            tload_client_begin_idle(load,
                                    &load->clients[options->clients + loop->next_idle++]);
        }
        error = turn(loop, UINT64_MAX);
    }
    return error;
}

static uint64_t count_idle(const struct tload_load *load)
{
    const struct tload_options *options = load->options;
    uint64_t count = 0;

    for (unsigned i = 0; i < options->idle; i++) {
        count += load->clients[options->clients + i].state == TLOAD_READY;
    }
    return count;
}

static bool is_over(const struct loop *loop)
{
    const struct tload_load *load = &loop->load;
    uint64_t limit = load->options->requests;

    return *loop->stop || (load->end && load->now >= load->end) ||
           (limit && load->finished == limit);
}

static int ask(struct loop *loop)
{
    struct tload_load *load = &loop->load;
    const struct tload_options *options = load->options;
    uint64_t cpu = cpu_ns();
    int error = 0;

    load->start = load->now = tload_clock_ns();
    load->end = options->duration_ns ? load->start + options->duration_ns : 0;
    for (unsigned i = 0; i < options->clients; i++) {
        tload_client_begin(load, &load->clients[i]);
    }
    while (!is_over(loop) && !error) {
        error = turn(loop, load->end ? load->end : UINT64_MAX);
    }
    load->tally->cpu_ns = cpu_ns() - cpu;
    load->tally->elapsed_ns = load->now - load->start;
    load->tally->interrupted = *loop->stop;
    return error;
}

static int drain(struct loop *loop)
{
    struct tload_load *load = &loop->load;
    uint64_t until = load->now + load->options->timeout_ns;
    int error = 0;

    load->stopping = true;
    while (load->busy > 0 && load->now < until && *loop->stop < 2 && !error) {
        error = turn(loop, until);
    }
    if (!error) {
        error = turn(loop, load->now); /* An idle one that has been closed is not open. */
    }
    return error;
}

static void sum_up(struct loop *loop, uint64_t *good)
{
    struct tload_load *load = &loop->load;

    load->tally->unanswered = load->busy;
    load->tally->idle_open = count_idle(load);
    for (unsigned i = 0; i < load->options->clients; i++) {
        good[i] = load->clients[i].answered;
        load->tally->unsent += load->clients[i].owed;
    }
    memcpy(load->tally->server, load->reader.server, sizeof(load->tally->server));
}

static int prepare(struct loop *loop)
{
    struct tload_load *load = &loop->load;
    const struct tload_options *options = load->options;
    size_t count = (size_t)options->clients + options->idle;

    load->reader = (struct tload_reader){ .of_head = load->target->of_head,
                                          .old_request = options->old_http,
                                          .zb = options->zb,
                                          .close = options->close,
                                          .verify = load->target->verify,
                                          .verify_size = load->target->verify_size };
    load->clients = calloc(count, sizeof(*load->clients));
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!load->clients || load->epoll < 0) {
        return load->clients ? -errno : -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        load->clients[i].fd = -1;
    }
    load->now = tload_clock_ns();
    return 0;
}

static void release(struct loop *loop)
{
    struct tload_load *load = &loop->load;
    size_t count = (size_t)load->options->clients + load->options->idle;

    for (size_t i = 0; load->clients && i < count; i++) {
        tload_client_close(&load->clients[i]);
    }
    free(load->clients);
    if (load->epoll >= 0) {
        close(load->epoll);
    }
    free(loop);
}

int tload_load_run(const struct tload_options *options, const struct tload_target *target,
                   volatile sig_atomic_t *stop, struct tload_tally *tally, uint64_t *good)
{
    struct loop *loop = calloc(1, sizeof(*loop));
    int error;

    if (!loop) {
        return -ENOMEM;
    }
    loop->stop = stop;
    loop->load.options = options;
    loop->load.target = target;
    loop->load.tally = tally;
    error = prepare(loop);
    if (!error) {
        error = open_idle(loop);
    }
    if (!error && options->idle > 0) {
        tally->idle_opened = count_idle(&loop->load);
        fprintf(stderr, "tload: %ju idle connections are open\n",
                (uintmax_t)tally->idle_opened);
    }
    if (!error) {
        error = ask(loop);
    }
    if (!error) {
        error = drain(loop);
    }
    if (loop->load.clients) {
        sum_up(loop, good);
    }
    release(loop);
    return error;
}
