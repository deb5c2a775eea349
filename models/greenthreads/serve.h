/* One connection in one user thread. It must never know a byte of what is said on it. */
#ifndef TETRAD_SERVE_H
#define TETRAD_SERVE_H

struct shard;

enum serve_kind {
    SERVE_ADMITTED, /* counted in the shard's load by whoever gave it */
    SERVE_REFUSED   /* over the limit: to be told so, and counted here */
};

/* Takes the socket. Closes it if no user thread can be had. By the shard's own kernel
 * thread. */
void serve_start(struct shard *shard, int fd, enum serve_kind kind);

#endif
