/* When signals may come to a kernel thread that runs user threads, for ThreadSanitizer's sake.
 * Compiles to nothing in other builds. It must never know a scheduler. */
#ifndef TETRAD_ANNOTATE_SIGNALS_H
#define TETRAD_ANNOTATE_SIGNALS_H

#include <signal.h>
#include <stddef.h>

#include "annotate.h"

/* ThreadSanitizer keeps a signal for the user thread that it came in and runs the handler
 * when that one next calls the library, which one that has parked may never do. So under
 * it signals wait until the kernel thread's own stack polls. `outside`: their mask there. */
ANNOTATE_INLINE void annotate_signals_hold(sigset_t *outside)
{
    (void)outside;
#ifdef ANNOTATE_TSAN
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };
    sigset_t held;

    (void)sigfillset(&held);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        (void)sigdelset(&held, faults[i]);
    }
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
