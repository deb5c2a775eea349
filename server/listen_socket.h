/* One listening socket: made, bound, and its options set, which the sockets accepted from
 * it inherit. It must never know how many there are or who accepts. */
#ifndef TETRAD_LISTEN_SOCKET_H
#define TETRAD_LISTEN_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "attributes.h"
#include "bind_address.h"

struct listen_socket {
    int fd;                      /* owned; non-blocking, close-on-exec */
    struct bind_address address; /* with the port that it got */
    dev_t device;                /* of a unix socket's file, to know it again */
    ino_t inode;
};

/* 0, or -errno and nothing left behind. */
int listen_socket_open(struct listen_socket *to,
                       const struct bind_address *address) MUST_CHECK;

/* Closes; and unlinks a unix socket's file if remove_file says so and it is still the
 * same file. */
void listen_socket_close(struct listen_socket *from, bool remove_file);

#endif
