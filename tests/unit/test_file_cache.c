/* Unit tests of file_cache.c. */
#include "tree.h"

#include <pthread.h>

#include "file_cache.h"

static const char date[] = "Sun, 06 Nov 1994 08:49:37 GMT";

enum { AGE_MS = 1000, MIB = 1024 * 1024 };

static const struct file_cache_limits ample = { .bytes = 64 * MIB, .descriptors = 8 };

static struct file_block *block_of_second(size_t size, unsigned mark, int fd,
                                          enum file_sharing sharing, int64_t second)
{
    struct file_fields fields = { .len = 6, .text = "A: 1\r\n" };
    struct file_identity identity = { .ino = mark, .size = (int64_t)size, .mtime = 100 };
    char *content = fd < 0 && size > 0 ? calloc(1, size) : NULL;
    struct file_version *version =
        file_version_new(sharing, &identity, content, fd, "text/plain");
    struct file_block *block = file_block_new(version, NULL, &fields, second, date);

    file_version_put(version);
    return block;
}

static struct file_block *block_of(size_t size, unsigned mark)
{
    return block_of_second(size, mark, -1, FILE_PRIVATE, 1000);
}

static struct file_block *descriptor_block(unsigned mark)
{
    return block_of_second(MIB, mark, open("/dev/null", O_RDONLY | O_CLOEXEC),
                           FILE_PRIVATE, 1000);
}

static struct slice key_of(unsigned number)
{
    static char texts[4][32];
    static unsigned next;
    char *text = texts[next++ % 4];

    (void)snprintf(text, sizeof texts[0], "/file-%u", number);
    return slice_of(text);
}

static struct file_check at(uint64_t now_ms)
{
    return (struct file_check){ .now_ms = now_ms };
}

/* Stores a block and lets go of it. */
static void store(struct file_cache *cache, struct slice key, struct file_block *block,
                  uint64_t now_ms)
{
    file_cache_store(cache, key, block, at(now_ms));
    file_block_put(block);
}

/* The mark of the block that is fresh, 0 for a miss; the reference is given back. */
static unsigned mark_of(struct file_cache *cache, struct slice key, uint64_t now_ms)
{
    struct file_cache_hit hit;
    unsigned mark = 0;

    if (file_cache_find(cache, key, at(now_ms), AGE_MS, &hit) == FILE_CACHE_FRESH &&
        hit.block != NULL) {
        mark = (unsigned)hit.block->version->identity.ino;
    }
    file_block_put(hit.block);
    return mark;
}

static void test_find_and_replace(void **state)
{
    struct file_cache *cache = file_cache_open(FILE_PRIVATE, &ample);
    struct file_cache_hit hit;

    (void)state;
    assert_int_equal(mark_of(cache, SLICE("/a"), 0), 0);
    store(cache, SLICE("/a"), block_of(10, 1), 0);
    store(cache, SLICE("/b"), block_of(10, 2), 0);
    assert_int_equal(mark_of(cache, SLICE("/a"), 0), 1);
    assert_int_equal(mark_of(cache, SLICE("/b"), 0), 2);
    assert_int_equal(mark_of(cache, SLICE("/a "), 0), 0);
    assert_int_equal(mark_of(cache, SLICE("/"), 0), 0);
    store(cache, SLICE("/a"), block_of(10, 3), 0);
    assert_int_equal(mark_of(cache, SLICE("/a"), 0), 3);
    assert_int_equal(file_cache_use(cache).blocks, 2);
    file_cache_refuse(cache, SLICE("/a"), 404, at(0));
    assert_int_equal(file_cache_find(cache, SLICE("/a"), at(0), AGE_MS, &hit),
                     FILE_CACHE_FRESH);
    assert_null(hit.block);
    assert_int_equal(hit.refusal, 404);
    assert_int_equal(file_cache_use(cache).blocks, 1);
    assert_int_equal(file_cache_use(cache).refusals, 1);
    store(cache, SLICE("/a"), block_of(10, 4), 0);
    assert_int_equal(file_cache_use(cache).refusals, 0);
    file_cache_close(cache);
    file_cache_close(NULL);
}

