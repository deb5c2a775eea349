/* Whether a piece of a file is in memory, and the work that brings it there, so that a
 * cooperative worker's sendfile never sleeps for a disk. It must never know who sends the
 * file. */
#ifndef TETRAD_COLD_FILE_H
#define TETRAD_COLD_FILE_H

#include <sys/types.h>

#include "work.h"

/* NULL if the bytes can be sent at once as far as can be told (first and last byte are in
 * memory, or the file system cannot say, or there is no memory for the work); else work
 * that reads them, the caller's reference. Does not sleep. The work keeps a duplicate of
 * fd. */
struct work *cold_file_work(int fd, off_t offset, size_t count);

#endif
