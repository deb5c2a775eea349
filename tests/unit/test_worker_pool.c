/* The workers that the threads of the threads model share. */
#include "worker_pool.h"

#include "tiny_server.h"
#include "worker.h"

enum { MANY = 200 };

static void the_last_given_back_is_lent_first(void **state)
{
    struct tiny_server tiny;
    struct worker_pool *pool;
    struct worker *one, *two;

    (void)state;
    tiny_server_open(&tiny);
    pool = worker_pool_open(&tiny.server);
    assert_non_null(pool);
    one = worker_pool_lend(pool);
    two = worker_pool_lend(pool);
    assert_non_null(one);
    assert_non_null(two);
    assert_ptr_not_equal(one, two);
    worker_pool_give_back(pool, one);
    worker_pool_give_back(pool, two);
    assert_ptr_equal(worker_pool_lend(pool), two);
    assert_ptr_equal(worker_pool_lend(pool), one);
    worker_pool_give_back(pool, one);
    worker_pool_give_back(pool, two);
    worker_pool_close(pool);
    tiny_server_close(&tiny);
}

/* Some are kept, in the order of a stack, and what is above their number is closed: the leak
 * checker sees what is forgotten. */
static void many_come_back(void **state)
{
    struct tiny_server tiny;
    struct worker_pool *pool;
    struct worker *workers[MANY], *again[MANY];
    int last = 0;

    (void)state;
    tiny_server_open(&tiny);
    pool = worker_pool_open(&tiny.server);
    for (int i = 0; i < MANY; i++) {
        workers[i] = worker_pool_lend(pool);
        assert_non_null(workers[i]);
    }
    for (int i = 0; i < MANY; i++) {
        worker_pool_give_back(pool, workers[i]);
    }
    for (int i = 0; i < MANY; i++) {
        again[i] = worker_pool_lend(pool);
        assert_non_null(again[i]);
    }
    /* Those that came first were kept, and of them the last is lent first. */
    while (workers[last] != again[0]) {
        last++;
        assert_true(last < MANY);
    }
    assert_in_range(last, 10, MANY - 10);
    for (int i = 0; i <= last; i++) {
        assert_ptr_equal(again[i], workers[last - i]);
    }
    for (int i = 0; i < MANY; i++) {
        worker_pool_give_back(pool, again[i]);
    }
    worker_pool_close(pool);
    worker_pool_close(NULL);
    tiny_server_close(&tiny);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_given_back_is_lent_first),
        cmocka_unit_test(many_come_back),
    };

    alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
