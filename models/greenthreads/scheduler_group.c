/* Work stealing with private queues: a kernel thread touches no run queue but its own. One
 * that runs out of threads sets its bit and sleeps; the next one that has more than it
 * needs takes the bit away and posts half of its ready threads. So a thread is always
 * owned by one kernel thread, or by one message, and neither a switch nor a wake at home
 * needs a lock. The price: a kernel thread that computes without end gives nothing
 * meanwhile. It must never know a connection. */
#include "scheduler_group.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "scheduler_state.h"

enum { WORD_BITS = 64, WORDS_MAX = SCHEDULER_GROUP_MAX / WORD_BITS };

struct scheduler_group {
    atomic_size_t threads; /* of all members, and on their way between them */
    atomic_uint_fast64_t hungry[WORDS_MAX]; /* a bit for each member that takes threads */
    atomic_uint_fast64_t moves;
    atomic_bool stuck;

    pthread_mutex_t lock;
    struct scheduler *all; /* with those that were added */
    unsigned live;         /* their number */
    unsigned resting;      /* of them, those that wait for nothing but each other */

    unsigned count;
    struct scheduler *members[];
};

/* ---- opening */

static void gift_deliver(struct scheduler_message *message);

static struct scheduler *member_open(struct scheduler_group *group, unsigned stack_flags)
{
    struct scheduler *member = scheduler_open(stack_flags);

    if (member == NULL) {
        return NULL;
    }
    member->group = group;
    member->gift.deliver = gift_deliver;
    pthread_mutex_lock(&group->lock);
    member->sibling = group->all;
    group->all = member;
    group->live++;
    pthread_mutex_unlock(&group->lock);
    return member;
}

struct scheduler_group *scheduler_group_open(unsigned count, unsigned stack_flags)
{
    struct scheduler_group *group =
        calloc(1, sizeof(*group) + count * sizeof(group->members[0]));

    assert(count >= 1 && count <= SCHEDULER_GROUP_MAX);
    if (group == NULL) {
        return NULL;
    }
    /* With default attributes it cannot fail on Linux. */
    (void)pthread_mutex_init(&group->lock, NULL);
    for (unsigned i = 0; i < count; i++) {
        struct scheduler *member = member_open(group, stack_flags);

        if (member == NULL) {
            int error = errno;

            scheduler_group_close(group);
            errno = error;
            return NULL;
        }
        member->hungry = &group->hungry[i / WORD_BITS];
        member->hungry_bit = (uint64_t)1 << i % WORD_BITS;
        group->members[group->count++] = member;
    }
    return group;
}

void scheduler_group_close(struct scheduler_group *group)
{
    if (group == NULL) {
        return;
    }
    /* A late wake-up may be passed on once, to where its thread ended. */
    for (unsigned i = 0; i < 2 * group->count; i++) {
        messages_flush(group->members[i % group->count]);
    }
    /* All before any closes: a thread may lie on a stack of another one. */
    for (unsigned i = 0; i < group->count; i++) {
        threads_drop(group->members[i]);
    }
    for (unsigned i = 0; i < group->count; i++) {
        scheduler_close(group->members[i]);
    }
    pthread_mutex_destroy(&group->lock);
    free(group);
}

struct scheduler *scheduler_group_member(struct scheduler_group *group, unsigned index)
{
    assert(index < group->count);
    return group->members[index];
}

struct scheduler *scheduler_group_add(struct scheduler_group *group, unsigned stack_flags)
{
    struct scheduler *member = member_open(group, stack_flags);

    if (member != NULL) {
        member->bound = true;
    }
    return member;
}

uint64_t scheduler_group_moves(const struct scheduler_group *group)
{
    return atomic_load_explicit(&group->moves, memory_order_relaxed);
}

/* ---- the number of threads */

void group_spawned(struct scheduler *scheduler)
{
    atomic_fetch_add_explicit(&scheduler->group->threads, 1, memory_order_relaxed);
    if (scheduler == scheduler_current()) {
        group_share(scheduler);
    }
}

static void poke_all(struct scheduler_group *group)
{
    pthread_mutex_lock(&group->lock);
    for (struct scheduler *member = group->all; member != NULL;
         member = member->sibling) {
        scheduler_poke(member);
    }
    pthread_mutex_unlock(&group->lock);
}

void group_ended(struct scheduler *scheduler)
{
    if (atomic_fetch_sub_explicit(&scheduler->group->threads, 1, memory_order_acq_rel) ==
        1) {
        poke_all(scheduler->group);
    }
}

bool group_stuck(const struct scheduler *scheduler)
{
    return atomic_load_explicit(&scheduler->group->stuck, memory_order_acquire);
}

bool group_over(const struct scheduler *scheduler)
{
    if (group_stuck(scheduler)) {
        return true;
    }
    if (scheduler->bound) {
        return scheduler->threads == 0 && scheduler->zombies == 0;
    }
    return atomic_load_explicit(&scheduler->group->threads, memory_order_acquire) == 0;
}

