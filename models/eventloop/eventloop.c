/* The eventloop model: N libuv loops, each in a kernel thread of its own and sharing
 * nothing; the first one, in the calling thread, also accepts and hands each connection
 * to the loop that has the fewest. It must never know what a connection says. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inbox.h"
#include "listener.h"
#include "log.h"
#include "loop.h"
#include "loop_conn.h"
#include "model.h"
#include "options.h"
#include "refuser.h"

enum {
    ACCEPTS_MAX = 64, /* per wake-up, then the connections have their turn */
    STACK_SIZE = 256 * 1024
};

/* A loop and its way in. */
struct member {
    struct loop loop;
    struct eventloop *all;
    struct inbox *inbox; /* NULL for the first loop, which opens its own directly */
    uv_poll_t inbox_poll;
    uv_async_t stop;
    pthread_t thread;
    bool started;
};

struct eventloop {
    const struct server *server;
    struct member *members;
    unsigned member_count;
    uv_poll_t *listener_polls;
    unsigned listener_count;
    uv_poll_t stop_poll;
    uv_timer_t retry;   /* accepting pauses while it runs */
    atomic_uint served; /* connections within the limit, of all loops */
    atomic_uint refused;
};

static void on_connection(uv_poll_t *poll, int status, int events);

static void watch_listeners(struct eventloop *all, bool watch)
{
    for (unsigned i = 0; i < all->listener_count; i++) {
        if (watch) {
            uv_poll_start(&all->listener_polls[i], UV_READABLE, on_connection);
        } else {
            uv_poll_stop(&all->listener_polls[i]);
        }
    }
}

static void on_retry(uv_timer_t *timer)
{
    watch_listeners(timer->data, true);
}

static struct member *least_loaded(struct eventloop *all)
{
    struct member *best = &all->members[0];
    unsigned least = atomic_load_explicit(&best->loop.load, memory_order_relaxed);

    for (unsigned i = 1; i < all->member_count; i++) {
        struct member *member = &all->members[i];
        unsigned load = atomic_load_explicit(&member->loop.load, memory_order_relaxed);

        if (load < least) {
            best = member;
            least = load;
        }
    }
    return best;
}

/* Counts the connection on its loop and in total, and gives it to its loop. False if the
 * connections have to have their turn before another is taken. */
static bool dispatch(struct eventloop *all, int fd)
{
    unsigned served = atomic_load_explicit(&all->served, memory_order_relaxed);
    bool refuse = served >= all->server->options->max_connections;
    struct member *member = refuse ? &all->members[0] : least_loaded(all);
    atomic_uint *total = refuse ? &all->refused : &all->served;

    bool crowded =
        refuse && atomic_load_explicit(total, memory_order_relaxed) >= REFUSER_MAX;

    if (crowded) {
        worker_end_refused(member->loop.worker, loop_conn_wake);
    }
    atomic_fetch_add_explicit(total, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&member->loop.load, 1, memory_order_relaxed);
    if (member->inbox == NULL || inbox_put(member->inbox, fd) != 0) {
        if (member->inbox != NULL) {
            atomic_fetch_sub_explicit(&member->loop.load, 1, memory_order_relaxed);
            member = &all->members[0];
            atomic_fetch_add_explicit(&member->loop.load, 1, memory_order_relaxed);
        }
        loop_conn_open(&member->loop, fd, refuse, total);
    }
    return !crowded;
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct eventloop *all = poll->data;
    unsigned which = (unsigned)(poll - all->listener_polls);

    (void)status;
    (void)events;
    for (unsigned n = 0; n < ACCEPTS_MAX; n++) {
        int fd;

        switch (listener_accept(all->server->listener, which, &fd)) {
        case ACCEPT_OK:
            if (!dispatch(all, fd)) {
                return;
            }
            break;
        case ACCEPT_RETRY:
            watch_listeners(all, false);
            uv_timer_start(&all->retry, on_retry, LISTENER_RETRY_MS, 0);
            return;
        case ACCEPT_NONE:
        case ACCEPT_STOPPED:
            return;
        }
    }
}

static size_t open_from_inbox(struct member *member)
{
    int fds[ACCEPTS_MAX];
    size_t n = inbox_take(member->inbox, fds, ACCEPTS_MAX);

    for (size_t i = 0; i < n; i++) {
        loop_conn_open(&member->loop, fds[i], false, &member->all->served);
    }
    return n;
}

static void on_inbox(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    open_from_inbox(poll->data);
}

/* In a loop that does not accept: the first loop has put its last connection into the
 * inbox before it called. */
static void on_member_stop(uv_async_t *async)
{
    struct member *member = async->data;

    while (open_from_inbox(member) > 0) {
    }
    uv_close((uv_handle_t *)&member->inbox_poll, NULL);
    uv_close((uv_handle_t *)&member->stop, NULL);
    loop_drain(&member->loop, member->all->server->options->grace_ms);
}

