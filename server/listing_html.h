/* A listing as a page: a table without scripts, whatever the names are. It must never
 * know where the entries come from. */
#ifndef TETRAD_LISTING_HTML_H
#define TETRAD_LISTING_HTML_H

#include "listing.h"

void listing_html(const struct listing *listing, const struct listing_wish *wish,
                  struct text *to);

#endif
