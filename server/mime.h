/* File name extension to media type. The built-in table is constant; rows read from a
 * mime.types file come before it. It must never know a file system: the text is given. */
#ifndef TETRAD_MIME_H
#define TETRAD_MIME_H

#include <stdbool.h>
#include <stddef.h>

#include "slice.h"

struct mime_table; /* extra rows, owned by whoever created it */

/* Reads rows in mime.types syntax ("type ext ext", "#" comments). NULL without memory. On
 * a malformed line: NULL and its number in *bad_line (0 when it was memory). */
struct mime_table *mime_table_parse(struct slice text, unsigned *bad_line);
void mime_table_free(struct mime_table *table);

/* The type for a file name, by the part behind its last dot, ASCII case ignored. table
 * may be NULL. Never NULL: "application/octet-stream" if unknown. Valid as long as the
 * table. */
const char *mime_type(const struct mime_table *table, struct slice name);

/* True for text, JavaScript, JSON, XML and SVG: what a charset parameter belongs to. */
bool mime_has_charset(const char *type);

#endif
