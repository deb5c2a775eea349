/* Several schedulers under one crowd of user threads (M:N): each still runs only its own,
 * and one that has none is given half of another's. It must never know a connection. */
#ifndef TETRAD_SCHEDULER_GROUP_H
#define TETRAD_SCHEDULER_GROUP_H

#include "scheduler.h"

enum { SCHEDULER_GROUP_MAX = 1024 };

struct scheduler_group;

/* count: 1 to SCHEDULER_GROUP_MAX. stack_flags as in scheduler_open. NULL with errno set.
 */
struct scheduler_group *scheduler_group_open(unsigned count, unsigned stack_flags);

/* After scheduler_run of every member has returned, or before any was called. NULL is
 * allowed. */
void scheduler_group_close(struct scheduler_group *group);

/* Borrowed. Each is to run on a kernel thread of its own; scheduler_run of all returns
 * when no user thread is left in the group, or none of them can ever run again. */
struct scheduler *scheduler_group_member(struct scheduler_group *group, unsigned index);

/* One more member, for the threads that are spawned in it before it runs: they stay, no
 * other joins them, and its run is over with them. Any kernel thread, while the group has
 * a thread. Owned: dismissed on its kernel thread after its run (or instead), by nobody
 * else. NULL with errno set. */
struct scheduler *scheduler_group_add(struct scheduler_group *group,
                                      unsigned stack_flags);
void scheduler_group_dismiss(struct scheduler *scheduler);

/* By a user thread that stays: from now on no thread moves to its scheduler, and those
 * that were on their way have arrived. Parks. Nothing to do in a scheduler of no group. */
void scheduler_group_close_intake(void);

/* Ends scheduler_run of every member soon, with -EDEADLK, whoever is left: for a group that
 * could not be started as a whole. Any kernel thread. */
void scheduler_group_give_up(struct scheduler_group *group);

/* User threads that moved so far. Any kernel thread. */
uint64_t scheduler_group_moves(const struct scheduler_group *group);

#endif