static void test_freshness(void **state)
{
    static const struct {
        int line;
        uint64_t now_ms, generation, max_age_ms;
        enum file_cache_result block, refusal;
    } cases[] = {
        { __LINE__, 5000, 7, 1000, FILE_CACHE_FRESH, FILE_CACHE_FRESH },
        { __LINE__, 5999, 7, 1000, FILE_CACHE_FRESH, FILE_CACHE_FRESH },
        { __LINE__, 6000, 7, 1000, FILE_CACHE_STALE, FILE_CACHE_MISS },
        { __LINE__, 5000, 8, 1000, FILE_CACHE_STALE, FILE_CACHE_MISS },
        { __LINE__, 5000, 7, 0, FILE_CACHE_STALE, FILE_CACHE_MISS },
        { __LINE__, 4990, 7, 1000, FILE_CACHE_FRESH, FILE_CACHE_FRESH },
        { __LINE__, 4990, 7, 0, FILE_CACHE_STALE, FILE_CACHE_MISS },
        /* A refusal is kept for a second at most. */
        { __LINE__, 5999, 7, 60000, FILE_CACHE_FRESH, FILE_CACHE_FRESH },
        { __LINE__, 6000, 7, 60000, FILE_CACHE_FRESH, FILE_CACHE_MISS },
        { __LINE__, 5100, 7, 100, FILE_CACHE_STALE, FILE_CACHE_MISS },
    };
    struct file_cache *cache = file_cache_open(FILE_PRIVATE, &ample);
    struct file_check stored = { .now_ms = 5000, .generation = 7 };
    struct file_block *block = block_of(10, 1);

    (void)state;
    file_cache_store(cache, SLICE("/block"), block, stored);
    file_block_put(block);
    file_cache_refuse(cache, SLICE("/refusal"), 403, stored);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct file_check check = { cases[i].now_ms, cases[i].generation };
        struct file_cache_hit hit;

        CHECK_CASE(cases[i].line, "/block",
                   file_cache_find(cache, SLICE("/block"), check, cases[i].max_age_ms,
                                   &hit) == cases[i].block);
        CHECK_CASE(cases[i].line, "/block", hit.block != NULL);
        file_block_put(hit.block);
        CHECK_CASE(cases[i].line, "/refusal",
                   file_cache_find(cache, SLICE("/refusal"), check, cases[i].max_age_ms,
                                   &hit) == cases[i].refusal);
        CHECK_CASE(cases[i].line, "/refusal", hit.block == NULL);
    }
    file_cache_close(cache);
}

static void test_confirm(void **state)
{
    struct file_cache *cache = file_cache_open(FILE_PRIVATE, &ample);
    struct file_identity same = { .ino = 1, .size = 10, .mtime = 100 };
    struct file_identity other = { .ino = 2, .size = 10, .mtime = 100 };
    struct file_block *block;

    (void)state;
    store(cache, SLICE("/a"), block_of(10, 1), 0);
    assert_int_equal(mark_of(cache, SLICE("/a"), AGE_MS), 0);
    assert_null(file_cache_confirm(cache, SLICE("/a"), &other, at(AGE_MS)));
    assert_null(file_cache_confirm(cache, SLICE("/b"), &same, at(AGE_MS)));
    assert_int_equal(mark_of(cache, SLICE("/a"), AGE_MS), 0);
    block = file_cache_confirm(cache, SLICE("/a"), &same, at(AGE_MS));
    assert_non_null(block);
    file_block_put(block);
    assert_int_equal(mark_of(cache, SLICE("/a"), AGE_MS), 1);
    file_cache_refuse(cache, SLICE("/a"), 404, at(AGE_MS));
    assert_null(file_cache_confirm(cache, SLICE("/a"), &same, at(AGE_MS)));
    file_cache_close(cache);
}

