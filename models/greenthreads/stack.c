/* A slab is one reservation of address space cut into slots, each a guard page and a
 * stack. The kernel's guard regions cost no mapping; mprotect, the fallback, splits the
 * slab into two mappings per stack. It must never know what runs on a stack. */
#include "stack.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <unistd.h>

/* Linux 6.13 and 5.14; unknown to older headers. */
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

enum {
    SLAB_STACKS = 64, /* 4 MiB of address space at a time */
    /* Stacks begin at the same place of a page, and so their busiest lines would share a few
     * sets of the cache: each leaves a multiple of COLOUR_BYTES free, over one page in all. */
    COLOURS = 16,
    COLOUR_BYTES = 256,
    /* Free stacks beyond it give their memory back: a burst of connections leaves at most
     * a few MiB behind, and a steady load of short ones makes no system call. */
    WARM_MAX = 128
};

static const uint64_t PAINT = 0xa5c35a3c96e1781eU;

struct slab {
    struct slab *next;
    char *memory;
    size_t length;
    unsigned stacks; /* of them prepared so far */
    struct stack stack[SLAB_STACKS];
};

struct stack_pool {
    struct slab *slabs; /* the newest first: only it may have unprepared stacks */
    struct stack *warm, *cold;
    _Atomic(struct stack *) away; /* returned on other threads; only taken as a whole */
    size_t warm_count, cold_count;
    size_t lent;
    size_t page, size; /* of the guard, of a stack */
    size_t deepest;
    bool census;
    bool regions; /* guard regions: until the kernel refuses one */
    bool regions_proven;
};

struct stack_pool *stack_pool_open(unsigned flags)
{
    struct stack_pool *pool = calloc(1, sizeof(*pool));
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (pool == NULL) {
        return NULL;
    }
    pool->page = page;
    pool->size = ((size_t)STACK_BYTES + page - 1) / page * page;
    pool->census = (flags & STACK_CENSUS) != 0;
    pool->regions = (flags & STACK_MPROTECT) == 0;
    return pool;
}

static void keep(struct stack_pool *pool, struct stack *stack);

/* Takes back what other threads returned. */
static void come_home(struct stack_pool *pool)
{
    struct stack *stack;

    if (atomic_load_explicit(&pool->away, memory_order_relaxed) == NULL) {
        return;
    }
    stack = atomic_exchange_explicit(&pool->away, NULL, memory_order_acquire);
    while (stack != NULL) {
        struct stack *next = stack->next;

        keep(pool, stack);
        stack = next;
    }
}

void stack_pool_close(struct stack_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    come_home(pool);
    assert(pool->lent == 0);
    while (pool->slabs != NULL) {
        struct slab *slab = pool->slabs;

        for (unsigned i = 0; i < slab->stacks; i++) {
            annotate_stack_clean(slab->stack[i].low, slab->stack[i].size);
            annotate_stack_forget(slab->stack[i].valgrind_id);
        }
        pool->slabs = slab->next;
        (void)munmap(slab->memory, slab->length);
        free(slab);
    }
    free(pool);
}

static struct slab *slab_add(struct stack_pool *pool)
{
    struct slab *slab = calloc(1, sizeof(*slab));
    void *memory;

    if (slab == NULL) {
        return NULL;
    }
    slab->length = SLAB_STACKS * (pool->page + pool->size);
    memory = mmap(NULL, slab->length, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) {
        free(slab);
        return NULL;
    }
    /* One huge page would back many idle stacks; a kernel without them refuses. */
    (void)madvise(memory, slab->length, MADV_NOHUGEPAGE);
    slab->memory = memory;
    slab->next = pool->slabs;
    pool->slabs = slab;
    return slab;
}

/* Installs a guard region, and makes sure of it once: some emulators of the kernel take
 * every advice and follow none. A real guard cannot be populated. */
static bool guard_region(struct stack_pool *pool, void *page)
{
    if (madvise(page, pool->page, MADV_GUARD_INSTALL) < 0) {
        return false;
    }
    if (!pool->regions_proven) {
        pool->regions_proven = madvise(page, pool->page, MADV_POPULATE_READ) < 0;
    }
    return pool->regions_proven;
}

