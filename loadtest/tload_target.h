/* What is asked, and of whom: the address, the bytes of the request, and new sockets to
 * there. It must never know an answer. */
#ifndef TLOAD_TARGET_H
#define TLOAD_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "tload_options.h"

struct tload_target {
    struct sockaddr_storage address;
    socklen_t address_size;
    unsigned sources;         /* 0: the kernel chooses the source address */
    char *host, *port, *path; /* owned, as is what follows */
    char *request, *verify;   /* verify: NULL without a file */
    size_t request_size, verify_size;
    bool of_head; /* the request is HEAD */
};

/* Prints what is wrong. Returns 0, or -1; to be closed in either case. */
int tload_target_open(struct tload_target *target, const struct tload_options *options);
void tload_target_close(struct tload_target *target);

/* A socket that connects, without waiting: the number decides the source address.
 * Returns it or a negative errno; *connected says whether it is. */
int tload_target_connect(const struct tload_target *target, unsigned number,
                         bool *connected);

#endif
