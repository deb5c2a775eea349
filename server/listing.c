/* What is asked of a listing, and its order; see listing.h. It must never know a format. */
#include "listing.h"

#include <stdlib.h>
#include <string.h>

#include "listing_html.h"
#include "listing_json.h"

/* ---- the wish */

/* Takes the next part of a query, "name" or "name=value". False at the end. */
static bool take_part(struct slice *query, struct slice *name, struct slice *value)
{
    const char *end, *equals;

    if (query->len == 0) {
        return false;
    }
    end = memchr(query->base, '&', query->len);
    *name = *query;
    if (end != NULL) {
        name->len = (size_t)(end - query->base);
    }
    query->base += name->len + (end != NULL);
    query->len -= name->len + (end != NULL);
    *value = (struct slice){ "", 0 };
    equals = name->len > 0 ? memchr(name->base, '=', name->len) : NULL;
    if (equals != NULL) {
        size_t len = (size_t)(equals - name->base);

        *value = (struct slice){ equals + 1, name->len - len - 1 };
        name->len = len;
    }
    return true;
}

/* The value's place among the words; -1: none of them. */
static int find_word(struct slice value, const char *const *words)
{
    for (int i = 0; words[i] != NULL; i++) {
        if (slice_equal(value, slice_of(words[i]))) {
            return i;
        }
    }
    return -1;
}

void listing_wish_read(struct listing_wish *wish, struct slice query)
{
    static const char *const names[] = { "sort", "order", "format", NULL };
    static const char *const values[][4] = { { "name", "size", "time", NULL },
                                             { "asc", "desc", NULL },
                                             { "html", "json", NULL } };
    int found[] = { -1, -1, -1 };
    bool seen[] = { false, false, false };
    struct slice name, value;

    while (take_part(&query, &name, &value)) {
        int which = find_word(name, names);

        if (which >= 0 && !seen[which]) {
            seen[which] = true;
            found[which] = find_word(value, values[which]);
        }
    }
    if (found[0] >= 0) {
        wish->key = (enum listing_key)found[0];
    }
    if (found[1] >= 0) {
        wish->descending = found[1] == 1;
    }
    if (found[2] >= 0) {
        wish->format = (enum listing_format)found[2];
    }
}

/* ---- the order */

static int compare_names(const struct listing_entry *a, const struct listing_entry *b)
{
    size_t len = a->name.len < b->name.len ? a->name.len : b->name.len;
    int order = memcmp(a->name.base, b->name.base, len);

    return order != 0 ? order : (a->name.len > b->name.len) - (a->name.len < b->name.len);
}

static int compare_up(const void *left, const void *right)
{
    const struct listing_entry *a = left, *b = right;

    if (a->directory != b->directory) {
        return a->directory ? -1 : 1;
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return compare_names(a, b);
}

static int compare_names_down(const void *left, const void *right)
{
    const struct listing_entry *a = left, *b = right;

    return a->directory != b->directory ? compare_up(a, b) : compare_names(b, a);
}

/* Nanoseconds, as far as they go: 292 years around 1970. */
static int64_t rank_of_time(const struct listing_entry *entry)
{
    static const int64_t second = 1000000000;
    static const int64_t most = INT64_MAX / 1000000000 - 1;

    if (entry->mtime > most) {
        return INT64_MAX;
    }
    if (entry->mtime < -most) {
        return -INT64_MAX;
    }
    return entry->mtime * second + entry->mtime_ns;
}

static int64_t rank_of(const struct listing_entry *entry, enum listing_key key)
{
    switch (key) {
    case LISTING_NAME:
        break;
    case LISTING_SIZE:
        /* That of a directory says nothing about what is in it. */
        return entry->directory ? 0 : entry->size;
    case LISTING_TIME:
        return rank_of_time(entry);
    }
    return 0;
}

void listing_sort(struct listing *listing, const struct listing_wish *wish)
{
    for (size_t i = 0; i < listing->count; i++) {
        struct listing_entry *entry = &listing->entries[i];
        int64_t rank = rank_of(entry, wish->key);

        entry->rank = wish->descending ? -rank : rank;
    }
    if (listing->count > 1) {
        qsort(listing->entries, listing->count, sizeof listing->entries[0],
              wish->key == LISTING_NAME && wish->descending ? compare_names_down
                                                            : compare_up);
    }
}

void listing_write(struct listing *listing, const struct listing_wish *wish,
                   struct text *to)
{
    listing_sort(listing, wish);
    switch (wish->format) {
    case LISTING_HTML:
        listing_html(listing, wish, to);
        break;
    case LISTING_JSON:
        listing_json(listing, to);
        break;
    }
}
