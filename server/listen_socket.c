/* Making a listening socket, TCP or unix. It must never know how many there are or who
 * accepts. */
#include "listen_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BACKLOG = 4096, /* the kernel takes the smaller of this and net.core.somaxconn */
    /* Unsent bytes above which a socket is not writable. Without it up to 4 MiB wait in
     * the kernel for a slow reader, and minutes pass between two signs of progress. */
    NOTSENT_LOWAT = 128 * 1024,
    SOCKET_FILE_MODE = 0666 /* any local user, as with a loopback port; a directory's mode
                               is the place to restrict it */
};

static int set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof(value)) < 0 ? -errno : 0;
}

/* Linux hands TCP_NODELAY and TCP_NOTSENT_LOWAT on to accepted sockets, so no connection
 * pays a system call for them. SO_SNDBUF is left alone: setting it would end the kernel's
 * own tuning. */
static int set_tcp_options(int fd, int family)
{
    int result = set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);

    if (result == 0 && family == AF_INET6) {
        result = set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    }
    if (result == 0) {
        result = set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    }
    if (result == 0) {
        result = set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, NOTSENT_LOWAT);
    }
    return result;
}

/* True if the path is a socket that nobody answers on: left by a server that was killed.
 */
static bool is_stale(const struct bind_address *address)
{
    struct stat status;
    bool refused;
    int fd;

    if (lstat(bind_address_path(address), &status) < 0 || !S_ISSOCK(status.st_mode)) {
        return false;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return false;
    }
    refused = connect(fd, (const struct sockaddr *)&address->storage, address->len) < 0 &&
              errno == ECONNREFUSED;
    close(fd);
    return refused;
}

static int bind_to(int fd, const struct bind_address *address)
{
    const struct sockaddr *name = (const struct sockaddr *)&address->storage;
    const char *path = bind_address_path(address);
    int result = bind(fd, name, address->len) < 0 ? -errno : 0;

    if (result != -EADDRINUSE || path == NULL || !is_stale(address)) {
        return result;
    }
    if (unlink(path) < 0) {
        return -errno;
    }
    return bind(fd, name, address->len) < 0 ? -errno : 0;
}

/* Notes which file was made, and opens it to the clients. */
static int settle_file(struct listen_socket *socket)
{
    const char *path = bind_address_path(&socket->address);
    struct stat status;

    if (lstat(path, &status) < 0) {
        return -errno;
    }
    socket->device = status.st_dev;
    socket->inode = status.st_ino;
    return chmod(path, SOCKET_FILE_MODE) < 0 ? -errno : 0;
}

static int settle_port(struct listen_socket *socket)
{
    socket->address.len = sizeof(socket->address.storage);
    if (getsockname(socket->fd, (struct sockaddr *)&socket->address.storage,
                    &socket->address.len) < 0) {
        return -errno;
    }
    return 0;
}

static int bind_and_listen(struct listen_socket *socket)
{
    bool is_unix = bind_address_path(&socket->address) != NULL;
    int result = 0;

    if (!is_unix) {
        result = set_tcp_options(socket->fd, socket->address.storage.ss_family);
    }
    if (result < 0) {
        return result;
    }
    result = bind_to(socket->fd, &socket->address);
    if (result < 0) {
        return result;
    }
    result = is_unix ? settle_file(socket) : settle_port(socket);
    if (result == 0 && listen(socket->fd, BACKLOG) < 0) {
        result = -errno;
    }
    return result;
}

int listen_socket_open(struct listen_socket *to, const struct bind_address *address)
{
    int result;

    *to = (struct listen_socket){ .address = *address };
    to->fd =
        socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (to->fd < 0) {
        return -errno;
    }
    result = bind_and_listen(to);
    if (result < 0) {
        listen_socket_close(to, true);
    }
    return result;
}

void listen_socket_close(struct listen_socket *from, bool remove_file)
{
    const char *path = bind_address_path(&from->address);
    struct stat status;

    if (from->fd >= 0) {
        close(from->fd);
    }
    from->fd = -1;
    if (path == NULL || !remove_file || from->inode == 0) {
        return;
    }
    if (lstat(path, &status) == 0 && status.st_dev == from->device &&
        status.st_ino == from->inode) {
        unlink(path);
    }
}
