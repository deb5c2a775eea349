/* Accepted sockets on their way from the loop that accepts to the loop that serves them:
 * a small locked queue and a descriptor that wakes its reader. It must never know a
 * model. */
#ifndef TETRAD_INBOX_H
#define TETRAD_INBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "attributes.h"

struct inbox;

/* NULL with errno set. */
struct inbox *inbox_open(void);

/* Readable when something was put in; borrowed. */
int inbox_fd(const struct inbox *inbox);

/* Takes fd and wakes the reader. 0, or -errno: then fd is still the caller's. Any thread.
 */
int inbox_put(struct inbox *inbox, int fd) MUST_CHECK;

/* Moves at most max descriptors, oldest first, to the caller; clears the wake-up when it
 * took the last. One reader. */
size_t inbox_take(struct inbox *inbox, int *fds, size_t max);

/* Closes what was never taken. NULL is allowed. */
void inbox_close(struct inbox *inbox);

#endif
