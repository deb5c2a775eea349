/* The first wrong thing wins, since what follows is mostly its consequence. It must never
 * know a runtime. */
#include "answer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void answer_wrong(struct answer *answer, const char *format, ...)
{
    va_list arguments;

    if (answer->wrong) {
        return;
    }
    answer->wrong = true;
    va_start(arguments, format);
    (void)vsnprintf(answer->text, sizeof(answer->text), format, arguments);
    va_end(arguments);
}

void answer_expect(struct answer *answer, const char *what, uint64_t got,
                   uint64_t expected)
{
    if (got != expected) {
        answer_wrong(answer, "%s is %" PRIu64 ", not %" PRIu64, what, got, expected);
    }
}

void answer_expect_of(struct answer *answer, size_t number, const char *what,
                      uint64_t got, uint64_t expected)
{
    if (got != expected) {
        answer_wrong(answer, "%s of thread %zu is %" PRIu64 ", not %" PRIu64, what,
                     number, got, expected);
    }
}

void answer_say(struct answer *answer, const char *format, ...)
{
    va_list arguments;

    if (answer->wrong) {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(answer->text, sizeof(answer->text), format, arguments);
    va_end(arguments);
}

void answer_expect_order(struct answer *answer, const struct answer_order *order,
                         uint64_t count)
{
    if (order->broken) {
        answer_wrong(answer, "item %" PRIu64 " came where %" PRIu64 " belongs",
                     order->found, order->broken_at);
    }
    answer_expect(answer, "the number of items", order->count, count);
    answer_expect(answer, "the sum", order->sum, answer_sum_below(count));
}

uint64_t answer_sum_below(uint64_t count)
{
    if (count == 0) {
        return 0;
    }
    /* One of the two is even; halved before, so that the product may wrap. */
    return count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
}

static unsigned char pattern_byte(size_t at, uint64_t seed)
{
    return (unsigned char)(at * 7 + (at >> 8) + seed * 13 + 1);
}

void answer_pattern_fill(void *bytes, size_t size, uint64_t seed)
{
    unsigned char *to = bytes;

    for (size_t i = 0; i < size; i++) {
        to[i] = pattern_byte(i, seed);
    }
}

size_t answer_pattern_check(const void *bytes, size_t size, uint64_t seed)
{
    const unsigned char *from = bytes;
    size_t i = 0;

    while (i < size && from[i] == pattern_byte(i, seed)) {
        i++;
    }
    return i;
}
