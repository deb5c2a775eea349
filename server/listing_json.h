/* A listing as JSON (RFC 8259): an array of {name, type, size, mtime}. It must never know
 * where the entries come from. */
#ifndef TETRAD_LISTING_JSON_H
#define TETRAD_LISTING_JSON_H

#include "listing.h"

void listing_json(const struct listing *listing, struct text *to);

#endif
