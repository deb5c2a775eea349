/* The Range field (RFC 9110 14.1.1, 14.1.2, 14.2). A hostile one costs time that grows
 * with its length only: ranges are joined as they are read, in a small array. It must
 * never know a file. */
#include "range.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* How many separate ranges are kept while later ones may still join them; a field that
 * needs more is ignored. Far over RANGES_MAX, small enough for a small stack. */
enum { RANGES_KEPT_MAX = 128 };

struct range_set {
    struct byte_range ranges[RANGES_KEPT_MAX]; /* none overlaps or touches another */
    size_t count;
};

enum spec_result {
    SPEC_MALFORMED,
    SPEC_UNSATISFIABLE,
    SPEC_WHOLE_OF_NOTHING, /* a suffix of an empty representation: satisfiable, but no
                              range of bytes says it */
    SPEC_SATISFIABLE
};

static bool is_ows(char byte)
{
    return byte == ' ' || byte == '\t';
}

static void skip(struct slice *text, size_t len)
{
    text->base += len;
    text->len -= len;
}

static void skip_ows(struct slice *text)
{
    while (text->len > 0 && is_ows(*text->base)) {
        skip(text, 1);
    }
}

/* Takes the digits at the start, without leading zeros. False if there are none. */
static bool take_digits(struct slice *text, struct slice *digits)
{
    size_t len = 0;
    size_t zeros = 0;

    while (len < text->len && text->base[len] >= '0' && text->base[len] <= '9') {
        len++;
    }
    while (zeros < len && text->base[zeros] == '0') {
        zeros++;
    }
    *digits = (struct slice){ text->base + zeros, len - zeros };
    skip(text, len);
    return len > 0;
}

/* Compares numbers of any length. */
static bool digits_less(struct slice a, struct slice b)
{
    if (a.len != b.len) {
        return a.len < b.len;
    }
    return a.len > 0 && memcmp(a.base, b.base, a.len) < 0;
}

/* UINT64_MAX stands for all that is above it: no representation is longer. */
static uint64_t digits_value(struct slice digits)
{
    uint64_t value = 0;

    for (size_t i = 0; i < digits.len; i++) {
        uint64_t digit = (uint64_t)(digits.base[i] - '0');

        if (value > (UINT64_MAX - digit) / 10) {
            return UINT64_MAX;
        }
        value = value * 10 + digit;
    }
    return value;
}

/* "-" suffix-length; the dash is already taken. */
static enum spec_result take_suffix(struct slice *text, uint64_t size,
                                    struct byte_range *range)
{
    struct slice digits;
    uint64_t len;

    if (!take_digits(text, &digits)) {
        return SPEC_MALFORMED;
    }
    len = digits_value(digits);
    if (len == 0) {
        return SPEC_UNSATISFIABLE;
    }
    if (size == 0) {
        return SPEC_WHOLE_OF_NOTHING;
    }
    range->first = len >= size ? 0 : size - len;
    range->last = size - 1;
    return SPEC_SATISFIABLE;
}

/* Takes one range-spec. */
static enum spec_result take_spec(struct slice *text, uint64_t size,
                                  struct byte_range *range)
{
    struct slice first, last;
    bool has_last;

    if (text->len > 0 && *text->base == '-') {
        skip(text, 1);
        return take_suffix(text, size, range);
    }
    if (!take_digits(text, &first) || text->len == 0 || *text->base != '-') {
        return SPEC_MALFORMED;
    }
    skip(text, 1);
    has_last = take_digits(text, &last);
    if (has_last && digits_less(last, first)) {
        return SPEC_MALFORMED;
    }
    range->first = digits_value(first);
    if (range->first >= size) {
        return SPEC_UNSATISFIABLE;
    }
    range->last = has_last ? digits_value(last) : size - 1;
    if (range->last >= size) {
        range->last = size - 1;
    }
    return SPEC_SATISFIABLE;
}

/* Both are below the size, hence below UINT64_MAX: adding 1 cannot overflow. */
static bool ranges_meet(const struct byte_range *a, const struct byte_range *b)
{
    return a->first <= b->last + 1 && b->first <= a->last + 1;
}

static void range_extend(struct byte_range *range, const struct byte_range *by)
{
    if (by->first < range->first) {
        range->first = by->first;
    }
    if (by->last > range->last) {
        range->last = by->last;
    }
}

/* Joins all that the new range meets into the earliest of them, or appends it. Those kept
 * do not meet each other, so one pass over them finds all. False if there is no room. */
static bool set_add(struct range_set *set, struct byte_range range)
{
    struct byte_range *home = NULL;
    size_t kept = 0;

    for (size_t i = 0; i < set->count; i++) {
        struct byte_range *other = &set->ranges[i];

        if (home != NULL && ranges_meet(other, &range)) {
            range_extend(home, other);
            continue;
        }
        set->ranges[kept] = *other;
        if (home == NULL && ranges_meet(other, &range)) {
            home = &set->ranges[kept];
            range_extend(home, &range);
        }
        kept++;
    }
    set->count = kept;
    if (home != NULL) {
        return true;
    }
    if (set->count == RANGES_KEPT_MAX) {
        return false;
    }
    set->ranges[set->count++] = range;
    return true;
}

/* Takes white space and commas, empty elements included. False if there was no comma. */
static bool take_commas(struct slice *text)
{
    bool comma = false;

    skip_ows(text);
    while (text->len > 0 && *text->base == ',') {
        comma = true;
        skip(text, 1);
        skip_ows(text);
    }
    return comma;
}

/* White space alone cannot come before the first element, but an empty element can. */
static bool take_start(struct slice *text)
{
    static const struct slice unit = { "bytes=", 6 };

    if (text->len <= unit.len || strncasecmp(text->base, unit.base, unit.len) != 0) {
        return false;
    }
    skip(text, unit.len);
    if (is_ows(*text->base) || *text->base == ',') {
        return take_commas(text) && text->len > 0;
    }
    return true;
}

/* The whole field is read before anything is decided: one malformed spec anywhere makes
 * it malformed. */
enum range_result range_parse(struct slice value, uint64_t size,
                              struct byte_range *ranges, size_t *count)
{
    struct range_set set;
    bool ignored = false;

    set.count = 0;
    *count = 0;
    if (!take_start(&value)) {
        return RANGE_IGNORED;
    }
    while (value.len > 0) {
        struct byte_range range;

        switch (take_spec(&value, size, &range)) {
        case SPEC_MALFORMED:
            return RANGE_IGNORED;
        case SPEC_UNSATISFIABLE:
            break;
        case SPEC_WHOLE_OF_NOTHING:
            ignored = true;
            break;
        case SPEC_SATISFIABLE:
            ignored = !set_add(&set, range) || ignored;
            break;
        }
        if (value.len > 0 && !take_commas(&value)) {
            return RANGE_IGNORED;
        }
    }
    if (ignored || set.count > RANGES_MAX) {
        return RANGE_IGNORED;
    }
    if (set.count == 0) {
        return RANGE_UNSATISFIABLE;
    }
    memcpy(ranges, set.ranges, set.count * sizeof(set.ranges[0]));
    *count = set.count;
    return RANGE_SATISFIABLE;
}
