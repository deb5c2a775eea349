/* The request target as a path below the document root (RFC 3986 5.2.4, 6.2.2; RFC
 * 9110 17.3), and back. Text only: it must never know a file system. */
#ifndef TETRAD_TARGET_H
#define TETRAD_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "slice.h"

enum target_result {
    TARGET_OK,
    TARGET_MALFORMED, /* 400: a bad escape, %00, or dot segments above the root */
    TARGET_MISSING    /* 404: an encoded slash in a segment, or longer than the room */
};

struct target {
    size_t len;     /* of the decoded path, without the final NUL */
    bool directory; /* the path ended in a slash or a dot segment, or is the root */
};

/* Decodes a raw absolute path (begins with "/", no query) once, removes dot segments,
 * collapses empty segments. Writes a NUL-terminated relative path without leading or
 * trailing slash ("" is the root) to `to`, `room` bytes. It never holds NUL, "." or ".."
 * as a segment, or a leading slash. */
enum target_result target_decode(struct slice raw, char *to, size_t room,
                                 struct target *target);

/* Percent-encodes a decoded path (slashes stay) so that it is a valid path of a URI; at
 * most 3 bytes per byte. Returns the length written, or (size_t)-1 if it does not fit.
 * Not NUL-terminated. */
size_t target_encode(struct slice path, char *to, size_t room);

/* RFC 3986 3.2: host [":" port] with an address or the name of a host, no userinfo. */
bool target_authority_valid(struct slice authority);

#endif
