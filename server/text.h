/* Bytes that grow as they are written, and a limit for all that are alive at a time. It
 * must never know what the bytes mean. */
#ifndef TETRAD_TEXT_H
#define TETRAD_TEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attributes.h"
#include "slice.h"

/* What the texts that share it may take together, on any threads. */
struct text_budget {
    atomic_size_t used;
    size_t most; /* bytes */
};

void text_budget_init(struct text_budget *budget, size_t most);

struct text {
    char *base; /* owned */
    size_t len, room;
    bool failed; /* no memory, or over the budget: from then on nothing is added */
    struct text_budget *budget; /* borrowed; NULL: none */
};

void text_init(struct text *text, struct text_budget *budget);
void text_free(struct text *text); /* gives back what it took from the budget */

void text_add(struct text *text, struct slice bytes);
void text_add_number(struct text *text, uint64_t number);

/* Room for that many more bytes at base + len, which are not counted yet; NULL if it
 * failed. */
char *text_reserve(struct text *text, size_t bytes) MUST_CHECK;

/* Walks the characters of what should be UTF-8. False at the end. A byte that begins no
 * character comes alone, with *valid false. */
bool text_next_character(struct slice *rest, struct slice *character, bool *valid);

#endif
