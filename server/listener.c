/* All listening sockets of the server, what is shared about them between processes, and
 * what to do when accept fails. It must never know what is done with a connection. */
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "listen_socket.h"
#include "log.h"
#include "options.h"

enum {
    URL_MAX = BIND_ADDRESS_TEXT_MAX + 8, /* and "http://" */
    /* With port 0 the kernel's choice for the first address may be taken on the second.
     */
    PORT_TRIES = 32
};

/* In memory that forked processes share, so that all agree. */
struct shared {
    atomic_bool stopped;
    struct log_limit failures;
};

struct listener {
    struct listen_socket sockets[OPTIONS_BINDS_MAX];
    char urls[OPTIONS_BINDS_MAX][URL_MAX];
    unsigned count;
    int epoll_fd; /* owned: of all sockets, for blocking accepts; -1: one socket */
    struct shared *shared; /* owned mapping */
};

static void close_sockets(struct listener *listener, bool remove_files)
{
    while (listener->count > 0) {
        listen_socket_close(&listener->sockets[--listener->count], remove_files);
    }
}

/* The next socket, at an address as the options have it; *port becomes the one it got. */
static int open_next(struct listener *listener, const char *text, unsigned *port,
                     char *error, size_t error_room)
{
    struct listen_socket *socket = &listener->sockets[listener->count];
    char *url = listener->urls[listener->count];
    char name[BIND_ADDRESS_TEXT_MAX];
    struct bind_address address;
    int result = bind_address_parse(&address, text, *port);

    if (result < 0) {
        snprintf(error, error_room, "cannot listen on %s: not an address", text);
        return result;
    }
    result = listen_socket_open(socket, &address);
    if (result < 0) {
        bind_address_text(&address, name, sizeof(name));
        snprintf(error, error_room, "cannot listen on %s: %s", name, strerror(-result));
        return result;
    }
    listener->count++;
    bind_address_text(&socket->address, name, sizeof(name));
    snprintf(url, URL_MAX, "%s%s",
             bind_address_path(&socket->address) == NULL ? "http://" : "", name);
    if (bind_address_path(&socket->address) == NULL) {
        *port = bind_address_port(&socket->address);
    }
    return 0;
}

static int open_sockets(struct listener *listener, const struct options *options,
                        char *error, size_t error_room)
{
    unsigned tries = options->port == 0 ? PORT_TRIES : 1;
    int result = -EINVAL;

    for (unsigned try = 0; try < tries; try++) {
        unsigned port = options->port;

        result = 0;
        for (unsigned i = 0; i < options->binds.count && result == 0; i++) {
            result =
                open_next(listener, options->binds.values[i], &port, error, error_room);
        }
        if (result == 0) {
            return 0;
        }
        close_sockets(listener, true);
        if (result != -EADDRINUSE) {
            return result;
        }
    }
    return result;
}

static struct listener *listener_new(void)
{
    struct listener *listener = calloc(1, sizeof(*listener));
    void *shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (listener == NULL || shared == MAP_FAILED) {
        if (shared != MAP_FAILED) {
            munmap(shared, sizeof(struct shared));
        }
        free(listener);
        return NULL;
    }
    listener->epoll_fd = -1;
    listener->shared = shared;
    return listener;
}

int listener_open(struct listener **listener, const struct options *options, char *error,
                  size_t error_room)
{
    *listener = listener_new();
    if (*listener == NULL) {
        snprintf(error, error_room, "cannot listen: %s", strerror(ENOMEM));
        return -1;
    }
    if (open_sockets(*listener, options, error, error_room) < 0) {
        listener_close(*listener, true);
        *listener = NULL;
        return -1;
    }
    return 0;
}

const char *listener_url(const struct listener *listener, unsigned i)
{
    return i < listener->count ? listener->urls[i] : NULL;
}

unsigned listener_count(const struct listener *listener)
{
    return listener->count;
}

int listener_fd(const struct listener *listener, unsigned i)
{
    return listener->sockets[i].fd;
}

/* Out of something that comes back: said so, but not each time. */
static enum accept_result accept_exhausted(struct listener *listener, int error)
{
    if (log_allow(&listener->shared->failures, clock_now_ms())) {
        log_write(LOG_LEVEL_WARN, "cannot accept a connection: %s", strerror(error));
    }
    return ACCEPT_RETRY;
}