void scheduler_group_give_up(struct scheduler_group *group)
{
    atomic_store_explicit(&group->stuck, true, memory_order_release);
    poke_all(group);
}

/* ---- giving and taking */

static void thread_leave(struct scheduler *from, struct user_thread *thread,
                         struct scheduler *to)
{
    if (thread->moves != NULL) {
        thread->moves->leave(thread->moves_context);
    }
    thread_unwatch(from, thread); /* anew where it waits next */
    timeout_queue_remove(&thread->timeout);
    thread_unlink(from, thread);
    atomic_store_explicit(&thread->home, to, memory_order_release);
}

static void thread_arrive(struct scheduler *to, struct user_thread *thread)
{
    thread_link(to, thread);
    thread_ready(to, thread);
    if (thread->moves != NULL) {
        thread->moves->arrive(thread->moves_context, to->owner);
    }
}

static void gift_deliver(struct scheduler_message *message)
{
    struct scheduler *scheduler = scheduler_current();
    struct user_thread *thread = scheduler->given;

    (void)message;
    scheduler->given = NULL;
    scheduler->gift_may_come = false;
    while (thread != NULL) {
        struct user_thread *next = thread->next;

        thread_arrive(scheduler, thread);
        thread = next;
    }
    if (scheduler->closer != NULL) {
        scheduler_wake(scheduler->closer);
    }
}

/* Takes at most `most` movable threads out of the run queue, the oldest first, so that the
 * order of those that stay is kept. */
static struct user_thread *queue_take(struct scheduler *scheduler, size_t most)
{
    struct user_thread **link = &scheduler->first, *last = NULL;
    struct user_thread *taken = NULL, **taken_end = &taken;

    while (most > 0 && *link != NULL) {
        struct user_thread *thread = *link;

        if (thread->movable) {
            *link = thread->next;
            *taken_end = thread;
            taken_end = &thread->next;
            scheduler->ready--;
            most--;
        } else {
            last = thread;
            link = &thread->next;
        }
    }
    if (*link == NULL) {
        scheduler->last = last;
    }
    *taken_end = NULL;
    if (scheduler->turn > scheduler->ready) {
        scheduler->turn = scheduler->ready;
    }
    return taken;
}

/* How many of the ready threads can be given away, at most `most`. */
static size_t movable_ready(const struct scheduler *scheduler, size_t most)
{
    size_t count = 0;

    for (const struct user_thread *thread = scheduler->first;
         thread != NULL && count < most; thread = thread->next) {
        count += thread->movable;
    }
    return count;
}

static unsigned words(const struct scheduler_group *group)
{
    return (group->count + WORD_BITS - 1) / WORD_BITS;
}

/* A member whose bit is now the caller's; NULL: none is hungry. */
static struct scheduler *claim(struct scheduler_group *group)
{
    for (unsigned word = 0; word < words(group); word++) {
        uint64_t bits = atomic_load_explicit(&group->hungry[word], memory_order_relaxed);

        while (bits != 0) {
            unsigned index = (unsigned)__builtin_ctzll(bits);
            uint64_t bit = (uint64_t)1 << index;

            bits &= ~bit;
            if (atomic_fetch_and_explicit(&group->hungry[word], ~bit,
                                          memory_order_acq_rel) &
                bit) {
                return group->members[word * WORD_BITS + index];
            }
        }
    }
    return NULL;
}

static bool somebody_is_hungry(const struct scheduler_group *group)
{
    for (unsigned word = 0; word < words(group); word++) {
        if (atomic_load_explicit(&group->hungry[word], memory_order_relaxed) != 0) {
            return true;
        }
    }
    return false;
}

static void give(struct scheduler *scheduler, size_t count, struct scheduler *to)
{
    struct user_thread *first = queue_take(scheduler, count);

    for (struct user_thread *thread = first; thread != NULL; thread = thread->next) {
        thread_leave(scheduler, thread, to);
    }
    atomic_fetch_add_explicit(&scheduler->group->moves, count, memory_order_relaxed);
    to->given = first;
    scheduler_post(to, &to->gift);
}

/* At most once in a millisecond of the coarse clock. A gift costs some microseconds on both
 * sides: more than a thread does that is told, tells the next one and parks. */
void group_share(struct scheduler *scheduler)
{
    struct scheduler_group *group = scheduler->group;
    size_t running = scheduler->running != &scheduler->loop, count;
    struct scheduler *to;
    uint64_t now_ms;

    /* The stacks of a bound one go with it. */
    if (scheduler->ready <= 1 || scheduler->bound || !somebody_is_hungry(group)) {
        return;
    }
    now_ms = clock_now_ms();
    if (now_ms == scheduler->gift_ms) {
        return; /* before the queue is counted: each spawn comes here */
    }
    count = movable_ready(scheduler, (scheduler->ready + running) / 2);
    to = count > 0 ? claim(group) : NULL;
    if (to != NULL) {
        scheduler->gift_ms = now_ms;
        give(scheduler, count, to);
    }
}

