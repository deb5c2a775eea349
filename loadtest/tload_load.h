/* The load itself: the connections, what each waits for, and one loop around them. It
 * must never know the command line's spelling or how results are shown. */
#ifndef TLOAD_LOAD_H
#define TLOAD_LOAD_H

#include <signal.h>
#include <stdint.h>

#include "tload_options.h"
#include "tload_tally.h"
#include "tload_target.h"

/* Runs until its time or its requests are over, or until *stop is not 0: then it ends
 * like after its time; 2 ends it at once. Fills tally, and in good[] the good answers
 * of each of options->clients connections. Returns 0 or a negative errno. */
int tload_load_run(const struct tload_options *options, const struct tload_target *target,
                   volatile sig_atomic_t *stop, struct tload_tally *tally,
                   uint64_t *good);

#endif
