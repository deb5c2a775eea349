/* The only user of llhttp: the fields of a complete head, and the body behind it. The
 * request line is not shown to it: head_guard has read that, so that every method and
 * version is the server's own decision. It must never know what a field means for an
 * answer. */
#ifndef TETRAD_HTTP_PARSER_H
#define TETRAD_HTTP_PARSER_H

#include <stddef.h>

#include "attributes.h"
#include "chunk_guard.h"
#include "request.h"

enum http_parser_verdict {
    HTTP_PARSER_MORE,
    HTTP_PARSER_COMPLETE, /* the message ends here */
    HTTP_PARSER_REFUSED   /* see the request's status: 400, 413 or 431 */
};

/* Room for the library's own state, whose size this header must not know; checked where
 * it is used. */
struct http_parser {
    _Alignas(16) unsigned char state[160];
    struct chunk_guard chunks;
};

/* Reads the field lines of a complete head (each ended by CRLF, with the empty line),
 * fills the fields of request. Any earlier state is forgotten. False: refused, with the
 * fields that came before the fault. */
bool http_parser_fields(struct http_parser *parser, struct slice lines,
                        struct request *request) MUST_CHECK;

/* Reads and discards the next n bytes of the body of a request that has_body; *used of
 * them belong to it. A refusal sets request->status. */
enum http_parser_verdict http_parser_body(struct http_parser *parser,
                                          struct request *request, const char *bytes,
                                          size_t n, size_t *used) MUST_CHECK;

#endif
