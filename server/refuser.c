/* Connections over the limit, held until they have their answer. Small arrays and
 * poll(2): there are few of them, and a forked child can drop its copies by closing them,
 * which an epoll set, being shared after fork, would not forgive. It must never sleep. */
#include "refuser.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "clock.h"
#include "conn.h"
#include "listener.h"
#include "model.h"
#include "transport_socket.h"
#include "work.h"
#include "worker.h"

struct refused {
    struct transport_socket socket;
    struct conn *conn; /* owned; NULL: a free place */
    uint64_t accepted_ms;
    short events; /* what the next step waits for; 0: it is due at once */
};

struct refuser {
    struct listener *listener; /* borrowed */
    struct worker *worker;     /* owned */
    uint64_t pause_until_ms;   /* no accept before: descriptors or memory ran out */
    unsigned held;
    unsigned char polled[REFUSER_MAX]; /* which place each polled descriptor belongs to */
    unsigned listeners_polled;
    struct refused places[REFUSER_MAX];
};

struct refuser *refuser_open(const struct server *server)
{
    struct refuser *refuser = calloc(1, sizeof(*refuser));

    if (refuser == NULL) {
        return NULL;
    }
    refuser->listener = server->listener;
    refuser->worker = worker_open(server, WORKER_COOPERATIVE, WORKER_OWN_CACHE);
    if (refuser->worker == NULL) {
        free(refuser);
        return NULL;
    }
    return refuser;
}

static void release(struct refuser *refuser, struct refused *refused)
{
    conn_close(refused->conn);
    refused->conn = NULL;
    refuser->held--;
}

/* A bounded number of steps; what is then still not waiting has its turn in the next
 * round. */
static void advance(struct refuser *refuser, struct refused *refused)
{
    enum { STEPS = 4 };

    for (int i = 0; i < STEPS; i++) {
        switch (conn_step(refused->conn)) {
        case CONN_WAIT_READ:
            refused->events = POLLIN;
            return;
        case CONN_WAIT_WRITE:
            refused->events = POLLOUT;
            return;
        case CONN_CLOSED:
            release(refuser, refused);
            return;
        case CONN_WAIT_WORK: /* not for a refusal, but legal */
            work_run(conn_work(refused->conn));
            break;
        case CONN_AGAIN:
            break;
        }
    }
    refused->events = 0;
}

/* The place that a new connection may take, and from when: a free one, or that of the
 * client which was answered first and still does not close. */
static unsigned find_place(const struct refuser *refuser, uint64_t *from_ms)
{
    unsigned oldest = 0;

    *from_ms = 0;
    for (unsigned i = 0; i < REFUSER_MAX; i++) {
        if (refuser->places[i].conn == NULL) {
            return i;
        }
        if (refuser->places[i].accepted_ms < refuser->places[oldest].accepted_ms) {
            oldest = i;
        }
    }
    *from_ms = refuser->places[oldest].accepted_ms + REFUSER_HOLD_MS;
    return oldest;
}

/* When the next connection could be taken; 0: now. */
static uint64_t accept_from_ms(const struct refuser *refuser)
{
    uint64_t place_ms;

    (void)find_place(refuser, &place_ms);
    return place_ms > refuser->pause_until_ms ? place_ms : refuser->pause_until_ms;
}

unsigned refuser_pollfds(struct refuser *refuser, struct pollfd *fds, bool accepting)
{
    unsigned count = 0;

    if (accepting && clock_now_ms() >= accept_from_ms(refuser)) {
        for (; count < listener_count(refuser->listener); count++) {
            fds[count] = (struct pollfd){ .fd = listener_fd(refuser->listener, count),
                                          .events = POLLIN };
        }
    }
    refuser->listeners_polled = count;
    for (unsigned i = 0; i < REFUSER_MAX; i++) {
        const struct refused *place = &refuser->places[i];
        if (place->conn == NULL) {
            continue;
        }
        refuser->polled[count - refuser->listeners_polled] = (unsigned char)i;
        fds[count++] = (struct pollfd){ .fd = place->socket.fd, .events = place->events };
    }
    return count;
}

