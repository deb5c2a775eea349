/* A stack of free buffers, linked through their own first bytes. Under AddressSanitizer a
 * returned buffer is poisoned, so a pointer kept past buffer_pool_return is caught as if
 * the buffer had been freed. It must never know what a buffer holds. */
#include "buffer_pool.h"

#include <assert.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BUFFER_POOL_POISONS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define BUFFER_POOL_POISONS 1
#endif

#ifdef BUFFER_POOL_POISONS
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(base, size) ((void)(base), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(base, size) ((void)(base), (void)(size))
#endif

struct free_buffer {
    struct free_buffer *next;
};

void buffer_pool_init(struct buffer_pool *pool, unsigned free_limit)
{
    *pool = (struct buffer_pool){ .free_limit = free_limit };
}

static void *pool_pop(struct buffer_pool *pool)
{
    struct free_buffer *buffer = pool->free;

    ASAN_UNPOISON_MEMORY_REGION(buffer, BUFFER_SIZE);
    pool->free = buffer->next;
    pool->free_count--;
    return buffer;
}

void *buffer_pool_lend(struct buffer_pool *pool)
{
    void *buffer = pool->free != NULL ? pool_pop(pool) : malloc(BUFFER_SIZE);

    if (buffer != NULL) {
        pool->lent++;
    }
    return buffer;
}

void buffer_pool_return(struct buffer_pool *pool, void *buffer)
{
    struct free_buffer *returned = buffer;

    if (buffer == NULL) {
        return;
    }
    assert(pool->lent > 0);
    pool->lent--;
    if (pool->free_count >= pool->free_limit) {
        free(buffer);
        return;
    }
    returned->next = pool->free;
    pool->free = returned;
    pool->free_count++;
    ASAN_POISON_MEMORY_REGION(buffer, BUFFER_SIZE);
}

void buffer_pool_destroy(struct buffer_pool *pool)
{
    assert(pool->lent == 0);
    while (pool->free != NULL) {
        free(pool_pop(pool));
    }
}
