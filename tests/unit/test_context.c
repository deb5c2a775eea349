/* The switch: every register that the calling convention protects survives it, arguments
 * arrive, stacks are aligned. */
#include "unit.h"

#include <fenv.h>
#include <stdbool.h>
#include <stdalign.h>
#include <stdlib.h>

#include "annotate.h"
#include "context.h"

enum { STACK_SIZE = 64 * 1024 * ANNOTATE_STACK_SCALE, ROUNDS = 1000 };

struct side {
    struct context context;
    struct annotate_fiber notes;
    struct pair *pair;
};

/* Two contexts that take turns. */
struct pair {
    struct side main, other;
    struct side *left;
    char *stack;
    void (*body)(struct pair *);
    bool ended;
};

static void turn(struct pair *pair, struct side *from, struct side *to)
{
    pair->left = from;
    annotate_switch_start(&from->notes, &to->notes, pair->ended);
    context_switch(&from->context, &to->context);
    annotate_switch_finish(&from->notes, &pair->left->notes);
}

static void start(void *argument)
{
    struct pair *pair = argument;

    annotate_switch_finish(&pair->other.notes, &pair->left->notes);
    pair->body(pair);
    pair->ended = true;
    turn(pair, &pair->other, &pair->main);
}

static void pair_open(struct pair *pair, void (*body)(struct pair *))
{
    *pair = (struct pair){ .body = body, .stack = aligned_alloc(4096, STACK_SIZE) };
    assert_non_null(pair->stack);
    annotate_fiber_adopt(&pair->main.notes);
    annotate_fiber_make(&pair->other.notes, pair->stack, STACK_SIZE);
    context_make(&pair->other.context, pair->stack, STACK_SIZE, start, pair);
}

static void pair_close(struct pair *pair)
{
    assert_true(pair->ended);
    annotate_fiber_destroy(&pair->other.notes);
    annotate_stack_clean(pair->stack, STACK_SIZE);
    free(pair->stack);
}

#if defined(__x86_64__)
#define PINNED(n)                                                                        \
    register uint64_t a __asm__("rbx") = (n) + 1;                                        \
    register uint64_t b __asm__("r12") = (n) + 2;                                        \
    register uint64_t c __asm__("r13") = (n) + 3;                                        \
    register uint64_t d __asm__("r14") = (n) + 4;                                        \
    register uint64_t e __asm__("r15") = (n) + 5;
#elif defined(__aarch64__)
#define PINNED(n)                                                                        \
    register uint64_t a __asm__("x19") = (n) + 1;                                        \
    register uint64_t b __asm__("x22") = (n) + 2;                                        \
    register uint64_t c __asm__("x25") = (n) + 3;                                        \
    register uint64_t d __asm__("x27") = (n) + 4;                                        \
    register uint64_t e __asm__("x28") = (n) + 5;
#else
#define PINNED(n)                                                                        \
    uint64_t a = (n) + 1, b = (n) + 2, c = (n) + 3, d = (n) + 4, e = (n) + 5;
#endif
/* The values are in their registers here, whatever the optimiser wants. */
#define FIX_PINNED() __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e))

/* Keeps five values in protected registers over the switch, and eight in the floating
 * point registers where there are protected ones. */
static bool registers_kept(struct pair *pair, struct side *from, struct side *to,
                           uint64_t n)
{
    volatile double seed = (double)n;
    double f0 = seed + 0.5, f1 = seed + 1.5, f2 = seed + 2.5, f3 = seed + 3.5;
    double f4 = seed * 2, f5 = seed * 3, f6 = seed * 4, f7 = seed * 5;
    PINNED(n)

    FIX_PINNED();
    turn(pair, from, to);
    FIX_PINNED();
    return a == n + 1 && b == n + 2 && c == n + 3 && d == n + 4 && e == n + 5 &&
           f0 + f1 + f2 + f3 == seed * 4 + 8 && f4 + f5 + f6 + f7 == seed * 14;
}

static void registers_body(struct pair *pair)
{
    for (uint64_t i = 0; i < ROUNDS; i++) {
        assert_true(registers_kept(pair, &pair->other, &pair->main, i * 1000003));
    }
}

static void test_registers(void **state)
{
    struct pair pair;

    (void)state;
    pair_open(&pair, registers_body);
    for (uint64_t i = 0; i <= ROUNDS; i++) {
        assert_true(registers_kept(&pair, &pair.main, &pair.other, ~i));
    }
    pair_close(&pair);
}

static void alignment_body(struct pair *pair)
{
    /* An aligned local is only aligned if the first frame was. */
    alignas(16) volatile char block[32] = { 1 };
    volatile long double wide = 1.5L;
    const char *frame = __builtin_frame_address(0);

    assert_int_equal((uintptr_t)block % 16, 0);
    assert_true(wide * 2 == 3.0L);
    assert_true(frame > pair->stack && frame < pair->stack + STACK_SIZE);
}

static void test_alignment(void **state)
{
    struct pair pair;

    (void)state;
    pair_open(&pair, alignment_body);
    turn(&pair, &pair.main, &pair.other);
    pair_close(&pair);
}

#ifdef __x86_64__
/* What fegetround does not see: how the vector unit rounds. */
static bool rounds_up(void)
{
    volatile double one = 1, three = 3;

    return one / three > 0x1.5555555555555p-2;
}

static void rounding_body(struct pair *pair)
{
    assert_int_equal(fegetround(), FE_TONEAREST);
    fesetround(FE_UPWARD);
    turn(pair, &pair->other, &pair->main);
    assert_int_equal(fegetround(), FE_UPWARD);
    assert_true(rounds_up());
}

/* The control words belong to a context. */
static void test_rounding(void **state)
{
    struct pair pair;

    (void)state;
    pair_open(&pair, rounding_body);
    turn(&pair, &pair.main, &pair.other);
    assert_int_equal(fegetround(), FE_TONEAREST);
    assert_false(rounds_up());
    fesetround(FE_DOWNWARD);
    turn(&pair, &pair.main, &pair.other);
    assert_int_equal(fegetround(), FE_DOWNWARD);
    assert_false(rounds_up());
    fesetround(FE_TONEAREST);
    pair_close(&pair);
}
#endif

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registers),
        cmocka_unit_test(test_alignment),
#ifdef __x86_64__
        cmocka_unit_test(test_rounding),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
