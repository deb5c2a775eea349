/* Work runs when told, and is destroyed once, by whoever lets go last. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "work.h"

struct counted {
    struct work base;
    int runs;
    atomic_int destroyed;
};

static void count_run(struct work *work)
{
    ((struct counted *)work)->runs++;
}

static void count_destroy(struct work *work)
{
    atomic_fetch_add(&((struct counted *)work)->destroyed, 1);
}

static void test_life(void **state)
{
    struct counted work = { .runs = 0 };

    (void)state;
    work_init(&work.base, count_run, count_destroy);
    assert_int_equal(work.runs, 0);
    work_run(&work.base);
    assert_int_equal(work.runs, 1);
    assert_ptr_equal(work_get(&work.base), &work.base);
    work_put(&work.base);
    assert_int_equal(work.destroyed, 0);
    work_put(&work.base);
    assert_int_equal(work.destroyed, 1);
    assert_int_equal(work.runs, 1);
}

static void test_put_null(void **state)
{
    (void)state;
    work_put(NULL);
}

enum { THREADS = 4, ROUNDS = 2000 };

static void *get_and_put(void *argument)
{
    struct work *work = argument;

    for (int i = 0; i < ROUNDS; i++) {
        work_put(work_get(work));
    }
    work_put(work);
    return NULL;
}

/* Each thread brings a reference of its own and drops it at its end. */
static void test_threads(void **state)
{
    struct counted work = { .runs = 0 };
    pthread_t threads[THREADS];

    (void)state;
    work_init(&work.base, count_run, count_destroy);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(
            pthread_create(&threads[i], NULL, get_and_put, work_get(&work.base)), 0);
    }
    work_put(&work.base);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(work.destroyed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),
        cmocka_unit_test(test_put_null),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
