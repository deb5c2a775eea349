/* The plain socket transport. The only place that calls recv, send and sendfile on a
 * client's socket. */
#ifndef TETRAD_TRANSPORT_SOCKET_H
#define TETRAD_TRANSPORT_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "transport.h"

struct transport_socket {
    struct transport base;
    int fd;         /* owned; -1 once closed */
    bool overslept; /* a receive gave up at its tick since the last await */
};

/* Prepares an accepted stream socket (non-blocking or with a time-out tick, as its opener
 * chose) and takes the descriptor. The struct is the caller's and must outlive the
 * connection. */
void transport_socket_open(struct transport_socket *transport, int fd);

/* For blocking models: makes the socket blocking, with a tick after which recv and send
 * give up waiting. 0 or -errno. */
int transport_socket_set_tick(struct transport_socket *transport, unsigned tick_ms);

/* For the same: from now on a send gives up waiting after ms (1 at least). */
void transport_socket_send_within(struct transport_socket *transport, unsigned ms);

/* For the same: sleeps until there is something to receive or the end of the stream, at most
 * ms. False if that time passed; true also after a signal. */
bool transport_socket_await(struct transport_socket *transport, uint64_t ms);

#endif
