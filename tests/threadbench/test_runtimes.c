/* The table of each runtime: what a benchmark relies on, tried on all of them alike. A
 * thread may be a process, so it only notes what it saw, and the first one judges. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "rt.h"

enum { THREADS = 6, ROUNDS = 200, STREAM_BYTES = 300000 };

struct scene {
    const struct rt *rt;
    struct rt_world *world;
    struct rt_mutex mutex;
    struct rt_condition changed;
    struct rt_descriptor pipe[2];
    int inside, entries, overlaps; /* under the mutex, but for what is tested */
    int turn;
    uintptr_t selves[THREADS];
    _Atomic int failures;
    unsigned char bytes[STREAM_BYTES];
    struct actor {
        struct scene *scene;
        int number;
        struct rt_thread *thread;
    } actors[THREADS];
};

static void start_all(struct scene *scene, void (*run)(void *))
{
    for (int i = 0; i < THREADS; i++) {
        scene->actors[i] = (struct actor){ .scene = scene, .number = i };
        assert_int_equal(scene->rt->create(scene->world, &scene->actors[i].thread, run,
                                           &scene->actors[i]),
                         0);
    }
}

static void join_all(struct scene *scene)
{
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(scene->rt->join(scene->world, scene->actors[i].thread), 0);
    }
}

static void enters(void *argument)
{
    struct actor *actor = argument;
    struct scene *scene = actor->scene;

    for (int i = 0; i < ROUNDS; i++) {
        scene->rt->lock(&scene->mutex);
        scene->overlaps += scene->inside++ != 0;
        scene->rt->yield();
        scene->inside--;
        scene->entries++;
        scene->rt->unlock(&scene->mutex);
    }
}

static void excludes(struct scene *scene)
{
    start_all(scene, enters);
    join_all(scene);
    assert_int_equal(scene->entries, THREADS * ROUNDS);
    assert_int_equal(scene->overlaps, 0);
}

static void takes_turns(void *argument)
{
    struct actor *actor = argument;
    struct scene *scene = actor->scene;

    for (int i = 0; i < ROUNDS; i++) {
        scene->rt->lock(&scene->mutex);
        while (scene->turn != actor->number) {
            scene->rt->wait(&scene->changed, &scene->mutex);
        }
        scene->turn = (actor->number + 1) % THREADS;
        scene->entries++;
        scene->rt->broadcast(&scene->changed);
        scene->rt->unlock(&scene->mutex);
    }
}

static void waits(struct scene *scene)
{
    start_all(scene, takes_turns);
    join_all(scene);
    assert_int_equal(scene->entries, THREADS * ROUNDS);
    assert_int_equal(scene->turn, 0);
}

static void says_who(void *argument)
{
    struct actor *actor = argument;
    struct scene *scene = actor->scene;

    scene->rt->lock(&scene->mutex);
    scene->selves[actor->number] = scene->rt->self(scene->world);
    scene->entries++;
    scene->rt->broadcast(&scene->changed);
    /* All live at once, or two may have the same name one after the other. */
    while (scene->entries < THREADS) {
        scene->rt->wait(&scene->changed, &scene->mutex);
    }
    scene->rt->unlock(&scene->mutex);
}

static void differ(struct scene *scene)
{
    start_all(scene, says_who);
    join_all(scene);
    for (int i = 0; i < THREADS; i++) {
        assert_true(scene->selves[i] != 0);
        assert_true(scene->selves[i] != scene->rt->self(scene->world));
        for (int j = 0; j < i; j++) {
            assert_true(scene->selves[i] != scene->selves[j]);
        }
    }
}

/* More than a pipe holds, so that both sides wait. */
static void streams(void *argument)
{
    struct actor *actor = argument;
    struct scene *scene = actor->scene;
    unsigned char part[1000];
    int error = 0;

    for (size_t done = 0; done < STREAM_BYTES && error == 0; done += sizeof(part)) {
        if (actor->number == 0) {
            memset(part, (int)(done / sizeof(part)), sizeof(part));
            error = rt_write_all(scene->rt, &scene->pipe[1], part, sizeof(part));
        } else if (actor->number == 1) {
            error = scene->rt->wait_ready(&scene->pipe[0], RT_READ);
            if (error == 0) {
                error = rt_read_all(scene->rt, &scene->pipe[0], scene->bytes + done,
                                    sizeof(part));
            }
        }
    }
    if (error != 0) {
        scene->failures++;
    }
}

