/* From a path to what it leads to, in one go that may sleep: the file itself or a sibling
 * in an accepted coding, a directory's index or listing, or the reason why there is
 * nothing; with the bytes of a small file.
 * It is data that any thread can run. It must never know a request, a response or the
 * cache. */
#ifndef TETRAD_FILE_RESOLVE_H
#define TETRAD_FILE_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file_open.h"
#include "file_policy.h"
#include "file_siblings.h"
#include "file_watch.h"
#include "listing.h"
#include "slice.h"
#include "work.h"

/* Up to this a file is kept as bytes: sending it from memory is cheaper than sendfile,
 * and a cache of 64 MiB holds a thousand of the largest. Above, as a descriptor. */
enum { FILE_MEMORY_MAX = 64 * 1024 };

enum file_outcome {
    FILE_FAILED,    /* see `error` */
    FILE_FOUND,     /* a regular file: `identity` and either `content` or `fd` */
    FILE_UNCHANGED, /* it is still what `known` says */
    FILE_LISTED,    /* a directory without an index: `listing` */
    FILE_DIRECTORY  /* a directory, asked for without its slash */
};

/* Where and how to look; the pointers are borrowed until the resolution is freed. */
struct file_place {
    const struct file_policy *policy;
    struct file_watch *watch; /* NULL: none */
    const char *root_path;
    struct text_budget *listings; /* what all of them may take; NULL: no limit */
};

/* Which form of a file was or is sent, of those that there are. */
struct file_form {
    enum coding coding;
    unsigned codings; /* bits 1 << enum coding of all siblings */
};

struct file_resolution {
    struct work work; /* runs with sleeping allowed; its last reference frees all */

    /* The question. */
    const struct file_place *place;
    struct file_root *root; /* owned reference; a newer one if it was renewed */
    bool renew_root;        /* open the root again by its path first */
    const struct file_identity *known; /* NULL, or &known_identity */
    struct file_identity known_identity;
    struct file_form known_form;
    struct accepted_codings accepted;
    bool lists; /* a directory without an index is to be listed, as `wish` says */
    struct listing_wish wish;
    uint64_t asked_ms; /* for the asker's use: when, and under which generation */
    uint64_t generation;
    bool directory; /* asked for with its slash */
    size_t key_len, path_len, room;

    /* The answer. */
    enum file_outcome outcome;
    int error; /* 0 or -errno */
    bool root_renewed;
    struct file_identity identity;
    struct file_form form;
    bool racy;     /* so new that a later change could leave the identity as it is */
    char *content; /* owned: identity.size bytes; NULL if empty or not in memory */
    int fd;        /* owned; -1: in memory */
    struct text listing;
    bool cut_short; /* there are more entries than the listing shows */

    char text[]; /* the key, then the path with room for an index name */
};

/* A question about `path` (relative, decoded, "" is the root), asked by the asker's own
 * name `key`. Takes the root's reference. NULL without memory. */
struct file_resolution *file_resolution_new(const struct file_place *place,
                                            struct file_root *root, struct slice key,
                                            struct slice path, bool directory);

/* Gives the asker's reference back. NULL allowed. */
void file_resolution_put(struct file_resolution *resolution);

/* Finds the answer from what the kernel has in memory. False if that would sleep: then
 * the work is to be run. */
bool file_resolution_try(struct file_resolution *resolution);

/* Finds the answer, sleeping where needed. */
void file_resolution_run(struct file_resolution *resolution);

struct slice file_resolution_key(const struct file_resolution *resolution);

/* The path of the file found: that of the index file, if it was one. */
struct slice file_resolution_path(const struct file_resolution *resolution);

/* The bytes read, which become the caller's. */
char *file_resolution_take_content(struct file_resolution *resolution);
int file_resolution_take_fd(struct file_resolution *resolution);

#endif
