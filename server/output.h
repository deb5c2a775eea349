/* The bytes that a connection still owes its peer: a queue of memory and file spans in
 * the order of sending, and the accounting of partial sends. It must never know what the
 * bytes mean nor how they are sent. The queue and its copies live in one buffer borrowed
 * from a pool, and given back when the last byte is sent. */
#ifndef TETRAD_OUTPUT_H
#define TETRAD_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "attributes.h"
#include "buffer_pool.h"
#include "slice.h"

enum { OUTPUT_SPANS_MAX = 64 };

enum span_kind { SPAN_MEMORY, SPAN_FILE };

struct span {
    enum span_kind kind;
    const char *base;        /* memory: first unsent byte */
    int fd;                  /* file */
    off_t offset;            /* file: first unsent byte */
    size_t length;           /* bytes not yet sent */
    void (*release)(void *); /* NULL, or called once when the span is sent or dropped */
    void *owner;             /* what release gets, e.g. a file_entry; opaque here */
};

struct output {
    struct buffer_pool *pool;   /* borrowed */
    struct output_queue *queue; /* borrowed from the pool; NULL: nothing is owed */
    size_t bytes;               /* unsent bytes of all spans */
};

void output_init(struct output *output, struct buffer_pool *pool);

/* True if nothing is queued. */
bool output_empty(const struct output *output);

/* How many more spans can be appended. */
unsigned output_room(const struct output *output);

/* Appends a span and takes its pin. On failure (no room, no memory) the pin is released:
 * false. An empty span is released at once and succeeds. */
bool output_append(struct output *output, struct span span) MUST_CHECK;

/* Appends a copy of bytes; false without memory or room. */
bool output_append_copy(struct output *output, struct slice bytes) MUST_CHECK;

/* Fills at most max iovecs with the memory spans at the front, up to the first file span.
 */
int output_iovecs(const struct output *output, struct iovec *iov, int max);

/* The first unsent span; NULL if empty. */
const struct span *output_front(const struct output *output);

/* Accounts for n bytes sent from the front (n <= output->bytes); releases what is
 * finished. */
void output_sent(struct output *output, size_t n);

/* Drops everything unsent and releases it. */
void output_clear(struct output *output);

#endif
