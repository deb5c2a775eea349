/* The switch by POSIX ucontext, for processors without an assembly one. Correct and slow:
 * the C library saves the signal mask with a system call at every switch. It must never
 * know a scheduler. */
#include "context.h"

#include <stdint.h>
#include <string.h>

#include <ucontext.h>

/* makecontext passes ints, so pointers travel in halves. */
static void start(unsigned run_high, unsigned run_low, unsigned argument_high,
                  unsigned argument_low)
{
    uintptr_t run = (uintptr_t)((uint64_t)run_high << 32 | run_low);
    uintptr_t argument = (uintptr_t)((uint64_t)argument_high << 32 | argument_low);

    ((void (*)(void *))run)((void *)argument);
}

void context_make(struct context *context, void *low, size_t size, void (*run)(void *),
                  void *argument)
{
    uintptr_t top = (uintptr_t)low + size;
    /* The record lies at the top of the stack that it describes. */
    ucontext_t *record = (ucontext_t *)((top - sizeof(*record)) & ~(uintptr_t)63);
    uint64_t run_bits = (uintptr_t)run, argument_bits = (uintptr_t)argument;

    memset(record, 0, sizeof(*record));
    /* It can only fail for a bad address. */
    (void)getcontext(record);
    record->uc_stack.ss_sp = low;
    record->uc_stack.ss_size = (size_t)((uintptr_t)record - (uintptr_t)low);
    record->uc_link = NULL;
    makecontext(record, (void (*)(void))start, 4, (unsigned)(run_bits >> 32),
                (unsigned)run_bits, (unsigned)(argument_bits >> 32),
                (unsigned)argument_bits);
    context->saved = record;
}

void context_switch(struct context *from, struct context *to)
{
    ucontext_t here;

    /* A sanitizer's interceptor reads the stack's bounds: none are known for this one. */
    here.uc_stack = (stack_t){ .ss_sp = NULL };
    from->saved = &here;
    (void)swapcontext(&here, to->saved);
}
