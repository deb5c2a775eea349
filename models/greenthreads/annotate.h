/* Tells the sanitizers and valgrind which stack runs, since none of them can see a user
 * thread by itself. Compiles to nothing in a plain build. It must never know a scheduler.
 */
#ifndef TETRAD_ANNOTATE_H
#define TETRAD_ANNOTATE_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ANNOTATE_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define ANNOTATE_TSAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define ANNOTATE_ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define ANNOTATE_TSAN 1
#endif

#ifdef ANNOTATE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef ANNOTATE_TSAN
#include <sanitizer/tsan_interface.h>
#endif
#ifdef HAVE_VALGRIND_VALGRIND_H
#include <valgrind/memcheck.h>
#endif

/* Red zones and interceptors make frames several times larger. */
#if defined(ANNOTATE_ASAN) || defined(ANNOTATE_TSAN)
enum { ANNOTATE_STACK_SCALE = 4 };
#else
enum { ANNOTATE_STACK_SCALE = 1 };
#endif

/* Inlined even without optimisation: ThreadSanitizer counts calls and returns per fiber,
 * so no function may be entered on one and left on another. */
#define ANNOTATE_INLINE static inline __attribute__((always_inline))

/* What the tools know of one stack. All zero: the kernel thread's own, not yet seen. */
struct annotate_fiber {
    const void *low; /* bounds of the stack, for AddressSanitizer */
    size_t size;
    void *fake_stack; /* AddressSanitizer's, while the stack is left */
    void *tsan;       /* ThreadSanitizer's fiber */
};

/* For the kernel thread's own stack, on that thread. */
ANNOTATE_INLINE void annotate_fiber_adopt(struct annotate_fiber *fiber)
{
    *fiber = (struct annotate_fiber){ .low = NULL };
#ifdef ANNOTATE_TSAN
    fiber->tsan = __tsan_get_current_fiber();
#endif
}

ANNOTATE_INLINE void annotate_fiber_make(struct annotate_fiber *fiber, const void *low,
                                         size_t size)
{
    *fiber = (struct annotate_fiber){ .low = low, .size = size };
#ifdef ANNOTATE_TSAN
    fiber->tsan = __tsan_create_fiber(0);
#endif
}

ANNOTATE_INLINE void annotate_fiber_destroy(struct annotate_fiber *fiber)
{
    (void)fiber;
#ifdef ANNOTATE_TSAN
    __tsan_destroy_fiber(fiber->tsan);
#endif
}

/* Just before the switch, with nothing between. ending: `from` ends, or begins anew, so that
 * its fake stack can go. */
ANNOTATE_INLINE void annotate_switch_start(struct annotate_fiber *from,
                                           const struct annotate_fiber *to, int ending)
{
    (void)from, (void)to, (void)ending;
#ifdef ANNOTATE_ASAN
    __sanitizer_start_switch_fiber(ending ? NULL : &from->fake_stack, to->low, to->size);
#endif
#ifdef ANNOTATE_TSAN
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
}

/* First thing on the other side; `left` is what ran before. This is also how the bounds
 * of the kernel thread's own stack become known. */
ANNOTATE_INLINE void annotate_switch_finish(const struct annotate_fiber *self,
                                            struct annotate_fiber *left)
{
    (void)self, (void)left;
#ifdef ANNOTATE_ASAN
    __sanitizer_finish_switch_fiber(self->fake_stack, &left->low, &left->size);
#endif
}

/* The id to give back to annotate_stack_forget. */
ANNOTATE_INLINE unsigned annotate_stack_register(void *low, size_t size)
{
    (void)low, (void)size;
#ifdef HAVE_VALGRIND_VALGRIND_H
    return VALGRIND_STACK_REGISTER(low, (char *)low + size - 1);
#else
    return 0;
#endif
}

ANNOTATE_INLINE void annotate_stack_forget(unsigned id)
{
    (void)id;
#ifdef HAVE_VALGRIND_VALGRIND_H
    VALGRIND_STACK_DEREGISTER(id);
#endif
}

/* A used stack is to be used again: frames that never returned left poison behind. */
ANNOTATE_INLINE void annotate_stack_clean(void *low, size_t size)
{
    (void)low, (void)size;
#ifdef ANNOTATE_ASAN
    __asan_unpoison_memory_region(low, size);
#endif
#ifdef HAVE_VALGRIND_VALGRIND_H
    (void)VALGRIND_MAKE_MEM_DEFINED(low, size);
#endif
}

#endif
