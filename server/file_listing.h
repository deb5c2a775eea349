/* Reading a directory below the document root: the entries that a request for each of
 * them would be answered with. May sleep for long. It must never know a format. */
#ifndef TETRAD_FILE_LISTING_H
#define TETRAD_FILE_LISTING_H

#include "file_open.h"
#include "file_policy.h"
#include "listing.h"
#include "text.h"

struct file_listing {
    struct listing listing; /* points into the other members */
    struct text entries;    /* of struct listing_entry */
    struct text names;
};

/* Reads the directory `path` (as in file_open.h; borrowed by the result). 0 or -errno: in
 * any case file_listing_free is to be called. */
int file_listing_read(struct file_listing *found, const struct file_root *root,
                      const struct file_policy *policy, const char *path,
                      struct text_budget *budget) MUST_CHECK;
void file_listing_free(struct file_listing *found);

#endif
