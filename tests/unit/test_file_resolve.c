/* Unit tests of file_resolve.c. */
#include "tree.h"

#include "file_resolve.h"

struct fixture {
    struct tree tree;
    struct file_policy policy;
    struct file_place place;
    struct file_root *root;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    const struct tree *tree = &fixture->tree;

    tree_open(&fixture->tree);
    tree_text(tree, "a.txt", "0123456789");
    tree_text(tree, "empty", "");
    tree_bytes(tree, "most", FILE_MEMORY_MAX);
    tree_bytes(tree, "large", FILE_MEMORY_MAX + 1);
    tree_directory(tree, "dir");
    tree_text(tree, "dir/index.html", "<p>");
    tree_directory(tree, "bare");
    fixture->policy.index = "index.html,index.htm";
    fixture->place = (struct file_place){ .policy = &fixture->policy,
                                          .root_path = fixture->tree.path };
    assert_int_equal(
        file_root_open(&fixture->root, fixture->tree.path, FILE_SYMLINKS_INSIDE), 0);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    file_root_put(fixture->root);
    tree_close(&fixture->tree);
    free(fixture);
    return 0;
}

static struct file_resolution *ask(struct fixture *fixture, const char *path,
                                   bool directory)
{
    struct file_resolution *resolution =
        file_resolution_new(&fixture->place, file_root_get(fixture->root),
                            slice_of("the key"), slice_of(path), directory);

    assert_non_null(resolution);
    return resolution;
}

static struct file_resolution *run(struct fixture *fixture, const char *path,
                                   bool directory)
{
    struct file_resolution *resolution = ask(fixture, path, directory);

    work_run(&resolution->work);
    return resolution;
}

