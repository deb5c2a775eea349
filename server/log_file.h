/* Where a log's lines go: a file that is appended to, a pipe, a socket, a device. Writing
 * never waits for a reader. It must never know what is in a line. One owner thread. */
#ifndef TETRAD_LOG_FILE_H
#define TETRAD_LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "attributes.h"

struct log_file {
    const char *path; /* borrowed; "-": standard output */
    int fd;           /* owned */
    mode_t type;      /* S_IFREG, S_IFIFO, ... */
    bool created;     /* the file was not there before */
};

/* The most bytes of one write. */
enum { LOG_FILE_BATCH = 64 * 1024 };

/* 0 or -errno. A FIFO needs no reader. */
int log_file_open(struct log_file *file, const char *path) MUST_CHECK;

/* Opens the path again; on failure the file stays what it was. Standard output is not
 * opened again. 0 or -errno. */
int log_file_reopen(struct log_file *file) MUST_CHECK;

/* To whom a file belongs that log_file_open had to make. 0 or -errno. */
int log_file_give(const struct log_file *file, uid_t user, gid_t group) MUST_CHECK;

/* How many bytes of whole lines to write at once, so that they stay whole: a pipe takes
 * PIPE_BUF bytes in one piece, and others may write to it too. */
size_t log_file_batch(const struct log_file *file);

/* Bytes written, which may be fewer; or -errno, -EAGAIN where it would have to wait. */
ssize_t log_file_write(const struct log_file *file, const char *bytes, size_t len);

/* Waits until there is room, at most so long; at once for what never makes one wait. */
void log_file_wait(const struct log_file *file, int timeout_ms);

/* What to poll for room; -1: nothing. */
int log_file_poll_fd(const struct log_file *file);

void log_file_close(struct log_file *file);

#endif
