/* The two clocks, read through the vDSO. The coarse ones are as fine as the kernel's tick
 * (1 to 10 ms), which is finer than any time-out here, and several times cheaper than the
 * exact ones. It must never know what the time is used for. */
#include "clock.h"

#include <time.h>

uint64_t clock_now_ms(void)
{
    struct timespec now = { 0 };

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int64_t clock_wall_seconds(void)
{
    struct timespec now = { 0 };

    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return now.tv_sec;
}

int64_t clock_wall_ms(void)
{
    struct timespec now = { 0 };

    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
