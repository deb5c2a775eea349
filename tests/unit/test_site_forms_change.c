/* Unit tests of the site where files have precompressed siblings: what is kept, and how
 * changes are seen. */
#include "site_forms.h"

#include <pthread.h>

#include "clock.h"

/* ---- what is kept */

/* Until no file is so new that a later change could leave its identity as it is. */
static void settle(struct site_fixture *fixture)
{
    static const char *const names[] = { "root/x.js.gz", "root/one.txt.gz" };
    int64_t age_ns = 0;

    while (age_ns < 30 * 1000 * 1000) {
        struct timespec now;

        wait_a_moment();
        age_ns = INT64_MAX;
        assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
        for (unsigned i = 0; i < 2; i++) {
            struct stat st;
            int64_t age;

            assert_int_equal(stat(tree_path(&fixture->tree, names[i]), &st), 0);
            age = (now.tv_sec - st.st_ctim.tv_sec) * INT64_C(1000000000) + now.tv_nsec -
                  st.st_ctim.tv_nsec;
            age_ns = age < age_ns ? age : age_ns;
        }
    }
}

static unsigned blocks(const struct site_fixture *fixture)
{
    return file_cache_use(fixture->view->store->cache).blocks;
}

static void test_hits_need_no_file(void **state)
{
    static const char *const orders[][3] = { { "", GZIP, BROWSER },
                                             { GZIP, "", BROWSER },
                                             { BROWSER, GZIP, "" } };
    struct site_fixture *fixture = *state;

    for (unsigned i = 0; i < 3; i++) {
        struct answer first[3], second[3];

        stop_watching(fixture);
        for (unsigned j = 0; j < 3; j++) {
            first[j] = ask(fixture, METHOD_GET, "/x.js", orders[i][j]);
            assert_int_equal(first[j].status, 200);
            assert_int_equal(blocks(fixture), j + 1);
        }
        tree_rename(&fixture->tree, "root", "moved");
        for (unsigned j = 0; j < 3; j++) {
            second[j] = ask(fixture, METHOD_GET, "/x.js", orders[i][j]);
            assert_string_equal(second[j].body, first[j].body);
            answer_free(&first[j]);
            answer_free(&second[j]);
        }
        assert_int_equal(blocks(fixture), 3);
        tree_rename(&fixture->tree, "moved", "root");
        site_view_close(fixture->view);
        site_close(fixture->site);
        site_fixture_start(fixture);
    }
}

/* What is looked at again and is as it was is not loaded again: the same bytes in memory
 * are sent, whichever form is asked for alone. */
static void test_checks_keep_what_is_unchanged(void **state)
{
    static const char *const lines[] = { "", GZIP, BROWSER };
    struct site_fixture *fixture = *state;

    stop_watching(fixture);
    settle(fixture);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(status_of(fixture, METHOD_GET, "/x.js", lines[i]), 200);
    }
    for (unsigned i = 0; i < 12; i++) {
        const struct file_version *before = NULL;

        for (unsigned j = 0; j < 3; j++) {
            struct response response;
            struct work *work = NULL;

            fixture->now_ms += 1000;
            make_request(&fixture->request, METHOD_HEAD, "/x.js", lines[i / 4]);
            assert_int_equal(site_handle(fixture->view, &fixture->request, &work,
                                         fixture->now_ms, &response),
                             SITE_READY);
            if (j > 0) {
                assert_ptr_equal(((struct file_block *)response.owner)->version, before);
            }
            before = ((struct file_block *)response.owner)->version;
            response.release(response.owner);
        }
        assert_int_equal(blocks(fixture), 3);
    }
}

static void test_without_a_cache(void **state)
{
    struct site_fixture *fixture = *state;

    site_view_close(fixture->view);
    site_close(fixture->site);
    fixture->options.cache_bytes = 0;
    site_fixture_start(fixture);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(gives_form(fixture, "/one.txt", "", NULL, "one"));
        assert_true(gives_form(fixture, "/one.txt", GZIP, "gzip", "packed one"));
    }
}

/* ---- what changes */

static void replace(struct site_fixture *fixture, const char *name, const char *text,
                    int64_t mtime)
{
    tree_text(&fixture->tree, "new", text);
    tree_mtime(&fixture->tree, "new", mtime, 0);
    tree_rename(&fixture->tree, "new", name);
}

