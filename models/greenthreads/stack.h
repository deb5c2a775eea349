/* Stacks for user threads: reserved in slabs, each above a guard page, lent last in first
 * out so that the next one is warm. It must never know what runs on a stack. One owner
 * thread per pool. */
#ifndef TETRAD_STACK_H
#define TETRAD_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "annotate.h"

/* Four times what the deepest call of a connection takes, which a test checks. Only the
 * pages that are touched cost memory. */
enum { STACK_BYTES = 64 * 1024 * ANNOTATE_STACK_SCALE };

struct stack_pool;

struct stack {
    struct stack_pool *pool; /* its home */
    char *low;               /* first usable byte; the guard lies below */
    size_t size;
    size_t colour;      /* bytes to leave free at the top, see stack.c */
    struct stack *next; /* in a free list */
    unsigned valgrind_id;
    bool used; /* its pages hold what an earlier user left */
};

enum stack_flags {
    STACK_CENSUS = 1,  /* measure the deepest use: paints every stack before each use */
    STACK_MPROTECT = 2 /* guard by mprotect even where the kernel has guard regions */
};

/* flags: enum stack_flags, or-ed. NULL without memory. */
struct stack_pool *stack_pool_open(unsigned flags);

/* Every stack must be back. NULL is allowed. */
void stack_pool_close(struct stack_pool *pool);

/* NULL without memory. */
struct stack *stack_take(struct stack_pool *pool);

/* Nobody may run on it any more. pool: the calling thread's; a stack of another one finds its
 * way home, where it is lent again. That one must not close before. */
void stack_return(struct stack_pool *pool, struct stack *stack);

/* The most bytes that were in use on any returned stack; 0 without STACK_CENSUS. */
size_t stack_pool_deepest(struct stack_pool *pool);

/* Free stacks whose memory is kept, and those whose memory went back to the kernel. */
size_t stack_pool_warm(const struct stack_pool *pool);
size_t stack_pool_cold(const struct stack_pool *pool);

#endif
