/* What the unit tests share: cmocka with what it needs before it, a check that names the
 * case, and random numbers that are the same in every run. It must never know what is
 * tested. */
#ifndef TETRAD_UNIT_H
#define TETRAD_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* For a table of cases: says where the case stands, and its input. */
#define CHECK_CASE(line, input, condition)                                               \
    do {                                                                                 \
        if (!(condition))                                                                \
            fail_msg("%s:%d: \"%s\": not true: %s", __FILE__, (int)(line), (input),      \
                     #condition);                                                        \
    } while (0)

/* SplitMix64: any state is a good start. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline unsigned random_below(uint64_t *state, unsigned limit)
{
    return (unsigned)(random_next(state) % limit);
}

#endif
