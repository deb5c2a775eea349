/* See log_lanes.h. A writer holds its lane's lock while it copies, and moves the tail last:
 * the taker, who needs no lock, sees whole lines only, and a writer that dies in between
 * leaves nothing. It must never know what is in a line. */
#include "log_lanes.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum {
    CACHE_LINE = 64,
    /* Rounds over all lanes before a line is given up, with a turn for the others after
     * each: a lock is held for a copy's time only, and more writers may run than lanes. */
    ROUNDS = 100
};

struct lane {
    _Alignas(CACHE_LINE) pthread_mutex_t lock;  /* between writers */
    _Atomic uint64_t tail;                      /* bytes ever put; the writers' */
    _Alignas(CACHE_LINE) _Atomic uint64_t head; /* bytes ever taken; the taker's */
    _Alignas(CACHE_LINE) char bytes[LOG_LANE_BYTES];
};

struct log_lanes {
    atomic_int roused; /* what the taker was told since it rested: enum log_lanes_rouse */
    atomic_uint claimed;
    _Atomic uint64_t dropped;
    unsigned next; /* the taker's: where it goes on */
    struct lane lane[LOG_LANES];
};

/* The lock outlives the process that held it: the next one gets it, and finds the lane as
 * it was. */
static int init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    int error = pthread_mutexattr_init(&attributes);

    if (error != 0) {
        return error;
    }
    error = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (error == 0) {
        error = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    }
    if (error == 0) {
        error = pthread_mutex_init(lock, &attributes);
    }
    pthread_mutexattr_destroy(&attributes);
    return error;
}

struct log_lanes *log_lanes_open(void)
{
    /* Only the pages that lines have touched take memory. */
    void *memory = mmap(NULL, sizeof(struct log_lanes), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct log_lanes *lanes = memory;

    if (memory == MAP_FAILED) {
        return NULL;
    }
    for (unsigned i = 0; i < LOG_LANES; i++) {
        int error = init_lock(&lanes->lane[i].lock);

        if (error != 0) {
            log_lanes_close(lanes);
            errno = error;
            return NULL;
        }
    }
    return lanes;
}

void log_lanes_close(struct log_lanes *lanes)
{
    if (lanes != NULL) {
        munmap(lanes, sizeof(*lanes));
    }
}

unsigned log_lanes_claim(struct log_lanes *lanes)
{
    return atomic_fetch_add_explicit(&lanes->claimed, 1, memory_order_relaxed) %
           LOG_LANES;
}

static bool try_lock(struct lane *lane)
{
    int error = pthread_mutex_trylock(&lane->lock);

    if (error == EOWNERDEAD) {
        error = pthread_mutex_consistent(&lane->lock);
    }
    return error == 0;
}

/* NULL: whoever holds the locks does not go on. */
static struct lane *lock_lane(struct log_lanes *lanes, unsigned preferred)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < LOG_LANES; i++) {
            struct lane *lane = &lanes->lane[(preferred + i) % LOG_LANES];

            if (try_lock(lane)) {
                return lane;
            }
        }
        sched_yield();
    }
    return NULL;
}

static void copy_in(struct lane *lane, uint64_t at, const char *line, size_t len)
{
    size_t offset = at % LOG_LANE_BYTES;
    size_t first = LOG_LANE_BYTES - offset < len ? LOG_LANE_BYTES - offset : len;

    memcpy(lane->bytes + offset, line, first);
    memcpy(lane->bytes, line + first, len - first);
}

static void copy_out(const struct lane *lane, uint64_t at, char *to, size_t len)
{
    size_t offset = at % LOG_LANE_BYTES;
    size_t first = LOG_LANE_BYTES - offset < len ? LOG_LANE_BYTES - offset : len;

    memcpy(to, lane->bytes + offset, first);
    memcpy(to + first, lane->bytes, len - first);
}

/* What waits in the lane afterwards; 0: there was no room. */
static uint64_t put(struct lane *lane, const char *line, size_t len)
{
    uint64_t tail = atomic_load_explicit(&lane->tail, memory_order_relaxed);
    uint64_t waiting =
        tail - atomic_load_explicit(&lane->head, memory_order_acquire) + len;

    if (waiting > LOG_LANE_BYTES) {
        return 0;
    }
    copy_in(lane, tail, line, len);
    /* In one order with `roused`: either the taker, having rested, sees this line, or its
     * writer sees that the taker rested. */
    atomic_store(&lane->tail, tail + len);
    return waiting;
}

/* True for the one who is to wake the taker. */
static bool raise_to(struct log_lanes *lanes, int level)
{
    int roused = atomic_load(&lanes->roused);

    while (roused < level) {
        if (atomic_compare_exchange_weak(&lanes->roused, &roused, level)) {
            return true;
        }
    }
    return false;
}

enum log_lanes_rouse log_lanes_put(struct log_lanes *lanes, unsigned preferred,
                                   const char *line, size_t len)
{
    struct lane *lane = lock_lane(lanes, preferred);
    uint64_t waiting = 0;
    enum log_lanes_rouse rouse;

    if (lane != NULL) {
        waiting = put(lane, line, len);
        pthread_mutex_unlock(&lane->lock);
    }
    if (waiting == 0) {
        atomic_fetch_add_explicit(&lanes->dropped, 1, memory_order_relaxed);
        return LOG_LANES_DROPPED;
    }
    rouse = waiting >= LOG_LANE_FULLISH ? LOG_LANES_URGENT : LOG_LANES_FIRST;
    return raise_to(lanes, (int)rouse) ? rouse : LOG_LANES_QUIET;
}

/* The part of what is at `from` that is whole lines. */
static size_t whole_lines(const char *from, size_t len)
{
    const char *last = memrchr(from, '\n', len);

    return last == NULL ? 0 : (size_t)(last - from) + 1;
}

/* As many lines of one lane as fit; *full: there are more. */
static size_t take(struct lane *lane, char *to, size_t room, bool *full)
{
    uint64_t head = atomic_load_explicit(&lane->head, memory_order_relaxed);
    uint64_t waiting = atomic_load(&lane->tail) - head;
    size_t len = waiting < room ? (size_t)waiting : room;

    *full = waiting > room;
    copy_out(lane, head, to, len);
    if (*full) {
        len = whole_lines(to, len);
    }
    atomic_store_explicit(&lane->head, head + len, memory_order_release);
    return len;
}

size_t log_lanes_take(struct log_lanes *lanes, char *to, size_t room)
{
    size_t len = 0;
    bool full = false;

    for (unsigned i = 0; i < LOG_LANES && !full; i++) {
        len += take(&lanes->lane[lanes->next], to + len, room - len, &full);
        /* A lane that has more is the first one next time. */
        lanes->next = (lanes->next + !full) % LOG_LANES;
    }
    return len;
}

void log_lanes_rest(struct log_lanes *lanes)
{
    atomic_store(&lanes->roused, LOG_LANES_QUIET);
}

bool log_lanes_empty(const struct log_lanes *lanes)
{
    for (unsigned i = 0; i < LOG_LANES; i++) {
        if (atomic_load(&lanes->lane[i].tail) !=
            atomic_load_explicit(&lanes->lane[i].head, memory_order_relaxed)) {
            return false;
        }
    }
    return true;
}

uint64_t log_lanes_dropped(const struct log_lanes *lanes)
{
    return atomic_load_explicit(&lanes->dropped, memory_order_relaxed);
}
