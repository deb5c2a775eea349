/* The Range field of a GET (RFC 9110 14). 64-bit arithmetic that cannot overflow; it must
 * never know a file. */
#ifndef TETRAD_RANGE_H
#define TETRAD_RANGE_H

#include <stddef.h>
#include <stdint.h>

#include "slice.h"

enum { RANGES_MAX = 16 };

struct byte_range {
    uint64_t first, last; /* both included, first <= last < size */
};

enum range_result {
    RANGE_IGNORED, /* malformed, another unit, or over RANGES_MAX after joining: answer
                      200 */
    RANGE_SATISFIABLE, /* *count ranges, 1 or more, in the client's order, overlapping and
                          touching ones joined */
    RANGE_UNSATISFIABLE /* 416 */
};

/* Reads the field's value for a representation of `size` bytes. On an empty one a suffix
 * is ignored, all else is unsatisfiable. ranges has room for RANGES_MAX. */
enum range_result range_parse(struct slice value, uint64_t size,
                              struct byte_range *ranges, size_t *count);

#endif
