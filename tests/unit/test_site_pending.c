/* Unit tests of site_find.c: file work that another thread does, and views of several
 * threads on one cache. */
#include "site_driver.h"

#include <pthread.h>

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

/* A view that must not sleep, on a root of which nothing is known without sleeping. */
static struct site_view *open_sleepless(struct site_fixture *fixture)
{
    struct site_view *view = site_view_open(fixture->site, SITE_PRIVATE_CACHE, false);

    assert_non_null(view);
    view->store->root.current->way = FILE_WALK;
    return view;
}

static void *run_work(void *work)
{
    work_run(work);
    return NULL;
}

static struct work *handle_pending(struct site_fixture *fixture, struct site_view *view,
                                   const char *target)
{
    struct response response;
    struct work *work = NULL;

    make_request(&fixture->request, METHOD_GET, target, "");
    assert_int_equal(
        site_handle(view, &fixture->request, &work, fixture->now_ms, &response),
        SITE_PENDING);
    assert_non_null(work);
    return work;
}

static struct answer handle_again(struct site_fixture *fixture, struct site_view *view,
                                  struct work *work)
{
    struct response response;

    assert_int_equal(
        site_handle(view, &fixture->request, &work, fixture->now_ms, &response),
        SITE_READY);
    assert_null(work);
    return collect(&fixture->request, &response);
}

static void test_pending(void **state)
{
    struct site_fixture *fixture = *state;
    struct site_view *view = open_sleepless(fixture);
    static const struct {
        const char *target;
        unsigned status;
        size_t len;
    } cases[] = { { "/a.txt", 200, 5 },
                  { "/dir/", 200, 13 },
                  { "/large", 200, FILE_MEMORY_MAX + 1 },
                  { "/missing", 404, 0 },
                  { "/dir", 301, 0 } };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct work *work = handle_pending(fixture, view, cases[i].target);
        struct answer answer;
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, run_work, work), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        answer = handle_again(fixture, view, work);
        assert_int_equal(answer.status, cases[i].status);
        if (cases[i].len > 0) {
            assert_int_equal(answer.len, cases[i].len);
        }
        answer_free(&answer);
        /* What was found is kept, so the next request needs no work. */
        answer = ask_view(fixture, view, METHOD_HEAD, cases[i].target, "");
        assert_int_equal(answer.status, cases[i].status);
        answer_free(&answer);
    }
    site_view_close(view);
}

static void test_pending_check_of_what_is_kept(void **state)
{
    struct site_fixture *fixture = *state;
    struct site_view *view = open_sleepless(fixture);
    struct answer answer = ask_view(fixture, view, METHOD_GET, "/a.txt", "");
    struct work *work;

    answer_free(&answer);
    fixture->now_ms += 1000;
    work = handle_pending(fixture, view, "/a.txt");
    work_run(work);
    answer = handle_again(fixture, view, work);
    assert_string_equal(answer.body, "first");
    answer_free(&answer);
    /* Evicted between the question and its answer: asked again, and answered. */
    fixture->now_ms += 1000;
    work = handle_pending(fixture, view, "/a.txt");
    work_run(work);
    file_cache_refuse(view->store->cache, SLICE("/a.txt"), 404,
                      (struct file_check){ 0, 0 });
    while (work != NULL) {
        struct response response;

        if (site_handle(view, &fixture->request, &work, fixture->now_ms, &response) ==
            SITE_PENDING) {
            work_run(work);
            continue;
        }
        answer = collect(&fixture->request, &response);
    }
    assert_string_equal(answer.body, "first");
    answer_free(&answer);
    site_view_close(view);
}

/* The connection may end first: whoever lets go last frees all, the file included. */
static void test_pending_abandoned(void **state)
{
    struct site_fixture *fixture = *state;
    struct site_view *view = open_sleepless(fixture);
    unsigned before = tree_open_descriptors();
    struct work *work = handle_pending(fixture, view, "/large");
    struct work *runner = work_get(work);

    work_put(work);
    work_run(runner);
    work_put(runner);
    assert_int_equal(tree_open_descriptors(), before);
    site_view_close(view);
}

enum { WARM_TRIES = 1000 };

