/* File work on kernel threads: only its own user thread waits, results come home, and a
 * waiter that gives up leaves nothing behind. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "kernel_thread.h"
#include "offload.h"
#include "scheduler.h"

static bool no_more_threads;

int __real_kernel_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);
int __wrap_kernel_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

int __wrap_kernel_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    return no_more_threads ? -EAGAIN : __real_kernel_thread_start(thread, run, argument);
}

/* Work that sleeps until a byte comes through its pipe. */
struct gate {
    struct work base;
    int pipe[2];
    int result;            /* written by run */
    pthread_t ran_on;      /* the same */
    pid_t thread_id;       /* the same */
    atomic_bool started;   /* the same */
    atomic_int *destroyed; /* counted by destroy */
};

static void gate_run(struct work *work)
{
    struct gate *gate = (struct gate *)work;
    char byte = 0;

    atomic_store(&gate->started, true);
    gate->ran_on = pthread_self();
    gate->thread_id = gettid();
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
    bool given_up;
    int result[4]; /* of offload_run */
    int waiting;
    atomic_int destroyed;
};

struct actor {
    struct scene *scene;
    int number;
};

static void scene_open(struct scene *scene, unsigned kernel_threads, unsigned rest_ms)
{
    *scene = (struct scene){ .offload = offload_open(kernel_threads, rest_ms) };
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
    scene->result[actor->number] =
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
    scene_open(&scene, 2, OFFLOAD_REST_MS);
    for (int i = 0; i < 4; i++) {
        spawn(scheduler, runs_work, &scene, i);
    }
    spawn(scheduler, opens_gates, &scene, 0);
    scheduler_run(scheduler);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(scene.result[i], 0);
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
    scene_open(&scene, 2, OFFLOAD_REST_MS);
    for (int i = 0; i < 4; i++) {
        spawn(scheduler, runs_work, &scene, i);
    }
    spawn(scheduler, gives_up, &scene, 0);
    scheduler_run(scheduler);
    assert_int_equal(scene.waiting, 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(scene.result[i], -ECANCELED);
    }
    gate_open(&scene.gates[2], 1);
    gate_open(&scene.gates[3], 1);
    gate_open(&scene.gates[0], 1);
    gate_open(&scene.gates[1], 1);
    scene_close(&scene, scheduler);
}

static bool is_gone(pid_t kernel_thread)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/self/task/%d", (int)kernel_thread);
    return access(path, F_OK) != 0;
}

/* Until the thread that ran the job has ended. */
static void wait_for_end(const struct gate *gate)
{
    uint64_t patience_ms = clock_now_ms() + 10000;

    while (!work_done(&gate->base) || !is_gone(gate->thread_id)) {
        assert_true(clock_now_ms() < patience_ms);
        scheduler_yield();
    }
}

/* One job after another, each when the thread of the one before has ended. */
static void comes_back(void *argument)
{
    struct scene *scene = ((struct actor *)argument)->scene;

    for (int i = 0; i < 4; i++) {
        gate_open(&scene->gates[i], (char)i);
        scene->result[i] =
            offload_run(scene->offload, &scene->gates[i].base, &scene->given_up);
        wait_for_end(&scene->gates[i]);
    }
}

/* A thread comes with the first job, leaves when there is none, and comes again. */
static void test_no_work_no_threads(void **state)
{
    struct scheduler *scheduler = scheduler_open(0);
    static struct scene scene;

    (void)state;
    scene_open(&scene, 1, 0);
    spawn(scheduler, comes_back, &scene, 0);
    scheduler_run(scheduler);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(scene.result[i], 0);
        assert_int_equal(scene.gates[i].result, i);
        assert_false(pthread_equal(scene.gates[i].ran_on, pthread_self()));
    }
    scene_close(&scene, scheduler);
}

/* The first finds a thread; then no more can be had, and the second waits for that one. */
static void lacks_threads(void *argument)
{
    struct scene *scene = ((struct actor *)argument)->scene;

    while (!atomic_load(&scene->gates[0].started)) {
        scheduler_yield();
    }
    no_more_threads = true;
    spawn(scheduler_current(), runs_work, scene, 1);
    while (scene->waiting < 2) {
        scheduler_yield();
    }
    gate_open(&scene->gates[0], 1);
    gate_open(&scene->gates[1], 1);
}

/* When the only one has ended, there is none. */
static void finds_none(void *argument)
{
    struct scene *scene = ((struct actor *)argument)->scene;

    wait_for_end(&scene->gates[0]);
    wait_for_end(&scene->gates[1]);
    scene->result[2] =
        offload_run(scene->offload, &scene->gates[2].base, &scene->given_up);
}

static void test_no_threads_to_be_had(void **state)
{
    struct scheduler *scheduler = scheduler_open(0);
    static struct scene scene;

    (void)state;
    scene_open(&scene, 2, 0);
    spawn(scheduler, runs_work, &scene, 0);
    spawn(scheduler, lacks_threads, &scene, 0);
    spawn(scheduler, finds_none, &scene, 0);
    scheduler_run(scheduler);
    no_more_threads = false;
    assert_int_equal(scene.result[0], 0);
    assert_int_equal(scene.result[1], 0);
    assert_int_equal(scene.result[2], -EAGAIN);
    assert_false(work_done(&scene.gates[2].base));
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
        cmocka_unit_test(test_no_work_no_threads),
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_given_up),
        cmocka_unit_test(test_no_threads_to_be_had),
        cmocka_unit_test(test_kernel_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
