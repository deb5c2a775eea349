/* The few kernel threads under the user threads: schedulers and file work. Their stacks
 * hold no connection, only the loop and the C library's file calls. It must never know
 * what the thread does. */
#include "kernel_thread.h"

#include <signal.h>

#include "annotate.h"
#include "signals.h"

/* Of it the C library takes its thread-local storage. */
enum { KERNEL_STACK_BYTES = 128 * 1024 * ANNOTATE_STACK_SCALE };

int kernel_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    sigset_t blocked, before;
    int error = pthread_attr_init(&attributes);

    if (error != 0) {
        return -error;
    }
    error = pthread_attr_setstacksize(&attributes, KERNEL_STACK_BYTES);
    if (error != 0) {
        goto out;
    }
    /* Inherited by the new thread, so that it never runs with them open. */
    signals_but_faults(&blocked);
    (void)pthread_sigmask(SIG_SETMASK, &blocked, &before);
    error = pthread_create(thread, &attributes, run, argument);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
out:
    (void)pthread_attr_destroy(&attributes);
    return -error;
}
