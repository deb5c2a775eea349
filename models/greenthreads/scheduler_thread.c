/* The birth and the end of user threads: where a record lies, which stack it has, the list of
 * all. It must never know a connection. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "scheduler_state.h"

enum {
    ALIGNMENT = 64,
    /* One that needs a stack, while there is no memory for any, asks this often. */
    STACK_RETRY_MS = 10
};

/* ---- the list of all */

void thread_link(struct scheduler *scheduler, struct user_thread *thread)
{
    thread->earlier = NULL;
    thread->later = scheduler->all;
    if (scheduler->all != NULL) {
        scheduler->all->earlier = thread;
    }
    scheduler->all = thread;
    scheduler->threads++;
}

void thread_unlink(struct scheduler *scheduler, struct user_thread *thread)
{
    if (thread->earlier == NULL) {
        scheduler->all = thread->later;
    } else {
        thread->earlier->later = thread->later;
    }
    if (thread->later != NULL) {
        thread->later->earlier = thread->earlier;
    }
    scheduler->threads--;
}

/* ---- stacks */

/* top: where the stack begins, downwards. */
static void fiber_begin(struct fiber *fiber, const struct stack *stack, uintptr_t top,
                        void (*run)(void *), void *argument)
{
    annotate_fiber_make(&fiber->notes, stack->low, stack->size);
    context_make(&fiber->context, stack->low, top - (uintptr_t)stack->low, run, argument);
}

static uintptr_t stack_top(const struct stack *stack)
{
    return (uintptr_t)stack->low + stack->size - stack->colour;
}

void scheduler_loop_begin(struct scheduler *scheduler, void (*run)(void *scheduler))
{
    struct stack *stack = scheduler->spare;

    scheduler->spare = NULL;
    scheduler->loop_stack = stack;
    annotate_stack_clean(stack->low, stack->size);
    fiber_begin(&scheduler->loop, stack, stack_top(stack), run, scheduler);
}

bool scheduler_loop_can_call(struct scheduler *scheduler)
{
    if (scheduler->spare == NULL) {
        scheduler->spare = stack_take(scheduler->stacks);
    }
    return scheduler->spare != NULL;
}

void scheduler_loop_give_stack(struct scheduler *scheduler, struct user_thread *thread)
{
    thread->stack = scheduler->loop_stack;
    thread->fiber.notes = scheduler->loop.notes;
}

void scheduler_loop_end(struct scheduler *scheduler)
{
    annotate_fiber_destroy(&scheduler->loop.notes);
    if (scheduler->spare == NULL) {
        scheduler->spare = scheduler->loop_stack;
    } else {
        stack_return(scheduler->stacks, scheduler->loop_stack);
    }
    scheduler->loop_stack = NULL;
}

void thread_postpone(struct scheduler *scheduler, struct user_thread *thread)
{
    thread->class = TIMEOUT_NONE;
    thread->deadline_ms = clock_now_ms() + STACK_RETRY_MS;
    timeout_queue_remove(&thread->timeout);
    timeout_queue_set(&scheduler->sleeps, &thread->timeout, SLEEP_CLASS,
                      thread->deadline_ms);
    thread->state = THREAD_PARKED;
    thread->postponed = true;
    if (thread->deadline_ms < scheduler->due_ms) {
        scheduler->due_ms = thread->deadline_ms;
    }
}

void thread_give_stack_back(struct scheduler *scheduler, struct user_thread *thread)
{
    struct stack *stack = thread->stack;

    thread->stack = NULL; /* the record may lie on it */
    annotate_fiber_destroy(&thread->fiber.notes);
    if (scheduler->keeps_spare && scheduler->spare == NULL) {
        scheduler->spare = stack;
    } else {
        stack_return(scheduler->stacks, stack);
    }
}

void thread_free(struct scheduler *scheduler, struct user_thread *thread)
{
    bool stackless = thread->stackless;

    if (thread->stack != NULL) {
        thread_give_stack_back(scheduler, thread);
    }
    if (stackless) {
        free(thread);
    }
}

/* ---- the end */

void thread_unwatch(struct scheduler *scheduler, struct user_thread *thread)
{
    while (thread->sources != NULL) {
        struct poller_source *source = thread->sources;

        thread->sources = source->next;
        poller_remove(scheduler->poller, source);
    }
}

/* ---- the birth */

static uintptr_t below(uintptr_t top, size_t size)
{
    return (top - size) & ~(uintptr_t)(ALIGNMENT - 1);
}

static struct user_thread *make_with_stack(struct stack_pool *stacks,
                                           size_t argument_size)
{
    struct stack *stack = stack_take(stacks);
    struct user_thread *thread;
    uintptr_t top;

    if (stack == NULL) {
        return NULL;
    }
    top = below(stack_top(stack), sizeof(*thread));
    thread = (struct user_thread *)top;
    top = below(top, argument_size);
    *thread = (struct user_thread){ .argument = (void *)top, .stack = stack };
    fiber_begin(&thread->fiber, stack, top, thread_main, thread);
    return thread;
}

static struct user_thread *make_stackless(size_t argument_size)
{
    struct user_thread *thread = malloc(sizeof(*thread) + argument_size);

    if (thread != NULL) {
        *thread = (struct user_thread){ .argument = thread + 1, .stackless = true };
    }
    return thread;
}

enum spawn_flags { SPAWN_MOVABLE = 1, SPAWN_STACKLESS = 2 };

static int spawn(struct scheduler *scheduler, void (*run)(void *), const void *argument,
                 size_t argument_size, unsigned flags)
{
    struct user_thread *thread = (flags & SPAWN_STACKLESS) != 0
                                     ? make_stackless(argument_size)
                                     : make_with_stack(scheduler->stacks, argument_size);

    if (thread == NULL) {
        return -ENOMEM;
    }
    thread->run = run;
    thread->movable = (flags & SPAWN_MOVABLE) != 0;
    atomic_init(&thread->home, scheduler);
    if (argument_size > 0) {
        memcpy(thread->argument, argument, argument_size);
    }
    thread_link(scheduler, thread);
    thread_ready(scheduler, thread);
    if (scheduler->group != NULL) {
        group_spawned(scheduler);
    }
    return 0;
}

int scheduler_spawn(struct scheduler *scheduler, void (*run)(void *argument),
                    const void *argument, size_t argument_size)
{
    return spawn(scheduler, run, argument, argument_size, 0);
}

int scheduler_spawn_movable(struct scheduler *scheduler, void (*run)(void *argument),
                            const void *argument, size_t argument_size)
{
    return spawn(scheduler, run, argument, argument_size, SPAWN_MOVABLE);
}

int scheduler_spawn_stackless(struct scheduler *scheduler, void (*run)(void *argument),
                              const void *argument, size_t argument_size)
{
    return spawn(scheduler, run, argument, argument_size, SPAWN_STACKLESS);
}

void scheduler_set_moves(const struct scheduler_moves *moves, void *context)
{
    struct user_thread *self = scheduler_self();

    self->moves = moves;
    self->moves_context = context;
}

bool scheduler_set_movable(bool movable)
{
    struct user_thread *self = scheduler_self();
    bool before = self->movable;

    self->movable = movable;
    return before;
}

void scheduler_set_local(void *local)
{
    scheduler_self()->local = local;
}

void *scheduler_local(void)
{
    return scheduler_self()->local;
}
