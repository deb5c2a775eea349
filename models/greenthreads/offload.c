/* One queue of jobs, a few kernel threads that take them, and the scheduler's messages to
 * bring each home. A thread is started when a job needs one and ends when it has had
 * nothing to do for a while: in a process of one thread each system call on a descriptor
 * costs the kernel less. A job outlives a user thread that gave up, so it is a block of its
 * own; cold file work is rare and slow enough to pay for one. It must never know what the
 * work does. */
#include "offload.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

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

/* A kernel thread's place. One that had nothing to do has ended and is collected by
 * whoever needs the place next. */
struct place {
    pthread_t thread;
    struct offload *offload;
    bool started; /* and not yet joined: changed by offload_run alone, so that
                         offload_close, which comes after, needs no lock to look */
    bool ended;   /* takes no more jobs */
};

struct offload {
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    struct job *first, *last;
    size_t queued;  /* jobs from first to last */
    size_t resting; /* threads that wait for one */
    bool closing;
    unsigned rest_ms;
    unsigned place_count;
    struct place places[];
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

/* When a thread that finds nothing to do now ends, by the clock of the condition. */
static struct timespec rest_end(const struct offload *offload)
{
    struct timespec end = { 0 };

    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += offload->rest_ms / 1000;
    end.tv_nsec += (long)(offload->rest_ms % 1000) * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    return end;
}

/* Holds the lock. True: there is a job. */
static bool rest(struct offload *offload)
{
    struct timespec end = rest_end(offload);
    int error = 0;

    offload->resting++;
    while (offload->first == NULL && !offload->closing && error != ETIMEDOUT) {
        error = pthread_cond_timedwait(&offload->changed, &offload->lock, &end);
    }
    offload->resting--;
    return offload->first != NULL;
}

/* NULL: the thread ends, and its place can be had. Sleeps. */
static struct job *queue_take(struct offload *offload, struct place *place)
{
    struct job *job = NULL;

    pthread_mutex_lock(&offload->lock);
    if ((offload->first != NULL || rest(offload)) && !offload->closing) {
        job = offload->first;
        offload->first = job->next;
        offload->queued--;
    } else {
        place->ended = true;
    }
    pthread_mutex_unlock(&offload->lock);
    return job;
}

static void *thread_main(void *argument)
{
    struct place *place = argument;
    struct offload *offload = place->offload;
    struct job *job = queue_take(offload, place);

    while (job != NULL) {
        work_run(job->work);
        scheduler_post(job->scheduler, &job->message);
        job = queue_take(offload, place);
    }
    return NULL;
}

struct offload *offload_open(unsigned kernel_threads, unsigned rest_ms)
{
    struct offload *offload =
        calloc(1, sizeof(*offload) + kernel_threads * sizeof(offload->places[0]));
    pthread_condattr_t attributes;

    if (offload == NULL) {
        return NULL;
    }
    offload->rest_ms = rest_ms;
    offload->place_count = kernel_threads;
    for (unsigned i = 0; i < kernel_threads; i++) {
        offload->places[i].offload = offload;
    }
    /* None of these can fail on Linux. */
    (void)pthread_mutex_init(&offload->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&offload->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return offload;
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
    /* A place is started only from offload_run, so that from here on they only end. */
    for (unsigned i = 0; i < offload->place_count; i++) {
        if (offload->places[i].started) {
            pthread_join(offload->places[i].thread, NULL);
        }
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

/* Holds the lock. Starts a thread if the jobs are more than those that wait for one, and
 * there may be more. 0, or -errno: nobody is there to take a job. */
static int staff(struct offload *offload)
{
    struct place *vacant = NULL;
    bool any = false;
    int result;

    for (unsigned i = 0; i < offload->place_count; i++) {
        struct place *place = &offload->places[i];

        if (place->started && !place->ended) {
            any = true;
        } else if (vacant == NULL) {
            vacant = place;
        }
    }
    if (offload->queued < offload->resting || vacant == NULL) {
        return any ? 0 : -EAGAIN;
    }
    if (vacant->started) {
        pthread_join(vacant->thread, NULL); /* it has said so last: a moment at most */
        vacant->started = vacant->ended = false;
    }
    result = kernel_thread_start(&vacant->thread, thread_main, vacant);
    vacant->started = result == 0;
    return any ? 0 : result;
}

/* 0, or -errno: it is not in the queue. */
static int queue_put(struct offload *offload, struct job *job)
{
    int result;

    pthread_mutex_lock(&offload->lock);
    result = staff(offload);
    if (result == 0) {
        if (offload->first == NULL) {
            offload->first = job;
        } else {
            offload->last->next = job;
        }
        offload->last = job;
        offload->queued++;
        pthread_cond_signal(&offload->changed);
    }
    pthread_mutex_unlock(&offload->lock);
    return result;
}

/* Until it is done, or nobody waits for it any more. */
static int await(struct job *job, const bool *given_up)
{
    while (!job->done && !*given_up) {
        (void)scheduler_park(TIMEOUT_NONE, UINT64_MAX);
    }
    if (job->done) {
        job_free(job);
        return 0;
    }
    job->waiter = NULL;
    return -ECANCELED;
}

int offload_run(struct offload *offload, struct work *work, const bool *given_up)
{
    struct job *job = calloc(1, sizeof(*job));
    bool movable;
    int result;

    if (job == NULL) {
        return -ENOMEM;
    }
    job->message.deliver = job_deliver;
    job->work = work_get(work);
    job->scheduler = scheduler_current();
    job->waiter = scheduler_self();
    movable = scheduler_set_movable(false); /* the job comes home to this scheduler */
    scheduler_expect(job->scheduler);
    result = queue_put(offload, job);
    if (result == 0) {
        result = await(job, given_up);
    } else {
        scheduler_expect_no_more(job->scheduler);
        job_free(job);
    }
    (void)scheduler_set_movable(movable);
    return result;
}
