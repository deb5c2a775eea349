/* recv, send and sendfile on one socket, and what their errors mean; see
 * transport_socket.h. It must never know what the bytes mean. */
#include "transport_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "direct_calls.h"

static int descriptor(const struct transport *transport)
{
    return ((const struct transport_socket *)transport)->fd;
}

/* EINTR is not waited out here: for a blocking model it is the chance to see a stop. */
static ssize_t failure(int error, ssize_t would_wait)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR ? would_wait
                                                                     : TRANSPORT_BROKEN;
}

static ssize_t socket_recv(struct transport *transport, void *to, size_t room, bool wait)
{
    ssize_t n = direct_recv(descriptor(transport), to, room, wait ? 0 : MSG_DONTWAIT);

    if (n >= 0) {
        return n;
    }
    if (wait && errno == EAGAIN) {
        ((struct transport_socket *)transport)->overslept = true;
    }
    return failure(errno, TRANSPORT_WAIT_READ);
}

static ssize_t socket_sendv(struct transport *transport, const struct iovec *iov,
                            int count, bool more)
{
    int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
    ssize_t n;

    if (count == 1) {
        /* The common case, a cached answer: the kernel imports one vector less. */
        n = direct_send(descriptor(transport), iov->iov_base, iov->iov_len, flags);
    } else {
        struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)iov,
                                  .msg_iovlen = (size_t)count };

        n = sendmsg(descriptor(transport), &message, flags);
    }
    return n >= 0 ? n : failure(errno, TRANSPORT_WAIT_WRITE);
}

static ssize_t socket_sendfile(struct transport *transport, int fd, off_t offset,
                               size_t count)
{
    ssize_t n = sendfile(descriptor(transport), fd, &offset, count);

    if (n == 0) {
        return TRANSPORT_SHORT_FILE;
    }
    return n > 0 ? n : failure(errno, TRANSPORT_WAIT_WRITE);
}

static bool socket_has_room(const struct transport *transport)
{
    struct pollfd poll_fd = { .fd = descriptor(transport), .events = POLLOUT };

    return poll(&poll_fd, 1, 0) != 0;
}

static ssize_t socket_unacked(const struct transport *transport)
{
    int bytes = 0;

    return ioctl(descriptor(transport), SIOCOUTQ, &bytes) == 0 ? bytes : -1;
}

/* "unix:" for a local socket, whose peers have no name. */
static void socket_peer(const struct transport *transport, char text[TRANSPORT_PEER_MAX])
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_un un;
    } address;
    socklen_t len = sizeof address;
    const char *written = NULL;

    if (getpeername(descriptor(transport), &address.any, &len) == 0) {
        if (address.any.sa_family == AF_INET) {
            written = inet_ntop(AF_INET, &address.in.sin_addr, text, TRANSPORT_PEER_MAX);
        } else if (address.any.sa_family == AF_INET6) {
            written =
                inet_ntop(AF_INET6, &address.in6.sin6_addr, text, TRANSPORT_PEER_MAX);
        } else {
            written = strcpy(text, "unix:");
        }
    }
    if (written == NULL) {
        strcpy(text, "-");
    }
}

static int socket_shutdown(struct transport *transport)
{
    return shutdown(descriptor(transport), SHUT_WR) == 0 ? 0 : TRANSPORT_BROKEN;
}

static void socket_close(struct transport *transport)
{
    struct transport_socket *socket_transport = (struct transport_socket *)transport;

    if (socket_transport->fd >= 0) {
        close(socket_transport->fd);
        socket_transport->fd = -1;
    }
}

static const struct transport_ops socket_ops = {
    .recv = socket_recv,
    .sendv = socket_sendv,
    .sendfile = socket_sendfile,
    .has_room = socket_has_room,
    .unacked = socket_unacked,
    .peer = socket_peer,
    .shutdown = socket_shutdown,
    .close = socket_close,
};

void transport_socket_open(struct transport_socket *transport, int fd)
{
    *transport = (struct transport_socket){ .base.ops = &socket_ops, .fd = fd };
}

static int set_patience(const struct transport_socket *transport, int option, unsigned ms)
{
    struct timeval time = { .tv_sec = ms / 1000,
                            .tv_usec = (suseconds_t)(ms % 1000) * 1000 };

    return setsockopt(transport->fd, SOL_SOCKET, option, &time, sizeof time) == 0
               ? 0
               : -errno;
}

int transport_socket_set_tick(struct transport_socket *transport, unsigned tick_ms)
{
    int result = set_patience(transport, SO_RCVTIMEO, tick_ms);

    if (result == 0) {
        result = set_patience(transport, SO_SNDTIMEO, tick_ms);
    }
    if (result == 0) {
        transport->base.tick_ms = tick_ms;
    }
    return result;
}

void transport_socket_send_within(struct transport_socket *transport, unsigned ms)
{
    ms = ms == 0 ? 1 : ms; /* 0 would be for ever */
    if (ms != transport->base.tick_ms && set_patience(transport, SO_SNDTIMEO, ms) == 0) {
        transport->base.tick_ms = ms;
    }
}

bool transport_socket_await(struct transport_socket *transport, uint64_t ms)
{
    struct pollfd poll_fd = { .fd = transport->fd, .events = POLLIN };

    transport->overslept = false;
    return poll(&poll_fd, 1, ms < INT_MAX ? (int)ms : INT_MAX) != 0;
}
