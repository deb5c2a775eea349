/* When signals may come to a kernel thread that runs user threads, for ThreadSanitizer's sake.
 * Compiles to nothing in other builds. It must never know a scheduler. */
#ifndef TETRAD_ANNOTATE_SIGNALS_H
#define TETRAD_ANNOTATE_SIGNALS_H

#include <signal.h>

#include "annotate.h"
#include "signals.h"

/* ThreadSanitizer keeps a signal for the user thread that it came in and runs the handler
 * when that one next calls the library, which one that has parked may never do. So under
 * it signals wait until the kernel thread's own stack polls. `outside`: their mask there. */
ANNOTATE_INLINE void annotate_signals_hold(sigset_t *outside)
{
    (void)outside;
#ifdef ANNOTATE_TSAN
    sigset_t held;

    signals_but_faults(&held);
    (void)pthread_sigmask(SIG_SETMASK, &held, outside);
#endif
}

ANNOTATE_INLINE void annotate_signals_let_in(const sigset_t *outside)
{
    (void)outside;
#ifdef ANNOTATE_TSAN
    (void)pthread_sigmask(SIG_SETMASK, outside, NULL);
#endif
}

#endif
