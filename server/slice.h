/* A borrowed run of bytes: not NUL-terminated, never owned, valid as long as what it
 * points into. */
#ifndef TETRAD_SLICE_H
#define TETRAD_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct slice {
    const char *base;
    size_t len;
};

#define SLICE(literal) ((struct slice){ (literal), sizeof(literal) - 1 })

static inline struct slice slice_of(const char *text)
{
    return (struct slice){ text, strlen(text) };
}

static inline bool slice_equal(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.base, b.base, a.len) == 0);
}

/* ASCII case is ignored; the C locale is assumed (main never calls setlocale). */
static inline bool slice_equal_nocase(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || strncasecmp(a.base, b.base, a.len) == 0);
}

#endif
