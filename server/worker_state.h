/* The inside of struct worker, for worker.c and conn.c. */
#ifndef TETRAD_WORKER_STATE_H
#define TETRAD_WORKER_STATE_H

#include <stdbool.h>

#include "access_writer.h"
#include "buffer_pool.h"
#include "http_conn.h"
#include "response.h"
#include "site.h"
#include "worker.h"

/* A link in one of the worker's two lists of live connections; embedded in struct conn. */
struct worker_link {
    struct worker_link *next, *previous;
};

struct worker {
    const struct http_limits *limits; /* borrowed */
    struct site_view *view;           /* owned */
    struct access_writer *access;     /* owned; NULL: nothing is logged */
    struct buffer_pool buffers;
    struct head_memo memo;
    struct response response;   /* to the request in hand: too large for a small stack */
    struct worker_link live;    /* sentinel of the list of connections */
    struct worker_link refused; /* of those over the limit, the newest first */
    unsigned connections;
    bool cooperative; /* must not sleep in file work */
    bool draining;
    bool abandoning;
    bool (*stopping)(void *); /* NULL, or asked before each answer */
    void *stopping_context;
};

void worker_add(struct worker *worker, struct worker_link *link);
void worker_remove(struct worker *worker, struct worker_link *link);

/* For one that was added: it is over the limit. */
void worker_refuse(struct worker *worker, struct worker_link *link);

#endif
