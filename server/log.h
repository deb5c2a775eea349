/* The error log: one line per call, one write(2) per line, to standard error.
 * It must never know what a connection or a request is. Safe from any thread or process.
 */
#ifndef TETRAD_LOG_H
#define TETRAD_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "attributes.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO };

/* Writes "tetrad: " (plus "warning: " for WARN), the text and a newline. Control bytes in
 * the text are escaped, a text over 1 KiB is cut. A failed or short write is dropped:
 * logging never stops serving. */
void log_write(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

/* A limit on how often one kind of line may be written: `static struct log_limit limit;`
 * is ready to use. */
struct log_limit {
    _Atomic uint64_t state; /* second << 8, and the lines allowed in that second */
};

/* True for at most LOG_LINES_PER_SECOND calls in any second of now_ms. Lock-free. */
enum { LOG_LINES_PER_SECOND = 3 };
bool log_allow(struct log_limit *limit, uint64_t now_ms);

#endif