/* Whether the bit was still there to be taken back; else a gift is on its way. */
static bool take_back(struct scheduler *scheduler)
{
    uint64_t bit = scheduler->hungry_bit;

    if (atomic_fetch_and_explicit(scheduler->hungry, ~bit, memory_order_acq_rel) & bit) {
        scheduler->gift_may_come = false;
        return true;
    }
    return false;
}

void group_hunger(struct scheduler *scheduler)
{
    if (scheduler->ready == 0 && !scheduler->gift_may_come &&
        scheduler->hungry_bit != 0) {
        scheduler->gift_may_come = true;
        atomic_fetch_or_explicit(scheduler->hungry, scheduler->hungry_bit,
                                 memory_order_acq_rel);
    } else if (scheduler->ready > 0 && scheduler->gift_may_come) {
        (void)take_back(scheduler);
    }
}

void scheduler_group_close_intake(void)
{
    struct scheduler *scheduler = scheduler_current();

    if (scheduler->group == NULL) {
        return;
    }
    if (scheduler->gift_may_come && !take_back(scheduler)) {
        scheduler->closer = scheduler_self();
        while (scheduler->gift_may_come) {
            (void)scheduler_park(TIMEOUT_NONE, UINT64_MAX);
        }
        scheduler->closer = NULL;
    }
    scheduler->hungry_bit = 0;
}

/* ---- waking across kernel threads */

/* At the thread's home nothing of it changes meanwhile, so a wake-up that arrives finds it
 * parked, or ready and about to look again. */
static void wake_deliver(struct scheduler_message *message)
{
    struct user_thread *thread =
        (struct user_thread *)((char *)message - offsetof(struct user_thread, wake));
    struct scheduler *home = atomic_load_explicit(&thread->home, memory_order_acquire);
    struct scheduler *here = scheduler_current();

    if (home != here) {
        scheduler_post(home, message); /* it moved meanwhile */
        return;
    }
    /* First: whoever posts from now on means a later look. */
    (void)atomic_exchange_explicit(&thread->wake_posted, false, memory_order_seq_cst);
    if (thread->state == THREAD_PARKED) {
        thread_ready(here, thread);
    } else if (thread->state == THREAD_ENDED) {
        thread_free(here, thread);
        here->zombies--;
    }
}

void group_wake_remote(struct user_thread *thread, struct scheduler *home)
{
    if (!atomic_exchange_explicit(&thread->wake_posted, true, memory_order_seq_cst)) {
        thread->wake.deliver = wake_deliver;
        scheduler_post(home, &thread->wake);
    }
}

/* ---- deadlock */

static bool messages_wait(struct scheduler_group *group)
{
    bool found = false;

    for (struct scheduler *member = group->all; member != NULL;
         member = member->sibling) {
        pthread_mutex_lock(&member->post_lock);
        found = found || member->messages != NULL;
        pthread_mutex_unlock(&member->post_lock);
    }
    return found;
}

/* Under the lock. A member that rests posts no message, so if none is there none will come.
 */
static bool all_rest(struct scheduler_group *group)
{
    return group->resting == group->live && !messages_wait(group) &&
           atomic_load_explicit(&group->threads, memory_order_acquire) > 0;
}

bool group_rest(struct scheduler *scheduler)
{
    struct scheduler_group *group = scheduler->group;
    bool stuck;

    pthread_mutex_lock(&group->lock);
    scheduler->resting = true;
    group->resting++;
    stuck = all_rest(group);
    pthread_mutex_unlock(&group->lock);
    if (stuck) {
        scheduler_group_give_up(group);
    }
    return stuck;
}

/* Before it takes its messages, or one could be overlooked. */
void group_wake(struct scheduler *scheduler)
{
    struct scheduler_group *group = scheduler->group;

    if (!scheduler->resting) {
        return;
    }
    pthread_mutex_lock(&group->lock);
    scheduler->resting = false;
    group->resting--;
    pthread_mutex_unlock(&group->lock);
}

void scheduler_group_dismiss(struct scheduler *scheduler)
{
    struct scheduler_group *group = scheduler->group;
    struct scheduler **link = &group->all;
    bool stuck;

    /* Of a run that never came. Not the last: the caller's is one. */
    (void)atomic_fetch_sub_explicit(&group->threads, scheduler->threads,
                                    memory_order_acq_rel);
    pthread_mutex_lock(&group->lock);
    while (*link != scheduler) {
        link = &(*link)->sibling;
    }
    *link = scheduler->sibling;
    group->live--;
    group->resting -= scheduler->resting;
    /* It may have been the last that did not rest. */
    stuck = group->live > 0 && all_rest(group);
    pthread_mutex_unlock(&group->lock);
    if (stuck) {
        scheduler_group_give_up(group);
    }
    scheduler_close(scheduler);
}
