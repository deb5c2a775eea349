/* From a key to the newest block of a file, or to a refusal; within a limit of bytes, the
 * least recently used leave first. Owned by one thread, or shared by all: then a lock is
 * held for a few memory accesses, never for file work. It must never know how a file is
 * found, nor what a request is. */
#ifndef TETRAD_FILE_CACHE_H
#define TETRAD_FILE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "attributes.h"
#include "file_block.h"
#include "slice.h"

enum {
    /* Refusals have a list of their own, so that a scan for files that do not exist
     * cannot push out content. */
    FILE_CACHE_REFUSALS_MAX = 1024,
    FILE_CACHE_KEY_MAX = 1024, /* longer keys are not kept */
    /* A block that nobody asked for in this time is let go, and with it the disk space of
     * a deleted file. */
    FILE_CACHE_IDLE_MS = 60 * 1000
};

struct file_cache;

struct file_cache_limits {
    uint64_t bytes;
    unsigned descriptors; /* how many files may be kept open */
};

/* NULL without memory. */
struct file_cache *file_cache_open(enum file_sharing sharing,
                                   const struct file_cache_limits *limits);
void file_cache_close(struct file_cache *cache); /* NULL allowed */

/* When, and under which generation of the document root, something was or is checked. */
struct file_check {
    uint64_t now_ms;
    uint64_t generation;
};

enum file_cache_result {
    FILE_CACHE_MISS,
    FILE_CACHE_FRESH, /* checked within max_age_ms, and in this generation */
    FILE_CACHE_STALE
};

struct file_cache_hit {
    struct file_block *block; /* a reference of the caller's; NULL: a refusal */
    int refusal;
};

/* Never fresh where max_age_ms is 0. A refusal that is not fresh is a miss. */
enum file_cache_result file_cache_find(struct file_cache *cache, struct slice key,
                                       struct file_check check, uint64_t max_age_ms,
                                       struct file_cache_hit *hit) MUST_CHECK;

/* Keeps a block, with a reference of the cache's own, in the place of what was there.
 * What does not fit is not kept. */
void file_cache_store(struct file_cache *cache, struct slice key,
                      struct file_block *block, struct file_check check);

/* Keeps a refusal in the place of what was there. */
void file_cache_refuse(struct file_cache *cache, struct slice key, int refusal,
                       struct file_check check);

/* The version was looked at and is still the file's: a reference to its newest block, now
 * as fresh as `check`. NULL if another or none is kept. */
struct file_block *file_cache_confirm(struct file_cache *cache, struct slice key,
                                      const struct file_identity *identity,
                                      struct file_check check);

/* Puts a newer block of the same version in the place of an older one, if that one is
 * still there. */
void file_cache_renew(struct file_cache *cache, struct slice key,
                      const struct file_block *from, struct file_block *to);

/* Lets go of what the key has, if anything. */
void file_cache_forget(struct file_cache *cache, struct slice key);

/* Lets go of what has been idle: a few entries at a time, to be called about once a
 * second. */
void file_cache_trim(struct file_cache *cache, uint64_t now_ms);

/* Lets go of all that keeps a descriptor open. True if there was any. */
bool file_cache_drop_descriptors(struct file_cache *cache);

struct file_cache_use {
    uint64_t bytes;
    unsigned blocks, descriptors, refusals;
};

struct file_cache_use file_cache_use(struct file_cache *cache);

#endif