static void test_renew_leaves_pins_alone(void **state)
{
    struct file_cache *cache = file_cache_open(FILE_PRIVATE, &ample);
    struct file_block *old = block_of(100, 1);
    struct file_block *new = block_of(100, 1);
    struct file_block *late = block_of(100, 1);
    struct file_cache_hit hit;
    uint64_t bytes;

    (void)state;
    file_cache_store(cache, SLICE("/a"), old, at(0));
    bytes = file_cache_use(cache).bytes;
    file_cache_renew(cache, SLICE("/a"), old, new);
    assert_int_equal(file_cache_use(cache).bytes, bytes);
    assert_int_equal(atomic_load(&old->count.references), 1);
    /* Another thread made one too, out of the same old block: it comes too late. */
    file_cache_renew(cache, SLICE("/a"), old, late);
    assert_int_equal(file_cache_find(cache, SLICE("/a"), at(0), AGE_MS, &hit),
                     FILE_CACHE_FRESH);
    assert_ptr_equal(hit.block, new);
    file_block_put(hit.block);
    file_cache_renew(cache, SLICE("/b"), old, late);
    assert_int_equal(file_cache_use(cache).blocks, 1);
    /* The sender's pin outlives the cache. */
    file_cache_close(cache);
    assert_int_equal(old->body.len, 100);
    assert_int_equal(new->body.base[99], 0);
    file_block_put(old);
    file_block_put(new);
    file_block_put(late);
}

static void test_forget(void **state)
{
    struct file_cache *cache = file_cache_open(FILE_PRIVATE, &ample);
    struct file_cache_hit hit;

    (void)state;
    file_cache_forget(cache, SLICE("/a"));
    store(cache, SLICE("/a"), block_of(10, 1), 0);
    store(cache, SLICE("/b"), block_of(10, 2), 0);
    file_cache_refuse(cache, SLICE("/c"), 404, at(0));
    file_cache_forget(cache, SLICE("/a"));
    file_cache_forget(cache, SLICE("/c"));
    assert_int_equal(mark_of(cache, SLICE("/a"), 0), 0);
    assert_int_equal(mark_of(cache, SLICE("/b"), 0), 2);
    assert_int_equal(file_cache_find(cache, SLICE("/c"), at(0), AGE_MS, &hit),
                     FILE_CACHE_MISS);
    assert_int_equal(file_cache_use(cache).blocks, 1);
    assert_int_equal(file_cache_use(cache).refusals, 0);
    file_cache_close(cache);
}

static void test_least_recently_used_leave(void **state)
{
    struct file_cache_limits limits = { .bytes = 100 * 1024, .descriptors = 8 };
    struct file_cache *cache = file_cache_open(FILE_PRIVATE, &limits);

    (void)state;
    for (unsigned i = 1; i <= 9; i++) {
        store(cache, key_of(i), block_of(10 * 1024, i), i);
        assert_true(file_cache_use(cache).bytes <= limits.bytes);
    }
    assert_int_equal(file_cache_use(cache).blocks, 9);
    /* The first was used again, so the second leaves before it. */
    assert_int_equal(mark_of(cache, key_of(1), 10), 1);
    store(cache, key_of(10), block_of(20 * 1024, 10), 11);
    assert_true(file_cache_use(cache).bytes <= limits.bytes);
    assert_int_equal(mark_of(cache, key_of(1), 12), 1);
    assert_int_equal(mark_of(cache, key_of(2), 12), 0);
    assert_int_equal(mark_of(cache, key_of(9), 12), 9);
    assert_int_equal(mark_of(cache, key_of(10), 12), 10);
    /* What is larger than all of it is not kept, nor is what it replaces. */
    store(cache, key_of(9), block_of(200 * 1024, 11), 13);
    assert_int_equal(mark_of(cache, key_of(9), 13), 0);
    assert_int_equal(mark_of(cache, key_of(10), 13), 10);
    file_cache_close(cache);
}

