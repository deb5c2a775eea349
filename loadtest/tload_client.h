/* One connection of the load: what it waits for, and what becomes of its requests. It
 * must never know when the load ends, or how results are shown. */
#ifndef TLOAD_CLIENT_H
#define TLOAD_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tload_options.h"
#include "tload_reply.h"
#include "tload_tally.h"
#include "tload_target.h"

enum { TLOAD_BUFFER = 65536 };

enum tload_state {
    TLOAD_CLOSED,
    TLOAD_CONNECTING,
    TLOAD_READY,   /* connected, nothing is asked */
    TLOAD_SENDING, /* the request, in parts */
    TLOAD_WAITING, /* for the answer */
    TLOAD_CLOSING  /* the answer is whole; the server has promised to close */
};

struct tload_client {
    int fd; /* owned; -1: none */
    enum tload_state state;
    unsigned serial; /* of its connection: a new one may get the old one's descriptor */
    bool busy;       /* has a request that is neither answered nor failed */
    bool used;       /* this connection has had an answer */
    bool postponed;  /* goes on at the next tick */
    bool again;      /* goes on after this turn */
    uint64_t due, since; /* what latency and what the time-out are counted from */
    uint64_t opened; /* when the connection, or a request over an old one, was begun */
    uint64_t taken, owed; /* of an open loop: requests begun, and those due beside them */
    uint64_t answered;
    size_t sent;
    struct tload_client *again_next;
    struct tload_reply reply;
};

struct tload_load {
    const struct tload_options *options;
    const struct tload_target *target;
    struct tload_tally *tally;
    struct tload_client *clients; /* those that ask, and behind them the idle ones */
    struct tload_client *again;   /* a list */
    int epoll;
    bool stopping;            /* nothing more is begun */
    uint64_t now, start, end; /* end: 0 for none */
    uint64_t issued, finished;
    unsigned busy, idle_left; /* idle_left: idle ones that have not had their answer */
    bool length_known;
    struct tload_reader reader;
    char buffer[TLOAD_BUFFER];
};

uint64_t tload_clock_ns(void);

/* When the count-th request of an open loop is due. */
uint64_t tload_due_ns(const struct tload_load *load, uint64_t count);

/* Begins the next request, if there is one and the client is free for it. */
void tload_client_begin(struct tload_load *load, struct tload_client *client);
/* The same for an idle one's only request. */
void tload_client_begin_idle(struct tload_load *load, struct tload_client *client);

void tload_client_event(struct tload_load *load, struct tload_client *client,
                        uint32_t events);

/* From time to time: whether it has waited for too long, and what was postponed. */
void tload_client_tick(struct tload_load *load, struct tload_client *client);

void tload_client_close(struct tload_client *client);

#endif
