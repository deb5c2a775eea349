/* Growing bytes; see text.h. Room doubles, so that each byte is moved a few times at most. */
#include "text.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_MIN = 1024 };

void text_budget_init(struct text_budget *budget, size_t most)
{
    atomic_init(&budget->used, 0);
    budget->most = most;
}

static void budget_give(struct text_budget *budget, size_t bytes)
{
    if (budget != NULL) {
        atomic_fetch_sub_explicit(&budget->used, bytes, memory_order_relaxed);
    }
}

static bool budget_take(struct text_budget *budget, size_t bytes)
{
    size_t before;

    if (budget == NULL) {
        return true;
    }
    before = atomic_fetch_add_explicit(&budget->used, bytes, memory_order_relaxed);
    if (before > budget->most || bytes > budget->most - before) {
        budget_give(budget, bytes);
        return false;
    }
    return true;
}

void text_init(struct text *text, struct text_budget *budget)
{
    *text = (struct text){ .budget = budget };
}

void text_free(struct text *text)
{
    free(text->base);
    budget_give(text->budget, text->room);
    text_init(text, text->budget);
}

static bool grow(struct text *text, size_t room)
{
    size_t more = room - text->room;
    char *base;

    if (!budget_take(text->budget, more)) {
        return false;
    }
    base = realloc(text->base, room);
    if (base == NULL) {
        budget_give(text->budget, more);
        return false;
    }
    text->base = base;
    text->room = room;
    return true;
}

char *text_reserve(struct text *text, size_t bytes)
{
    if (!text->failed && bytes > text->room - text->len) {
        size_t room = text->room > 0 ? 2 * text->room : ROOM_MIN;

        while (room - text->len < bytes) {
            room *= 2;
        }
        text->failed = !grow(text, room);
    }
    return text->failed ? NULL : text->base + text->len;
}

void text_add(struct text *text, struct slice bytes)
{
    char *to = bytes.len > 0 ? text_reserve(text, bytes.len) : NULL;

    if (to != NULL) {
        memcpy(to, bytes.base, bytes.len);
        text->len += bytes.len;
    }
}

void text_add_number(struct text *text, uint64_t number)
{
    char digits[20];
    size_t n = sizeof digits;

    do {
        digits[--n] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    text_add(text, (struct slice){ digits + n, sizeof digits - n });
}

/* ---- UTF-8 (RFC 3629) */

/* What may follow a first byte: how many bytes, and the limits of the first of them. */
struct sequence {
    unsigned char first_min, first_max; /* of the first byte */
    unsigned char more;
    unsigned char second_min, second_max;
};

/* Without overlong forms, surrogates, and what is beyond U+10FFFF. */
static const struct sequence sequences[] = {
    { 0x00, 0x7f, 0, 0x80, 0xbf }, { 0xc2, 0xdf, 1, 0x80, 0xbf },
    { 0xe0, 0xe0, 2, 0xa0, 0xbf }, { 0xe1, 0xec, 2, 0x80, 0xbf },
    { 0xed, 0xed, 2, 0x80, 0x9f }, { 0xee, 0xef, 2, 0x80, 0xbf },
    { 0xf0, 0xf0, 3, 0x90, 0xbf }, { 0xf1, 0xf3, 3, 0x80, 0xbf },
    { 0xf4, 0xf4, 3, 0x80, 0x8f },
};

/* The length of the character that the text begins with; 0: none. */
static size_t character_len(struct slice text)
{
    const unsigned char *bytes = (const unsigned char *)text.base;
    const struct sequence *sequence = sequences;
    const struct sequence *end = sequences + sizeof sequences / sizeof sequences[0];

    while (sequence < end &&
           (bytes[0] < sequence->first_min || bytes[0] > sequence->first_max)) {
        sequence++;
    }
    if (sequence == end || text.len <= sequence->more) {
        return 0;
    }
    for (size_t i = 1; i <= sequence->more; i++) {
        unsigned char least = i == 1 ? sequence->second_min : 0x80;
        unsigned char most = i == 1 ? sequence->second_max : 0xbf;

        if (bytes[i] < least || bytes[i] > most) {
            return 0;
        }
    }
    return sequence->more + (size_t)1;
}

bool text_next_character(struct slice *rest, struct slice *character, bool *valid)
{
    size_t len;

    if (rest->len == 0) {
        return false;
    }
    len = character_len(*rest);
    *valid = len > 0;
    *character = (struct slice){ rest->base, len > 0 ? len : 1 };
    rest->base += character->len;
    rest->len -= character->len;
    return true;
}
