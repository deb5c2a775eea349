/* One pass over raw field lines and the request line, byte by byte and resumable at any
 * byte: finds where the request line, its parts and the whole head end, and refuses what
 * RFC 9112 2.2, 3 and 5 do not allow, before the parser library reads it (which lets
 * obs-fold and bare line ends through). The verdict does not depend on how the input was
 * cut. It must never know what a field means. */
#ifndef TETRAD_HEAD_GUARD_H
#define TETRAD_HEAD_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEAD_GUARD_EMPTY_LINES_MAX = 4 };

enum head_guard_verdict {
    HEAD_GUARD_MORE, /* the bytes are fine so far, the head has not ended */
    HEAD_GUARD_COMPLETE,
    HEAD_GUARD_REFUSED /* see status: 400, 414, 431 or 505 */
};

/* Offsets count from the first byte fed, skipped empty lines included. */
struct head_guard {
    uint32_t fed;    /* bytes accepted so far; when complete, the length of the head */
    uint16_t status; /* of a refusal */
    uint8_t state;
    uint8_t empty_lines;
    uint16_t fields;
    uint8_t version_minor;
    uint32_t start;                                /* first byte of the method */
    uint32_t method_end, target_start, target_end; /* 0 until known */
    uint32_t fields_start;                         /* behind the request line's CRLF */
};

/* A guard at the start of a request head, or (trailer) of the field lines that end a
 * chunked body. */
void head_guard_init(struct head_guard *guard);
void head_guard_init_trailer(struct head_guard *guard);

/* Looks at bytes [guard->fed, length) of the head that begins at base; the earlier ones
 * were seen before. */
enum head_guard_verdict head_guard_feed(struct head_guard *guard, const char *base,
                                        size_t length);

/* Looks at the next n bytes of a trailer section, whose earlier bytes need not be kept.
 * *used is how many of them belong to it. */
enum head_guard_verdict head_guard_feed_trailer(struct head_guard *guard,
                                                const char *bytes, size_t n,
                                                size_t *used);

/* True once a byte that is not part of an empty line has come: a request has begun. */
bool head_guard_begun(const struct head_guard *guard);

#endif
