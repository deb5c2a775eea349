/* What a driven connection said, in short: the statuses of all its answers, "100" for an
 * interim one, and "!" if it closes. */
#ifndef TETRAD_HTTP_OUTCOME_H
#define TETRAD_HTTP_OUTCOME_H

#include "http_driver.h"

/* Room for the statuses of a hundred answers. */
enum { OUTCOME_MAX = 1024 };

/* Reads the statuses out of a transcript; every body must be as long as announced. */
static inline void read_outcome(const struct driver *driver, char *outcome, size_t room)
{
    const char *at = driver->sent, *end = driver->sent + driver->sent_len;
    size_t len = 0;

    outcome[0] = '\0';
    while (at < end) {
        const char *body = memmem(at, (size_t)(end - at), "\r\n\r\n", 4);
        const char *length = memmem(at, (size_t)(end - at), "Content-Length: ", 16);

        assert_non_null(body);
        assert_memory_equal(at, "HTTP/1.1 ", 9);
        len += (size_t)snprintf(outcome + len, room - len, "%s%.3s", len > 0 ? " " : "",
                                at + 9);
        body += 4;
        if (memcmp(at + 9, "100", 3) != 0) {
            assert_non_null(length);
            assert_true(length < body);
            /* The driver's texts begin with the method. */
            if (end - body < 4 || memcmp(body, "HTTP", 4) != 0) {
                body += body < end ? atoi(length + 16) : 0;
            }
        }
        at = body;
    }
    assert_ptr_equal(at, end);
    if (driver->closed || driver->half_closed) {
        snprintf(outcome + len, room - len, "!");
    }
}

#endif