static void test_nothing_is_kept_in_no_bytes(void **state)
{
    struct file_cache_limits limits = { .bytes = 0, .descriptors = 8 };
    struct file_cache *cache = file_cache_open(FILE_PRIVATE, &limits);

    (void)state;
    store(cache, SLICE("/a"), block_of(1, 1), 0);
    store(cache, SLICE("/b"), descriptor_block(2), 0);
    assert_int_equal(file_cache_use(cache).blocks, 0);
    assert_int_equal(file_cache_use(cache).bytes, 0);
    file_cache_close(cache);
}

static void test_long_keys_are_not_kept(void **state)
{
    struct file_cache *cache = file_cache_open(FILE_PRIVATE, &ample);
    char key[FILE_CACHE_KEY_MAX + 1];

    (void)state;
    memset(key, 'k', sizeof key);
    store(cache, (struct slice){ key, sizeof key }, block_of(1, 1), 0);
    file_cache_refuse(cache, (struct slice){ key, sizeof key }, 404, at(0));
    assert_int_equal(file_cache_use(cache).blocks + file_cache_use(cache).refusals, 0);
    store(cache, (struct slice){ key, sizeof key - 1 }, block_of(1, 2), 0);
    assert_int_equal(mark_of(cache, (struct slice){ key, sizeof key - 1 }, 0), 2);
    file_cache_close(cache);
}

static void test_refusals_push_out_no_content(void **state)
{
    struct file_cache_limits limits = { .bytes = 64 * 1024, .descriptors = 8 };
    struct file_cache *cache = file_cache_open(FILE_PRIVATE, &limits);
    struct file_cache_hit hit;

    (void)state;
    store(cache, SLICE("/a"), block_of(10 * 1024, 1), 0);
    for (unsigned i = 0; i < 10 * FILE_CACHE_REFUSALS_MAX; i++) {
        file_cache_refuse(cache, key_of(i), 404, at(1));
        assert_true(file_cache_use(cache).refusals <= FILE_CACHE_REFUSALS_MAX);
    }
    assert_int_equal(file_cache_use(cache).refusals, FILE_CACHE_REFUSALS_MAX);
    assert_int_equal(mark_of(cache, SLICE("/a"), 1), 1);
    /* The newest are the ones kept. */
    assert_int_equal(file_cache_find(cache, key_of(10 * FILE_CACHE_REFUSALS_MAX - 1),
                                     at(1), AGE_MS, &hit),
                     FILE_CACHE_FRESH);
    assert_int_equal(file_cache_find(cache, key_of(0), at(1), AGE_MS, &hit),
                     FILE_CACHE_MISS);
    file_cache_close(cache);
}

static void test_descriptors_are_bounded(void **state)
{
    unsigned before = tree_open_descriptors();
    struct file_cache *cache = file_cache_open(FILE_PRIVATE, &ample);

    (void)state;
    for (unsigned i = 1; i <= 20; i++) {
        store(cache, key_of(i), descriptor_block(i), i);
    }
    assert_int_equal(file_cache_use(cache).descriptors, ample.descriptors);
    assert_int_equal(tree_open_descriptors(), before + ample.descriptors);
    assert_int_equal(mark_of(cache, key_of(20), 20), 20);
    assert_int_equal(mark_of(cache, key_of(12), 20), 0);
    store(cache, SLICE("/small"), block_of(10, 1), 20);
    assert_true(file_cache_drop_descriptors(cache));
    assert_int_equal(tree_open_descriptors(), before);
    assert_false(file_cache_drop_descriptors(cache));
    assert_int_equal(mark_of(cache, SLICE("/small"), 20), 1);
    file_cache_close(cache);
}