static void block(struct scene *scene)
{
    assert_int_equal(rt_pipe(scene->rt, scene->pipe), 0);
    start_all(scene, streams);
    join_all(scene);
    assert_int_equal(scene->failures, 0);
    for (size_t i = 0; i < STREAM_BYTES; i++) {
        assert_int_equal(scene->bytes[i], (i / 1000) & 255);
    }
    /* There is room; and the end of a stream is one. */
    assert_int_equal(scene->rt->wait_ready(&scene->pipe[1], RT_WRITE), 0);
    scene->rt->close(&scene->pipe[1]);
    assert_int_equal(scene->rt->wait_ready(&scene->pipe[0], RT_READ), 0);
    assert_int_equal(rt_read_all(scene->rt, &scene->pipe[0], scene->bytes, 1), -EPIPE);
    scene->rt->close(&scene->pipe[0]);
}

static void child_ends(void *argument)
{
    (void)argument;
}

static void creates_two(void *argument)
{
    struct actor *actor = argument;
    struct scene *scene = actor->scene;
    struct rt_thread *children[2];

    for (int i = 0; i < ROUNDS / 10; i++) {
        for (int j = 0; j < 2; j++) {
            if (scene->rt->create(scene->world, &children[j], child_ends, scene) != 0) {
                scene->failures++;
                return;
            }
        }
        for (int j = 0; j < 2; j++) {
            scene->failures += scene->rt->join(scene->world, children[j]) != 0;
        }
    }
}

static void nest(struct scene *scene)
{
    start_all(scene, creates_two);
    join_all(scene);
    assert_int_equal(scene->failures, 0);
}

static void works(void *argument)
{
    struct actor *actor = argument;
    struct scene *scene = actor->scene;
    volatile unsigned sum = 0;
    struct rt_usage before, now;

    scene->rt->usage(scene->world, &before);
    do {
        for (unsigned i = 0; i < 100000; i++) {
            sum += i;
        }
        scene->rt->usage(scene->world, &now);
    } while (now.user_us + now.sys_us < before.user_us + before.sys_us + 3000);
    (void)sum;
    scene->rt->mark(scene->world);
    says_who(argument);
}

/* What a thread has used is in the account while it lives, and once it was joined. */
static void account(struct scene *scene)
{
    struct rt_usage before, alive, joined;

    scene->rt->usage(scene->world, &before);
    start_all(scene, works);
    scene->rt->lock(&scene->mutex);
    while (scene->entries < THREADS) {
        scene->rt->wait(&scene->changed, &scene->mutex);
    }
    scene->rt->unlock(&scene->mutex);
    scene->rt->usage(scene->world, &alive);
    join_all(scene);
    scene->rt->usage(scene->world, &joined);
    assert_true(alive.user_us + alive.sys_us >= before.user_us + before.sys_us + 3000);
    assert_true(joined.user_us + joined.sys_us >= alive.user_us + alive.sys_us);
    assert_true(joined.voluntary >= before.voluntary);
}

struct part {
    const struct rt *rt;
    void (*play)(struct scene *scene);
    bool played;
};

static void first(struct rt_world *world, void *argument)
{
    struct part *part = argument;
    struct scene *scene = part->rt->share(sizeof(*scene));

    assert_non_null(scene);
    assert_int_equal(scene->entries, 0);
    scene->rt = part->rt;
    scene->world = world;
    assert_int_equal(part->rt->mutex_init(&scene->mutex), 0);
    assert_int_equal(part->rt->condition_init(&scene->changed), 0);
    part->play(scene);
    part->played = true;
}

static void on_all(void (*play)(struct scene *scene))
{
    for (size_t i = 0; rt_table[i] != NULL; i++) {
        struct part part = { .rt = rt_table[i], .play = play };
        char loaded[80] = "";

        if (rt_table[i]->absent != NULL) {
            assert_non_null(strstr(rt_table[i]->absent, "Debian package"));
            assert_null(rt_table[i]->start);
            continue;
        }
        part.rt->loaded(loaded, sizeof(loaded));
        assert_true(loaded[0] != '\0');
        assert_int_equal(part.rt->start(first, &part), 0);
        assert_true(part.played);
    }
}

static void test_mutex(void **state)
{
    (void)state;
    on_all(excludes);
}

static void test_condition(void **state)
{
    (void)state;
    on_all(waits);
}

static void test_self(void **state)
{
    (void)state;
    on_all(differ);
}

static void test_descriptors(void **state)
{
    (void)state;
    on_all(block);
}

static void test_nested(void **state)
{
    (void)state;
    on_all(nest);
}

static void test_usage(void **state)
{
    (void)state;
    on_all(account);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mutex),  cmocka_unit_test(test_condition),
        cmocka_unit_test(test_self),   cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_nested), cmocka_unit_test(test_usage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
