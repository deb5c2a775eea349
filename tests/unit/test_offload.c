/* File work on kernel threads: only its own user thread waits, results come home, and a
 * waiter that gives up leaves nothing behind. */
#include "unit.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "kernel_thread.h"
#include "offload.h"
#include "scheduler.h"

/* Work that sleeps until a byte comes through its pipe. */
struct gate {
    struct work base;
    int pipe[2];
    int result;            /* written by run */
    pthread_t ran_on;      /* the same */
    atomic_bool started;   /* the same */
    atomic_int *destroyed; /* counted by destroy */
};

static void gate_run(struct work *work)
{
    struct gate *gate = (struct gate *)work;
    char byte = 0;

    atomic_store(&gate->started, true);
    gate->ran_on = pthread_self();
    assert_int_equal(read(gate->pipe[0], &byte, 1), 1);
    gate->result = byte;
}

static void gate_destroy(struct work *work)
{
    struct gate *gate = (struct gate *)work;

    close(gate->pipe[0]);
    close(gate->pipe[1]);
    atomic_fetch_add(gate->destroyed, 1);
}

static void gate_init(struct gate *gate, atomic_int *destroyed)
{
    *gate = (struct gate){ .destroyed = destroyed };
    work_init(&gate->base, gate_run, gate_destroy);
    assert_int_equal(pipe(gate->pipe), 0);
}

static void gate_open(const struct gate *gate, char byte)
{
    assert_int_equal(write(gate->pipe[1], &byte, 1), 1);
}

struct scene {
    struct offload *offload;
    struct gate gates[4];
    struct user_thread *waiters[4];
    bool given_up, done[4];
    int waiting;
    atomic_int destroyed;
};

struct actor {
    struct scene *scene;
    int number;
};

static void scene_open(struct scene *scene)
{
    *scene = (struct scene){ .offload = offload_open(2, OFFLOAD_REST_MS) };
    assert_non_null(scene->offload);
    for (int i = 0; i < 4; i++) {
        gate_init(&scene->gates[i], &scene->destroyed);
    }
}

static void scene_close(struct scene *scene, struct scheduler *scheduler)
{
    offload_close(scene->offload);
    scheduler_close(scheduler);
    for (int i = 0; i < 4; i++) {
        work_put(&scene->gates[i].base);
    }
    /* Every reference that was taken is back. */
    assert_int_equal(scene->destroyed, 4);
}

static void spawn(struct scheduler *scheduler, void (*run)(void *), struct scene *scene,
                  int number)
{
    struct actor actor = { .scene = scene, .number = number };

    assert_int_equal(scheduler_spawn(scheduler, run, &actor, sizeof(actor)), 0);
}

static void runs_work(void *argument)
{
    struct actor *actor = argument;
    struct scene *scene = actor->scene;
    struct gate *gate = &scene->gates[actor->number];

    scene->waiters[actor->number] = scheduler_self();
    scene->waiting++;
    scene->done[actor->number] =
        offload_run(scene->offload, &gate->base, &scene->given_up);
    scene->waiting--;
}

/* Two at a time sleep on the kernel threads; this thread runs all the while. */
static void opens_gates(void *argument)
{
    struct scene *scene = ((struct actor *)argument)->scene;

    while (scene->waiting < 4 || !atomic_load(&scene->gates[0].started) ||
           !atomic_load(&scene->gates[1].started)) {
        scheduler_yield();
    }
    assert_false(atomic_load(&scene->gates[2].started));
    /* A wake-up before the work is done ends nothing. */
    scheduler_wake(scene->waiters[3]);
    scheduler_yield();
    assert_int_equal(scene->waiting, 4);
    for (int i = 3; i >= 0; i--) {
        gate_open(&scene->gates[i], (char)(10 + i));
    }
}

static void test_results(void **state)
{
    struct scheduler *scheduler = scheduler_open(0);
    static struct scene scene;

    (void)state;
    scene_open(&scene);
    for (int i = 0; i < 4; i++) {
        spawn(scheduler, runs_work, &scene, i);
    }
    spawn(scheduler, opens_gates, &scene, 0);
    scheduler_run(scheduler);
    for (int i = 0; i < 4; i++) {
        assert_true(scene.done[i]);
        assert_true(work_done(&scene.gates[i].base));
        assert_int_equal(scene.gates[i].result, 10 + i);
        assert_false(pthread_equal(scene.gates[i].ran_on, pthread_self()));
    }
    scene_close(&scene, scheduler);
}

