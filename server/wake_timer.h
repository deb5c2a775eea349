/* A descriptor that becomes readable at a time, for a loop that waits for descriptors: the
 * wait itself then needs no time-out, for which the kernel reads a clock and starts and
 * cancels a timer each time, and the loop another clock to say how long. It must never
 * know what is due. */
#ifndef TETRAD_WAKE_TIMER_H
#define TETRAD_WAKE_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "attributes.h"

/* The descriptor, which the caller closes, or -errno. */
int wake_timer_open(void) MUST_CHECK;

/* Readable from at_ms of clock_now_ms() on, at most a tick of that clock early; takes the
 * place of the time set before, and unreadable until then. */
void wake_timer_set(int fd, uint64_t at_ms);

/* Unreadable until it is set again. */
void wake_timer_stop(int fd);

#endif
