/* The life of one piece of file work: made by its asker, run once by whoever may block,
 * freed by whoever lets go last. It must never know what the work does or who waits. */
#include "work.h"

#include <assert.h>
#include <stddef.h>

void work_init(struct work *work, void (*run)(struct work *),
               void (*destroy)(struct work *))
{
    work->run = run;
    work->destroy = destroy;
    atomic_init(&work->done, false);
    atomic_init(&work->references, 1);
}

void work_run(struct work *work)
{
    work->run(work);
    atomic_store_explicit(&work->done, true, memory_order_release);
}

bool work_done(const struct work *work)
{
    return atomic_load_explicit(&work->done, memory_order_acquire);
}

struct work *work_get(struct work *work)
{
    atomic_fetch_add_explicit(&work->references, 1, memory_order_relaxed);
    return work;
}

void work_put(struct work *work)
{
    int before;

    if (work == NULL) {
        return;
    }
    /* Release: what this holder wrote is seen by the last one. Acquire: the last one sees
     * what all the others wrote before it destroys. */
    before = atomic_fetch_sub_explicit(&work->references, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before == 1) {
        work->destroy(work);
    }
}