static enum accept_result accept_failed(struct listener *listener, int error)
{
    switch (error) {
    case EAGAIN:
    case EINTR:
        return ACCEPT_NONE;
    /* The connection failed, not the accept (accept(2), "Error handling"). */
    case ECONNABORTED:
    case EPERM:
    case EPROTO:
    case ENOPROTOOPT:
    case ENETDOWN:
    case ENETUNREACH:
    case ENONET:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ETIMEDOUT:
        return ACCEPT_NONE;
    case EINVAL: /* shut down, so it listens no more */
        return ACCEPT_STOPPED;
    default: /* EMFILE, ENFILE, ENOBUFS, ENOMEM; whatever else, a pause is right */
        return accept_exhausted(listener, error);
    }
}

static enum accept_result accept_from(struct listener *listener, unsigned i, int flags,
                                      int *fd)
{
    if (atomic_load_explicit(&listener->shared->stopped, memory_order_acquire)) {
        return ACCEPT_STOPPED;
    }
    *fd = accept4(listener->sockets[i].fd, NULL, NULL, SOCK_CLOEXEC | flags);
    return *fd >= 0 ? ACCEPT_OK : accept_failed(listener, errno);
}

enum accept_result listener_accept(struct listener *listener, unsigned i, int *fd)
{
    return accept_from(listener, i, SOCK_NONBLOCK, fd);
}

/* Over several sockets: one epoll instance for all threads and processes wakes one of its
 * sleepers per connection. Level-triggered, so that no connection waits for a process
 * that died between the wake-up and its accept; asking for one event makes the kernel
 * take the ready sockets in turn. */
static enum accept_result accept_any(struct listener *listener, int *fd)
{
    struct epoll_event event;
    int ready = epoll_wait(listener->epoll_fd, &event, 1, LISTENER_TICK_MS);

    if (ready < 0 && errno != EINTR) {
        return accept_exhausted(listener, errno);
    }
    if (ready <= 0) {
        return ACCEPT_NONE;
    }
    return accept_from(listener, event.data.u32, 0, fd);
}

enum accept_result listener_accept_blocking(struct listener *listener, int *fd)
{
    static const struct timespec pause = { .tv_nsec = LISTENER_RETRY_MS * 1000000L };
    enum accept_result result = listener->epoll_fd >= 0 ? accept_any(listener, fd)
                                                        : accept_from(listener, 0, 0, fd);

    if (result == ACCEPT_RETRY) {
        nanosleep(&pause, NULL);
    }
    return result;
}

/* One socket: a plain accept, which the kernel wakes one at a time, longest sleeper
 * first; SO_RCVTIMEO is its tick. (A TCP socket inherits it, and whoever serves sets its
 * own.) */
static int make_blocking(int fd)
{
    struct timeval tick = { .tv_sec = LISTENER_TICK_MS / 1000,
                            .tv_usec = LISTENER_TICK_MS % 1000 * 1000L };
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0) {
        return -errno;
    }
    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tick, sizeof(tick)) < 0 ? -errno : 0;
}

int listener_set_blocking(struct listener *listener)
{
    if (listener->count == 1) {
        return make_blocking(listener->sockets[0].fd);
    }
    listener->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (listener->epoll_fd < 0) {
        return -errno;
    }
    for (unsigned i = 0; i < listener->count; i++) {
        struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };

        if (epoll_ctl(listener->epoll_fd, EPOLL_CTL_ADD, listener->sockets[i].fd,
                      &event) < 0) {
            return -errno;
        }
    }
    return 0;
}

/* shutdown, not close: it ends the accepts that other threads and processes sleep in,
 * with EINVAL, which a close would not. */
void listener_stop(struct listener *listener)
{
    atomic_store_explicit(&listener->shared->stopped, true, memory_order_release);
    for (unsigned i = 0; i < listener->count; i++) {
        shutdown(listener->sockets[i].fd, SHUT_RDWR);
    }
}

void listener_close(struct listener *listener, bool remove_files)
{
    if (listener == NULL) {
        return;
    }
    if (listener->epoll_fd >= 0) {
        close(listener->epoll_fd);
    }
    close_sockets(listener, remove_files);
    munmap(listener->shared, sizeof(*listener->shared));
    free(listener);
}
