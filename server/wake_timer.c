/* See wake_timer.h: a timerfd(2). It goes by the exact clock, and clock_now_ms() is behind
 * that by a tick and by as much as the tick itself is late: up to two have been seen. Without
 * them the timer would wake its owner, who finds nothing due and sets it again for a time
 * that has passed, and so on for the rest of the tick. */
#include "wake_timer.h"

#include <errno.h>
#include <limits.h>
#include <sys/timerfd.h>
#include <time.h>

int wake_timer_open(void)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

    return fd < 0 ? -errno : fd;
}

void wake_timer_set(int fd, uint64_t at_ms)
{
    struct timespec tick = { 0 };
    struct itimerspec at = { 0 };
    uint64_t seconds = at_ms / 1000;
    long ns;

    (void)clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    /* One more, because all zero would disarm it. */
    ns = (long)(at_ms % 1000) * 1000000 + 2 * tick.tv_nsec + 1;
    seconds += (uint64_t)ns / 1000000000;
    at.it_value.tv_sec = seconds < INT_MAX ? (time_t)seconds : INT_MAX;
    at.it_value.tv_nsec = ns % 1000000000;
    /* Cannot fail with a descriptor of wake_timer_open and a time so written. */
    (void)timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL);
}

void wake_timer_stop(int fd)
{
    static const struct itimerspec never;

    (void)timerfd_settime(fd, 0, &never, NULL);
}
