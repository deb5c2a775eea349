/* One piece of file work that may sleep (a cold open, a cold read), as data: whoever may
 * block runs it. Blocking models run it inline; cooperative ones hand it to a small pool
 * and resume the connection. Refcounted, because it outlives the connection that asked.
 * It must never know who waits for it. */
#ifndef TETRAD_WORK_H
#define TETRAD_WORK_H

#include <stdatomic.h>
#include <stdbool.h>

struct work {
    void (*run)(struct work *); /* may block; runs once, on any kernel thread; must not
                                   touch the asker */
    void (*destroy)(
        struct work *);    /* called by the last work_put, on any kernel thread */
    atomic_bool done;      /* set when run has returned */
    atomic_int references; /* starts at 1, the asker's */
};

void work_init(struct work *work, void (*run)(struct work *),
               void (*destroy)(struct work *));
void work_run(struct work *work);

/* True once work_run has returned; what the work wrote can then be read. */
bool work_done(const struct work *work);

struct work *work_get(struct work *work);
void work_put(struct work *work); /* NULL is allowed */

#endif