/* Any rename on the machine may make the kernel answer "only by sleeping" once. */
static bool looks_without_sleeping(const struct file_root *root)
{
    int error = -EAGAIN;

    for (unsigned i = 0; error == -EAGAIN && i < WARM_TRIES; i++) {
        struct stat st;

        error = file_open_stat(root, "large", false, &st);
    }
    return error == 0;
}

/* One request to a view that knows nothing yet. True if no work was needed. Work that was
 * needed is done: it may be what makes the next request find all in memory, be it only the
 * time of last access of a symbolic link. */
static bool answers_at_once(struct site_fixture *fixture, const char *target)
{
    struct site_view *view = site_view_open(fixture->site, SITE_PRIVATE_CACHE, false);
    struct response response;
    struct work *work = NULL;
    enum site_result result;

    make_request(&fixture->request, METHOD_HEAD, target, "");
    result = site_handle(view, &fixture->request, &work, fixture->now_ms, &response);
    if (result == SITE_READY) {
        assert_int_equal(response.status, 200);
        response.release(response.owner);
    } else {
        work_run(work);
    }
    work_put(work);
    site_view_close(view);
    return result == SITE_READY;
}

/* What is in the kernel's memory needs no other thread. */
static void test_warm_files_are_answered_at_once(void **state)
{
    struct site_fixture *fixture = *state;
    bool at_once = false;

    assert_int_equal(status_of(fixture, METHOD_HEAD, "/large", ""), 200);
    if (!looks_without_sleeping(fixture->site->root)) {
        /* A kernel before 5.12: then all of it is work. */
        assert_false(answers_at_once(fixture, "/large"));
        return;
    }
    for (unsigned i = 0; !at_once && i < WARM_TRIES; i++) {
        at_once = answers_at_once(fixture, "/large");
    }
    assert_true(at_once);
}

/* ---- several threads */

enum { THREADS = 4, REQUESTS = 400 };

struct reader {
    struct site_fixture *fixture;
    struct request request;
    unsigned wrong;
};

/* Each version is one letter repeated, of a length of its own; the reader sees one whole
 * version, whose tag says the same length. */
static bool is_one_version(const struct response *response)
{
    const struct span *span = &response->body[0];

    if (response->status != 200 || response->body_count != 1 ||
        (int64_t)span->length != response->content_length) {
        return false;
    }
    for (size_t i = 0; i < span->length; i++) {
        if (span->base[i] != span->base[0]) {
            return false;
        }
    }
    return span->length == (size_t)(span->base[0] - 'a' + 1) * 100;
}

static void *read_versions(void *argument)
{
    struct reader *reader = argument;
    struct site_view *view =
        site_view_open(reader->fixture->site, SITE_SHARED_CACHE, true);

    make_request(&reader->request, METHOD_GET, "/changing", "");
    for (unsigned i = 0; i < REQUESTS; i++) {
        struct response response;
        struct work *work = NULL;

        (void)site_handle(view, &reader->request, &work, clock_now_ms(), &response);
        reader->wrong += !is_one_version(&response);
        if (response.release != NULL) {
            response.release(response.owner);
        }
    }
    site_view_close(view);
    return NULL;
}

static void write_version(const struct tree *tree, char letter)
{
    char bytes[2600];
    size_t len = (size_t)(letter - 'a' + 1) * 100;

    memset(bytes, letter, len);
    tree_write(tree, "new", bytes, len);
    tree_rename(tree, "new", "root/changing");
}

static void test_shared_by_threads_while_files_change(void **state)
{
    struct site_fixture *fixture = *state;
    struct reader *readers = calloc(THREADS, sizeof *readers);
    pthread_t threads[THREADS];

    write_version(&fixture->tree, 'a');
    for (unsigned i = 0; i < THREADS; i++) {
        readers[i].fixture = fixture;
        assert_int_equal(pthread_create(&threads[i], NULL, read_versions, &readers[i]),
                         0);
    }
    for (unsigned i = 0; i < 200; i++) {
        write_version(&fixture->tree, (char)('a' + i % 26));
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(readers[i].wrong, 0);
    }
    free(readers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pending, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pending_check_of_what_is_kept, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_pending_abandoned, setup, teardown),
        cmocka_unit_test_setup_teardown(test_warm_files_are_answered_at_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_shared_by_threads_while_files_change,
                                        setup_each_request, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
