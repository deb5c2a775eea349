/* The shared memory between the parent and its children. Who is idle is one bit per child
 * and nothing else: a count would be wrong for ever after a child was killed between two
 * writes, a bit is simply cleared with its slot. It must never take a lock. */
#include "scoreboard.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { CACHE_LINE = 64, WORD_BITS = 64 };

struct slot {
    _Alignas(CACHE_LINE) _Atomic pid_t pid; /* 0: free; the parent's */
    atomic_bool retire;                     /* the parent's */
    atomic_bool was_busy;                   /* the child's */
};

struct scoreboard {
    size_t bytes; /* of the whole mapping */
    unsigned slots, words;
    /* Read by every child after every step, written once: never in a line that changes.
     */
    _Alignas(CACHE_LINE) atomic_int phase;
    _Alignas(CACHE_LINE) struct slot slot[]; /* followed by the words of idle bits */
};

static _Atomic uint64_t *idle_words(const struct scoreboard *scoreboard)
{
    return (_Atomic uint64_t *)(uintptr_t)&scoreboard->slot[scoreboard->slots];
}

static uint64_t bit_of(int slot)
{
    return UINT64_C(1) << (slot % WORD_BITS);
}

static _Atomic uint64_t *word_of(const struct scoreboard *scoreboard, int slot)
{
    return &idle_words(scoreboard)[slot / WORD_BITS];
}

struct scoreboard *scoreboard_open(unsigned slots)
{
    unsigned words = (slots + WORD_BITS - 1) / WORD_BITS;
    size_t bytes = sizeof(struct scoreboard) + slots * sizeof(struct slot) +
                   words * sizeof(_Atomic uint64_t);
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        return NULL;
    }
    struct scoreboard *scoreboard = memory;
    scoreboard->bytes = bytes;
    scoreboard->slots = slots;
    scoreboard->words = words;
    atomic_init(&scoreboard->phase, SERVE_OPEN);
    return scoreboard;
}

void scoreboard_close(struct scoreboard *scoreboard)
{
    if (scoreboard != NULL) {
        munmap(scoreboard, scoreboard->bytes);
    }
}

int scoreboard_claim(struct scoreboard *scoreboard)
{
    for (int i = 0; i < (int)scoreboard->slots; i++) {
        struct slot *slot = &scoreboard->slot[i];
        if (atomic_load_explicit(&slot->pid, memory_order_relaxed) != 0 ||
            (atomic_load(word_of(scoreboard, i)) & bit_of(i)) != 0) {
            continue;
        }
        atomic_store_explicit(&slot->retire, false, memory_order_relaxed);
        atomic_store_explicit(&slot->was_busy, false, memory_order_relaxed);
        atomic_fetch_or(word_of(scoreboard, i), bit_of(i));
        return i;
    }
    return -1;
}

void scoreboard_set_pid(struct scoreboard *scoreboard, int slot, pid_t pid)
{
    atomic_store_explicit(&scoreboard->slot[slot].pid, pid, memory_order_relaxed);
}

int scoreboard_find(const struct scoreboard *scoreboard, pid_t pid)
{
    for (int i = 0; i < (int)scoreboard->slots; i++) {
        if (scoreboard_pid(scoreboard, i) == pid) {
            return i;
        }
    }
    return -1;
}

pid_t scoreboard_pid(const struct scoreboard *scoreboard, int slot)
{
    return atomic_load_explicit(&scoreboard->slot[slot].pid, memory_order_relaxed);
}

unsigned scoreboard_slots(const struct scoreboard *scoreboard)
{
    return scoreboard->slots;
}

void scoreboard_release(struct scoreboard *scoreboard, int slot)
{
    atomic_fetch_and(word_of(scoreboard, slot), ~bit_of(slot));
    scoreboard_set_pid(scoreboard, slot, 0);
}

unsigned scoreboard_idle(const struct scoreboard *scoreboard)
{
    unsigned count = 0;

    for (unsigned i = 0; i < scoreboard->words; i++) {
        count += (unsigned)__builtin_popcountll(atomic_load(&idle_words(scoreboard)[i]));
    }
    return count;
}

void scoreboard_retire(struct scoreboard *scoreboard, unsigned count)
{
    /* From the last slot down, because claim fills from the first one up: the busy ones
     * gather at the front and the memory at the end falls idle. */
    for (int i = (int)scoreboard->slots - 1; i >= 0; i--) {
        bool idle = (atomic_load(word_of(scoreboard, i)) & bit_of(i)) != 0;
        bool retire = idle && count > 0;
        count -= retire;
        atomic_store_explicit(&scoreboard->slot[i].retire, retire, memory_order_relaxed);
    }
}

bool scoreboard_was_busy(const struct scoreboard *scoreboard, int slot)
{
    return atomic_load_explicit(&scoreboard->slot[slot].was_busy, memory_order_relaxed);
}

void scoreboard_set_phase(struct scoreboard *scoreboard, enum serve_phase phase)
{
    atomic_store_explicit(&scoreboard->phase, (int)phase, memory_order_release);
}

bool scoreboard_set_busy(struct scoreboard *scoreboard, int slot)
{
    atomic_store_explicit(&scoreboard->slot[slot].was_busy, true, memory_order_relaxed);
    /* Sequentially consistent: of two children that clear the last bits of two words, at
     * least one must see that both are clear. */
    atomic_fetch_and(word_of(scoreboard, slot), ~bit_of(slot));
    for (unsigned i = 0; i < scoreboard->words; i++) {
        if (atomic_load(&idle_words(scoreboard)[i]) != 0) {
            return false;
        }
    }
    return true;
}

void scoreboard_set_idle(struct scoreboard *scoreboard, int slot)
{
    atomic_fetch_or(word_of(scoreboard, slot), bit_of(slot));
}

bool scoreboard_is_retired(const struct scoreboard *scoreboard, int slot)
{
    return atomic_load_explicit(&scoreboard->slot[slot].retire, memory_order_relaxed);
}

enum serve_phase scoreboard_phase(const struct scoreboard *scoreboard)
{
    return (enum serve_phase)atomic_load_explicit(&scoreboard->phase,
                                                  memory_order_acquire);
}
