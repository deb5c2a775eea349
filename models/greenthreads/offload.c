/* One queue of jobs, a few kernel threads that take them, and the scheduler's messages to
 * bring each home. A job outlives a user thread that gave up, so it is a block of its own;
 * cold file work is rare and slow enough to pay for one. It must never know what the work
 * does. */
#include "offload.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "kernel_thread.h"
#include "scheduler.h"

struct job {
    struct scheduler_message message; /* first: the way home */
    struct job *next;                 /* in the queue */
    struct work *work;                /* one reference */
    struct scheduler *scheduler;      /* home */
    struct user_thread *waiter;       /* NULL: it gave up. Only its scheduler looks */
    bool done;                        /* the same */
};

struct offload {
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    struct job *first, *last;
    bool closing;
    unsigned thread_count;
    pthread_t threads[];
};

static void job_free(struct job *job)
{
    work_put(job->work);
    free(job);
}

/* On its scheduler: the waiter frees the job, and so does this if nobody waits. */
static void job_deliver(struct scheduler_message *message)
{
    struct job *job = (struct job *)message;

    scheduler_expect_no_more(job->scheduler);
    if (job->waiter == NULL) {
        job_free(job);
        return;
    }
    job->done = true;
    scheduler_wake(job->waiter);
}

/* NULL: closing. Sleeps. */
static struct job *queue_take(struct offload *offload)
{
    struct job *job = NULL;

    pthread_mutex_lock(&offload->lock);
    while (offload->first == NULL && !offload->closing) {
        pthread_cond_wait(&offload->changed, &offload->lock);
    }
    if (!offload->closing) {
        job = offload->first;
        offload->first = job->next;
    }
    pthread_mutex_unlock(&offload->lock);
    return job;
}

static void *thread_main(void *argument)
{
    struct offload *offload = argument;
    struct job *job = queue_take(offload);

    while (job != NULL) {
        work_run(job->work);
        scheduler_post(job->scheduler, &job->message);
        job = queue_take(offload);
    }
    return NULL;
}

struct offload *offload_open(unsigned kernel_threads)
{
    struct offload *offload =
        calloc(1, sizeof(*offload) + kernel_threads * sizeof(offload->threads[0]));
    int result = 0;

    if (offload == NULL) {
        return NULL;
    }
    /* With default attributes neither can fail on Linux. */
    (void)pthread_mutex_init(&offload->lock, NULL);
    (void)pthread_cond_init(&offload->changed, NULL);
    while (result == 0 && offload->thread_count < kernel_threads) {
        result = kernel_thread_start(&offload->threads[offload->thread_count],
                                     thread_main, offload);
        if (result == 0) {
            offload->thread_count++;
        }
    }
    if (result == 0) {
        return offload;
    }
    offload_close(offload);
    errno = -result;
    return NULL;
}

void offload_close(struct offload *offload)
{
    struct job *job;

    if (offload == NULL) {
        return;
    }
    pthread_mutex_lock(&offload->lock);
    offload->closing = true;
    pthread_cond_broadcast(&offload->changed);
    pthread_mutex_unlock(&offload->lock);
    for (unsigned i = 0; i < offload->thread_count; i++) {
        pthread_join(offload->threads[i], NULL);
    }
    job = offload->first;
    while (job != NULL) {
        struct job *next = job->next;

        job_free(job);
        job = next;
    }
    pthread_cond_destroy(&offload->changed);
    pthread_mutex_destroy(&offload->lock);
    free(offload);
}

static void queue_put(struct offload *offload, struct job *job)
{
    pthread_mutex_lock(&offload->lock);
    if (offload->first == NULL) {
        offload->first = job;
    } else {
        offload->last->next = job;
    }
    offload->last = job;
    pthread_cond_signal(&offload->changed);
    pthread_mutex_unlock(&offload->lock);
}

bool offload_run(struct offload *offload, struct work *work, const bool *given_up)
{
    struct job *job = calloc(1, sizeof(*job));
    bool movable;

    /* Without memory the scheduler sleeps with the work, rather than failing a request
     * that could be answered. */
    if (job == NULL) {
        work_run(work);
        return true;
    }
    job->message.deliver = job_deliver;
    job->work = work_get(work);
    job->scheduler = scheduler_current();
    job->waiter = scheduler_self();
    movable = scheduler_set_movable(false); /* the job comes home to this scheduler */
    scheduler_expect(job->scheduler);
    queue_put(offload, job);
    while (!job->done && !*given_up) {
        (void)scheduler_park(TIMEOUT_NONE, UINT64_MAX);
    }
    (void)scheduler_set_movable(movable);
    if (job->done) {
        job_free(job);
        return true;
    }
    job->waiter = NULL;
    return false;
}
