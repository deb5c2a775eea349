/* The page that stands for what is missing, where a program in the browser reads the path
 * (--spa): which requests get it, and the name under which the cache has it. It must never
 * know how a file is found. */
#include <string.h>

#include "site_internal.h"

/* Every other key begins with a slash. */
struct slice site_spa_key(void)
{
    return SLICE("spa");
}

bool site_spa_is_key(struct slice key)
{
    return slice_equal(key, site_spa_key());
}

/* What a request says of HTML. */
enum liking {
    LIKES_NOT,
    LIKES_ANY, /* it says nothing, or has a wildcard */
    LIKES_HTML /* it names text/html, as browsers do when they navigate */
};

static struct slice without_spaces(struct slice text)
{
    while (text.len > 0 && (*text.base == ' ' || *text.base == '\t')) {
        text.base++;
        text.len--;
    }
    while (text.len > 0 &&
           (text.base[text.len - 1] == ' ' || text.base[text.len - 1] == '\t')) {
        text.len--;
    }
    return text;
}

/* Takes what stands before the next semicolon; false at the end. */
static bool take_part(struct slice *rest, struct slice *part)
{
    const char *end = rest->len == 0 ? NULL : memchr(rest->base, ';', rest->len);

    if (rest->len == 0) {
        return false;
    }
    *part = *rest;
    if (end != NULL) {
        part->len = (size_t)(end - rest->base);
    }
    rest->base += part->len + (end != NULL);
    rest->len -= part->len + (end != NULL);
    *part = without_spaces(*part);
    return true;
}

/* "q=0", "q=0.", "q=0.000": not acceptable (RFC 9110 12.4.2). */
static bool is_zero(struct slice parameter)
{
    if (parameter.len < 3 || (*parameter.base | 0x20) != 'q' ||
        parameter.base[1] != '=' || parameter.base[2] != '0') {
        return false;
    }
    for (size_t i = 3; i < parameter.len; i++) {
        if (parameter.base[i] != (i == 3 ? '.' : '0')) {
            return false;
        }
    }
    return true;
}

/* The nearest range counts: text/html, then text, then everything (RFC 9110 12.5.1). */
static enum liking liking_of(const struct request *request)
{
    static const char *const ranges[] = { "*/*", "text/*", "text/html" };
    enum { RANGES = sizeof ranges / sizeof ranges[0] };
    bool found[RANGES] = { false };
    bool refused[RANGES] = { false };
    unsigned cursor = 0;
    struct slice list, element, part;

    if (!request_has(request, FIELD_ACCEPT)) {
        return LIKES_ANY;
    }
    while (request_field_next(request, FIELD_ACCEPT, &cursor, &list)) {
        while (request_list_next(&list, &element)) {
            unsigned place = 0;

            (void)take_part(&element, &part);
            while (place < RANGES && !slice_equal_nocase(part, slice_of(ranges[place]))) {
                place++;
            }
            if (place == RANGES) {
                continue;
            }
            found[place] = true;
            while (take_part(&element, &part)) {
                refused[place] = refused[place] || is_zero(part);
            }
        }
    }
    for (unsigned place = RANGES; place-- > 0;) {
        if (found[place]) {
            enum liking liking = place == RANGES - 1 ? LIKES_HTML : LIKES_ANY;

            return refused[place] ? LIKES_NOT : liking;
        }
    }
    return LIKES_NOT;
}

/* A name with a dot is that of a file, which is missing for whoever does not say that it
 * wants a page. */
static bool names_file(struct slice path)
{
    const char *slash = memrchr(path.base, '/', path.len);
    const char *last = slash == NULL ? path.base : slash + 1;

    return memchr(last, '.', (size_t)(path.base + path.len - last)) != NULL;
}

bool site_spa_applies(const struct site *site, const struct request *request,
                      struct slice key)
{
    if (site->spa.len == 0 || site_spa_is_key(key)) {
        return false;
    }
    switch (liking_of(request)) {
    case LIKES_NOT:
        return false;
    case LIKES_ANY:
        return !names_file(key);
    case LIKES_HTML:
        return true;
    }
    return false;
}
