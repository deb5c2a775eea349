/* Answered requests as the access log shows them, kept from the moment an answer is queued
 * until its last byte was sent or dropped: the bytes of the request are gone by then. They
 * lie in one buffer borrowed from a pool while there are any. It must never know a log's
 * format, nor why a connection ended. */
#ifndef TETRAD_EXCHANGE_H
#define TETRAD_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "attributes.h"
#include "buffer_pool.h"
#include "request.h"
#include "slice.h"

/* What is kept of a request, each text cut to this. Escaped in any way, a whole record is
 * still a line that a pipe takes in one piece (PIPE_BUF, 4096). */
enum {
    EXCHANGE_LINE_MAX = 1900,
    EXCHANGE_REFERER_MAX = 800,
    EXCHANGE_USER_AGENT_MAX = 700,
    EXCHANGE_HOST_MAX = 255
};

/* The texts are as received; one byte more than the maximum says that there was more. A
 * NULL base: there was none. */
struct exchange {
    unsigned status;
    uint64_t body_bytes; /* of the body, that were sent */
    uint64_t begun_ms;   /* when the request's first bytes came */
    struct slice line, referer, user_agent, host;
};

/* Where an answer lies in all that the connection sends. */
struct exchange_mark {
    unsigned status;
    uint64_t begun_ms;
    uint64_t end;        /* bytes sent on the connection when its last byte is */
    uint64_t body_bytes; /* those at the end that are its body */
};

struct exchange_queue {
    struct buffer_pool *pool;       /* borrowed; NULL: nothing is recorded */
    struct exchange_buffer *buffer; /* borrowed from the pool; NULL: nothing is kept */
};

/* A zeroed queue is not in use, and has room. */
void exchange_queue_init(struct exchange_queue *queue, struct buffer_pool *pool);
void exchange_queue_destroy(struct exchange_queue *queue);

static inline bool exchange_queue_in_use(const struct exchange_queue *queue)
{
    return queue->pool != NULL;
}

/* True if any one request can be added. */
bool exchange_queue_has_room(const struct exchange_queue *queue);

/* Copies what the log shows of the request. False without memory. Only with room. */
bool exchange_queue_add(struct exchange_queue *queue, const struct request *request,
                        const struct exchange_mark *mark) MUST_CHECK;

/* Takes the oldest exchange whose last byte is among the `sent` ones, or (over) whichever
 * is the oldest: nothing more will be sent. Its texts are valid until the next call.
 * False: there is none. */
bool exchange_queue_take(struct exchange_queue *queue, uint64_t sent, bool over,
                         struct exchange *exchange);

#endif
