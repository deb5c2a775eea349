/* What the parent and its children tell each other: shared memory, a cache line per
 * child, atomics and no lock, so that a child may be killed at any instruction. It must
 * never know what a child does. */
#ifndef TETRAD_SCOREBOARD_H
#define TETRAD_SCOREBOARD_H

#include <stdbool.h>
#include <sys/types.h>

#include "serve_blocking.h"

struct scoreboard;

/* Shared with every child forked later. NULL with errno set. */
struct scoreboard *scoreboard_open(unsigned slots);
void scoreboard_close(struct scoreboard *scoreboard); /* NULL is allowed */

/* For the parent. */

/* A free slot, from now on counted as idle, for the child to be forked; -1: none free. */
int scoreboard_claim(struct scoreboard *scoreboard);
void scoreboard_set_pid(struct scoreboard *scoreboard, int slot, pid_t pid);
int scoreboard_find(const struct scoreboard *scoreboard, pid_t pid); /* -1: none */
pid_t scoreboard_pid(const struct scoreboard *scoreboard, int slot); /* 0: free */
unsigned scoreboard_slots(const struct scoreboard *scoreboard);

/* Gives the slot back, whatever its child was doing when it ended. */
void scoreboard_release(struct scoreboard *scoreboard, int slot);
unsigned scoreboard_idle(const struct scoreboard *scoreboard);

/* Asks this many idle children to leave, and takes back what was asked before. */
void scoreboard_retire(struct scoreboard *scoreboard, unsigned count);

/* True if the child in this slot has ever taken a connection. */
bool scoreboard_was_busy(const struct scoreboard *scoreboard, int slot);
void scoreboard_set_phase(struct scoreboard *scoreboard, enum serve_phase phase);

/* For the child in the slot. */

/* True if now no child is idle. */
bool scoreboard_set_busy(struct scoreboard *scoreboard, int slot);
void scoreboard_set_idle(struct scoreboard *scoreboard, int slot);
bool scoreboard_is_retired(const struct scoreboard *scoreboard, int slot);
enum serve_phase scoreboard_phase(const struct scoreboard *scoreboard);

#endif
