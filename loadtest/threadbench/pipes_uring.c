/* Polls of io_uring that stay armed, by system calls alone: one ring, one completion for
 * each wake of a pipe. It must never know who reads the pipes. */
#include "config.h"
#include "pipes.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>

#if HAVE_DECL_IORING_POLL_ADD_MULTI

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SUBMISSIONS = 256, COMPLETIONS = 8192 };

/* Queues that the kernel sees too. */
struct uring_own {
    int fd;
    unsigned pending; /* put into the queue and not submitted */
    _Atomic unsigned *submit_tail, *complete_head, *complete_tail;
    unsigned submit_mask, complete_mask;
    unsigned *submit_array;
    struct io_uring_sqe *submissions;
    struct io_uring_cqe *completions;
};

static int uring_enter(const struct uring_own *own, unsigned submit, unsigned await)
{
    long done = syscall(__NR_io_uring_enter, own->fd, submit, await,
                        IORING_ENTER_GETEVENTS, NULL, 0);

    return done < 0 ? -errno : (int)done;
}

static char *uring_map(struct run *run, int fd, size_t bytes, uint64_t what)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
                       (off_t)what);

    run_must(run, "io_uring's queues", pages == MAP_FAILED ? -errno : 0);
    return pages;
}

static void queues_map(struct run *run, struct uring_own *own,
                       const struct io_uring_params *params)
{
    char *submit = uring_map(run, own->fd,
                             params->sq_off.array + params->sq_entries * sizeof(unsigned),
                             IORING_OFF_SQ_RING);
    char *complete =
        uring_map(run, own->fd,
                  params->cq_off.cqes + params->cq_entries * sizeof(struct io_uring_cqe),
                  IORING_OFF_CQ_RING);
    char *entries = uring_map(
        run, own->fd, params->sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);

    own->submit_tail = (_Atomic unsigned *)(void *)(submit + params->sq_off.tail);
    own->submit_mask = *(unsigned *)(void *)(submit + params->sq_off.ring_mask);
    own->submit_array = (unsigned *)(void *)(submit + params->sq_off.array);
    own->submissions = (struct io_uring_sqe *)(void *)entries;
    own->complete_head = (_Atomic unsigned *)(void *)(complete + params->cq_off.head);
    own->complete_tail = (_Atomic unsigned *)(void *)(complete + params->cq_off.tail);
    own->complete_mask = *(unsigned *)(void *)(complete + params->cq_off.ring_mask);
    own->completions = (struct io_uring_cqe *)(void *)(complete + params->cq_off.cqes);
}

static void submissions_flush(struct run *run, struct uring_own *own)
{
    while (own->pending > 0) {
        int taken = uring_enter(own, own->pending, 0);

        run_must(run, "io_uring", taken);
        own->pending -= (unsigned)taken;
    }
}

static void poll_arm(struct run *run, struct events *events, size_t number)
{
    struct uring_own *own = events->own;
    unsigned tail = atomic_load_explicit(own->submit_tail, memory_order_relaxed);
    unsigned at = tail & own->submit_mask;
    struct io_uring_sqe *entry = &own->submissions[at];

    memset(entry, 0, sizeof(*entry));
    entry->opcode = IORING_OP_POLL_ADD;
    entry->fd = events->fds[number];
    entry->len = IORING_POLL_ADD_MULTI;
    entry->poll32_events = POLLIN;
    entry->user_data = number;
    own->submit_array[at] = at;
    atomic_store_explicit(own->submit_tail, tail + 1, memory_order_release);
    if (++own->pending > own->submit_mask) {
        submissions_flush(run, own);
    }
}

static void uring_open(struct run *run, struct events *events)
{
    struct io_uring_params params = {
        .flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
        .cq_entries = COMPLETIONS,
    };
    struct uring_own *own = run_share(run, sizeof(*own));

    own->fd = (int)syscall(__NR_io_uring_setup, SUBMISSIONS, &params);
    if (own->fd < 0) {
        run_absent(run, "not available: io_uring_setup: %s", strerror(errno));
    }
    queues_map(run, own, &params);
    events->own = own;
    for (size_t i = 0; i < events->count; i++) {
        poll_arm(run, events, i);
    }
    submissions_flush(run, own);
}

static void completion_take(struct run *run, struct events *events, unsigned head)
{
    struct uring_own *own = events->own;
    struct io_uring_cqe entry = own->completions[head & own->complete_mask];

    atomic_store_explicit(own->complete_head, head + 1, memory_order_release);
    run_must(run, "a poll of io_uring", entry.res);
    /* The kernel disarms a poll where its queue has no room. */
    if ((entry.flags & IORING_CQE_F_MORE) == 0) {
        poll_arm(run, events, entry.user_data);
    }
    events_ready(run, events, entry.user_data);
}

static void uring_wait(struct run *run, struct events *events)
{
    struct uring_own *own = events->own;
    unsigned head = atomic_load_explicit(own->complete_head, memory_order_relaxed);
    size_t taken = 0;

    submissions_flush(run, own);
    if (head == atomic_load_explicit(own->complete_tail, memory_order_acquire)) {
        run_must(run, "io_uring", uring_enter(own, 0, 1));
    }
    while (taken < events->batch &&
           head != atomic_load_explicit(own->complete_tail, memory_order_acquire)) {
        completion_take(run, events, head);
        head++;
        taken++;
    }
}

static void uring_close(struct events *events)
{
    (void)close(((struct uring_own *)events->own)->fd);
}

#else

static void uring_open(struct run *run, struct events *events)
{
    (void)events;
    run_absent(run, "not available: the system's headers know no multishot poll");
}

static void uring_wait(struct run *run, struct events *events)
{
    uring_open(run, events);
}

static void uring_close(struct events *events)
{
    (void)events;
}

#endif

const struct event_kind event_uring = { uring_open, uring_wait, uring_close };
