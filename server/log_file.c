/* See log_file.h. It must never know what is in a line. */
#include "log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a client asks for is not for every user's eyes. */
enum { MODE = 0640 };

enum { FLAGS = O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY };

static bool is_standard_output(const struct log_file *file)
{
    return strcmp(file->path, "-") == 0;
}

/* Standard output may be shared with the shell that started us, for whom O_NONBLOCK would
 * be a surprise: opened by its name in /proc it is one of our own. What cannot be opened
 * so, a socket or another user's file, is used as it is. */
static int open_standard_output(void)
{
    int fd = open("/proc/self/fd/1", O_WRONLY | FLAGS);

    if (fd < 0) {
        fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    }
    return fd < 0 ? -errno : fd;
}

/* A FIFO is opened for both directions: its reader may come late, leave and come again,
 * without an error and without a loss as long as the pipe has room. */
static int open_path(const char *path, bool *created)
{
    struct stat status;
    bool fifo = stat(path, &status) == 0 && S_ISFIFO(status.st_mode);
    int fd = open(path, (fifo ? O_RDWR : O_WRONLY) | FLAGS);

    *created = false;
    if (fd < 0 && errno == ENOENT) {
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | FLAGS, MODE);
        *created = fd >= 0;
    }
    if (fd < 0 && errno == EEXIST) {
        /* Somebody else made it in between. */
        fd = open(path, O_WRONLY | FLAGS);
    }
    return fd < 0 ? -errno : fd;
}

/* The descriptor, whose kind is stored at *type; or -errno. */
static int open_target(const struct log_file *file, mode_t *type, bool *created)
{
    struct stat status;
    int fd;

    *created = false;
    fd = is_standard_output(file) ? open_standard_output()
                                  : open_path(file->path, created);
    if (fd < 0) {
        return fd;
    }
    if (fstat(fd, &status) < 0) {
        int result = -errno;

        close(fd);
        return result;
    }
    *type = status.st_mode & S_IFMT;
    return fd;
}

int log_file_open(struct log_file *file, const char *path)
{
    *file = (struct log_file){ .path = path, .fd = -1 };
    file->fd = open_target(file, &file->type, &file->created);
    return file->fd < 0 ? file->fd : 0;
}

int log_file_reopen(struct log_file *file)
{
    mode_t type;
    bool created;
    int fd;

    if (is_standard_output(file)) {
        return 0;
    }
    fd = open_target(file, &type, &created);
    if (fd < 0) {
        return fd;
    }
    close(file->fd);
    file->fd = fd;
    file->type = type;
    file->created = created;
    return 0;
}

int log_file_give(const struct log_file *file, uid_t user, gid_t group)
{
    return file->created && fchown(file->fd, user, group) < 0 ? -errno : 0;
}

size_t log_file_batch(const struct log_file *file)
{
    return file->type == S_IFREG ? LOG_FILE_BATCH : PIPE_BUF;
}

int log_file_poll_fd(const struct log_file *file)
{
    return file->type == S_IFREG ? -1 : file->fd;
}

void log_file_wait(const struct log_file *file, int timeout_ms)
{
    struct pollfd room = { .fd = log_file_poll_fd(file), .events = POLLOUT };

    if (room.fd >= 0) {
        (void)poll(&room, 1, timeout_ms);
    }
}

ssize_t log_file_write(const struct log_file *file, const char *bytes, size_t len)
{
    struct pollfd room = { .fd = log_file_poll_fd(file), .events = POLLOUT };
    ssize_t n;

    /* For a descriptor that could not be made non-blocking. */
    if (room.fd >= 0 && poll(&room, 1, 0) == 0) {
        return -EAGAIN;
    }
    n = file->type == S_IFSOCK ? send(file->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL)
                               : write(file->fd, bytes, len);
    return n < 0 ? -errno : n;
}

void log_file_close(struct log_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
        file->fd = -1;
    }
}
