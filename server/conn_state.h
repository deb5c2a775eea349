/* The inside of struct conn, for conn.c and conn_deadline.c; worker.c may know no more than
 * its two functions. */
#ifndef TETRAD_CONN_STATE_H
#define TETRAD_CONN_STATE_H

#include "conn.h"
#include "http_conn_state.h"
#include "worker_state.h"

struct conn {
    struct worker *worker;       /* borrowed */
    struct transport *transport; /* owned until closed */
    void *context;               /* the model's */
    struct work *work;           /* a reference, while a request waits for its file */
    struct work *cold;           /* a reference, while a file that is being sent is read
                                    from the disk */
    struct worker_link link;
    struct http_conn http;
    uint64_t now_ms;    /* the clock, as last read for this connection */
    uint64_t settle_ms; /* 0, or when `unacked` is to be taken */
    ssize_t unacked;    /* bytes the peer had not acknowledged then */
    bool settled;       /* `unacked` was taken since the last progress */
    bool warm;          /* the next piece of the file was just read in */
    bool probe;         /* draining: look once for a request that is already here */
    bool linger;        /* draining: half-close before the end */
    bool broken;        /* nothing can be sent or received any more */
    char *peer;         /* its address for the log, owned; NULL without one */
};

struct conn *conn_of_link(struct worker_link *link);
void *conn_context(const struct conn *conn);

/* conn_deadline.c. */

/* The transport took less than it was offered, the last byte at progress_ms: the send
 * deadline's first part begins. */
void conn_await_peer(struct conn *conn, uint64_t progress_ms);

/* How many bytes the peer has not acknowledged; -1: unknown. */
ssize_t conn_unacked(const struct conn *conn);

/* When the last byte was taken, by a send that began at before_ms. */
uint64_t conn_time_of_progress(struct conn *conn, uint64_t before_ms, bool was_short);

#endif
