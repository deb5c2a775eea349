/* One child of the prefork model. It must never know the other children. */
#ifndef TETRAD_CHILD_H
#define TETRAD_CHILD_H

struct scoreboard;
struct server;
struct supervisor;
struct worker;

struct child {
    const struct server *server;   /* borrowed */
    struct scoreboard *scoreboard; /* borrowed, shared with the parent */
    struct supervisor *supervisor; /* borrowed: the parent's, to be woken */
    struct worker *worker;         /* child_run's own */
    int slot;
};

/* The child's whole life. Returns its exit status: 0, or 1 if it could not serve. */
int child_run(const struct child *child);

#endif
