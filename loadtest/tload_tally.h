/* What a run has counted and timed, in ns. It must never know how. */
#ifndef TLOAD_TALLY_H
#define TLOAD_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "spread.h"

enum tload_error {
    TLOAD_ERROR_CONNECT,
    TLOAD_ERROR_RESET,
    TLOAD_ERROR_SHORT, /* closed before the whole answer */
    TLOAD_ERROR_TIMEOUT,
    TLOAD_ERROR_MALFORMED,
    TLOAD_ERROR_STATUS, /* not 2xx */
    TLOAD_ERROR_LENGTH, /* another than the first answer's, or than the file's */
    TLOAD_ERROR_BODY,   /* other bytes than the file's */
    TLOAD_ERROR_KINDS
};

struct tload_moments {
    uint64_t count, sum, min, max;
};

struct tload_tally {
    struct spread latency;
    struct tload_moments service; /* the same latencies: their mean and least */
    struct tload_moments connect; /* from connect() to connected */
    struct tload_moments total; /* of a request, with its connection if it is a new one */

    uint64_t answers; /* good ones before the end, the only ones that a rate counts */
    uint64_t kept;    /* of those: over a connection that stays */
    uint64_t drained; /* good ones after it; in the latencies, too */
    uint64_t bytes, body_bytes, document_length; /* of good ones before the end */
    uint64_t errors[TLOAD_ERROR_KINDS];
    uint64_t connections, reconnections;
    uint64_t unanswered;   /* sent, and still waited for when there was no more waiting */
    uint64_t late, unsent; /* of an open loop */
    uint64_t idle_opened, idle_open; /* in the beginning, and in the end */
    uint64_t elapsed_ns, cpu_ns;
    const char *first_malformed; /* NULL: none */
    int first_errno;             /* of connecting or a reset; 0: none */
    bool interrupted;
    char server[64];
};

static inline void tload_moments_add(struct tload_moments *moments, uint64_t value)
{
    moments->min = moments->count == 0 || value < moments->min ? value : moments->min;
    moments->max = value > moments->max ? value : moments->max;
    moments->sum += value;
    moments->count++;
}

static inline uint64_t tload_errors(const struct tload_tally *tally)
{
    uint64_t sum = 0;

    for (int i = 0; i < TLOAD_ERROR_KINDS; i++) {
        sum += tally->errors[i];
    }
    return sum;
}

#endif
