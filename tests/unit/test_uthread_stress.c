/* A crowd over several kernel threads that does everything at random, millions of times:
 * yields, sleeps, wakes others by semaphores, waits for pipes, creates and joins. What was
 * counted on one side must be counted on the other. Its seed is printed, and STRESS_SEED
 * sets it; STRESS_STEPS, of each thread. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "annotate.h"
#include "clock.h"
#include "sync.h"
#include "uthread.h"

enum {
    THREADS = 64,
    PIPES = 16,
    KERNEL_THREADS = 3, /* more than CPUs, so that they interrupt each other anywhere */
#if defined(ANNOTATE_TSAN)
    STEPS = 4000
#else
    STEPS = 20000
#endif
};

/* What threads ring for one another with. */
struct bell {
    struct sync_semaphore rung;
};

struct channel {
    int fds[2];
    struct sync_mutex writer, reader;
    atomic_long written, read;
};

struct arena {
    struct bell bells[THREADS];
    struct channel channels[PIPES];
    atomic_long created, joined, shared_steps;
    struct sync_mutex mutex;
    long plain; /* guarded by the mutex */
    long steps;
    uint64_t moves;
};

struct actor {
    struct arena *arena;
    uint64_t random;
    int number;
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void *child(void *argument)
{
    uthread_yield();
    return argument;
}

static void create_and_join(struct arena *arena)
{
    struct uthread *thread;
    void *result;

    assert_int_equal(uthread_create(&thread, child, arena), 0);
    atomic_fetch_add(&arena->created, 1);
    uthread_join(thread, &result);
    assert_ptr_equal(result, arena);
    atomic_fetch_add(&arena->joined, 1);
}

/* A byte into a pipe and a byte out of one, for which somebody may have to wait: in all as
 * many are taken as are put. */
static void put(struct channel *channel)
{
    sync_lock(&channel->writer);
    assert_int_equal(uthread_wait(channel->fds[1], UTHREAD_WRITE, UINT64_MAX), 0);
    assert_int_equal(write(channel->fds[1], "x", 1), 1);
    atomic_fetch_add(&channel->written, 1);
    sync_unlock(&channel->writer);
}

static void take(struct channel *channel)
{
    char byte;

    sync_lock(&channel->reader);
    assert_int_equal(uthread_wait(channel->fds[0], UTHREAD_READ, UINT64_MAX), 0);
    assert_int_equal(read(channel->fds[0], &byte, 1), 1);
    atomic_fetch_add(&channel->read, 1);
    sync_unlock(&channel->reader);
}

static void count_under_lock(struct arena *arena, bool yield)
{
    long before;

    sync_lock(&arena->mutex);
    before = arena->plain;
    if (yield) {
        uthread_yield();
    }
    arena->plain = before + 1;
    sync_unlock(&arena->mutex);
    atomic_fetch_add(&arena->shared_steps, 1);
}

static void ring(struct arena *arena, uint64_t random)
{
    sync_release(&arena->bells[random % THREADS].rung);
}

static void step(struct actor *actor)
{
    struct arena *arena = actor->arena;
    uint64_t random = next_random(&actor->random);
    uint64_t choice = random >> 8 & 127;

    if (choice < 60) {
        uthread_yield();
    } else if (choice < 90) {
        /* Ringing its own first: nobody waits for what never comes. */
        sync_release(&arena->bells[actor->number].rung);
        ring(arena, random >> 16);
        sync_acquire(&arena->bells[actor->number].rung);
    } else if (choice < 108) {
        count_under_lock(arena, choice < 92);
    } else if (choice < 118) {
        put(&arena->channels[(random >> 16) % PIPES]);
        take(&arena->channels[(random >> 16) % PIPES]);
    } else if (choice < 126) {
        create_and_join(arena);
    } else {
        uthread_sleep(random >> 16 & 1);
    }
}

static void *acts(void *argument)
{
    struct actor *actor = argument;

    for (long i = 0; i < actor->arena->steps; i++) {
        step(actor);
    }
    return NULL;
}

static void stress(void *argument)
{
    struct arena *arena = argument;
    struct uthread *threads[THREADS];
    struct actor actors[THREADS];
    uint64_t seed = (uint64_t)arena->plain;

    arena->plain = 0;
    for (int i = 0; i < THREADS; i++) {
        actors[i] = (struct actor){ .arena = arena,
                                    .number = i,
                                    .random = (seed + (uint64_t)i) * 2654435761U + 1 };
        assert_int_equal(uthread_create(&threads[i], acts, &actors[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        uthread_join(threads[i], NULL);
    }
    arena->moves = uthread_moves();
}

static long setting(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtol(text, NULL, 10);
}

static void test_stress(void **state)
{
    static struct arena arena;
    long seed = setting("STRESS_SEED", (long)(clock_now_ms() % 1000000));

    (void)state;
    arena.steps = setting("STRESS_STEPS", STEPS);
    arena.plain = seed;
    printf("# STRESS_SEED=%ld\n", seed);
    for (int i = 0; i < PIPES; i++) {
        assert_int_equal(pipe2(arena.channels[i].fds, O_NONBLOCK | O_CLOEXEC), 0);
    }
    assert_int_equal(uthread_run(KERNEL_THREADS, stress, &arena), 0);
    assert_int_equal(arena.plain, arena.shared_steps);
    assert_int_equal(arena.created, arena.joined);
    for (int i = 0; i < PIPES; i++) {
        assert_int_equal(arena.channels[i].written, arena.channels[i].read);
        close(arena.channels[i].fds[0]);
        close(arena.channels[i].fds[1]);
    }
    assert_true(arena.moves > 0);
    printf("# %ld steps, %llu moves\n", arena.steps * THREADS,
           (unsigned long long)arena.moves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stress),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
