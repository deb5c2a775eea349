/* Starts a kernel thread that leaves the process's signals to the main one. It must never
 * know what the thread does. */
#ifndef TETRAD_KERNEL_THREAD_H
#define TETRAD_KERNEL_THREAD_H

#include <pthread.h>

#include "attributes.h"

/* With a small stack. 0 or -errno; to be joined. */
int kernel_thread_start(pthread_t *thread, void *(*run)(void *),
                        void *argument) MUST_CHECK;

#endif
