/* The switch between two stacks of one kernel thread: everything that the platform's
 * calling convention asks a called function to preserve, and nothing else. It must never
 * know a scheduler. */
#ifndef TETRAD_CONTEXT_H
#define TETRAD_CONTEXT_H

#include <stddef.h>

/* What was running when it was left. The registers lie on its own stack, which must
 * outlive it. */
struct context {
    void *saved;
};

/* A context that calls run(argument) on the stack [low, low + size) when it is first
 * switched to. run must never return. */
void context_make(struct context *context, void *low, size_t size, void (*run)(void *),
                  void *argument);

/* Leaves the caller in `from` and continues `to`; returns when somebody continues `from`.
 * errno and the signal mask belong to the kernel thread and are not switched. */
void context_switch(struct context *from, struct context *to);

#endif