static bool guard_install(struct stack_pool *pool, void *page)
{
    if (pool->regions && guard_region(pool, page)) {
        return true;
    }
    pool->regions = false;
    return mprotect(page, pool->page, PROT_NONE) == 0;
}

/* A stack that was never lent before; NULL without memory or mappings. */
static struct stack *stack_prepare(struct stack_pool *pool)
{
    struct slab *slab = pool->slabs;
    struct stack *stack;
    char *slot;

    if (slab == NULL || slab->stacks == SLAB_STACKS) {
        slab = slab_add(pool);
    }
    if (slab == NULL) {
        return NULL;
    }
    slot = slab->memory + slab->stacks * (pool->page + pool->size);
    if (!guard_install(pool, slot)) {
        return NULL;
    }
    stack = &slab->stack[slab->stacks];
    stack->pool = pool;
    stack->low = slot + pool->page;
    stack->size = pool->size;
    stack->colour = slab->stacks % COLOURS * COLOUR_BYTES;
    stack->valgrind_id = annotate_stack_register(stack->low, stack->size);
    slab->stacks++;
    return stack;
}

static struct stack *list_pop(struct stack **list, size_t *count)
{
    struct stack *stack = *list;

    if (stack == NULL) {
        return NULL;
    }
    *list = stack->next;
    (*count)--;
    return stack;
}

static void stack_paint(struct stack *stack)
{
    uint64_t *word = (uint64_t *)(void *)stack->low;

    for (size_t i = 0; i < stack->size / sizeof(*word); i++) {
        word[i] = PAINT;
    }
}

/* Bytes from the lowest word that was written up to the stack's top. */
static size_t stack_depth(const struct stack *stack)
{
    const uint64_t *word = (const uint64_t *)(const void *)stack->low;
    size_t i = 0;

    while (i < stack->size / sizeof(*word) && word[i] == PAINT) {
        i++;
    }
    return stack->size - i * sizeof(*word);
}

struct stack *stack_take(struct stack_pool *pool)
{
    struct stack *stack = list_pop(&pool->warm, &pool->warm_count);

    if (stack == NULL) {
        come_home(pool);
        stack = list_pop(&pool->warm, &pool->warm_count);
    }
    if (stack == NULL) {
        stack = list_pop(&pool->cold, &pool->cold_count);
    }
    if (stack == NULL) {
        stack = stack_prepare(pool);
    }
    if (stack == NULL) {
        return NULL;
    }
    if (stack->used) {
        annotate_stack_clean(stack->low, stack->size);
    }
    stack->used = true;
    if (pool->census) {
        stack_paint(stack);
    }
    pool->lent++;
    return stack;
}

static void census_take(struct stack_pool *pool, struct stack *stack)
{
    size_t depth;

    annotate_stack_clean(stack->low, stack->size);
    depth = stack_depth(stack);
    if (depth > pool->deepest) {
        pool->deepest = depth;
    }
}

static void keep(struct stack_pool *pool, struct stack *stack)
{
    struct stack **list = &pool->warm;
    size_t *count = &pool->warm_count;

    assert(pool->lent > 0);
    pool->lent--;
    if (pool->census) {
        census_take(pool, stack);
    }
    if (pool->warm_count >= WARM_MAX) {
        list = &pool->cold;
        count = &pool->cold_count;
        (void)madvise(stack->low, stack->size, MADV_DONTNEED);
    }
    stack->next = *list;
    *list = stack;
    (*count)++;
}

static void send_home(struct stack *stack)
{
    struct stack *first = atomic_load_explicit(&stack->pool->away, memory_order_relaxed);

    do {
        stack->next = first;
    } while (!atomic_compare_exchange_weak_explicit(
        &stack->pool->away, &first, stack, memory_order_release, memory_order_relaxed));
}

void stack_return(struct stack_pool *pool, struct stack *stack)
{
    if (stack->pool == pool) {
        keep(pool, stack);
        come_home(pool);
    } else {
        send_home(stack);
    }
}

size_t stack_pool_deepest(struct stack_pool *pool)
{
    come_home(pool);
    return pool->deepest;
}

size_t stack_pool_warm(const struct stack_pool *pool)
{
    return pool->warm_count;
}

size_t stack_pool_cold(const struct stack_pool *pool)
{
    return pool->cold_count;
}
