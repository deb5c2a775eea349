/* The document root in use: opened again by its path now and then, so that a deployment
 * that swaps a symbolic link is seen. Shared by the threads of one cache. It must never
 * know a file below it. */
#ifndef TETRAD_SITE_ROOT_H
#define TETRAD_SITE_ROOT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "file_open.h"

struct site_root {
    pthread_mutex_t lock;
    struct file_root *current; /* owned reference */
    bool checked;              /* checked_ms is set */
    uint64_t checked_ms;
    atomic_ullong changes; /* how often another directory took its place */
};

/* Takes the reference. */
void site_root_init(struct site_root *root, struct file_root *current);
void site_root_destroy(struct site_root *root);

/* A reference to the root in use; *due if its path was not looked at for max_age_ms. */
struct file_root *site_root_borrow(struct site_root *root, uint64_t now_ms,
                                   uint64_t max_age_ms, bool *due);

/* The path was looked at, not before checked_ms, and led to `found`. */
void site_root_settle(struct site_root *root, struct file_root *found,
                      uint64_t checked_ms);

#endif
