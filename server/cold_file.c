/* See cold_file.h. The question costs a system call for each piece of a large file, not
 * for a cached answer. It must never know who sends the file. */
#include "cold_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READ_CHUNK = 64 * 1024 };

struct read_work {
    struct work base;
    int fd; /* owned */
    off_t offset;
    size_t count;
};

static void run(struct work *work)
{
    struct read_work *self = (struct read_work *)work;
    char *chunk = malloc(READ_CHUNK);
    size_t done = 0;

    while (chunk != NULL && done < self->count) {
        size_t part = self->count - done < READ_CHUNK ? self->count - done : READ_CHUNK;
        ssize_t n = pread(self->fd, chunk, part, self->offset + (off_t)done);

        if (n <= 0) {
            break; /* sendfile will meet the same end or error, and tell */
        }
        done += (size_t)n;
    }
    free(chunk);
}

static void destroy(struct work *work)
{
    close(((struct read_work *)work)->fd);
    free(work);
}

static bool in_memory(int fd, off_t offset)
{
    char byte;
    struct iovec iov = { &byte, 1 };

    return preadv2(fd, &iov, 1, offset, RWF_NOWAIT) >= 0 || errno != EAGAIN;
}

struct work *cold_file_work(int fd, off_t offset, size_t count)
{
    struct read_work *self;

    if (in_memory(fd, offset) && in_memory(fd, offset + (off_t)count - 1)) {
        return NULL;
    }
    self = malloc(sizeof *self);
    if (self == NULL) {
        return NULL;
    }
    self->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (self->fd < 0) {
        free(self);
        return NULL;
    }
    self->offset = offset;
    self->count = count;
    work_init(&self->base, run, destroy);
    return &self->base;
}
