/* Whether what a benchmark computed is right: the first thing that is wrong is kept, in
 * words. Pure; it must never know how the answer came about. */
#ifndef THREADBENCH_ANSWER_H
#define THREADBENCH_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attributes.h"

enum { ANSWER_TEXT_MAX = 160 };

/* All zero: nothing was wrong so far. */
struct answer {
    bool wrong;
    char text[ANSWER_TEXT_MAX]; /* why, or the right answer once somebody said it */
};

void answer_wrong(struct answer *answer, const char *format, ...) PRINTF_LIKE(2, 3);

/* "WHAT is GOT, not EXPECTED" unless they are equal. */
void answer_expect(struct answer *answer, const char *what, uint64_t got,
                   uint64_t expected);

/* The same for what thread number `number` has. */
void answer_expect_of(struct answer *answer, size_t number, const char *what,
                      uint64_t got, uint64_t expected);

/* What is shown if nothing was wrong. */
void answer_say(struct answer *answer, const char *format, ...) PRINTF_LIKE(2, 3);

/* Items that must be 0, 1, 2 and so on. All zero at the beginning. */
struct answer_order {
    uint64_t count, sum;
    bool broken;
    uint64_t broken_at, found; /* the first item out of place */
};

static inline void answer_order_take(struct answer_order *order, uint64_t item)
{
    if (item != order->count && !order->broken) {
        order->broken = true;
        order->broken_at = order->count;
        order->found = item;
    }
    order->count++;
    order->sum += item;
}

/* All of `count` items came, in order. */
void answer_expect_order(struct answer *answer, const struct answer_order *order,
                         uint64_t count);

/* 0 + 1 + ... + (count - 1), modulo 2^64. */
uint64_t answer_sum_below(uint64_t count);

/* Bytes that differ from place to place and from seed to seed. */
void answer_pattern_fill(void *bytes, size_t size, uint64_t seed);
/* Where the first wrong byte is; size: nowhere. */
size_t answer_pattern_check(const void *bytes, size_t size, uint64_t seed);

#endif
