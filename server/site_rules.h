/* The rules that an operator adds to the answers, as text: read in the same way where a
 * rule is checked and where it is used. It must never know an option's name nor a
 * request. */
#ifndef TETRAD_SITE_RULES_H
#define TETRAD_SITE_RULES_H

#include "attributes.h"
#include "slice.h"

enum {
    SITE_RULES_HEADERS_MAX = 4096, /* bytes of all added field lines together */
    SITE_RULES_CACHE_MAX = 256,    /* of one Cache-Control value */
    SITE_RULES_CHARSET_MAX = 40    /* RFC 2978 2.3 */
};

/* All functions: 0, or -EINVAL where the text is no such rule. Slices are of the text. */

/* "Name: value". -EPERM: a field that says how the message is framed or kept, or that the
 * server decides on. */
int site_rules_header(const char *text, struct slice *name,
                      struct slice *value) MUST_CHECK;

/* What the field takes as a line: "Name: value", CRLF. */
size_t site_rules_header_len(struct slice name, struct slice value);

/* "GLOB=VALUE", cut at the first "=". */
int site_rules_cache(const char *text, struct slice *glob,
                     struct slice *value) MUST_CHECK;

/* "404=FILE", for a status from 400 to 599. */
int site_rules_error_page(const char *text, unsigned *status,
                          struct slice *path) MUST_CHECK;

/* The path of a file below the document root: a slash before it is allowed and dropped,
 * dot segments are not. */
int site_rules_path(const char *text, struct slice *path) MUST_CHECK;

int site_rules_charset(const char *text) MUST_CHECK;

#endif
