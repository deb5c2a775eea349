/* A line of the access log, from an exchange: the Common Log Format, the combined one, or
 * a JSON object. Pure text; it must never know a file or a clock. */
#ifndef TETRAD_ACCESS_LINE_H
#define TETRAD_ACCESS_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "exchange.h"

enum access_format { ACCESS_COMMON, ACCESS_COMBINED, ACCESS_JSON };

/* PIPE_BUF: so many bytes a pipe takes whole or not at all. */
enum { ACCESS_LINE_MAX = 4096 };

/* What an exchange does not know itself. */
struct access_context {
    const char *remote; /* the peer's address */
    const char *time;   /* when the request began, written as the format wants it */
    uint64_t duration_ms;
};

/* Renders a whole line, newline included, and returns its length. Whatever the request
 * said, the line is printable ASCII, and no text can end its quotes; a text that is too
 * long ends in "...". */
size_t access_line_render(enum access_format format, const struct exchange *exchange,
                          const struct access_context *context,
                          char line[ACCESS_LINE_MAX]);

#endif
