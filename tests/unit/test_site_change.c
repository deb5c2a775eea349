/* Unit tests of site_find.c: what the site keeps, for how long, and how it finds out that
 * a file is another. */
#include "site_driver.h"

#include <sys/resource.h>

#include "clock.h"

static int setup(void **state)
{
    *state = site_deployed(1000);
    return 0;
}

static int setup_each_request(void **state)
{
    *state = site_deployed(0);
    return 0;
}

static int teardown(void **state)
{
    site_undeployed(*state);
    return 0;
}

static void test_interval(void **state)
{
    struct site_fixture *fixture = *state;

    stop_watching(fixture);
    assert_true(gives(fixture, "/a.txt", "first"));
    tree_text(&fixture->tree, "new", "other");
    tree_rename(&fixture->tree, "new", "root/a.txt");
    fixture->now_ms += 999;
    assert_true(gives(fixture, "/a.txt", "first"));
    fixture->now_ms += 1;
    assert_true(gives(fixture, "/a.txt", "other"));
    assert_int_equal(unlink(tree_path(&fixture->tree, "root/a.txt")), 0);
    fixture->now_ms += 999;
    assert_true(gives(fixture, "/a.txt", "other"));
    fixture->now_ms += 1;
    assert_int_equal(status_of(fixture, METHOD_GET, "/a.txt", ""), 404);
    tree_text(&fixture->tree, "root/a.txt", "back");
    fixture->now_ms += 999;
    assert_int_equal(status_of(fixture, METHOD_GET, "/a.txt", ""), 404);
    fixture->now_ms += 1;
    assert_true(gives(fixture, "/a.txt", "back"));
}

/* A hit asks the file system nothing: all of it may go away. */
static void test_hit_needs_no_file(void **state)
{
    struct site_fixture *fixture = *state;

    stop_watching(fixture);
    assert_true(gives(fixture, "/a.txt", "first"));
    assert_true(gives(fixture, "/dir/", "second choice"));
    assert_int_equal(status_of(fixture, METHOD_GET, "/dir", ""), 301);
    assert_int_equal(status_of(fixture, METHOD_GET, "/large", ""), 200);
    tree_rename(&fixture->tree, "root", "moved");
    assert_true(gives(fixture, "/a.txt", "first"));
    assert_true(gives(fixture, "/dir/", "second choice"));
    assert_int_equal(status_of(fixture, METHOD_GET, "/dir", ""), 301);
    assert_int_equal(status_of(fixture, METHOD_GET, "/large", ""), 200);
    tree_rename(&fixture->tree, "moved", "root");
}

static void test_each_request(void **state)
{
    struct site_fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;

    stop_watching(fixture);
    assert_true(gives(fixture, "/a.txt", "first"));
    /* In place, same length, as fast as can be. */
    tree_text(tree, "root/a.txt", "FIRST");
    assert_true(gives(fixture, "/a.txt", "FIRST"));
    for (unsigned i = 0; i < 100; i++) {
        char text[8];

        (void)snprintf(text, sizeof text, "%05u", i);
        tree_text(tree, "root/a.txt", text);
        assert_true(gives(fixture, "/a.txt", text));
        assert_true(gives(fixture, "/a.txt", text));
    }
    /* A better index appears, and goes. */
    assert_true(gives(fixture, "/dir/", "second choice"));
    tree_text(tree, "root/dir/index.html", "first choice");
    assert_true(gives(fixture, "/dir/", "first choice"));
    assert_int_equal(unlink(tree_path(tree, "root/dir/index.html")), 0);
    assert_true(gives(fixture, "/dir/", "second choice"));
    /* A file becomes a directory. */
    assert_int_equal(unlink(tree_path(tree, "root/a.txt")), 0);
    assert_int_equal(status_of(fixture, METHOD_GET, "/a.txt", ""), 404);
    tree_directory(tree, "root/a.txt");
    assert_int_equal(status_of(fixture, METHOD_GET, "/a.txt", ""), 301);
    /* Small becomes large, and large small. */
    tree_bytes(tree, "root/large", 10);
    assert_int_equal(status_of(fixture, METHOD_GET, "/large", ""), 200);
    assert_int_equal(file_cache_use(fixture->view->store->cache).descriptors, 0);
    tree_bytes(tree, "root/large", 3 * FILE_MEMORY_MAX);
    assert_int_equal(status_of(fixture, METHOD_GET, "/large", ""), 200);
    assert_int_equal(file_cache_use(fixture->view->store->cache).descriptors, 1);
}

