/* The inside of struct http_conn, for http_conn.c and for whoever embeds one (conn.c,
 * which treats it as opaque). */
#ifndef TETRAD_HTTP_CONN_STATE_H
#define TETRAD_HTTP_CONN_STATE_H

#include "head_guard.h"
#include "http_conn.h"

struct http_conn {
    const struct http_limits *limits; /* borrowed */
    struct buffer_pool *pool;         /* borrowed */
    struct head_memo *memo;           /* borrowed */
    struct http_input *input; /* borrowed from the pool; NULL while nothing is buffered */
    struct output output;
    struct exchange_queue exchanges; /* answered, but not sent in full yet */
    uint64_t sent_bytes;             /* of all answers */
    uint64_t begun_ms;               /* when the current request's first bytes came */
    struct head_guard guard;
    uint64_t deadline_ms;
    uint64_t linger_end_ms;
    unsigned requests;     /* answered so far */
    enum http_phase phase; /* what deadline_ms was set for */
    uint8_t state;         /* see http_conn.c */
    bool draining;
    bool peer_closed; /* the peer shut its sending side down */
};

#endif
