/* A final answer as data, and the rendering of its head (RFC 9112 4, 5). It must never
 * know how the answer was found nor how it is sent. */
#ifndef TETRAD_RESPONSE_H
#define TETRAD_RESPONSE_H

#include <stdbool.h>
#include <stdint.h>

#include "output.h"
#include "slice.h"

enum {
    RESPONSE_DATE_LEN = 29, /* "Sun, 06 Nov 1994 08:49:37 GMT" */
    RESPONSE_SPANS_MAX =
        34, /* 16 ranges of a multipart body, a head for each, the closing delimiter */
    RESPONSE_LINE_MAX = 256 /* what the head needs beyond `fields` and `more` */
};

struct response {
    unsigned status;
    bool close; /* the site wants the connection to end; the protocol layer may add its
                   own reasons */
    const char
        *date; /* RESPONSE_DATE_LEN bytes, borrowed until http_conn_respond returns */
    struct slice fields; /* whole field lines, each ended by CRLF; borrowed until
                            http_conn_respond returns */
    struct slice
        more; /* further whole field lines, likewise; for what only this answer says */
    int64_t content_length; /* the field's value; -1: no such field (204, 304) */
    unsigned body_count; /* spans in use; 0: no body follows (HEAD, 204, 304, length 0) */
    struct span body[RESPONSE_SPANS_MAX]; /* without pins of their own; memory spans live
                                             as long as `owner` */
    struct slice ready; /* NULL, or the whole HTTP/1.1 answer (head and body) that keeps
                           the connection */
    void (*release)(void *); /* NULL, or pins body, ready and fields: called once when all
                                was sent or dropped */
    void *owner;
};

/* Sets every member but the spans' content. */
void response_init(struct response *response, unsigned status, const char *date);

/* "Not Found" for 404; "" for a status without a registered phrase. */
const char *response_reason(unsigned status);

/* How the connection goes on, as the head must tell it. */
enum response_persistence {
    RESPONSE_KEEP,        /* HTTP/1.1, kept: no Connection field */
    RESPONSE_KEEP_SAYING, /* HTTP/1.0, kept: Connection: keep-alive */
    RESPONSE_CLOSE        /* Connection: close */
};

/* An upper bound of the head's length. */
size_t response_head_bound(const struct response *response);

/* Writes status line, Date, fields, more, Content-Length, Connection and the empty line
 * to `to`, which has at least response_head_bound bytes. Returns the length written. */
size_t response_head_render(const struct response *response,
                            enum response_persistence persistence, char *to);

#endif
