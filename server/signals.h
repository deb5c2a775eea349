/* Signals as a descriptor and a flag. It must never know what stops. */
#ifndef TETRAD_SIGNALS_H
#define TETRAD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "attributes.h"

/* Sent by this program to a thread or a child of its own to end the sleep in which it may
 * be: a call with a time-out ends with EINTR, nothing else happens. One that is just about
 * to sleep is missed, so the sender repeats it. (By default the system ignores it too.) */
enum { SIGNALS_NUDGE = SIGURG };

/* Installs the handlers: SIGPIPE, SIGXFSZ, SIGUSR1 and SIGUSR2 ignored; SIGTERM and SIGINT
 * set the stop, a second one ends the process at once with status 1. patience_s seconds
 * after the first the process ends with status 0 come what may: a thread that sleeps in a
 * file system cannot be ended. Returns the stop descriptor (an eventfd, readable for ever
 * once stopped; shared with forked children), or -errno. */
int signals_open(unsigned patience_s) MUST_CHECK;

/* True once SIGTERM or SIGINT came to this process. Lock-free, any thread. */
bool signals_stopping(void);

/* A non-blocking descriptor, the caller's, that is readable when SIGUSR1 came to this
 * process, and until all of it is read; or -errno. To a forked child the signal means
 * nothing from then on. Before any thread is started. */
int signals_user1_open(void) MUST_CHECK;

/* All signals but those that a fault of the thread itself raises: what a thread blocks that
 * leaves the process's signals to others. */
void signals_but_faults(sigset_t *set);

/* In a forked child: SIGTERM and SIGINT from now on only set signals_stopping of this
 * process (finish, then leave), and do not end it at the second time; the shared stop
 * descriptor is not touched by them. What sleeps with a time-out is woken by them, and once
 * a second after. */
void signals_in_child(void);

#endif
