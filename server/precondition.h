/* Conditional requests (RFC 9110 13), evaluated in the order of its section 13.2.2. It
 * must never know a file. */
#ifndef TETRAD_PRECONDITION_H
#define TETRAD_PRECONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "request.h"
#include "slice.h"

/* Of the selected representation. */
struct validators {
    struct slice etag; /* strong and quoted; empty: none */
    bool has_mtime;    /* false: no Last-Modified was or would be sent */
    int64_t mtime;     /* seconds, as Last-Modified says it */
};

enum precondition_result {
    PRECONDITION_PASS,
    PRECONDITION_NOT_MODIFIED,
    PRECONDITION_FAILED
};

/* For GET and HEAD, where the answer would else be 2xx. now: wall-clock seconds. */
enum precondition_result precondition_evaluate(const struct request *request,
                                               const struct validators *validators,
                                               int64_t now);

/* True if a Range field is to be applied: no If-Range, or one that matches (strong tag or
 * exact date). */
bool precondition_range_applies(const struct request *request,
                                const struct validators *validators, int64_t now);

#endif
