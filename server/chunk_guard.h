/* One pass over a chunked body (RFC 9112 7.1), byte by byte and resumable at any byte:
 * finds where it ends, bounds what a sender can make it cost, and refuses what the parser
 * library lets through. It must never know a request. */
#ifndef TETRAD_CHUNK_GUARD_H
#define TETRAD_CHUNK_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "head_guard.h"

enum {
    CHUNK_GUARD_DIGITS_MAX = 16, /* of one size; more: 400 */
    CHUNK_GUARD_EXTENSIONS_MAX =
        4 * 1024 /* bytes of all extensions together; more: 400 */
};

enum chunk_guard_verdict {
    CHUNK_GUARD_MORE,
    CHUNK_GUARD_COMPLETE,
    CHUNK_GUARD_REFUSED /* see status: 400, 413 or 431 */
};

struct chunk_guard {
    uint64_t left;       /* of this chunk's data, or its size while that is read */
    uint64_t total;      /* data announced so far */
    uint32_t extensions; /* bytes of extensions so far */
    uint16_t status;     /* of a refusal */
    uint8_t state;
    uint8_t digits;
    bool hidden; /* the bytes just used are an extension or a trailer */
    struct head_guard trailer;
};

void chunk_guard_init(struct chunk_guard *guard);

/* Looks at the next bytes of the body, n at most; *used is how many of them belong to it.
 * A call ends where hidden changes, so that extensions and trailers can be left out of
 * what the parser library is shown. */
enum chunk_guard_verdict chunk_guard_feed(struct chunk_guard *guard, const char *bytes,
                                          size_t n, size_t *used);

#endif
