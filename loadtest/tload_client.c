/* The life of a connection: connect, send, receive, and again. Each socket is in the
 * epoll set once, edge-triggered, so a request over a connection that stays costs a
 * send, a receive and its share of a wait. */
#include "tload_client.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* An open loop's request that is sent this much after it was due is late. */
static const uint64_t LATE_NS = 1000000;

uint64_t tload_clock_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t tload_due_ns(const struct tload_load *load, uint64_t count)
{
    return load->start + (uint64_t)((double)count * 1e9 / load->options->rate);
}

static unsigned number_of(const struct tload_load *load,
                          const struct tload_client *client)
{
    return (unsigned)(client - load->clients);
}

static bool is_idle(const struct tload_load *load, const struct tload_client *client)
{
    return number_of(load, client) >= load->options->clients;
}

void tload_client_close(struct tload_client *client)
{
    tload_reply_reset(&client->reply);
    if (client->fd >= 0) {
        close(client->fd);
    }
    client->fd = -1;
    client->state = TLOAD_CLOSED;
    client->used = false;
    client->serial++;
}

/* Its request is answered or has failed. */
static void finish(struct tload_load *load, struct tload_client *client)
{
    client->busy = false;
    load->busy--;
    if (is_idle(load, client)) {
        load->idle_left--;
    } else {
        load->finished++;
    }
}

/* Not at once: a server that refuses everything must not be asked from within the
 * failure. */
static void go_on_later(struct tload_load *load, struct tload_client *client,
                        bool at_tick)
{
    client->postponed = at_tick;
    if (!at_tick && !client->again) {
        client->again = true;
        client->again_next = load->again;
        load->again = client;
    }
}

static void fail(struct tload_load *load, struct tload_client *client,
                 enum tload_error kind)
{
    load->tally->errors[kind]++;
    if (kind == TLOAD_ERROR_MALFORMED && !load->tally->first_malformed) {
        load->tally->first_malformed = load->reader.reason;
    }
    if (client->busy) {
        finish(load, client);
    }
    tload_client_close(client);
    go_on_later(load, client, kind == TLOAD_ERROR_CONNECT);
}

static void fail_with(struct tload_load *load, struct tload_client *client,
                      enum tload_error kind, int error)
{
    if (load->tally->first_errno == 0) {
        load->tally->first_errno = error;
    }
    fail(load, client, kind);
}

static void fail_malformed(struct tload_load *load, struct tload_client *client,
                           const char *reason)
{
    load->reader.reason = reason;
    fail(load, client, TLOAD_ERROR_MALFORMED);
}

static void open_client(struct tload_load *load, struct tload_client *client);

/* The server has closed or reset a connection that had no answer in progress: an older
 * one may do so at any time, and then the program of 1998 asks again. */
static void lose(struct tload_load *load, struct tload_client *client,
                 enum tload_error kind, int error)
{
    if (load->options->zb && client->used && !tload_reply_begun(&client->reply)) {
        tload_client_close(client);
        open_client(load, client);
        return;
    }
    fail_with(load, client, kind, error);
}

static void send_request(struct tload_load *load, struct tload_client *client)
{
    const struct tload_target *target = load->target;
    ssize_t sent;

    do {
        sent = send(client->fd, target->request + client->sent,
                    target->request_size - client->sent, MSG_NOSIGNAL);
        client->sent += sent > 0 ? (size_t)sent : 0;
    } while ((sent < 0 && errno == EINTR) ||
             (sent > 0 && client->sent < target->request_size));
    if (client->sent == target->request_size) {
        client->state = TLOAD_WAITING;
    } else if (errno == EAGAIN) {
        struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                     .data.ptr = client };

        client->state = TLOAD_SENDING;
        epoll_ctl(load->epoll, EPOLL_CTL_MOD, client->fd, &event);
    } else {
        lose(load, client, TLOAD_ERROR_RESET, errno);
    }
}