static void test_outcomes(void **state)
{
    static const struct {
        int line;
        const char *path;
        bool directory;
        enum file_outcome outcome;
        int error;
        const char *found; /* path */
        int64_t size;
    } cases[] = {
        { __LINE__, "a.txt", false, FILE_FOUND, 0, "a.txt", 10 },
        { __LINE__, "empty", false, FILE_FOUND, 0, "empty", 0 },
        { __LINE__, "most", false, FILE_FOUND, 0, "most", FILE_MEMORY_MAX },
        { __LINE__, "large", false, FILE_FOUND, 0, "large", FILE_MEMORY_MAX + 1 },
        { __LINE__, "dir", true, FILE_FOUND, 0, "dir/index.html", 3 },
        { __LINE__, "dir/index.html", false, FILE_FOUND, 0, "dir/index.html", 3 },
        { __LINE__, "dir", false, FILE_DIRECTORY, 0, NULL, 0 },
        { __LINE__, "bare", true, FILE_FAILED, -ENOENT, NULL, 0 },
        { __LINE__, "", true, FILE_FAILED, -ENOENT, NULL, 0 },
        { __LINE__, "a.txt", true, FILE_FAILED, -ENOTDIR, NULL, 0 },
        { __LINE__, "a.txt/x", false, FILE_FAILED, -ENOTDIR, NULL, 0 },
        { __LINE__, "missing", false, FILE_FAILED, -ENOENT, NULL, 0 },
        { __LINE__, "missing", true, FILE_FAILED, -ENOENT, NULL, 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct file_resolution *r = run(*state, cases[i].path, cases[i].directory);

        CHECK_CASE(cases[i].line, cases[i].path, r->outcome == cases[i].outcome);
        CHECK_CASE(cases[i].line, cases[i].path, r->error == cases[i].error);
        CHECK_CASE(cases[i].line, cases[i].path,
                   slice_equal(file_resolution_key(r), slice_of("the key")));
        if (cases[i].outcome == FILE_FOUND) {
            CHECK_CASE(cases[i].line, cases[i].path,
                       slice_equal(file_resolution_path(r), slice_of(cases[i].found)));
            CHECK_CASE(cases[i].line, cases[i].path, r->identity.size == cases[i].size);
            CHECK_CASE(cases[i].line, cases[i].path,
                       (r->fd >= 0) == (cases[i].size > FILE_MEMORY_MAX));
            CHECK_CASE(cases[i].line, cases[i].path,
                       (r->content != NULL) ==
                           (cases[i].size > 0 && cases[i].size <= FILE_MEMORY_MAX));
        }
        file_resolution_put(r);
    }
}

static void test_content(void **state)
{
    struct fixture *fixture = *state;
    struct file_resolution *r = run(fixture, "most", false);
    char *content = file_resolution_take_content(r);

    assert_non_null(content);
    assert_null(r->content);
    for (size_t i = 0; i < FILE_MEMORY_MAX; i++) {
        assert_int_equal(content[i], tree_byte(i));
    }
    free(content);
    file_resolution_put(r);
    r = run(fixture, "a.txt", false);
    assert_memory_equal(r->content, "0123456789", 10);
    file_resolution_put(r);
}

static void test_descriptor_is_taken(void **state)
{
    unsigned before = tree_open_descriptors();
    struct file_resolution *r = run(*state, "large", false);
    int fd = file_resolution_take_fd(r);
    char byte;

    assert_true(fd >= 0);
    file_resolution_put(r);
    assert_int_equal(pread(fd, &byte, 1, FILE_MEMORY_MAX), 1);
    assert_int_equal(byte, tree_byte(FILE_MEMORY_MAX));
    assert_int_equal(close(fd), 0);
    file_resolution_put(run(*state, "large", false));
    assert_int_equal(tree_open_descriptors(), before);
}

static void test_index_order(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    struct file_resolution *r;

    tree_directory(tree, "two");
    tree_text(tree, "two/index.htm", "second");
    r = run(fixture, "two", true);
    assert_int_equal(r->outcome, FILE_FOUND);
    assert_true(slice_equal(file_resolution_path(r), slice_of("two/index.htm")));
    file_resolution_put(r);
    tree_text(tree, "two/index.html", "first");
    r = run(fixture, "two", true);
    assert_true(slice_equal(file_resolution_path(r), slice_of("two/index.html")));
    file_resolution_put(r);
    /* At the root. */
    tree_text(tree, "index.html", "root");
    r = run(fixture, "", true);
    assert_true(slice_equal(file_resolution_path(r), slice_of("index.html")));
    file_resolution_put(r);
}

static void test_index_obeys_the_same_rules(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    static const struct {
        int line;
        const char *path;
        int error;
    } cases[] = {
        { __LINE__, "escapes", -EXDEV }, /* no later name stands in for it */
        { __LINE__, "fifo", -EACCES },    { __LINE__, "loops", -ELOOP },
        { __LINE__, "nested", -ENOENT }, /* a directory is no index */
        { __LINE__, "dangles", -ENOENT },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tree_directory(tree, cases[i].path);
    }
    tree_link(tree, "escapes/index.html", "/etc/passwd");
    tree_text(tree, "escapes/index.htm", "other");
    assert_int_equal(mkfifo(tree_path(tree, "fifo/index.html"), 0644), 0);
    tree_link(tree, "loops/index.html", "index.html");
    tree_directory(tree, "nested/index.html");
    tree_link(tree, "dangles/index.html", "nowhere");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct file_resolution *r = run(fixture, cases[i].path, true);

        CHECK_CASE(cases[i].line, cases[i].path, r->outcome == FILE_FAILED);
        CHECK_CASE(cases[i].line, cases[i].path, r->error == cases[i].error);
        file_resolution_put(r);
    }
}

/* What may not be shown is no index either. */
static void test_hidden_index(void **state)
{
    struct fixture *fixture = *state;
    struct file_resolution *r;

    fixture->policy.index = ".index.html";
    tree_text(&fixture->tree, "bare/.index.html", "hidden");
    r = run(fixture, "bare", true);
    assert_int_equal(r->error, -ENOENT);
    file_resolution_put(r);
}

static void test_unchanged(void **state)
{
    struct fixture *fixture = *state;
    struct file_resolution *r = run(fixture, "a.txt", false);
    struct file_identity known = r->identity;

    file_resolution_put(r);
    r = ask(fixture, "a.txt", false);
    r->known_identity = known;
    r->known = &r->known_identity;
    file_resolution_run(r);
    assert_int_equal(r->outcome, FILE_UNCHANGED);
    assert_null(r->content);
    file_resolution_put(r);
    tree_text(&fixture->tree, "a.txt", "more than before");
    r = ask(fixture, "a.txt", false);
    r->known_identity = known;
    r->known = &r->known_identity;
    file_resolution_run(r);
    assert_int_equal(r->outcome, FILE_FOUND);
    assert_int_equal(r->identity.size, 16);
    file_resolution_put(r);
}

