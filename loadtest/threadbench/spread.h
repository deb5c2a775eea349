/* How durations spread: a histogram whose steps grow with them, 16 of each power of two, so
 * that a percentile is off by 1/16 at most. Pure; it must never know what is measured. */
#ifndef THREADBENCH_SPREAD_H
#define THREADBENCH_SPREAD_H

#include <stddef.h>
#include <stdint.h>

enum { SPREAD_STEPS = 16 * 61 };

/* All zero at the beginning. */
struct spread {
    uint64_t count, most;
    uint32_t steps[SPREAD_STEPS];
};

/* The last value of a step. */
uint64_t spread_step_end(size_t step);

void spread_add(struct spread *spread, uint64_t value);
void spread_merge(struct spread *spread, const struct spread *other);

/* The least value that `parts` of 1000 are not above, rounded up to the end of its step but
 * never over the largest; 0: there is none. */
uint64_t spread_at(const struct spread *spread, unsigned parts);

#endif