static void stop_accepting(struct eventloop *all)
{
    listener_stop(all->server->listener);
    for (unsigned i = 0; i < all->listener_count; i++) {
        uv_close((uv_handle_t *)&all->listener_polls[i], NULL);
    }
    uv_close((uv_handle_t *)&all->retry, NULL);
    uv_close((uv_handle_t *)&all->stop_poll, NULL);
    for (unsigned i = 1; i < all->member_count; i++) {
        if (all->members[i].started) {
            uv_async_send(&all->members[i].stop);
        }
    }
    loop_drain(&all->members[0].loop, all->server->options->grace_ms);
}

static void on_stop(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    stop_accepting(poll->data);
}

static void *run_member(void *argument)
{
    struct member *member = argument;

    uv_run(&member->loop.uv, UV_RUN_DEFAULT);
    return NULL;
}

/* Signals are the first thread's; the threads started here block them all. */
static int start_thread(struct member *member)
{
    sigset_t all_signals, before;
    pthread_attr_t attributes;
    int result;

    sigfillset(&all_signals);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_sigmask(SIG_SETMASK, &all_signals, &before);
    result = pthread_create(&member->thread, &attributes, run_member, member);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    member->started = result == 0;
    return -result;
}

static int open_member(struct member *member)
{
    int result = loop_open(&member->loop, member->all->server);

    if (result != 0) {
        return result;
    }
    if (member == member->all->members) {
        return 0;
    }
    member->inbox = inbox_open();
    if (member->inbox == NULL) {
        result = -errno;
        loop_drain(&member->loop, 0);
        uv_run(&member->loop.uv, UV_RUN_DEFAULT);
        loop_close(&member->loop);
        return result;
    }
    uv_poll_init(&member->loop.uv, &member->inbox_poll, inbox_fd(member->inbox));
    uv_async_init(&member->loop.uv, &member->stop, on_member_stop);
    member->inbox_poll.data = member->stop.data = member;
    uv_poll_start(&member->inbox_poll, UV_READABLE, on_inbox);
    return 0;
}

static int open_accepting(struct eventloop *all)
{
    const struct server *server = all->server;
    uv_loop_t *uv = &all->members[0].loop.uv;

    all->listener_count = listener_count(server->listener);
    all->listener_polls = calloc(all->listener_count, sizeof *all->listener_polls);
    if (all->listener_polls == NULL) {
        all->listener_count = 0;
    }
    for (unsigned i = 0; i < all->listener_count; i++) {
        uv_poll_init(uv, &all->listener_polls[i], listener_fd(server->listener, i));
        all->listener_polls[i].data = all;
    }
    uv_timer_init(uv, &all->retry);
    uv_poll_init(uv, &all->stop_poll, server->stop_fd);
    all->retry.data = all->stop_poll.data = all;
    uv_poll_start(&all->stop_poll, UV_READABLE, on_stop);
    watch_listeners(all, true);
    return all->listener_polls == NULL ? -ENOMEM : 0;
}

/* Opens all loops before any thread runs, so that no failure has to stop one. */
static int open_all(struct eventloop *all, unsigned *opened)
{
    int result = 0;

    for (*opened = 0; *opened < all->member_count && result == 0;) {
        all->members[*opened].all = all;
        result = open_member(&all->members[*opened]);
        *opened += result == 0;
    }
    if (*opened > 0) {
        int accepting = open_accepting(all);

        result = result != 0 ? result : accepting;
    }
    for (unsigned i = 1; i < *opened && result == 0; i++) {
        result = start_thread(&all->members[i]);
    }
    return result;
}

static void close_all(struct eventloop *all, unsigned opened)
{
    for (unsigned i = 0; i < opened; i++) {
        struct member *member = &all->members[i];

        if (member->started) {
            pthread_join(member->thread, NULL);
        } else if (i > 0) {
            uv_async_send(&member->stop); /* never ran: end it here */
            uv_run(&member->loop.uv, UV_RUN_DEFAULT);
        }
        inbox_close(member->inbox);
        loop_close(&member->loop);
    }
}

static int run(const struct server *server)
{
    struct eventloop all = { .server = server, .member_count = server->options->workers };
    unsigned opened = 0;
    int result = -ENOMEM;

    atomic_init(&all.served, 0);
    atomic_init(&all.refused, 0);
    all.members = calloc(all.member_count, sizeof *all.members);
    if (all.members != NULL) {
        result = open_all(&all, &opened);
    }
    if (result != 0) {
        log_write(LOG_LEVEL_ERROR, "cannot start the event loops: %s", strerror(-result));
        if (opened > 0) {
            stop_accepting(&all);
        }
    }
    if (opened > 0) {
        uv_run(&all.members[0].loop.uv, UV_RUN_DEFAULT);
    }
    close_all(&all, opened);
    free(all.listener_polls);
    free(all.members);
    return result == 0 ? 0 : 1;
}

const struct model eventloop_model = {
    .name = "eventloop",
    .summary = "callbacks on libuv, one loop per worker",
    .run = run,
};