/* The kernel's clock may not have moved since the file was written, so that a rewrite of
 * the same length could leave every time as it is. */
static void test_racy(void **state)
{
    struct fixture *fixture = *state;
    struct file_resolution *r;
    bool racy = false;
    bool settled = false;

    for (unsigned tries = 0; !racy && tries < 1000; tries++) {
        tree_text(&fixture->tree, "fresh", "x");
        r = run(fixture, "fresh", false);
        racy = r->racy;
        file_resolution_put(r);
    }
    assert_true(racy);
    for (unsigned tries = 0; !settled && tries < 10000; tries++) {
        wait_a_moment();
        r = run(fixture, "fresh", false);
        settled = !r->racy;
        file_resolution_put(r);
    }
    assert_true(settled);
}

static void test_root_is_renewed(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    struct file_resolution *r;

    tree_directory(tree, "next");
    tree_text(tree, "next/a.txt", "next");
    fixture->place.root_path = tree_path(tree, "next");
    r = run(fixture, "a.txt", false);
    assert_false(r->root_renewed);
    assert_int_equal(r->identity.size, 10);
    file_resolution_put(r);
    r = ask(fixture, "a.txt", false);
    r->renew_root = true;
    file_resolution_run(r);
    assert_true(r->root_renewed);
    assert_ptr_not_equal(r->root, fixture->root);
    assert_int_equal(r->identity.size, 4);
    file_resolution_put(r);
    /* While the path leads nowhere, the old root goes on. */
    fixture->place.root_path = tree_path(tree, "gone");
    r = ask(fixture, "a.txt", false);
    r->renew_root = true;
    file_resolution_run(r);
    assert_true(r->root_renewed);
    assert_ptr_equal(r->root, fixture->root);
    assert_int_equal(r->identity.size, 10);
    file_resolution_put(r);
}

/* Without sleeping it either gives the whole answer, or leaves all as it was. */
static void test_try_then_run(void **state)
{
    struct fixture *fixture = *state;
    struct file_resolution *r;

    fixture->root->way = FILE_WALK; /* which cannot promise not to sleep */
    r = ask(fixture, "dir", true);
    assert_false(file_resolution_try(r));
    file_resolution_run(r);
    assert_int_equal(r->outcome, FILE_FOUND);
    assert_int_equal(r->error, 0);
    assert_memory_equal(r->content, "<p>", 3);
    file_resolution_put(r);
    fixture->root->way = FILE_BENEATH;
    r = ask(fixture, "most", false);
    if (!file_resolution_try(r)) {
        file_resolution_run(r);
    }
    assert_int_equal(r->outcome, FILE_FOUND);
    assert_int_equal(r->content[FILE_MEMORY_MAX - 1], tree_byte(FILE_MEMORY_MAX - 1));
    file_resolution_put(r);
}

static void test_abandoned_after_run(void **state)
{
    unsigned before = tree_open_descriptors();
    struct file_resolution *r = run(*state, "large", false);
    struct work *second = work_get(&r->work);

    file_resolution_put(r);
    work_put(second);
    file_resolution_put(NULL);
    assert_int_equal(tree_open_descriptors(), before);
}

static void test_unreadable(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    struct file_resolution *r;

    assert_int_equal(chmod(tree_path(tree, "a.txt"), 0), 0);
    assert_int_equal(chmod(tree_path(tree, "dir"), 0600), 0);
    tree_drop_rights();
    r = run(fixture, "a.txt", false);
    assert_int_equal(r->error, -EACCES);
    file_resolution_put(r);
    r = run(fixture, "dir", true);
    assert_int_equal(r->error, -EACCES);
    file_resolution_put(r);
    tree_rights_again();
    assert_int_equal(chmod(tree_path(tree, "dir"), 0700), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_outcomes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_content, setup, teardown),
        cmocka_unit_test_setup_teardown(test_descriptor_is_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(test_index_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_index_obeys_the_same_rules, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hidden_index, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unchanged, setup, teardown),
        cmocka_unit_test_setup_teardown(test_racy, setup, teardown),
        cmocka_unit_test_setup_teardown(test_root_is_renewed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_try_then_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_abandoned_after_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unreadable, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
