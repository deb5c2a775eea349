/* Fixed-size buffers, lent and returned, so that an idle connection holds none.
 * Last in, first out: the next borrower gets the buffer that is still in the CPU's cache.
 * One owner thread per pool; it must never know what a buffer holds. */
#ifndef TETRAD_BUFFER_POOL_H
#define TETRAD_BUFFER_POOL_H

#include <stddef.h>

/* A request head of 16 KiB, the table of its fields, and room for what was pipelined
 * behind it. */
enum { BUFFER_SIZE = 32 * 1024 };

struct buffer_pool {
    struct free_buffer *free; /* owned: buffers waiting to be lent */
    unsigned free_count;
    unsigned free_limit; /* what is returned above this number is freed */
    unsigned lent;       /* buffers out now; 0 when every connection is idle */
};

void buffer_pool_init(struct buffer_pool *pool, unsigned free_limit);

/* BUFFER_SIZE bytes aligned for any type, content undefined; NULL without memory. */
void *buffer_pool_lend(struct buffer_pool *pool);

/* Takes back what buffer_pool_lend gave. NULL is allowed. */
void buffer_pool_return(struct buffer_pool *pool, void *buffer);

/* Frees the buffers that were returned; asserts that none is still lent. */
void buffer_pool_destroy(struct buffer_pool *pool);

#endif