/* Same size, same mtime: only the change time or the inode tells. */
static void test_preserved_mtime(void **state)
{
    struct site_fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;

    stop_watching(fixture);
    tree_mtime(tree, "root/a.txt", 1000000, 0);
    assert_true(gives(fixture, "/a.txt", "first"));
    tree_text(tree, "new", "other");
    tree_mtime(tree, "new", 1000000, 0);
    tree_rename(tree, "new", "root/a.txt");
    assert_true(gives(fixture, "/a.txt", "other"));
}

static void test_new_tag_with_new_content(void **state)
{
    struct site_fixture *fixture = *state;
    char condition[128];
    struct answer answer = get(fixture, "/a.txt");

    (void)snprintf(condition, sizeof condition, "If-None-Match: %s",
                   field(&answer, "ETag"));
    answer_free(&answer);
    assert_int_equal(status_of(fixture, METHOD_GET, "/a.txt", condition), 304);
    tree_text(&fixture->tree, "new", "FIRST");
    tree_mtime(&fixture->tree, "new", clock_wall_seconds(), 123456789);
    tree_rename(&fixture->tree, "new", "root/a.txt");
    assert_int_equal(status_of(fixture, METHOD_GET, "/a.txt", condition), 200);
}

/* By inotify: long before the interval is over. Time stands still here, and 10 s is far
 * more than a hint may take. */
static void test_hint(void **state)
{
    struct site_fixture *fixture = *state;
    bool seen = false;

    assert_non_null(fixture->site->watch);
    assert_true(gives(fixture, "/a.txt", "first"));
    tree_text(&fixture->tree, "new", "other");
    tree_rename(&fixture->tree, "new", "root/a.txt");
    for (unsigned i = 0; !seen && i < 10000; i++) {
        seen = gives(fixture, "/a.txt", "other");
        wait_a_moment();
    }
    assert_true(seen);
}

static void test_root_swapped(void **state)
{
    struct site_fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;

    stop_watching(fixture);
    tree_directory(tree, "next");
    tree_text(tree, "next/a.txt", "deployed");
    tree_text(tree, "next/b.txt", "new");
    assert_true(gives(fixture, "/a.txt", "first"));
    tree_link(tree, "swap", "next");
    tree_rename(tree, "swap", "current");
    fixture->now_ms += 500;
    assert_int_equal(status_of(fixture, METHOD_GET, "/b.txt", ""), 404);
    fixture->now_ms += 500;
    assert_true(gives(fixture, "/a.txt", "deployed"));
    assert_true(gives(fixture, "/b.txt", "new"));
    assert_int_equal(status_of(fixture, METHOD_GET, "/large", ""), 404);
    /* While the path leads nowhere, the last root is served. */
    assert_int_equal(unlink(tree_path(tree, "current")), 0);
    fixture->now_ms += 1000;
    assert_true(gives(fixture, "/a.txt", "deployed"));
    tree_link(tree, "current", "root");
    fixture->now_ms += 1000;
    assert_true(gives(fixture, "/a.txt", "first"));
}

static void test_link_swapped(void **state)
{
    struct site_fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;

    tree_text(tree, "root/v1", "one");
    tree_text(tree, "root/v2", "two");
    tree_link(tree, "root/latest", "v1");
    assert_true(gives(fixture, "/latest", "one"));
    tree_link(tree, "root/swap", "v2");
    tree_rename(tree, "root/swap", "root/latest");
    assert_true(gives(fixture, "/latest", "two"));
    tree_link(tree, "root/swap", "/etc/passwd");
    tree_rename(tree, "root/swap", "root/latest");
    assert_int_equal(status_of(fixture, METHOD_GET, "/latest", ""), 404);
}

/* The second changes: a new block with the new Date, and the sender's stays as it is. */
static void test_block_swapped_under_a_pin(void **state)
{
    struct site_fixture *fixture = *state;
    struct file_cache *cache = fixture->view->store->cache;
    struct response pinned, next;
    struct work *work = NULL;
    struct file_block *old;
    char copy[1024];

    make_request(&fixture->request, METHOD_GET, "/a.txt", "");
    assert_int_equal(
        site_handle(fixture->view, &fixture->request, &work, fixture->now_ms, &pinned),
        SITE_READY);
    old = pinned.owner;
    assert_true(pinned.ready.len < sizeof copy);
    memcpy(copy, pinned.ready.base, pinned.ready.len);
    old->second -= 10; /* as if it had been made then */
    assert_int_equal(
        site_handle(fixture->view, &fixture->request, &work, fixture->now_ms, &next),
        SITE_READY);
    assert_ptr_not_equal(next.owner, old);
    assert_int_equal(((struct file_block *)next.owner)->second, fixture->view->second);
    assert_memory_equal(next.ready.base + next.ready.len - 5, "first", 5);
    assert_int_equal(next.ready.len, pinned.ready.len);
    assert_memory_equal(pinned.ready.base, copy, pinned.ready.len);
    assert_int_equal(atomic_load(&old->count.references), 1);
    assert_int_equal(file_cache_use(cache).blocks, 1);
    next.release(next.owner);
    pinned.release(pinned.owner);
}