static void gives_up(void *argument)
{
    struct scene *scene = ((struct actor *)argument)->scene;

    while (scene->waiting < 4 || !atomic_load(&scene->gates[0].started) ||
           !atomic_load(&scene->gates[1].started)) {
        scheduler_yield();
    }
    scene->given_up = true;
    for (int i = 0; i < 4; i++) {
        scheduler_wake(scene->waiters[i]);
    }
}

/* Two are running and two are queued when everybody gives up: offload_close waits for
 * what runs, and drops what does not. */
static void test_given_up(void **state)
{
    struct scheduler *scheduler = scheduler_open(0);
    static struct scene scene;

    (void)state;
    scene_open(&scene);
    for (int i = 0; i < 4; i++) {
        spawn(scheduler, runs_work, &scene, i);
    }
    spawn(scheduler, gives_up, &scene, 0);
    scheduler_run(scheduler);
    assert_int_equal(scene.waiting, 0);
    for (int i = 0; i < 4; i++) {
        assert_false(scene.done[i]);
    }
    gate_open(&scene.gates[2], 1);
    gate_open(&scene.gates[3], 1);
    gate_open(&scene.gates[0], 1);
    gate_open(&scene.gates[1], 1);
    scene_close(&scene, scheduler);
}

static unsigned kernel_threads(void)
{
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");

    assert_non_null(tasks);
    for (const struct dirent *task = readdir(tasks); task != NULL;
         task = readdir(tasks)) {
        count += task->d_name[0] != '.';
    }
    assert_int_equal(closedir(tasks), 0);
    return count;
}

/* One job after another, each when the thread of the one before has ended. */
static void comes_back(void *argument)
{
    struct scene *scene = ((struct actor *)argument)->scene;

    for (int i = 0; i < 4; i++) {
        gate_open(&scene->gates[i], (char)i);
        scene->done[i] =
            offload_run(scene->offload, &scene->gates[i].base, &scene->given_up);
        while (kernel_threads() > (unsigned)scene->waiting) {
            scheduler_yield();
        }
    }
}

/* A thread comes with the first job, leaves when there is none, and comes again. */
static void test_no_work_no_threads(void **state)
{
    struct scheduler *scheduler = scheduler_open(0);
    static struct scene scene;

    (void)state;
    scene_open(&scene);
    offload_close(scene.offload);
    /* Of a sanitizer's there may be some. */
    scene.waiting = (int)kernel_threads();
    scene.offload = offload_open(1, 0);
    assert_non_null(scene.offload);
    assert_int_equal(kernel_threads(), scene.waiting);
    spawn(scheduler, comes_back, &scene, 0);
    scheduler_run(scheduler);
    for (int i = 0; i < 4; i++) {
        assert_true(scene.done[i]);
        assert_int_equal(scene.gates[i].result, i);
        assert_false(pthread_equal(scene.gates[i].ran_on, pthread_self()));
    }
    scene_close(&scene, scheduler);
}

/* Without a thread to be had the work runs where it is asked for. */
static void test_no_threads_to_be_had(void **state)
{
    struct scheduler *scheduler = scheduler_open(0);
    static struct scene scene;

    (void)state;
    scene_open(&scene);
    offload_close(scene.offload);
    scene.waiting = (int)kernel_threads();
    scene.offload = offload_open(0, 0);
    assert_non_null(scene.offload);
    spawn(scheduler, comes_back, &scene, 0);
    scheduler_run(scheduler);
    for (int i = 0; i < 4; i++) {
        assert_true(scene.done[i]);
        assert_true(pthread_equal(scene.gates[i].ran_on, pthread_self()));
    }
    scene_close(&scene, scheduler);
}

static void *blocked_signals(void *argument)
{
    (void)pthread_sigmask(SIG_SETMASK, NULL, argument);
    return NULL;
}

/* Signals of the process stay with the main thread. */
static void test_kernel_thread(void **state)
{
    sigset_t blocked, mine;
    pthread_t thread;

    (void)state;
    assert_int_equal(kernel_thread_start(&thread, blocked_signals, &blocked), 0);
    pthread_join(thread, NULL);
    assert_int_equal(sigismember(&blocked, SIGTERM), 1);
    assert_int_equal(sigismember(&blocked, SIGINT), 1);
    assert_int_equal(sigismember(&blocked, SIGSEGV), 0);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mine);
    assert_int_equal(sigismember(&mine, SIGTERM), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_given_up),
        cmocka_unit_test(test_no_work_no_threads),
        cmocka_unit_test(test_no_threads_to_be_had),
        cmocka_unit_test(test_kernel_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
