/* Opening below the document root and nowhere else. It must never know a request, nor
 * what is done with a file. */
#ifndef TETRAD_FILE_OPEN_H
#define TETRAD_FILE_OPEN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "attributes.h"
#include "file_policy.h"

/* BENEATH: the kernel resolves the whole path and refuses what the root's rule for
 * symbolic links refuses (openat2). WALK: component by component, following no symbolic
 * link, unless they may lead anywhere; for kernels and sandboxes without openat2. */
enum file_way { FILE_BENEATH, FILE_WALK };

/* One opening of the document root. Immutable; counted, because file work on other
 * threads outlives the moment when a newer root takes its place. */
struct file_root {
    atomic_int references;
    int fd; /* owned; only good for opening below it */
    dev_t dev;
    ino_t ino;
    enum file_way way;
    enum file_symlinks symlinks;
    bool in_memory; /* its file system has no disk to wait for */
};

/* All functions return 0, a descriptor or -errno. Where may_sleep is false they answer
 * from what the kernel has in memory; -EAGAIN: only the disk or the network knows. */

/* Opens the root by its path, whose own symbolic links are followed wherever they lead.
 * May sleep. */
int file_root_open(struct file_root **root, const char *path,
                   enum file_symlinks symlinks) MUST_CHECK;

/* Opens it again. *fresh is NULL if the path still leads to the directory of `root`. */
int file_root_renew(const struct file_root *root, struct file_root **fresh,
                    const char *path, bool may_sleep) MUST_CHECK;
struct file_root *file_root_get(struct file_root *root);
void file_root_put(struct file_root *root); /* NULL allowed */

/* What distinguishes one version of a file from the next at the same path. */
struct file_identity {
    dev_t dev;
    ino_t ino;
    int64_t size;
    int64_t mtime, ctime; /* seconds */
    uint32_t mtime_ns, ctime_ns;
};

struct file_identity file_identity_of(const struct stat *st);
bool file_identity_equal(const struct file_identity *a, const struct file_identity *b);

/* Paths are relative, NUL-terminated, without dot segments; "" is the root. A path that
 * leaves the root, other than by links that may, gives -EXDEV. */

/* Finds out what is there, without opening it: a FIFO or a device notices nothing. */
int file_open_stat(const struct file_root *root, const char *path, bool may_sleep,
                   struct stat *st) MUST_CHECK;

/* Opens a regular file for reading; anything else gives -EACCES. *st is of the descriptor
 * returned. */
int file_open_read(const struct file_root *root, const char *path, bool may_sleep,
                   struct stat *st) MUST_CHECK;

/* Opens a directory, only good for opening below it. */
int file_open_directory(const struct file_root *root, const char *path,
                        bool may_sleep) MUST_CHECK;

#endif