static void test_interval(void **state)
{
    struct site_fixture *fixture = *state;

    stop_watching(fixture);
    assert_true(gives_form(fixture, "/one.txt", "", NULL, "one"));
    assert_true(gives_form(fixture, "/one.txt", BROWSER, "gzip", "packed one"));
    replace(fixture, "root/one.txt.gz", "repacked", STAMP);
    replace(fixture, "root/one.txt.br", "better", STAMP);
    fixture->now_ms += 999;
    assert_true(gives_form(fixture, "/one.txt", BROWSER, "gzip", "packed one"));
    fixture->now_ms += 1;
    assert_true(gives_form(fixture, "/one.txt", GZIP, "gzip", "repacked"));
    assert_true(gives_form(fixture, "/one.txt", BROWSER, "br", "better"));
    assert_true(gives_form(fixture, "/one.txt", "", NULL, "one"));
    /* The file is newer now, then a sibling is again. */
    replace(fixture, "root/one.txt", "one, edited", STAMP + 1);
    replace(fixture, "root/one.txt.gz", "packed, edited", STAMP + 1);
    fixture->now_ms += 1000;
    assert_true(gives_form(fixture, "/one.txt", BROWSER, "gzip", "packed, edited"));
    assert_true(gives_form(fixture, "/one.txt", "", NULL, "one, edited"));
    assert_int_equal(unlink(tree_path(&fixture->tree, "root/one.txt.gz")), 0);
    fixture->now_ms += 1000;
    for (unsigned i = 0; i < 2; i++) {
        struct answer answer =
            ask(fixture, METHOD_GET, "/one.txt", i == 0 ? BROWSER : "");

        assert_string_equal(answer.body, "one, edited");
        assert_true(has_field(&answer, "Vary", NULL));
        answer_free(&answer);
    }
    assert_int_equal(unlink(tree_path(&fixture->tree, "root/one.txt")), 0);
    fixture->now_ms += 1000;
    assert_int_equal(status_of(fixture, METHOD_GET, "/one.txt", BROWSER), 404);
}

/* A form that nobody asks for any more does not hold up those that are. */
static void test_only_one_form_is_asked_for(void **state)
{
    struct site_fixture *fixture = *state;

    stop_watching(fixture);
    assert_true(gives_form(fixture, "/one.txt", "", NULL, "one"));
    for (unsigned i = 0; i < 5; i++) {
        char text[16];

        (void)snprintf(text, sizeof text, "packed %u", i);
        replace(fixture, "root/one.txt.gz", text, STAMP + i);
        fixture->now_ms += 1000;
        assert_true(gives_form(fixture, "/one.txt", GZIP, "gzip", text));
        assert_true(gives_form(fixture, "/one.txt", BROWSER, "gzip", text));
        assert_int_equal(blocks(fixture), 2);
    }
    replace(fixture, "root/one.txt.zst", "best", STAMP);
    fixture->now_ms += 1000;
    assert_true(gives_form(fixture, "/one.txt", GZIP, "gzip", "packed 4"));
    assert_true(gives_form(fixture, "/one.txt", BROWSER, "zstd", "best"));
    assert_true(gives_form(fixture, "/one.txt", "", NULL, "one"));
}

static void test_each_request(void **state)
{
    struct site_fixture *fixture = *state;
    uint64_t seed = 9;

    stop_watching(fixture);
    for (unsigned i = 0; i < 300; i++) {
        bool packed = random_below(&seed, 2) == 0;
        bool first = random_below(&seed, 2) == 0;

        if (packed) {
            replace(fixture, "root/one.txt.gz", "packed now", STAMP + i);
        } else {
            (void)unlink(tree_path(&fixture->tree, "root/one.txt.gz"));
        }
        for (unsigned j = 0; j < 2; j++) {
            bool asks = first == (j == 0);
            struct answer answer = ask(fixture, METHOD_GET, "/one.txt", asks ? GZIP : "");

            assert_string_equal(answer.body, asks && packed ? "packed now" : "one");
            assert_true(has_field(&answer, "Vary", packed ? "Accept-Encoding" : NULL));
            answer_free(&answer);
        }
    }
}

static void test_links_that_lead_out_are_never_followed(void **state)
{
    struct site_fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;

    tree_text(tree, "secret", "secret");
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(unlink(tree_path(tree, "root/one.txt.gz")), 0);
        tree_link(tree, "root/one.txt.gz", i == 0 ? "../secret" : "/etc/passwd");
        assert_true(gives(fixture, "/one.txt", "one"));
        {
            struct answer answer = ask(fixture, METHOD_GET, "/one.txt", GZIP);

            assert_string_equal(answer.body, "one");
            answer_free(&answer);
        }
    }
}

static void test_hint(void **state)
{
    struct site_fixture *fixture = *state;
    bool seen = false;

    assert_non_null(fixture->site->watch);
    assert_true(gives_form(fixture, "/one.txt", BROWSER, "gzip", "packed one"));
    replace(fixture, "root/one.txt.br", "better", STAMP);
    for (unsigned i = 0; !seen && i < 10000; i++) {
        seen = gives_form(fixture, "/one.txt", BROWSER, "br", "better");
        wait_a_moment();
    }
    assert_true(seen);
}

/* A second passes: each form gets its new block at its own place. */
static void test_new_second(void **state)
{
    static const char *const lines[] = { "", GZIP, BROWSER };
    struct site_fixture *fixture = *state;

    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 3; i++) {
            struct response response;
            struct work *work = NULL;
            struct file_block *block;

            make_request(&fixture->request, METHOD_GET, "/x.js", lines[i]);
            assert_int_equal(site_handle(fixture->view, &fixture->request, &work,
                                         fixture->now_ms, &response),
                             SITE_READY);
            block = response.owner;
            assert_int_equal(block->second, fixture->view->second);
            block->second -= 10; /* as if it had been made then */
            response.release(block);
            assert_int_equal(blocks(fixture), round == 0 ? i + 1 : 3);
        }
    }
}

