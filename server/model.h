/* A concurrency model's entry. A model owns how contexts are created, how a connection is
 * accepted, and how to wait between two steps of a connection; nothing else. */
#ifndef TETRAD_MODEL_H
#define TETRAD_MODEL_H

#include "server.h"

struct model {
    const char *name;
    const char *summary;      /* one line, for --list-models */
    unsigned connections_max; /* default cap of --max-connections; 0: only the descriptors
                                 limit it */
    /* Serves until the stop, drains within options->grace_ms, leaves no thread or
     * process. Returns the exit status: 0, or 1 after logging why it could not start.
     * Blocks. */
    int (*run)(const struct server *server);
};

/* Every model built in, ended by NULL. */
extern const struct model *const model_table[];

#endif
