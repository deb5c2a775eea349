/* The two clocks of the server, both coarse (a few ms) and both without a system call.
 * Timers read the monotonic one only, so a change of the wall clock moves no deadline. */
#ifndef TETRAD_CLOCK_H
#define TETRAD_CLOCK_H

#include <stdint.h>

/* Milliseconds of the monotonic clock. Never blocks, never fails. */
uint64_t clock_now_ms(void);

/* Seconds since 1970 of the wall clock: for Date and validators, never for a deadline. */
int64_t clock_wall_seconds(void);

/* The same clock in milliseconds: for a log. */
int64_t clock_wall_ms(void);

#endif
