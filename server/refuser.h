/* The few connections over the limit that are told so: each is answered 503 and closed in
 * good order, without ever blocking the thread that supervises. For its own poll(2) loop.
 * It must never know when the limit is reached. */
#ifndef TETRAD_REFUSER_H
#define TETRAD_REFUSER_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "options.h"

struct refuser;
struct server;

enum {
    /* Held at once. With the listening sockets this stays below the 64 descriptors that
     * the connection limit leaves over. */
    REFUSER_MAX = 32,
    REFUSER_FDS = REFUSER_MAX + OPTIONS_BINDS_MAX,
    /* A client that reads its answer late may keep its place so long when others wait. */
    REFUSER_HOLD_MS = 1000
};

/* NULL without memory. */
struct refuser *refuser_open(const struct server *server);

/* Fills fds (room for REFUSER_FDS) with what to wait for and returns how many there are.
 * accepting: the listening sockets come first. */
unsigned refuser_pollfds(struct refuser *refuser, struct pollfd *fds, bool accepting);

/* When refuser_step is due without any event, in ms of clock_now_ms; UINT64_MAX: never.
 */
uint64_t refuser_deadline(const struct refuser *refuser, bool accepting);

/* After poll on the very fds of refuser_pollfds: serves the connections held. True if a
 * new connection waits: refuser_accept, after a last look whether it must be refused. */
bool refuser_step(struct refuser *refuser, const struct pollfd *fds, unsigned count);

/* Takes and refuses at most one connection of each listening socket, never waiting for
 * one. */
void refuser_accept(struct refuser *refuser);

unsigned refuser_held(const struct refuser *refuser);

/* Ends the time to finish: everything held is closed. */
void refuser_abandon(struct refuser *refuser);

/* Closes what is held, without a word to the peers: in a forked child this leaves the
 * parent's connections alone. NULL is allowed. */
void refuser_close(struct refuser *refuser);

#endif
