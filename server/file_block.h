/* A version of a file, and a version made ready for sending in one second: both immutable
 * and counted, so that nothing changes under a sender. Neither knows a request, nor where
 * the other versions of the file are. */
#ifndef TETRAD_FILE_BLOCK_H
#define TETRAD_FILE_BLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file_open.h"
#include "negotiate.h"
#include "slice.h"

enum {
    /* Up to this, head and body are one run of bytes, copied when the second changes; above,
     * the copy would cost more than the second piece of a send. */
    FILE_COPY_MAX = 16 * 1024,
    FILE_ETAG_MAX =
        48, /* two numbers of 16 digits, dashes, a coding, quotes, some room */
    /* What the operator may add, and as much again as the rest can be. */
    FILE_FIELDS_MAX = 4096 + 1024
};

/* Plain counts for one thread, atomic ones for several. */
enum file_sharing { FILE_PRIVATE, FILE_SHARED };

struct file_count {
    atomic_uint references;
    enum file_sharing sharing;
};

struct file_version {
    struct file_count count;
    struct file_identity identity;
    bool racy;          /* a later change may not show in the identity: load it again */
    int fd;             /* owned; -1: the bytes are in memory */
    char *content;      /* owned; NULL: no bytes, or they are in the blocks */
    const char *type;   /* borrowed from the table of media types */
    enum coding coding; /* of these bytes */
    unsigned
        codings; /* bits 1 << enum coding that there are too; 0: no choice, no Vary */
    struct slice cache_control; /* borrowed from the site */
    bool by_accept;             /* another Accept field could give another answer */
    bool has_validators;        /* ETag and Last-Modified are sent */
    unsigned etag_len;          /* 0: no ETag all the same */
    char etag[FILE_ETAG_MAX];
};

/* The header fields of a version, as text. The order makes each shorter set a prefix. */
struct file_fields {
    size_t unmodified_len; /* what a 304 says */
    size_t untyped_len;    /* all but Content-Encoding and Content-Type */
    size_t len;            /* all */
    char text[FILE_FIELDS_MAX];
};

struct file_block {
    struct file_count count;
    struct file_version *version;             /* owned reference */
    int64_t second;                           /* whose Date the head has */
    int64_t modified;                         /* what Last-Modified says */
    struct slice unmodified, untyped, fields; /* field lines, as in struct file_fields */
    struct slice head;  /* the head of an HTTP/1.1 answer 200 that keeps the connection */
    struct slice ready; /* head and body in one run; NULL: the body is elsewhere */
    struct slice body;  /* NULL: in the descriptor, or empty */
    size_t cost;        /* bytes of memory, those of the version included */
    char text[];
};

/* A version of what was found; takes the content (`identity->size` bytes, or NULL) and
 * the descriptor. NULL without memory: then they are given back. */
struct file_version *file_version_new(enum file_sharing sharing,
                                      const struct file_identity *identity, char *content,
                                      int fd, const char *type);
void file_version_put(struct file_version *version); /* NULL allowed */

/* For a file with precompressed siblings: what this version is of them. Before the first
 * block is made. */
void file_version_set_coding(struct file_version *version, enum coding coding,
                             unsigned codings);

/* What Last-Modified says of a version: never a time to come (RFC 9110 8.8.2.1). */
int64_t file_version_modified(const struct file_version *version, int64_t now);

/* The block of a version for a second. The first (`before` is NULL) takes few bytes over
 * from the version; a later one copies them from an earlier block. The reference to the
 * version is the block's own. NULL without memory. */
struct file_block *file_block_new(struct file_version *version,
                                  const struct file_block *before,
                                  const struct file_fields *fields, int64_t second,
                                  const char *date);
struct file_block *file_block_get(struct file_block *block);
void file_block_put(struct file_block *block); /* NULL allowed */
void file_block_release(void *block);          /* file_block_put, as a pin is released */

#endif
