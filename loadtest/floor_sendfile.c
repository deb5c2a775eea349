/* Modes epoll-sendfile and epoll-memfd: the loop of mode epoll with a body out of the page
 * cache. The first sends the head and then the file, as servers do with what is too large
 * to be copied into memory of theirs; the second has both in a file without a name, so that
 * one call sends them. It must never know how its caller waits. */
#include "floor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

static int body_fd; /* the file, or head and file */

static ssize_t send_file(int fd, size_t offset, size_t count)
{
    off_t from = (off_t)offset;
    ssize_t n = sendfile(fd, body_fd, &from, count);

    if (n == 0 && count > 0) {
        errno = EIO; /* somebody cut the file */
        n = -1;
    }
    return n;
}

static ssize_t send_head_and_file(int fd, size_t owed)
{
    size_t sent = floor_response.len - owed, head = 0;
    ssize_t n;

    if (sent < floor_response.head_len) {
        head = floor_response.head_len - sent;
        n = send(fd, floor_response.base + sent, head, owed > head ? MSG_MORE : 0);
        if (n < (ssize_t)head) {
            return n;
        }
        sent = floor_response.head_len;
    }
    n = send_file(fd, sent - floor_response.head_len, owed - head);
    return n >= 0 ? n + (ssize_t)head : head > 0 ? (ssize_t)head : n;
}

static ssize_t send_from_memfd(int fd, size_t owed)
{
    return send_file(fd, floor_response.len - owed, owed);
}

void floor_serve_epoll_sendfile(int listener)
{
    body_fd = open(floor_response.path, O_RDONLY | O_CLOEXEC);
    if (body_fd < 0) {
        floor_die(floor_response.path);
    }
    floor_send = send_head_and_file;
    floor_serve_epoll(listener);
}

void floor_serve_epoll_memfd(int listener)
{
    size_t put = 0;

    body_fd = memfd_create("response", MFD_CLOEXEC);
    if (body_fd < 0) {
        floor_die("memfd_create");
    }
    while (put < floor_response.len) {
        ssize_t n = write(body_fd, floor_response.base + put, floor_response.len - put);

        if (n <= 0) {
            floor_die("memfd");
        }
        put += (size_t)n;
    }
    floor_send = send_from_memfd;
    floor_serve_epoll(listener);
}