/* ---- work on other threads, and one cache for several */

static struct answer finish(struct site_fixture *fixture, struct site_view *view,
                            const char *lines, unsigned *works)
{
    struct response response;
    struct work *work = NULL;

    make_request(&fixture->request, METHOD_GET, "/one.txt", lines);
    while (site_handle(view, &fixture->request, &work, fixture->now_ms, &response) ==
           SITE_PENDING) {
        work_run(work);
        ++*works;
    }
    return collect(&fixture->request, &response);
}

static void test_pending(void **state)
{
    struct site_fixture *fixture = *state;
    struct site_view *view = site_view_open(fixture->site, SITE_PRIVATE_CACHE, false);
    static const struct {
        const char *lines, *text;
        uint64_t later_ms;
        unsigned works;
    } cases[] = { { GZIP, "packed one", 0, 1 },
                  { GZIP, "packed one", 0, 0 },
                  { "", "one", 0, 1 },
                  { "", "one", 0, 0 },
                  { GZIP, "packed one", 1000, 1 },
                  { "", "one", 0, 1 },
                  { GZIP, "packed one", 0, 0 },
                  { "", "one", 0, 0 } };

    assert_non_null(view);
    view->store->root.current->way = FILE_WALK;
    stop_watching(fixture);
    settle(fixture);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned works = 0;
        struct answer answer;

        fixture->now_ms += cases[i].later_ms;
        answer = finish(fixture, view, cases[i].lines, &works);
        assert_string_equal(answer.body, cases[i].text);
        assert_int_equal(works, cases[i].works);
        answer_free(&answer);
    }
    /* Evicted between the question and its answer. */
    {
        struct response response;
        struct work *work = NULL;
        unsigned works = 0;
        struct answer answer;

        fixture->now_ms += 1000;
        make_request(&fixture->request, METHOD_GET, "/one.txt", GZIP);
        assert_int_equal(
            site_handle(view, &fixture->request, &work, fixture->now_ms, &response),
            SITE_PENDING);
        work_run(work);
        file_cache_forget(view->store->cache, SLICE("/one.txt"));
        file_cache_forget(view->store->cache, (struct slice){ "/one.txt\0"
                                                              "3",
                                                              sizeof "/one.txt\0"
                                                                     "3" -
                                                                  1 });
        while (site_handle(view, &fixture->request, &work, fixture->now_ms, &response) ==
               SITE_PENDING) {
            work_run(work);
            works++;
        }
        answer = collect(&fixture->request, &response);
        assert_string_equal(answer.body, "packed one");
        assert_int_equal(works, 1);
        answer_free(&answer);
    }
    site_view_close(view);
}

enum { THREADS = 4, REQUESTS = 500 };

struct reader {
    struct site_fixture *fixture;
    struct request request;
    bool packed;
    unsigned wrong;
};

/* Whatever happens, coding and bytes belong together. */
static void *read_forms(void *argument)
{
    struct reader *reader = argument;
    struct site_view *view =
        site_view_open(reader->fixture->site, SITE_SHARED_CACHE, true);

    make_request(&reader->request, METHOD_GET, "/one.txt", reader->packed ? GZIP : "");
    for (unsigned i = 0; i < REQUESTS; i++) {
        struct response response;
        struct work *work = NULL;
        const struct file_block *block;
        const char *text;

        (void)site_handle(view, &reader->request, &work, clock_now_ms(), &response);
        block = response.owner;
        if (response.status != 200 || response.body_count != 1) {
            reader->wrong++;
        } else {
            text = block->version->coding == CODING_GZIP ? "packed one" : "one";
            reader->wrong += response.body[0].length != strlen(text) ||
                             memcmp(response.body[0].base, text, strlen(text)) != 0 ||
                             (!reader->packed && block->version->coding != 0);
        }
        if (response.release != NULL) {
            response.release(response.owner);
        }
    }
    site_view_close(view);
    return NULL;
}

static void test_shared_by_threads_while_siblings_change(void **state)
{
    struct site_fixture *fixture = *state;
    static struct reader readers[THREADS];
    pthread_t threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        readers[i] = (struct reader){ .fixture = fixture, .packed = i % 2 == 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, read_forms, &readers[i]), 0);
    }
    for (unsigned i = 0; i < 200; i++) {
        tree_rename(&fixture->tree, "root/one.txt.gz", "aside");
        tree_rename(&fixture->tree, "aside", "root/one.txt.gz");
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(readers[i].wrong, 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_EACH(name)                                                                  \
    cmocka_unit_test_setup_teardown(name, setup_each_request, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_hits_need_no_file),
        TEST(test_checks_keep_what_is_unchanged),
        TEST(test_without_a_cache),
        TEST(test_interval),
        TEST(test_only_one_form_is_asked_for),
        TEST_EACH(test_each_request),
        TEST_EACH(test_links_that_lead_out_are_never_followed),
        TEST(test_hint),
        TEST(test_new_second),
        TEST(test_pending),
        TEST_EACH(test_shared_by_threads_while_siblings_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
