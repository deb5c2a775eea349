/* See wake_timer.h: a timerfd(2). */
#include "wake_timer.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>

int wake_timer_open(void)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

    return fd < 0 ? -errno : fd;
}

void wake_timer_set(int fd, uint64_t at_ms)
{
    /* All zero would disarm it. */
    struct itimerspec at = { .it_value = { .tv_sec = (time_t)(at_ms / 1000),
                                           .tv_nsec =
                                               (long)(at_ms % 1000) * 1000000 + 1 } };

    /* Cannot fail with a descriptor of wake_timer_open and a time so written. */
    (void)timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL);
}

void wake_timer_stop(int fd)
{
    static const struct itimerspec never;

    (void)timerfd_settime(fd, 0, &never, NULL);
}
