/* A descriptor that becomes readable at a time, for a loop that waits for descriptors: the
 * wait itself then needs no time-out, for which the kernel reads a clock and starts and
 * cancels a timer each time, and the loop another clock to say how long. It must never
 * know what is due. */
#ifndef TETRAD_WAKE_TIMER_H
#define TETRAD_WAKE_TIMER_H

#include <stdint.h>

#include "attributes.h"

/* The descriptor, which the caller closes, or -errno. */
int wake_timer_open(void) MUST_CHECK;

/* Readable when clock_now_ms() has reached at_ms, up to two ticks of that clock later, and
 * unreadable until then; takes the place of the time set before. */
void wake_timer_set(int fd, uint64_t at_ms);

/* Unreadable until it is set again. */
void wake_timer_stop(int fd);

#endif
