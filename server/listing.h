/* A directory's entries as a page for people or as data for programs, in the order asked
 * for. It must never know a directory, nor which entries may be shown. */
#ifndef TETRAD_LISTING_H
#define TETRAD_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slice.h"
#include "text.h"

/* More entries than this are of no use in one page, and would cost memory without limit. */
enum { LISTING_ENTRIES_MAX = 10000 };

enum listing_format { LISTING_HTML, LISTING_JSON };
enum listing_key { LISTING_NAME, LISTING_SIZE, LISTING_TIME };

/* What is asked for. */
struct listing_wish {
    enum listing_format format;
    enum listing_key key;
    bool descending;
};

/* What the query says: `sort=name|size|time`, `order=asc|desc`, `format=html|json`. The
 * first of each counts; what it does not say, or wrongly, stays as it is. */
void listing_wish_read(struct listing_wish *wish, struct slice query);

struct listing_entry {
    struct slice name; /* borrowed: any bytes but NUL and slash */
    bool directory;
    int64_t size;
    int64_t mtime; /* seconds */
    uint32_t mtime_ns;
    int64_t rank; /* listing_sort's own */
};

struct listing {
    struct slice path; /* borrowed: decoded, without slashes at its ends; "": the root */
    struct listing_entry *entries; /* borrowed */
    size_t count;
    bool cut_short; /* there are more */
};

/* Directories first; those that are equal in the key by their names' bytes. */
void listing_sort(struct listing *listing, const struct listing_wish *wish);

/* Sorts, and writes in the format asked for. */
void listing_write(struct listing *listing, const struct listing_wish *wish,
                   struct text *to);

#endif
