/* User threads that act in a test, and what they noted, in order. It must never know what
 * a test is about. */
#ifndef TETRAD_STORY_H
#define TETRAD_STORY_H

#include "unit.h"

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

static inline void run_all(struct scheduler *scheduler)
{
    scheduler_run(scheduler);
    assert_int_equal(scheduler_threads(scheduler), 0);
    scheduler_close(scheduler);
}

#endif
