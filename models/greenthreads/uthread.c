/* Handles, joining, and the kernel threads of a crowd. A handle is a block of its own, since
 * the stack that a thread's record lies on is gone when it is joined. It must never know
 * what the threads do. */
#include "uthread.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "clock.h"
#include "kernel_thread.h"
#include "offload.h"
#include "scheduler.h"
#include "scheduler_group.h"
#include "sync.h"

/* The owner of each of its schedulers. */
struct crowd {
    struct scheduler_group *group; /* NULL: one kernel thread */
    struct scheduler *first;
    void (*run)(void *argument);
    void *argument;
    pthread_t *threads; /* of the members but the first */
    unsigned started;

    pthread_mutex_t lock; /* guards: */
    pthread_cond_t changed;
    struct offload *offload; /* NULL until somebody calls */
    unsigned bound;          /* kernel threads of bound threads */
    struct bound *over;      /* of them, those that are to be joined */
};

/* A kernel thread of one bound thread. */
struct bound {
    struct bound *next;
    struct scheduler *scheduler;
    struct crowd *crowd;
    pthread_t thread;
};

struct uthread {
    void *(*run)(void *argument);
    void *argument;
    void *result;
    struct sync_mutex lock; /* guards: */
    struct sync_condition end;
    bool ended, detached;
};

/* ---- a thread */

static void end(struct uthread *thread)
{
    bool detached;

    sync_lock(&thread->lock);
    thread->ended = true;
    detached = thread->detached;
    sync_signal(&thread->end);
    sync_unlock(&thread->lock);
    /* A joiner frees it; it cannot before the unlock is over, see uthread_join. */
    if (detached) {
        free(thread);
    }
}

static void thread_main(void *argument)
{
    struct uthread *thread = *(struct uthread **)argument;

    scheduler_set_local(thread);
    thread->result = thread->run(thread->argument);
    /* What it watched may be the joiner's, to close or to free. */
    scheduler_remove_all();
    end(thread);
}

static struct uthread *handle_make(void *(*run)(void *), void *argument)
{
    struct uthread *thread = calloc(1, sizeof(*thread));

    if (thread != NULL) {
        thread->run = run;
        thread->argument = argument;
    }
    return thread;
}

int uthread_create(struct uthread **thread, void *(*run)(void *argument), void *argument)
{
    struct uthread *made = handle_make(run, argument);

    if (made == NULL) {
        return -ENOMEM;
    }
    if (scheduler_spawn_movable(scheduler_current(), thread_main, &made, sizeof(made)) <
        0) {
        free(made);
        return -ENOMEM;
    }
    *thread = made;
    return 0;
}

void uthread_join(struct uthread *thread, void **result)
{
    sync_lock(&thread->lock);
    while (!thread->ended) {
        (void)sync_wait(&thread->end, &thread->lock, UINT64_MAX);
    }
    sync_unlock(&thread->lock);
    if (result != NULL) {
        *result = thread->result;
    }
    free(thread);
}

void uthread_detach(struct uthread *thread)
{
    bool ended;

    sync_lock(&thread->lock);
    thread->detached = true;
    ended = thread->ended;
    sync_unlock(&thread->lock);
    if (ended) {
        free(thread);
    }
}

struct uthread *uthread_self(void)
{
    return scheduler_local();
}

void uthread_yield(void)
{
    scheduler_pass();
}

void uthread_sleep(uint64_t ms)
{
    uint64_t now = clock_now_ms();
    uint64_t until = ms < UINT64_MAX - now ? now + ms : UINT64_MAX;
    enum park_result result;

    do {
        result = scheduler_park(TIMEOUT_NONE, until);
    } while (result != PARK_EXPIRED);
}

uint64_t uthread_moves(void)
{
    const struct crowd *crowd = scheduler_owner();

    return crowd->group == NULL ? 0 : scheduler_group_moves(crowd->group);
}

/* ---- descriptors and calls that block */

int uthread_wait(int fd, enum uthread_direction direction, uint64_t deadline_ms)
{
    unsigned bits = direction == UTHREAD_READ ? POLLER_READ : POLLER_WRITE;
    struct poller_source source = { .fd = fd, .slot = POLLER_NONE };
    enum park_result result;

    do {
        result = scheduler_await(&source, bits, TIMEOUT_NONE, deadline_ms);
    } while (result == PARK_WOKEN && (source.ready & bits) == 0);
    scheduler_remove(&source);
    if (result == PARK_FAILED) {
        return source.error;
    }
    return (source.ready & bits) != 0 ? 0 : -ETIMEDOUT;
}

struct call {
    struct work work;
    void (*run)(void *argument);
    void *argument;
};

static void call_run(struct work *work)
{
    struct call *call = (struct call *)work;

    call->run(call->argument);
}

static void call_destroy(struct work *work)
{
    free(work);
}

static struct offload *offload_of(struct crowd *crowd)
{
    struct offload *offload;

    pthread_mutex_lock(&crowd->lock);
    if (crowd->offload == NULL) {
        crowd->offload = offload_open(OFFLOAD_THREADS, OFFLOAD_REST_MS);
    }
    offload = crowd->offload;
    pthread_mutex_unlock(&crowd->lock);
    return offload;
}

int uthread_call(void (*run)(void *argument), void *argument)
{
    static const bool never = false;
    struct offload *offload = offload_of(scheduler_owner());
    struct call *call = malloc(sizeof(*call));
    int result;

    if (offload == NULL || call == NULL) {
        free(call);
        return -ENOMEM;
    }
    *call = (struct call){ .run = run, .argument = argument };
    work_init(&call->work, call_run, call_destroy);
    result = offload_run(offload, &call->work, &never);
    work_put(&call->work);
    return result;
}

