/* Readiness of descriptors. A descriptor is added once, for both directions, and reports
 * each change once; what was reported stays in the source's bits until its user clears
 * them. It must never know a user thread: it names the sources that somebody awaits. One
 * owner thread per poller. */
#ifndef TETRAD_POLLER_H
#define TETRAD_POLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "attributes.h"

struct poller;

/* The values are those of epoll. */
enum poller_bits {
    POLLER_READABLE = 0x1,
    POLLER_URGENT = 0x2, /* urgent data came: a receive is short where it was (tcp(7)) */
    POLLER_WRITABLE = 0x4,
    POLLER_BROKEN = 0x18, /* either: an error waits to be read, or closed both ways */
    POLLER_HALF_CLOSED = 0x2000, /* the peer sends no more */
    /* Final: reported once and true ever after, so never cleared. */
    POLLER_FINAL = POLLER_HALF_CLOSED | POLLER_BROKEN,
    /* What ends a wait to read, and a wait to write. */
    POLLER_READ = POLLER_READABLE | POLLER_FINAL,
    POLLER_WRITE = POLLER_WRITABLE | POLLER_BROKEN
};

/* Embedded in whatever waits; `{ .fd = N, .slot = POLLER_NONE }` before poller_add. */
struct poller_source {
    int fd;         /* borrowed */
    bool level;     /* report POLLER_READABLE in every wait while it lasts, and no more */
    uint32_t slot;  /* in the poller; POLLER_NONE: not added */
    unsigned ready; /* enum poller_bits seen so far */
    unsigned awaited; /* bits that make poller_wait name the source */
    int error;        /* of the user's last poller_add */
    void *waiter;     /* the user's own, and so is: */
    struct poller_source *next;
};

enum { POLLER_NONE = UINT32_MAX, POLLER_BATCH = 256 };

/* NULL with errno set. */
struct poller *poller_open(void);

/* NULL is allowed. */
void poller_close(struct poller *poller);

/* Registers for both directions; what is ready already is reported by the next wait. 0 or
 * -errno. */
int poller_add(struct poller *poller, struct poller_source *source) MUST_CHECK;

/* Ends it. A source that was not added is allowed. */
void poller_remove(struct poller *poller, struct poller_source *source);

/* The same without a system call, for a descriptor that is closed next: the kernel ends
 * it then, and an event that comes nevertheless is ignored. */
void poller_forget(struct poller *poller, struct poller_source *source);

/* Waits up to timeout_ms (-1: for ever) for changes, adds them to the sources' bits, and
 * gives those with an awaited bit, POLLER_BATCH at most. How many; 0 also after a signal.
 */
int poller_wait(struct poller *poller, int timeout_ms, struct poller_source **named);

#endif