/* The client is connected and has a request to make. */
static void ask(struct tload_load *load, struct tload_client *client)
{
    client->sent = 0;
    client->since = load->now;
    if (load->options->rate > 0 && load->now > client->due + LATE_NS) {
        load->tally->late++;
    }
    send_request(load, client);
}

static void be_connected(struct tload_load *load, struct tload_client *client)
{
    load->now = tload_clock_ns();
    client->state = TLOAD_READY;
    if (!is_idle(load, client)) {
        tload_moments_add(&load->tally->connect, load->now - client->opened);
    }
    /* Where connections stay, connecting is no part of a request. */
    if (!(load->options->rate > 0) && !load->options->close) {
        client->due = load->now;
    }
    ask(load, client);
}

static void open_client(struct tload_load *load, struct tload_client *client)
{
    bool local = load->target->address.ss_family == AF_UNIX, connected = false;
    struct epoll_event event = { .data.ptr = client };
    int fd = tload_target_connect(load->target, number_of(load, client), &connected);

    client->since = client->opened = load->now;
    if (fd == -EAGAIN) {
        client->postponed = true; /* The queue of a listening unix socket is full. */
        return;
    }
    if (fd < 0) {
        fail_with(load, client, TLOAD_ERROR_CONNECT, -fd);
        return;
    }
    if (!is_idle(load, client)) {
        load->tally->connections++;
        load->tally->reconnections += client->serial > 0;
    }
    client->fd = fd;
    client->state = TLOAD_CONNECTING;
    /* A unix socket becomes writable again with every byte that is read from it. */
    event.events = EPOLLIN | EPOLLRDHUP | EPOLLET | (local ? 0 : EPOLLOUT);
    if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
        fail_with(load, client, TLOAD_ERROR_CONNECT, errno);
    } else if (connected) {
        be_connected(load, client);
    }
}

static void start(struct tload_load *load, struct tload_client *client)
{
    client->busy = true;
    load->busy++;
    if (client->state == TLOAD_READY) {
        client->opened = load->now;
        ask(load, client);
    } else {
        open_client(load, client);
    }
}

void tload_client_begin(struct tload_load *load, struct tload_client *client)
{
    const struct tload_options *options = load->options;

    if (client->busy || client->postponed || client->again || load->stopping ||
        (load->end && load->now >= load->end) || is_idle(load, client) ||
        client->state == TLOAD_CLOSING ||
        (options->requests && load->issued == options->requests)) {
        return;
    }
    client->due = load->now;
    if (options->rate > 0) {
        if (client->owed == 0) {
            return;
        }
        client->owed--;
        client->due = tload_due_ns(load, client->taken++ * options->clients +
                                             number_of(load, client));
    }
    load->issued++;
    start(load, client);
}

void tload_client_begin_idle(struct tload_load *load, struct tload_client *client)
{
    client->due = load->now;
    start(load, client);
}

static void record(struct tload_load *load, struct tload_client *client)
{
    struct tload_tally *tally = load->tally;
    uint64_t latency = load->now - client->due;

    spread_add(&tally->latency, latency);
    tload_moments_add(&tally->service, latency);
    tload_moments_add(&tally->total, load->now - client->opened);
    client->answered++;
    if (load->stopping || (load->end && load->now > load->end)) {
        tally->drained++;
        return;
    }
    tally->answers++;
    tally->kept += client->reply.head.keep && !load->options->close;
    tally->bytes += client->reply.received;
    tally->body_bytes += client->reply.body;
}

/* Which error a whole answer is, or TLOAD_ERROR_KINDS. */
static enum tload_error judge(struct tload_load *load, const struct tload_reply *reply)
{
    if (reply->head.status < 200 || reply->head.status > 299) {
        return TLOAD_ERROR_STATUS;
    }
    if (!load->length_known) {
        load->length_known = true;
        load->tally->document_length =
            load->reader.verify ? load->reader.verify_size : reply->body;
    }
    if (reply->differs) {
        return TLOAD_ERROR_BODY;
    }
    return reply->body == load->tally->document_length ? TLOAD_ERROR_KINDS
                                                       : TLOAD_ERROR_LENGTH;
}