/* Replaced and deleted while it is sent: the answer completes from its own version. */
static void test_pinned_version_outlives_its_file(void **state)
{
    struct site_fixture *fixture = *state;
    struct response response;
    struct work *work = NULL;
    struct answer answer;

    make_request(&fixture->request, METHOD_GET, "/large", "");
    assert_int_equal(
        site_handle(fixture->view, &fixture->request, &work, fixture->now_ms, &response),
        SITE_READY);
    assert_int_equal(unlink(tree_path(&fixture->tree, "root/large")), 0);
    assert_int_equal(status_of(fixture, METHOD_GET, "/large", ""), 404);
    assert_int_equal(file_cache_use(fixture->view->store->cache).descriptors, 0);
    make_request(&fixture->request, METHOD_GET, "/large", "");
    answer = collect(&fixture->request, &response);
    assert_int_equal(answer.len, FILE_MEMORY_MAX + 1);
    answer_free(&answer);
}

static void test_scan_evicts_nothing(void **state)
{
    struct site_fixture *fixture = *state;
    struct file_cache *cache = fixture->view->store->cache;

    stop_watching(fixture);
    assert_true(gives(fixture, "/a.txt", "first"));
    for (unsigned i = 0; i < 3 * FILE_CACHE_REFUSALS_MAX; i++) {
        char target[32];

        (void)snprintf(target, sizeof target, "/scan-%u", i);
        assert_int_equal(status_of(fixture, METHOD_GET, target, ""), 404);
    }
    assert_int_equal(file_cache_use(cache).refusals, FILE_CACHE_REFUSALS_MAX);
    assert_int_equal(file_cache_use(cache).blocks, 1);
}

static void test_without_a_cache(void **state)
{
    struct site_fixture *fixture = *state;

    site_view_close(fixture->view);
    site_close(fixture->site);
    fixture->options.cache_bytes = 0;
    site_fixture_start(fixture);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(gives(fixture, "/a.txt", "first"));
        assert_int_equal(status_of(fixture, METHOD_GET, "/large", ""), 200);
    }
    assert_int_equal(file_cache_use(fixture->view->store->cache).bytes, 0);
}

/* A limit that is used up is no property of a file: 503, not remembered; and what the
 * cache keeps open gives way. */
static void test_descriptors_run_out(void **state)
{
    struct site_fixture *fixture = *state;
    struct rlimit saved, none;
    struct answer answer;
    int lowest;

    assert_int_equal(status_of(fixture, METHOD_GET, "/missing", ""), 404);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
    lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(lowest >= 0);
    none = saved;
    none.rlim_cur = (rlim_t)lowest;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    answer = get(fixture, "/a.txt");
    assert_int_equal(answer.status, 503);
    assert_true(has_field(&answer, "Retry-After", "1"));
    assert_true(has_field(&answer, "Cache-Control", "no-store"));
    answer_free(&answer);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
    assert_int_equal(close(lowest), 0);
    assert_true(gives(fixture, "/a.txt", "first"));
    /* Now the cache holds the one descriptor that is left. */
    assert_int_equal(status_of(fixture, METHOD_GET, "/large", ""), 200);
    tree_bytes(&fixture->tree, "root/other", FILE_MEMORY_MAX + 1);
    none.rlim_cur = (rlim_t)lowest + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(status_of(fixture, METHOD_GET, "/other", ""), 200);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_interval, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hit_needs_no_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_each_request, setup_each_request, teardown),
        cmocka_unit_test_setup_teardown(test_preserved_mtime, setup_each_request,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_new_tag_with_new_content, setup_each_request,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_hint, setup, teardown),
        cmocka_unit_test_setup_teardown(test_root_swapped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_link_swapped, setup_each_request, teardown),
        cmocka_unit_test_setup_teardown(test_block_swapped_under_a_pin, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pinned_version_outlives_its_file,
                                        setup_each_request, teardown),
        cmocka_unit_test_setup_teardown(test_scan_evicts_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_a_cache, setup, teardown),
        cmocka_unit_test_setup_teardown(test_descriptors_run_out, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
