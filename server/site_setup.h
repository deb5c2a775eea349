/* From the options to an open site: reads the files that options name, and says what is
 * wrong with them. It must never know a request. */
#ifndef TETRAD_SITE_SETUP_H
#define TETRAD_SITE_SETUP_H

#include <stddef.h>

#include "attributes.h"
#include "options.h"

struct site_setup {
    struct site *site;        /* owned */
    struct mime_table *types; /* owned, used by the site; NULL: none */
};

/* Borrows the options for its life. 0, or -errno with a line without a newline in `error`
 * that names what is wrong. Whatever the result, site_setup_close is to be called. */
int site_setup_open(struct site_setup *setup, const struct options *options, char *error,
                    size_t error_room) MUST_CHECK;
void site_setup_close(struct site_setup *setup);

#endif
