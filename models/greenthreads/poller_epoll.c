/* The poller over edge-triggered epoll: one epoll_ctl in a connection's life. An event
 * names a slot and its generation, never an address: the kernel may still report a
 * descriptor that was closed here while a duplicate of it lives. It must never know a
 * user thread. */
#include "poller.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include <sys/epoll.h>
#include <unistd.h>

#include "direct_calls.h"

enum { SLOTS_FIRST = 64 };

/* EPOLLERR and EPOLLHUP are always reported. */
static const uint32_t EDGE = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET;
static const uint32_t LEVEL = EPOLLIN;

struct slot {
    struct poller_source *source; /* borrowed; NULL: free */
    uint32_t generation;          /* of its present or next user */
    uint32_t next_free;
};

struct poller {
    int fd;
    struct slot *slots;
    uint32_t capacity, used; /* of slots; those behind `used` were never lent */
    uint32_t free;           /* the first that came back, or POLLER_NONE */
    struct epoll_event events[POLLER_BATCH];
};

struct poller *poller_open(void)
{
    struct poller *poller = calloc(1, sizeof(*poller));

    if (poller == NULL) {
        return NULL;
    }
    poller->free = POLLER_NONE;
    poller->fd = epoll_create1(EPOLL_CLOEXEC);
    if (poller->fd < 0) {
        int error = errno;

        free(poller);
        errno = error;
        return NULL;
    }
    return poller;
}

void poller_close(struct poller *poller)
{
    if (poller == NULL) {
        return;
    }
    (void)close(poller->fd);
    free(poller->slots);
    free(poller);
}

static int slots_grow(struct poller *poller)
{
    uint32_t capacity = poller->capacity == 0 ? SLOTS_FIRST : poller->capacity * 2;
    struct slot *slots = realloc(poller->slots, capacity * sizeof(*slots));

    if (slots == NULL) {
        return -ENOMEM;
    }
    poller->slots = slots;
    poller->capacity = capacity;
    return 0;
}

/* A slot of nobody's; negative without memory. What was never used is not touched. */
static int slot_take(struct poller *poller, uint32_t *slot)
{
    if (poller->free != POLLER_NONE) {
        *slot = poller->free;
        poller->free = poller->slots[*slot].next_free;
        return 0;
    }
    if (poller->used == poller->capacity && slots_grow(poller) < 0) {
        return -ENOMEM;
    }
    *slot = poller->used++;
    poller->slots[*slot] = (struct slot){ .source = NULL };
    return 0;
}

static void slot_free(struct poller *poller, uint32_t slot)
{
    poller->slots[slot].source = NULL;
    poller->slots[slot].generation++;
    poller->slots[slot].next_free = poller->free;
    poller->free = slot;
}

int poller_add(struct poller *poller, struct poller_source *source)
{
    struct epoll_event event = { .events = source->level ? LEVEL : EDGE };
    uint32_t slot;
    int result;

    assert(source->slot == POLLER_NONE);
    result = slot_take(poller, &slot);
    if (result < 0) {
        return result;
    }
    poller->slots[slot].source = source;
    event.data.u64 = (uint64_t)poller->slots[slot].generation << 32 | slot;
    if (epoll_ctl(poller->fd, EPOLL_CTL_ADD, source->fd, &event) < 0) {
        result = -errno;
        slot_free(poller, slot);
        return result;
    }
    source->slot = slot;
    return 0;
}

void poller_remove(struct poller *poller, struct poller_source *source)
{
    if (source->slot == POLLER_NONE) {
        return;
    }
    (void)epoll_ctl(poller->fd, EPOLL_CTL_DEL, source->fd, NULL);
    poller_forget(poller, source);
}

void poller_forget(struct poller *poller, struct poller_source *source)
{
    if (source->slot == POLLER_NONE) {
        return;
    }
    slot_free(poller, source->slot);
    source->slot = POLLER_NONE;
    source->awaited = 0;
}

/* The bits are epoll's own, so that nothing has to be translated. */
#define SAME(ours, theirs) _Static_assert((unsigned)(ours) == (unsigned)(theirs), #ours)
SAME(POLLER_READABLE, EPOLLIN);
SAME(POLLER_URGENT, EPOLLPRI);
SAME(POLLER_WRITABLE, EPOLLOUT);
SAME(POLLER_BROKEN, EPOLLERR | EPOLLHUP);
SAME(POLLER_HALF_CLOSED, EPOLLRDHUP);

int poller_wait(struct poller *poller, int timeout_ms, struct poller_source **named)
{
    int count = direct_epoll_wait(poller->fd, poller->events, POLLER_BATCH, timeout_ms);
    int given = 0;

    assert(count >= 0 || errno == EINTR);
    for (int i = 0; i < count; i++) {
        uint64_t data = poller->events[i].data.u64;
        const struct slot *slot = &poller->slots[(uint32_t)data];
        struct poller_source *source = slot->source;

        if (source == NULL || slot->generation != (uint32_t)(data >> 32)) {
            continue;
        }
        source->ready |= poller->events[i].events;
        if (source->ready & source->awaited) {
            named[given++] = source;
        }
    }
    return given;
}
