/* User threads that act in a test, and what they noted, in order. It must never know what
 * a test is about. */
#ifndef TETRAD_STORY_H
#define TETRAD_STORY_H

#include "unit.h"

#include <sys/socket.h>
#include <unistd.h>

#include "scheduler.h"

enum { NOTES_MAX = 64 };

struct story {
    int notes[NOTES_MAX];
    int count;
    struct user_thread *sleeper;
    int fds[2];
};

/* The argument of each user thread. */
struct actor {
    struct story *story;
    int number;
};

static inline void note(struct story *story, int number)
{
    assert_true(story->count < NOTES_MAX);
    story->notes[story->count++] = number;
}

static inline void check_notes(const struct story *story, const int *expected, int count)
{
    assert_int_equal(story->count, count);
    for (int i = 0; i < count; i++)
        assert_int_equal(story->notes[i], expected[i]);
}

static inline void spawn(struct scheduler *scheduler, void (*run)(void *),
                         struct story *story, int number)
{
    struct actor actor = { .story = story, .number = number };

    assert_int_equal(scheduler_spawn(scheduler, run, &actor, sizeof(actor)), 0);
}

/* Two sockets that are joined, for the actors. */
static inline void open_pair(struct story *story)
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, story->fds), 0);
}

/* An actor: what a reader that waits on fds[0] gets in two events, the second of which has
 * the end behind its data. */
static inline void sends_then_closes(void *argument)
{
    struct actor *actor = argument;

    assert_int_equal(send(actor->story->fds[1], "one", 3, 0), 3);
    /* The reader runs and sleeps again in between. */
    scheduler_yield();
    scheduler_yield();
    assert_int_equal(send(actor->story->fds[1], "four", 4, 0), 4);
    assert_int_equal(close(actor->story->fds[1]), 0);
}

static inline void run_all(struct scheduler *scheduler)
{
    scheduler_run(scheduler);
    assert_int_equal(scheduler_threads(scheduler), 0);
    scheduler_close(scheduler);
}

#endif
