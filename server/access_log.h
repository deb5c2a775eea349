/* The access log: whole lines from any thread and process go to one file, written by one
 * thread of the process that opened it, in batches and soon. Whoever adds a line never
 * waits for the file; what cannot be kept is dropped and counted. It must never know what
 * is in a line. */
#ifndef TETRAD_ACCESS_LOG_H
#define TETRAD_ACCESS_LOG_H

#include <stddef.h>
#include <sys/types.h>

#include "attributes.h"

struct access_log;

/* So late a line may come into the file, while that can be written. */
enum { ACCESS_LOG_FLUSH_MS = 250 };

/* Opens the file ("-": standard output), the path of which is borrowed. 0 or -errno. */
int access_log_open(struct access_log **log, const char *path) MUST_CHECK;

/* To whom the file belongs if it was not there before. 0 or -errno. */
int access_log_give(struct access_log *log, uid_t user, gid_t group) MUST_CHECK;

/* Starts the thread that writes. 0 or -errno. reopen_fd, borrowed and non-blocking, is
 * readable when the file is to be opened again by its path, as after a rotation; whatever
 * can be read from it is read. -1: never. */
int access_log_start(struct access_log *log, int reopen_fd) MUST_CHECK;

/* Which lane a worker is to use. In a forked process, before it adds a line. */
unsigned access_log_claim(struct access_log *log);

/* Adds a line, which ends in a newline and has 4096 bytes at most. Any thread of this
 * process, and any process forked from it. */
void access_log_add(struct access_log *log, unsigned lane, const char *line, size_t len);

/* Writes what is left, as far as the file takes it within a moment. In the process that
 * opened it, when nobody adds lines any more. NULL is allowed. */
void access_log_close(struct access_log *log);

#endif
