/* Signals as a descriptor and a flag. It must never know what stops. */
#ifndef TETRAD_SIGNALS_H
#define TETRAD_SIGNALS_H

#include <stdbool.h>

#include "attributes.h"

/* Installs the handlers: SIGPIPE, SIGUSR1 and SIGUSR2 ignored; SIGTERM and SIGINT set the stop, a second one
 * ends the process at once with status 1. Returns the stop descriptor (an eventfd,
 * readable for ever once stopped; shared with forked children), or -errno. */
int signals_open(void) MUST_CHECK;

/* True once SIGTERM or SIGINT came to this process. Lock-free, any thread. */
bool signals_stopping(void);

/* What SIGUSR1 does from now on: the call, which must be safe in a handler, with the
 * argument; NULL: nothing. In forked children as well. */
void signals_on_user1(void (*call)(void *argument), void *argument);

/* In a forked child: SIGTERM and SIGINT from now on only set signals_stopping of this
 * process (finish, then leave), and do not end it at the second time; the shared stop
 * descriptor is not touched by them. */
void signals_in_child(void);

#endif
