/* Mode epoll: a socket is registered once, for both directions and by edges, so that one
 * request is one wait, one recv and one send. The step of a connection serves mode uv,
 * too, and must never know how its caller waits. */
#include "floor.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS_MAX = 256 };

char floor_input[FLOOR_INPUT_MAX];

static ssize_t send_from_memory(int fd, size_t owed)
{
    return send(fd, floor_response.base + floor_response.len - owed, owed, 0);
}

ssize_t (*floor_send)(int fd, size_t owed) = send_from_memory;

bool floor_step(struct floor_peer *peer, bool again)
{
    for (;;) {
        ssize_t n;

        while (peer->owed > 0) {
            n = floor_send(peer->fd, peer->owed);
            if (n < 0) {
                return errno == EAGAIN;
            }
            peer->owed -= (size_t)n;
            again = again || peer->owed > 0;
            if (peer->owed == 0 && !again) {
                return true;
            }
        }
        n = recv(peer->fd, floor_input, sizeof floor_input, 0);
        if (n <= 0) {
            return n < 0 && errno == EAGAIN;
        }
        again = again || n == (ssize_t)sizeof floor_input;
        peer->owed = floor_response.len;
    }
}

int floor_accept(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0 && errno != EAGAIN && errno != ECONNABORTED) {
        floor_die("accept");
    }
    return fd;
}

static void add_to_epoll(int epoll, int fd, uint32_t events, void *data)
{
    struct epoll_event event = { .events = events, .data.ptr = data };

    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
        floor_die("epoll_ctl");
    }
}

static void accept_into_epoll(int epoll, int listener)
{
    int fd = floor_accept(listener);

    if (fd >= 0) {
        struct floor_peer *peer = floor_allocate(sizeof *peer);

        peer->fd = fd;
        add_to_epoll(epoll, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, peer);
    }
}

static void step_by_edge(struct floor_peer *peer, uint32_t events)
{
    /* A client's end, or what came while a response was owed, has no second edge. */
    if (!floor_step(peer, (events & EPOLLRDHUP) != 0 || peer->owed > 0)) {
        close(peer->fd);
        free(peer);
    }
}

void floor_serve_epoll(int listener)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event events[EVENTS_MAX];

    if (epoll < 0) {
        floor_die("epoll_create1");
    }
    add_to_epoll(epoll, listener, EPOLLIN, NULL);
    for (;;) {
        int count = epoll_wait(epoll, events, EVENTS_MAX, -1);

        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == NULL) {
                accept_into_epoll(epoll, listener);
            } else {
                step_by_edge(events[i].data.ptr, events[i].events);
            }
        }
    }
}
