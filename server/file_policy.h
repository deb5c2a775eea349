/* What of the document root may be shown, and what stands for a directory: one function
 * per decision. It must never know a file's content nor a request. */
#ifndef TETRAD_FILE_POLICY_H
#define TETRAD_FILE_POLICY_H

#include <stdbool.h>

#include "slice.h"

struct file_policy {
    const char *index; /* borrowed: file names separated by commas, in their order */
};

/* False for a path below the root that is answered as if it did not exist: any segment
 * begins with a dot. The first may be ".well-known" (RFC 8615). */
bool file_policy_shows(const struct file_policy *policy, struct slice path);

/* Walks the index names: *rest starts as policy->index; false when there are no more. */
bool file_policy_next_index(const char **rest, struct slice *name);

#endif
