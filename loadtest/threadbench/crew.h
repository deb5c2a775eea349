/* What the crew searched, and whether it found what is there: a second, serial search
 * with other means. It must never know a thread. */
#ifndef THREADBENCH_CREW_H
#define THREADBENCH_CREW_H

#include "bench.h"

/* A path that was queued. */
struct crew_item {
    struct crew_item *next;
    size_t worker;
    bool hit;
    char path[];
};

/* Reads every file once, so that no run pays for a cold cache. */
void crew_warm(const struct params *params);

/* Wrong unless exactly the files were hit that hold the string; says how many. */
void crew_check(struct answer *answer, const struct params *params,
                const struct crew_item *items, uint64_t *hits);

/* "Thread N found PATH" for each hit, as far as there is room. */
void crew_tell(struct outcome *outcome, const struct crew_item *items);

#endif
