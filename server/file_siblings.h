/* The precompressed siblings of a file: NAME.gz and the like beside NAME, for those who
 * accept that coding. It must never know a request, nor load a file. */
#ifndef TETRAD_FILE_SIBLINGS_H
#define TETRAD_FILE_SIBLINGS_H

#include "file_open.h"
#include "negotiate.h"

/* What a path needs behind its final NUL. */
enum { FILE_SIBLINGS_ROOM = 4 };

struct file_siblings {
    unsigned codings; /* bits 1 << enum coding, of the siblings that may be sent */
    struct file_identity identity[CODINGS]; /* of these, and of the file itself */
};

/* Looks for the siblings of the regular file at `path`, which is as in file_open.h and is
 * changed for the time of the call. A sibling counts if it could itself be asked for, is a
 * regular file, and is not older than the file. 0, or -errno where that could not be found
 * out (-EAGAIN if it would sleep and must not). */
int file_siblings_find(struct file_siblings *found, const struct file_root *root,
                       char *path, const struct stat *st, bool may_sleep) MUST_CHECK;

/* True if the first was changed before the second. */
bool file_siblings_older(const struct file_identity *a, const struct file_identity *b);

/* True if an error says something of the sibling alone, so that another form of the file
 * can be sent. */
bool file_siblings_spoilt(int error);

#endif
