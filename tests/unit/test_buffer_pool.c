/* Buffers: last in first out, as many kept as the limit says, none usable once returned. */
#include <setjmp.h>
#include <signal.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "buffer_pool.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#endif

#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#endif

static void test_lend_and_return(void **state)
{
    struct buffer_pool pool;
    char *buffer;

    (void)state;
    buffer_pool_init(&pool, 4);
    assert_int_equal(pool.lent, 0);
    buffer = buffer_pool_lend(&pool);
    assert_non_null(buffer);
    assert_int_equal((uintptr_t)buffer % alignof(max_align_t), 0);
    memset(buffer, 0xa5, BUFFER_SIZE);
    assert_int_equal(pool.lent, 1);
    buffer_pool_return(&pool, buffer);
    assert_int_equal(pool.lent, 0);
    assert_int_equal(pool.free_count, 1);
    buffer_pool_destroy(&pool);
    assert_int_equal(pool.free_count, 0);
}

static void test_last_in_first_out(void **state)
{
    struct buffer_pool pool;
    void *buffers[3];

    (void)state;
    buffer_pool_init(&pool, 3);
    for (int i = 0; i < 3; i++) {
        buffers[i] = buffer_pool_lend(&pool);
    }
    for (int i = 0; i < 3; i++) {
        buffer_pool_return(&pool, buffers[i]);
    }
    for (int i = 2; i >= 0; i--) {
        assert_ptr_equal(buffer_pool_lend(&pool), buffers[i]);
    }
    for (int i = 0; i < 3; i++) {
        buffer_pool_return(&pool, buffers[i]);
    }
    buffer_pool_destroy(&pool);
}

/* What is returned above the limit is freed (a leak checker sees it if it is not). */
static void test_limit(void **state)
{
    static const unsigned limits[] = { 0, 1, 2, 5 };

    (void)state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct buffer_pool pool;
        void *buffers[4];

        buffer_pool_init(&pool, limits[i]);
        for (int j = 0; j < 4; j++) {
            buffers[j] = buffer_pool_lend(&pool);
        }
        assert_int_equal(pool.lent, 4);
        for (int j = 0; j < 4; j++) {
            buffer_pool_return(&pool, buffers[j]);
        }
        assert_int_equal(pool.lent, 0);
        assert_int_equal(pool.free_count, limits[i] < 4 ? limits[i] : 4);
        buffer_pool_destroy(&pool);
    }
}

static void test_return_null(void **state)
{
    struct buffer_pool pool;

    (void)state;
    buffer_pool_init(&pool, 1);
    buffer_pool_return(&pool, NULL);
    assert_int_equal(pool.lent, 0);
    assert_int_equal(pool.free_count, 0);
    buffer_pool_destroy(&pool);
}

#ifdef WITH_ASAN
static void test_returned_is_poisoned(void **state)
{
    struct buffer_pool pool;
    char *buffer;

    (void)state;
    buffer_pool_init(&pool, 1);
    buffer = buffer_pool_lend(&pool);
    assert_null(__asan_region_is_poisoned(buffer, BUFFER_SIZE));
    buffer_pool_return(&pool, buffer);
    assert_true(__asan_address_is_poisoned(buffer));
    assert_true(__asan_address_is_poisoned(buffer + BUFFER_SIZE - 1));
    assert_ptr_equal(buffer_pool_lend(&pool), buffer);
    assert_null(__asan_region_is_poisoned(buffer, BUFFER_SIZE));
    buffer_pool_return(&pool, buffer);
    buffer_pool_destroy(&pool);
}
#endif

#ifndef NDEBUG
static void test_destroy_while_lent(void **state)
{
    pid_t child = fork();
    int status;

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        struct buffer_pool pool;

        signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO); /* the assertion's text is expected */
        buffer_pool_init(&pool, 1);
        if (buffer_pool_lend(&pool) == NULL) {
            _exit(2);
        }
        buffer_pool_destroy(&pool);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lend_and_return),
        cmocka_unit_test(test_last_in_first_out),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_return_null),
#ifdef WITH_ASAN
        cmocka_unit_test(test_returned_is_poisoned),
#endif
#ifndef NDEBUG
        cmocka_unit_test(test_destroy_while_lent),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
