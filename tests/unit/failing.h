/* Lets one chosen allocation fail: the test is linked with malloc, calloc and realloc
 * wrapped. Only what the code under test allocates between failing_on and failing_off is
 * counted. For tests of one thread; it must never know what is tested. */
#ifndef TETRAD_FAILING_H
#define TETRAD_FAILING_H

#include <stdbool.h>
#include <stdlib.h>

static struct {
    bool on;
    bool failed;      /* the chosen one was reached */
    unsigned long in; /* allocations before it */
} failing;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static inline bool failing_now(void)
{
    if (!failing.on || failing.failed) {
        return false;
    }
    failing.failed = failing.in == 0;
    failing.in--;
    return failing.failed;
}

void *__wrap_malloc(size_t size)
{
    return failing_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return failing_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return failing_now() ? NULL : __real_realloc(old, size);
}

/* The allocation after the next `in` ones will fail, and none behind it. */
static inline void failing_choose(unsigned long in)
{
    failing.on = failing.failed = false;
    failing.in = in;
}

static inline void failing_on(void)
{
    failing.on = true;
}

static inline void failing_off(void)
{
    failing.on = false;
}

#endif
