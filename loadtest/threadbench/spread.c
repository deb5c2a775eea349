/* Below 16 each value has a step of its own; above, the four bits behind the first one
 * choose it. It must never know a clock. */
#include "spread.h"

#include <stddef.h>

static size_t step_of(uint64_t value)
{
    unsigned shift;

    if (value < 16) {
        return value;
    }
    shift = 59 - (unsigned)__builtin_clzll(value);
    return (size_t)shift * 16 + (value >> shift);
}

uint64_t spread_step_end(size_t step)
{
    unsigned shift;

    if (step < 32) {
        return step;
    }
    shift = (unsigned)(step / 16 - 1);
    return ((step % 16 + 17) << shift) - 1;
}

void spread_add(struct spread *spread, uint64_t value)
{
    spread->steps[step_of(value)]++;
    spread->count++;
    spread->most = value > spread->most ? value : spread->most;
}

void spread_merge(struct spread *spread, const struct spread *other)
{
    for (size_t i = 0; i < SPREAD_STEPS; i++) {
        spread->steps[i] += other->steps[i];
    }
    spread->count += other->count;
    spread->most = other->most > spread->most ? other->most : spread->most;
}

uint64_t spread_at(const struct spread *spread, unsigned parts)
{
    uint64_t wanted = (spread->count * parts + 999) / 1000, seen = 0;

    for (size_t i = 0; i < SPREAD_STEPS; i++) {
        seen += spread->steps[i];
        if (seen >= wanted && seen > 0) {
            uint64_t end = spread_step_end(i);

            return end < spread->most ? end : spread->most;
        }
    }
    return 0;
}
