/* The table of media types that is compiled in. Data only; it must never know how it is
 * searched. */
#ifndef TETRAD_MIME_BUILTIN_H
#define TETRAD_MIME_BUILTIN_H

#include <stddef.h>

struct mime_row {
    const char *extension; /* lower case, no dot */
    const char *type;
};

/* Sorted by extension (bytes), none twice. */
extern const struct mime_row mime_builtin[];
extern const size_t mime_builtin_count;

#endif
