/* Counts the kernel threads of a process group and their memory, from /proc. It must
 * never know what they do. */
#ifndef THREADBENCH_CENSUS_H
#define THREADBENCH_CENSUS_H

#include <stdint.h>

#include <sys/types.h>

#include "attributes.h"

struct census {
    uint64_t kernel_threads;
    uint64_t
        memory_kib; /* proportional shares, so what is shared counts once; 0: unknown */
};

/* 0 or -errno. */
int census_take(pid_t group, struct census *census) MUST_CHECK;

#endif