/* ---- kernel threads */

static void *member_main(void *scheduler)
{
    (void)scheduler_run(scheduler);
    return NULL;
}

static void *bound_main(void *argument)
{
    struct bound *self = argument;
    struct crowd *crowd = self->crowd;

    (void)scheduler_run(self->scheduler);
    scheduler_group_dismiss(self->scheduler);
    pthread_mutex_lock(&crowd->lock);
    self->next = crowd->over;
    crowd->over = self;
    pthread_cond_signal(&crowd->changed);
    pthread_mutex_unlock(&crowd->lock);
    return NULL;
}

/* Under the lock. Those that are over end without waiting for anybody. */
static void bound_join(struct crowd *crowd)
{
    while (crowd->over != NULL) {
        struct bound *bound = crowd->over;

        crowd->over = bound->next;
        crowd->bound--;
        pthread_mutex_unlock(&crowd->lock);
        pthread_join(bound->thread, NULL);
        free(bound);
        pthread_mutex_lock(&crowd->lock);
    }
}

/* Starts the kernel thread of a scheduler that has its thread already. */
static int bound_start(struct crowd *crowd, struct scheduler *scheduler)
{
    struct bound *bound = malloc(sizeof(*bound));
    int error = -ENOMEM;

    if (bound == NULL) {
        return error;
    }
    *bound = (struct bound){ .scheduler = scheduler, .crowd = crowd };
    pthread_mutex_lock(&crowd->lock);
    bound_join(crowd);
    error = kernel_thread_start(&bound->thread, bound_main, bound);
    crowd->bound += error == 0;
    pthread_mutex_unlock(&crowd->lock);
    if (error < 0) {
        free(bound);
    }
    return error;
}

int uthread_create_bound(struct uthread **thread, void *(*run)(void *argument),
                         void *argument)
{
    struct crowd *crowd = scheduler_owner();
    struct scheduler *scheduler;
    struct uthread *made;
    int error = -ENOMEM;

    if (crowd->group == NULL) {
        return -ENOTSUP;
    }
    made = handle_make(run, argument);
    scheduler = made == NULL ? NULL : scheduler_group_add(crowd->group, 0);
    if (scheduler == NULL) {
        goto failed;
    }
    scheduler_set_owner(scheduler, crowd);
    error = scheduler_spawn(scheduler, thread_main, &made, sizeof(made));
    if (error == 0) {
        error = bound_start(crowd, scheduler);
    }
    if (error == 0) {
        *thread = made;
        return 0;
    }
    scheduler_group_dismiss(scheduler);
failed:
    free(made);
    return error;
}

/* ---- a crowd */

static void first_main(void *argument)
{
    const struct crowd *crowd = *(struct crowd **)argument;

    crowd->run(crowd->argument);
}

static int crowd_open(struct crowd *crowd, unsigned kernel_threads)
{
    crowd->threads = calloc(kernel_threads, sizeof(*crowd->threads));
    if (crowd->threads == NULL) {
        return -ENOMEM;
    }
    if (kernel_threads > 1) {
        crowd->group = scheduler_group_open(kernel_threads, 0);
        crowd->first =
            crowd->group == NULL ? NULL : scheduler_group_member(crowd->group, 0);
    } else {
        crowd->first = scheduler_open(0);
    }
    if (crowd->first == NULL) {
        return -errno;
    }
    for (unsigned i = 0; i < kernel_threads; i++) {
        scheduler_set_owner(
            i == 0 ? crowd->first : scheduler_group_member(crowd->group, i), crowd);
    }
    return scheduler_spawn(crowd->first, first_main, &crowd, sizeof(crowd));
}

static int members_start(struct crowd *crowd, unsigned kernel_threads)
{
    int error = 0;

    while (error == 0 && crowd->started < kernel_threads - 1) {
        error =
            kernel_thread_start(&crowd->threads[crowd->started], member_main,
                                scheduler_group_member(crowd->group, crowd->started + 1));
        crowd->started += error == 0;
    }
    if (error < 0) {
        scheduler_group_give_up(crowd->group);
    }
    return error;
}

static void kernel_threads_wait(struct crowd *crowd)
{
    for (unsigned i = 0; i < crowd->started; i++) {
        pthread_join(crowd->threads[i], NULL);
    }
    pthread_mutex_lock(&crowd->lock);
    bound_join(crowd);
    while (crowd->bound > 0) {
        pthread_cond_wait(&crowd->changed, &crowd->lock);
        bound_join(crowd);
    }
    pthread_mutex_unlock(&crowd->lock);
}

int uthread_run(unsigned kernel_threads, void (*first)(void *argument), void *argument)
{
    struct crowd crowd = { .run = first, .argument = argument };
    int error;

    if (kernel_threads < 1 || kernel_threads > SCHEDULER_GROUP_MAX) {
        return -EINVAL;
    }
    (void)pthread_mutex_init(&crowd.lock, NULL);
    (void)pthread_cond_init(&crowd.changed, NULL);
    error = crowd_open(&crowd, kernel_threads);
    if (error == 0) {
        error = members_start(&crowd, kernel_threads);
    }
    if (error == 0) {
        error = scheduler_run(crowd.first);
    }
    kernel_threads_wait(&crowd);
    offload_close(crowd.offload);
    if (crowd.group == NULL) {
        scheduler_close(crowd.first);
    }
    scheduler_group_close(crowd.group);
    pthread_cond_destroy(&crowd.changed);
    pthread_mutex_destroy(&crowd.lock);
    free(crowd.threads);
    return error;
}
