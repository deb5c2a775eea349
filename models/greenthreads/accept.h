/* Accepting, in the first shard: a user thread for each listening socket, which gives
 * every connection to the shard with the fewest. It must never know how one is served. */
#ifndef TETRAD_ACCEPT_H
#define TETRAD_ACCEPT_H

#include "attributes.h"

struct accepting;
struct shard;

/* Spawns the user threads in shards[0]; all shards must outlive them. NULL without
 * memory. */
struct accepting *accept_start(struct shard *shards, unsigned count);

/* Stops the listener, and returns when none of the user threads is left. By a user thread
 * of shards[0]. */
void accept_stop(struct accepting *accepting);

/* NULL is allowed. */
void accept_free(struct accepting *accepting);

#endif