static void test_idle_entries_are_let_go(void **state)
{
    struct file_cache *cache = file_cache_open(FILE_PRIVATE, &ample);

    (void)state;
    for (unsigned i = 1; i <= 100; i++) {
        store(cache, key_of(i), block_of(10, i), 1000);
    }
    store(cache, SLICE("/large"), descriptor_block(1), 1000);
    file_cache_trim(cache, 1000 + FILE_CACHE_IDLE_MS);
    assert_int_equal(file_cache_use(cache).blocks, 101);
    (void)mark_of(cache, key_of(50), 2000);
    file_cache_trim(cache, 1001 + FILE_CACHE_IDLE_MS);
    assert_int_equal(file_cache_use(cache).descriptors, 0);
    assert_in_range(file_cache_use(cache).blocks, 50, 99);
    for (unsigned i = 0; i < 100; i++) {
        file_cache_trim(cache, 1001 + FILE_CACHE_IDLE_MS);
    }
    assert_int_equal(file_cache_use(cache).blocks, 1);
    assert_int_equal(mark_of(cache, key_of(50), 999), 50);
    file_cache_close(cache);
}

/* Against a plain model: an array of what each key should have. */
static void test_random_walk(void **state)
{
    enum { KEYS = 300, STEPS = 20000 };
    struct file_cache *cache = file_cache_open(FILE_PRIVATE, &ample);
    unsigned expected[KEYS] = { 0 };
    uint64_t random = 1;

    (void)state;
    for (unsigned step = 1; step <= STEPS; step++) {
        unsigned number = random_below(&random, KEYS);

        switch (random_below(&random, 4)) {
        case 0:
            store(cache, key_of(number), block_of(random_below(&random, 200), step), 0);
            expected[number] = step;
            break;
        case 1:
            file_cache_refuse(cache, key_of(number), 404, at(0));
            expected[number] = 0;
            break;
        default:
            assert_int_equal(mark_of(cache, key_of(number), 0), expected[number]);
        }
    }
    file_cache_close(cache);
}

enum { THREADS = 4, THREAD_STEPS = 5000 };

static void *use_from_thread(void *argument)
{
    struct file_cache *cache = argument;
    uint64_t random = (uint64_t)(uintptr_t)&random;
    uintptr_t wrong = 0;

    for (unsigned step = 0; step < THREAD_STEPS; step++) {
        unsigned number = random_below(&random, 20);
        char text[32];
        struct file_cache_hit hit;
        struct slice key = { text, (size_t)sprintf(text, "/%u", number) };

        if (file_cache_find(cache, key, at(0), AGE_MS, &hit) == FILE_CACHE_FRESH &&
            hit.block != NULL) {
            struct file_block *renewed =
                block_of_second(1000, number, -1, FILE_SHARED, hit.block->second + 1);

            wrong += hit.block->version->identity.ino != number;
            file_cache_renew(cache, key, hit.block, renewed);
            file_block_put(renewed);
        } else {
            struct file_block *block = block_of_second(1000, number, -1, FILE_SHARED, 1);

            file_cache_store(cache, key, block, at(0));
            file_block_put(block);
        }
        file_block_put(hit.block);
        if (step % 64 == 0) {
            file_cache_refuse(cache, key, 404, at(0));
        }
    }
    return (void *)wrong;
}

static void test_shared_by_threads(void **state)
{
    struct file_cache_limits limits = { .bytes = 20 * 1024, .descriptors = 8 };
    struct file_cache *cache = file_cache_open(FILE_SHARED, &limits);
    pthread_t threads[THREADS];

    (void)state;
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use_from_thread, cache), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *wrong;

        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    assert_true(file_cache_use(cache).bytes <= limits.bytes);
    file_cache_close(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find_and_replace),
        cmocka_unit_test(test_freshness),
        cmocka_unit_test(test_confirm),
        cmocka_unit_test(test_renew_leaves_pins_alone),
        cmocka_unit_test(test_forget),
        cmocka_unit_test(test_least_recently_used_leave),
        cmocka_unit_test(test_nothing_is_kept_in_no_bytes),
        cmocka_unit_test(test_long_keys_are_not_kept),
        cmocka_unit_test(test_refusals_push_out_no_content),
        cmocka_unit_test(test_descriptors_are_bounded),
        cmocka_unit_test(test_idle_entries_are_let_go),
        cmocka_unit_test(test_random_walk),
        cmocka_unit_test(test_shared_by_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