uint64_t refuser_deadline(const struct refuser *refuser, bool accepting)
{
    uint64_t first_ms = UINT64_MAX;

    for (unsigned i = 0; i < REFUSER_MAX; i++) {
        const struct refused *place = &refuser->places[i];
        if (place->conn == NULL) {
            continue;
        }
        uint64_t due_ms = place->events == 0 ? 0 : conn_deadline(place->conn);
        first_ms = due_ms < first_ms ? due_ms : first_ms;
    }
    uint64_t from_ms = accept_from_ms(refuser);
    if (accepting && from_ms > clock_now_ms() && from_ms < first_ms) {
        first_ms = from_ms;
    }
    return first_ms;
}

bool refuser_step(struct refuser *refuser, const struct pollfd *fds, unsigned count)
{
    bool waiting = false;
    unsigned listeners = refuser->listeners_polled;
    uint64_t now_ms = clock_now_ms();

    for (unsigned i = 0; i < listeners; i++) {
        waiting = waiting || fds[i].revents != 0;
    }
    for (unsigned i = listeners; i < count; i++) {
        struct refused *place = &refuser->places[refuser->polled[i - listeners]];
        bool expired = now_ms >= conn_deadline(place->conn);
        if (expired) {
            conn_expire(place->conn);
        }
        if (expired || fds[i].revents != 0 || place->events == 0) {
            advance(refuser, place);
        }
    }
    return waiting;
}

static void refuse(struct refuser *refuser, struct refused *place, int fd)
{
    transport_socket_open(&place->socket, fd);
    place->conn = conn_open(refuser->worker, &place->socket.base, place);
    if (place->conn == NULL) {
        place->socket.base.ops->close(&place->socket.base);
        return;
    }
    refuser->held++;
    place->accepted_ms = clock_now_ms();
    conn_refuse(place->conn);
    advance(refuser, place);
}

/* Blocking models leave the listening sockets blocking, and O_NONBLOCK belongs to the
 * socket that all contexts share. accept reads it once, at its start: a context that
 * calls accept in this very moment finds nothing and calls again, one that sleeps in it
 * stays asleep. Without this the supervisor could sleep here for a tick, and then take a
 * connection from an idle context. */
static enum accept_result accept_now(struct listener *listener, unsigned i, int *fd)
{
    int listening = listener_fd(listener, i);
    int flags = fcntl(listening, F_GETFL);

    if (flags < 0) {
        return ACCEPT_STOPPED;
    }
    bool blocking = (flags & O_NONBLOCK) == 0;
    if (blocking && fcntl(listening, F_SETFL, flags | O_NONBLOCK) != 0) {
        return ACCEPT_STOPPED;
    }
    enum accept_result result = listener_accept(listener, i, fd);
    if (blocking) {
        (void)fcntl(listening, F_SETFL, flags);
    }
    return result;
}

void refuser_accept(struct refuser *refuser)
{
    for (unsigned i = 0; i < listener_count(refuser->listener); i++) {
        uint64_t from_ms;
        struct refused *place = &refuser->places[find_place(refuser, &from_ms)];
        if (clock_now_ms() < from_ms) {
            return;
        }
        int fd;
        switch (accept_now(refuser->listener, i, &fd)) {
        case ACCEPT_OK:
            if (place->conn != NULL) {
                release(refuser, place);
            }
            refuse(refuser, place, fd);
            break;
        case ACCEPT_RETRY:
            refuser->pause_until_ms = clock_now_ms() + LISTENER_RETRY_MS;
            return;
        case ACCEPT_NONE:
        case ACCEPT_STOPPED:
            break;
        }
    }
}

unsigned refuser_held(const struct refuser *refuser)
{
    return refuser->held;
}

void refuser_abandon(struct refuser *refuser)
{
    for (unsigned i = 0; i < REFUSER_MAX; i++) {
        if (refuser->places[i].conn != NULL) {
            release(refuser, &refuser->places[i]);
        }
    }
}

void refuser_close(struct refuser *refuser)
{
    if (refuser == NULL) {
        return;
    }
    refuser_abandon(refuser);
    worker_close(refuser->worker);
    free(refuser);
}
