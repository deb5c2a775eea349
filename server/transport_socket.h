/* The plain socket transport. The only place that calls recv, send and sendfile on a
 * client's socket. */
#ifndef TETRAD_TRANSPORT_SOCKET_H
#define TETRAD_TRANSPORT_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "transport.h"

struct transport_socket {
    struct transport base;
    int fd;              /* owned; -1 once closed */
    bool overslept;      /* the last receive slept all its time and nothing came */
    unsigned tick_ms;    /* how long a first wait may be; 0: the socket does not block */
    unsigned receive_ms; /* how long a receive may sleep, as the socket has it now */
};

/* Prepares an accepted stream socket (non-blocking or with a time-out tick, as its opener
 * chose) and takes the descriptor. The struct is the caller's and must outlive the
 * connection. */
void transport_socket_open(struct transport_socket *transport, int fd);

/* For blocking models: makes the socket blocking, with a tick after which recv and send
 * give up waiting. 0 or -errno. */
int transport_socket_set_tick(struct transport_socket *transport, unsigned tick_ms);

/* For the same, before a receive or a send that may wait: its owner has something to do in
 * left_ms, so it shall not sleep longer. A receive may sleep all of that once a tick has
 * passed in vain: a busy connection pays nothing for it, and an idle one wakes once and not
 * at every tick. A send is given a tick at most: it moves meanwhile, which its owner wants
 * to know. */
void transport_socket_receive_within(struct transport_socket *transport,
                                     uint64_t left_ms);
void transport_socket_send_within(struct transport_socket *transport, uint64_t left_ms);

#endif
