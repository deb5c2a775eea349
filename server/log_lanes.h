/* Lines on their way from many threads and processes to the one that writes them: a few
 * ring buffers in shared memory. Putting a line never waits, neither for the writer nor
 * for a process that was stopped or killed in the middle of it. It must never know what is
 * in a line. */
#ifndef TETRAD_LOG_LANES_H
#define TETRAD_LOG_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_lanes;

enum {
    LOG_LANES = 16,
    LOG_LANE_BYTES = 256 * 1024,
    LOG_LANE_FULLISH =
        64 * 1024 /* with so much in a lane the taker should come at once */
};

enum log_lanes_rouse {
    LOG_LANES_QUIET,  /* the taker knows already */
    LOG_LANES_FIRST,  /* the first line since the taker rested: wake it, there is time */
    LOG_LANES_URGENT, /* a lane fills up: wake it at once */
    LOG_LANES_DROPPED /* no room; the line was counted and forgotten */
};

/* Shared with every process forked later. NULL with errno set. */
struct log_lanes *log_lanes_open(void);

/* NULL is allowed. */
void log_lanes_close(struct log_lanes *lanes);

/* The lane for one more writer, in turn. */
unsigned log_lanes_claim(struct log_lanes *lanes);

/* Puts a line, which ends in a newline and is no longer than a page, into the lane, or
 * another one while that is in use. Any thread and process. */
enum log_lanes_rouse log_lanes_put(struct log_lanes *lanes, unsigned lane,
                                   const char *line, size_t len);

/* For the taker, one thread. */

/* Moves whole lines, at most room bytes (room for a line at least), to `to`; 0: there are
 * none. The lines of a lane come in their order. */
size_t log_lanes_take(struct log_lanes *lanes, char *to, size_t room);

/* From now on the next line put says FIRST. Call it before the last look for lines. */
void log_lanes_rest(struct log_lanes *lanes);

bool log_lanes_empty(const struct log_lanes *lanes);

/* Lines that found no room, in all. */
uint64_t log_lanes_dropped(const struct log_lanes *lanes);

#endif
