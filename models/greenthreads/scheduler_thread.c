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
static void thread_begin(struct user_thread *thread, struct stack *stack, uintptr_t top)
{
    thread->stack = stack;
    annotate_fiber_make(&thread->fiber.notes, stack->low, stack->size);
    context_make(&thread->fiber.context, stack->low, top - (uintptr_t)stack->low,
                 thread_main, thread);
}

static uintptr_t stack_top(const struct stack *stack)
{
    return (uintptr_t)stack->low + stack->size - stack->colour;
}

bool thread_begin_anew(struct scheduler *scheduler, struct user_thread *thread)
{
    struct stack *stack = scheduler->spare;

    scheduler->spare = NULL;
    if (stack == NULL) {
        stack = stack_take(scheduler->stacks);
    } else {
        annotate_stack_clean(stack->low, stack->size);
    }
    if (stack == NULL) {
        return false;
    }
    thread_begin(thread, stack, stack_top(stack));
    return true;
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

static struct user_thread *thread_make(struct stack *stack, bool stackless,
                                       size_t argument_size)
{
    uintptr_t top = stack_top(stack);
    struct user_thread *thread;
    void *argument;

    if (stackless) {
        thread = malloc(sizeof(*thread) + argument_size);
        if (thread == NULL) {
            return NULL;
        }
        argument = thread + 1;
    } else {
        top = below(top, sizeof(*thread));
        thread = (struct user_thread *)top;
        top = below(top, argument_size);
        argument = (void *)top;
    }
    *thread = (struct user_thread){ .argument = argument, .stackless = stackless };
    thread_begin(thread, stack, top);
    return thread;
}

enum spawn_flags { SPAWN_MOVABLE = 1, SPAWN_STACKLESS = 2 };

static int spawn(struct scheduler *scheduler, void (*run)(void *), const void *argument,
                 size_t argument_size, unsigned flags)
{
    struct stack *stack = stack_take(scheduler->stacks);
    struct user_thread *thread;

    if (stack == NULL) {
        return -ENOMEM;
    }
    thread = thread_make(stack, (flags & SPAWN_STACKLESS) != 0, argument_size);
    if (thread == NULL) {
        stack_return(scheduler->stacks, stack);
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
