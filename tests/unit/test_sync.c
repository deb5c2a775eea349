/* Mutex and condition: exclusion across parks, first come first served, deadlines, and no
 * wake-up lost or stolen. */
#include "story.h"

#include "clock.h"
#include "sync.h"

struct scene {
    struct story story; /* first, so that an actor's story leads to it */
    struct sync_mutex mutex;
    struct sync_condition condition;
    int inside, entries;
    int items;
};

static struct scene *scene_of(const struct actor *actor)
{
    return (struct scene *)actor->story;
}

static void enters(void *argument)
{
    struct actor *actor = argument;
    struct scene *scene = scene_of(actor);

    for (int i = 0; i < 10; i++) {
        sync_lock(&scene->mutex);
        assert_int_equal(scene->inside++, 0);
        for (int turn = 0; turn < actor->number % 4; turn++) {
            scheduler_yield();
        }
        assert_int_equal(--scene->inside, 0);
        scene->entries++;
        sync_unlock(&scene->mutex);
        scheduler_yield();
    }
}

static void test_exclusion(void **state)
{
    struct scheduler *scheduler = scheduler_open(0);
    struct scene scene = { .entries = 0 };

    (void)state;
    for (int i = 0; i < 20; i++) {
        spawn(scheduler, enters, &scene.story, i);
    }
    run_all(scheduler);
    assert_int_equal(scene.entries, 200);
    assert_null(scene.mutex.owner);
}

static void queues_up(void *argument)
{
    struct actor *actor = argument;

    sync_lock(&scene_of(actor)->mutex);
    note(actor->story, actor->number);
    scheduler_yield();
    sync_unlock(&scene_of(actor)->mutex);
    /* It went to the first who waits, not to whoever comes by. */
    if (actor->number == 1) {
        sync_lock(&scene_of(actor)->mutex);
        note(actor->story, 9);
        sync_unlock(&scene_of(actor)->mutex);
    }
}

static void test_first_come(void **state)
{
    static const int expected[] = { 1, 2, 3, 4, 9 };
    struct scheduler *scheduler = scheduler_open(0);
    struct scene scene = { .entries = 0 };

    (void)state;
    for (int i = 1; i <= 4; i++) {
        spawn(scheduler, queues_up, &scene.story, i);
    }
    run_all(scheduler);
    check_notes(&scene.story, expected, 5);
}

static void consumes(void *argument)
{
    struct actor *actor = argument;
    struct scene *scene = scene_of(actor);

    sync_lock(&scene->mutex);
    while (scene->items == 0) {
        assert_int_equal(sync_wait(&scene->condition, &scene->mutex, UINT64_MAX),
                         PARK_WOKEN);
    }
    scene->items--;
    note(actor->story, actor->number);
    sync_unlock(&scene->mutex);
}

static void produces(void *argument)
{
    struct actor *actor = argument;
    struct scene *scene = scene_of(actor);

    for (int i = 0; i < 3; i++) {
        sync_lock(&scene->mutex);
        scene->items++;
        sync_signal(&scene->condition);
        scheduler_yield(); /* woken, but the mutex is not its own yet */
        assert_int_equal(scene->story.count, i);
        sync_unlock(&scene->mutex);
        scheduler_yield();
        assert_int_equal(scene->story.count, i + 1);
    }
}

static void test_signal(void **state)
{
    static const int expected[] = { 1, 2, 3 };
    struct scheduler *scheduler = scheduler_open(0);
    struct scene scene = { .entries = 0 };

    (void)state;
    for (int i = 1; i <= 3; i++) {
        spawn(scheduler, consumes, &scene.story, i);
    }
    spawn(scheduler, produces, &scene.story, 0);
    run_all(scheduler);
    check_notes(&scene.story, expected, 3);
    assert_int_equal(scene.items, 0);
}

static void waits_once(void *argument)
{
    struct actor *actor = argument;

    assert_int_equal(sync_wait(&scene_of(actor)->condition, NULL, UINT64_MAX),
                     PARK_WOKEN);
    note(actor->story, actor->number);
}

static void broadcasts(void *argument)
{
    struct actor *actor = argument;

    sync_broadcast(&scene_of(actor)->condition);
    assert_int_equal(actor->story->count, 0);
}

static void test_broadcast(void **state)
{
    static const int expected[] = { 1, 2, 3, 4, 5 };
    struct scheduler *scheduler = scheduler_open(0);
    struct scene scene = { .entries = 0 };

    (void)state;
    for (int i = 1; i <= 5; i++) {
        spawn(scheduler, waits_once, &scene.story, i);
    }
    spawn(scheduler, broadcasts, &scene.story, 0);
    run_all(scheduler);
    check_notes(&scene.story, expected, 5);
    assert_null(scene.condition.waiters.first);
}

static void waits_in_vain(void *argument)
{
    struct actor *actor = argument;
    uint64_t deadline_ms = clock_now_ms() + 150;

    actor->story->sleeper = scheduler_self();
    sync_lock(&scene_of(actor)->mutex);
    assert_int_equal(
        sync_wait(&scene_of(actor)->condition, &scene_of(actor)->mutex, deadline_ms),
        PARK_EXPIRED);
    assert_true(clock_now_ms() >= deadline_ms);
    assert_ptr_equal(scene_of(actor)->mutex.owner, scheduler_self());
    sync_unlock(&scene_of(actor)->mutex);
    note(actor->story, actor->number);
}

/* A wake-up that is no signal does not end the wait. */
static void wakes_without_signal(void *argument)
{
    struct actor *actor = argument;

    scheduler_wake(actor->story->sleeper);
    scheduler_yield();
    assert_int_equal(actor->story->count, 0);
}

static void signals_at_the_end(void *argument)
{
    struct actor *actor = argument;

    while (actor->story->count == 0) {
        (void)scheduler_park(TIMEOUT_NONE, clock_now_ms() + 5);
    }
    /* Who gave up is in the queue no more: the signal goes to the other one. */
    sync_signal(&scene_of(actor)->condition);
}

static void test_deadline(void **state)
{
    static const int expected[] = { 1, 2 };
    struct scheduler *scheduler = scheduler_open(0);
    struct scene scene = { .entries = 0 };

    (void)state;
    spawn(scheduler, waits_in_vain, &scene.story, 1);
    spawn(scheduler, waits_once, &scene.story, 2);
    spawn(scheduler, wakes_without_signal, &scene.story, 0);
    spawn(scheduler, signals_at_the_end, &scene.story, 0);
    run_all(scheduler);
    check_notes(&scene.story, expected, 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exclusion), cmocka_unit_test(test_first_come),
        cmocka_unit_test(test_signal),    cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
