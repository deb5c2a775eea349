/* The same turns by the C library's swapcontext, which saves and restores the signal mask
 * with a system call each: what a user thread's yield is measured against. Bare contexts in
 * a ring, no scheduler. It must never know a runtime. */
#include "yield_ucontext.h"

#include <stdint.h>
#include <ucontext.h>

#ifndef __has_feature
#define __has_feature(name) 0 /* clang has it, and gcc's macros not */
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                     \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER 1
#else
#define UNDER_SANITIZER 0
#endif

enum { STACK_BYTES = 64 * 1024 };

struct ring {
    struct run *run;
    ucontext_t lead;
    ucontext_t *contexts;
    size_t count, running;
    struct yielding *yielding;
};

/* makecontext passes ints only. One ring in a process. */
static struct ring *ring;

static void turn(void)
{
    size_t number = ring->running;
    size_t next = (number + 1) % ring->count;
    struct thread_row row = { .start_ns = run_elapsed_ns(ring->run) };

    for (uint64_t i = 0; i < ring->run->params->reps; i++) {
        ring->running = next;
        (void)swapcontext(&ring->contexts[number], &ring->contexts[next]);
        row.reverses += yield_note(ring->yielding, number + 1);
        row.count++;
    }
    row.end_ns = run_elapsed_ns(ring->run);
    ring->run->outcome->rows[number] = row;
    /* All have made the same number of turns, so the next one is at its end too. */
    ring->running = next;
    (void)setcontext(number + 1 == ring->count ? &ring->lead : &ring->contexts[next]);
}

static void lead(struct run *run)
{
    (void)run;
    ring->running = 0;
    (void)swapcontext(&ring->lead, &ring->contexts[0]);
}

/* A sanitizer cannot follow a switch that it is not told of. */
static void stop_under_sanitizer(struct run *run)
{
    if (UNDER_SANITIZER) {
        run_absent(run, "not with a sanitizer");
    }
}

void yield_ucontext_race(struct run *run, struct yielding *yielding)
{
    static const struct race race = { .threads = 0, .lead = lead };
    size_t count = run->params->threads;
    char *stacks;

    stop_under_sanitizer(run);
    stacks = run_share(run, count * STACK_BYTES);
    ring = run_share(run, sizeof(*ring));
    *ring = (struct ring){ .run = run, .count = count, .yielding = yielding };
    ring->contexts = run_share(run, count * sizeof(*ring->contexts));
    for (size_t i = 0; i < count; i++) {
        ucontext_t *context = &ring->contexts[i];

        (void)getcontext(context);
        context->uc_stack.ss_sp = stacks + i * STACK_BYTES;
        context->uc_stack.ss_size = STACK_BYTES;
        makecontext(context, turn, 0);
    }
    run_race(run, &race);
}

void yield_ucontext_loaded(char *text, size_t size)
{
    (void)snprintf(text, size, "swapcontext of the C library, no scheduler");
}
