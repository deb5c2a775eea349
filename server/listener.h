/* The listening sockets: bind, listen, accept4, and what to do when accept fails. Options
 * of an accepted socket are set here, once, on the listening one. It must never know what
 * is done with a connection. */
#ifndef TETRAD_LISTENER_H
#define TETRAD_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attributes.h"

struct options;
struct listener;

/* Binds and listens on every address of the options. 0, or -1 with one line in error,
 * naming address and port. Port 0: the kernel chooses one, the same for every address. */
int listener_open(struct listener **listener, const struct options *options, char *error,
                  size_t error_room) MUST_CHECK;

/* "http://127.0.0.1:8080" of the i-th address, with the port that it got; NULL past the
 * last. */
const char *listener_url(const struct listener *listener, unsigned i);

unsigned listener_count(const struct listener *listener);
int listener_fd(const struct listener *listener, unsigned i); /* borrowed */

enum accept_result {
    ACCEPT_OK,     /* *fd is a new stream socket, close-on-exec, the caller's */
    ACCEPT_NONE,   /* nothing to accept now, or the tick passed */
    ACCEPT_RETRY,  /* out of descriptors or memory: leave the listener alone for
                    * LISTENER_RETRY_MS. Logged, a few  lines a second at most */
    ACCEPT_STOPPED /* listener_stop was called */
};

enum { LISTENER_RETRY_MS = 100, LISTENER_TICK_MS = 500 };

/* Non-blocking, for models that poll listener_fd themselves. The new socket is
 * non-blocking. */
enum accept_result listener_accept(struct listener *listener, unsigned i, int *fd);

/* Blocking, from any number of threads and processes at once, over all addresses: sleeps
 * until a connection, the stop, or LISTENER_TICK_MS (then ACCEPT_NONE). ACCEPT_RETRY
 * comes after the pause was slept here. The new socket is blocking. listener_set_blocking
 * must have been called. */
enum accept_result listener_accept_blocking(struct listener *listener, int *fd);
int listener_set_blocking(struct listener *listener)
    MUST_CHECK; /* 0 or -errno; once, before any fork or thread */

/* Stops accepting at once, in all threads and processes that share the sockets: wakes
 * every blocked accept and refuses new connections. Safe to call from several places,
 * once each. */
void listener_stop(struct listener *listener);

/* Closes the descriptors and frees; remove_files: also unlinks unix sockets (the process
 * that bound them does). */
void listener_close(struct listener *listener, bool remove_files);

#endif
