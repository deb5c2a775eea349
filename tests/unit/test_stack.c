/* The pool of stacks: last in first out, guarded below, memory above the mark returned,
 * and the census of the deepest use. */
#include "unit.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stack.h"

static void test_last_in_first_out(void **state)
{
    struct stack_pool *pool = stack_pool_open(0);
    struct stack *first = stack_take(pool), *second = stack_take(pool);

    (void)state;
    assert_non_null(first);
    assert_non_null(second);
    assert_ptr_not_equal(first->low, second->low);
    assert_true(first->size >= STACK_BYTES);
    stack_return(pool, first);
    stack_return(pool, second);
    assert_ptr_equal(stack_take(pool), second);
    assert_ptr_equal(stack_take(pool), first);
    stack_return(pool, first);
    stack_return(pool, second);
    stack_pool_close(pool);
}

/* More than one slab; no two overlap, and every byte can be written. */
static void test_many(void **state)
{
    enum { COUNT = 200 };
    struct stack_pool *pool = stack_pool_open(0);
    struct stack *stacks[COUNT];

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        stacks[i] = stack_take(pool);
        assert_non_null(stacks[i]);
        memset(stacks[i]->low, i, stacks[i]->size);
    }
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal((unsigned char)stacks[i]->low[0], i);
        assert_int_equal((unsigned char)stacks[i]->low[stacks[i]->size - 1], i);
        stack_return(pool, stacks[i]);
    }
    stack_pool_close(pool);
}

/* The busiest lines of neighbours, at the top, fall on different sets of the cache. */
static void test_colours(void **state)
{
    enum { COUNT = 16, SETS_BYTES = 4096 };
    struct stack_pool *pool = stack_pool_open(0);
    struct stack *stacks[COUNT];
    size_t places[COUNT];

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        stacks[i] = stack_take(pool);
        assert_true(stacks[i]->colour < stacks[i]->size / 8);
        places[i] = ((uintptr_t)stacks[i]->low + stacks[i]->size - stacks[i]->colour) %
                    SETS_BYTES;
        for (int j = 0; j < i; j++) {
            assert_int_not_equal(places[i], places[j]);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        stack_return(pool, stacks[i]);
    }
    stack_pool_close(pool);
}

static void test_memory_returned(void **state)
{
    enum { COUNT = 200 };
    struct stack_pool *pool = stack_pool_open(0);
    struct stack *stacks[COUNT];
    size_t warm, zeroed = 0;

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        stacks[i] = stack_take(pool);
        stacks[i]->low[stacks[i]->size - 1] = 'x';
    }
    for (int i = 0; i < COUNT; i++) {
        stack_return(pool, stacks[i]);
    }
    warm = stack_pool_warm(pool);
    assert_in_range(warm, 1, COUNT - 1);
    assert_int_equal(warm + stack_pool_cold(pool), COUNT);
    for (int i = 0; i < COUNT; i++) {
        stacks[i] = stack_take(pool);
        /* The warm ones come first, as they were left. */
        assert_int_equal(stacks[i]->low[stacks[i]->size - 1],
                         (size_t)i < warm ? 'x' : '\0');
        zeroed += stacks[i]->low[stacks[i]->size - 1] == '\0';
    }
    assert_int_equal(zeroed, COUNT - warm);
    for (int i = 0; i < COUNT; i++) {
        stack_return(pool, stacks[i]);
    }
    stack_pool_close(pool);
}

/* The signal that a child dies of when it writes there; 0: it lived. */
static int signal_of_write(volatile char *where)
{
    pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0) {
        static const struct rlimit none = { 0 };

        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL);
        *where = 1;
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void check_guard(unsigned flags)
{
    struct stack_pool *pool = stack_pool_open(flags);
    struct stack *first = stack_take(pool), *second = stack_take(pool);

    assert_int_equal(signal_of_write(first->low), 0);
    assert_int_equal(signal_of_write(first->low - 1), SIGSEGV);
    assert_int_equal(signal_of_write(second->low - 1), SIGSEGV);
    assert_int_equal(signal_of_write(second->low - sysconf(_SC_PAGESIZE)), SIGSEGV);
    stack_return(pool, first);
    stack_return(pool, second);
    stack_pool_close(pool);
}

static void test_guard(void **state)
{
    (void)state;
    check_guard(0);
    check_guard(STACK_MPROTECT);
}

static void use_from_top(struct stack *stack, size_t depth)
{
    memset(stack->low + stack->size - depth, 0x11, depth);
}

static void test_census(void **state)
{
    struct stack_pool *pool = stack_pool_open(STACK_CENSUS);
    struct stack *first = stack_take(pool), *second = stack_take(pool);

    (void)state;
    assert_int_equal(stack_pool_deepest(pool), 0);
    use_from_top(first, 1000);
    use_from_top(second, 4096);
    stack_return(pool, first);
    assert_int_equal(stack_pool_deepest(pool), 1000);
    stack_return(pool, second);
    assert_int_equal(stack_pool_deepest(pool), 4096);
    /* Painted anew: what an earlier user left does not count for the next. */
    second = stack_take(pool);
    use_from_top(second, 16);
    stack_return(pool, second);
    assert_int_equal(stack_pool_deepest(pool), 4096);
    second = stack_take(pool);
    use_from_top(second, second->size);
    stack_return(pool, second);
    assert_int_equal(stack_pool_deepest(pool), second->size);
    stack_pool_close(pool);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_in_first_out),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_colours),
        cmocka_unit_test(test_memory_returned),
        cmocka_unit_test(test_guard),
        cmocka_unit_test(test_census),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
