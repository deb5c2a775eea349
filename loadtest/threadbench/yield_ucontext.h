/* A row of `yield` and `test1`: bare contexts of the C library in a ring. */
#ifndef THREADBENCH_YIELD_UCONTEXT_H
#define THREADBENCH_YIELD_UCONTEXT_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "run.h"

struct yielding {
    _Atomic uintptr_t last; /* the thread that ran last */
    int *fds;
    char *buffers; /* of the disk form, for each thread */
};

/* Whether another one than self ran since self did. */
static inline uint64_t yield_note(struct yielding *yielding, uintptr_t self)
{
    if (atomic_load_explicit(&yielding->last, memory_order_relaxed) == self) {
        return 0;
    }
    atomic_store_explicit(&yielding->last, self, memory_order_relaxed);
    return 1;
}

/* Runs the race, and fills in the rows of the outcome. */
void yield_ucontext_race(struct run *run, struct yielding *yielding);

void yield_ucontext_loaded(char *text, size_t size);

#endif