static void answered(struct tload_load *load, struct tload_client *client, bool ended)
{
    bool keep = client->reply.head.keep && !load->options->close;
    enum tload_error error = judge(load, &client->reply);

    load->now = tload_clock_ns();
    finish(load, client);
    client->used = true;
    if (error != TLOAD_ERROR_KINDS) {
        load->tally->errors[error]++;
    } else if (!is_idle(load, client)) {
        record(load, client);
    }
    tload_reply_reset(&client->reply);
    if (ended) {
        tload_client_close(client);
    } else {
        client->state = keep ? TLOAD_READY : TLOAD_CLOSING;
        client->since = load->now;
    }
    tload_client_begin(load, client);
}

/* The server has closed its side, in order or by a reset. */
static void ended(struct tload_load *load, struct tload_client *client, int error)
{
    if (client->busy && !error && tload_reply_end(&client->reply) == TLOAD_DONE) {
        answered(load, client, true);
    } else if (client->busy) {
        lose(load, client, error ? TLOAD_ERROR_RESET : TLOAD_ERROR_SHORT, error);
    } else {
        tload_client_close(client);
        tload_client_begin(load, client);
    }
}

static void take(struct tload_load *load, struct tload_client *client, size_t size)
{
    enum tload_result result;
    size_t used;

    if (client->state != TLOAD_WAITING) {
        fail_malformed(load, client, "bytes that nobody asked for");
        return;
    }
    result = tload_reply_take(&load->reader, &client->reply, load->buffer, size, &used);
    if (result == TLOAD_BAD) {
        fail(load, client, TLOAD_ERROR_MALFORMED);
    } else if (used < size) {
        fail_malformed(load, client, "bytes behind the answer");
    } else if (result == TLOAD_DONE) {
        answered(load, client, false);
    }
}

static void receive(struct tload_load *load, struct tload_client *client, bool to_the_end)
{
    unsigned serial = client->serial;
    ssize_t size;

    do {
        size = recv(client->fd, load->buffer, sizeof(load->buffer), 0);
        if (size > 0) {
            take(load, client, (size_t)size);
        } else if (size == 0) {
            ended(load, client, 0);
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            ended(load, client, errno);
        }
        /* After less than was asked for, more makes another event; an end does not. */
    } while (client->serial == serial &&
             (to_the_end || size == (ssize_t)sizeof(load->buffer)));
}

static int socket_error(int fd)
{
    int error = 0;
    socklen_t size = sizeof(error);

    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
}

void tload_client_event(struct tload_load *load, struct tload_client *client,
                        uint32_t events)
{
    unsigned serial = client->serial;

    if (client->state == TLOAD_CONNECTING) {
        int error = events & (EPOLLERR | EPOLLHUP) ? socket_error(client->fd) : 0;

        if (error) {
            fail_with(load, client, TLOAD_ERROR_CONNECT, error);
        } else if (events & EPOLLOUT) {
            be_connected(load, client);
        }
    } else if (client->state == TLOAD_SENDING && events & EPOLLOUT) {
        send_request(load, client);
    }
    if (client->serial == serial && client->state != TLOAD_CONNECTING &&
        events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
        receive(load, client, events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR));
    }
}

void tload_client_tick(struct tload_load *load, struct tload_client *client)
{
    if (client->postponed) {
        client->postponed = false;
        if (client->busy) {
            open_client(load, client);
        } else {
            tload_client_begin(load, client);
        }
    } else if ((client->busy || client->state == TLOAD_CLOSING) && !load->stopping &&
               load->now > client->since + load->options->timeout_ns) {
        fail(load, client, TLOAD_ERROR_TIMEOUT);
    }
}
