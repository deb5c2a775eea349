/* Unit tests of file_siblings.c, and of file_resolve.c where a file has siblings. */
#include "tree.h"

#include <limits.h>
#include <sys/resource.h>

#include "file_resolve.h"

enum {
    ZSTD = 1 << CODING_ZSTD,
    BROTLI = 1 << CODING_BROTLI,
    GZIP = 1 << CODING_GZIP,
    ALL = ZSTD | BROTLI | GZIP
};

static const struct accepted_codings every = {
    { [CODING_ZSTD] = 1000, [CODING_BROTLI] = 1000, [CODING_GZIP] = 1000 }
};
static const struct accepted_codings only_gzip = { { [CODING_GZIP] = 1000 } };
static const struct accepted_codings nothing;

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
    tree_directory(tree, "root");
    tree_text(tree, "root/a.js", "as it is");
    tree_text(tree, "root/a.js.zst", "zstd form");
    tree_text(tree, "root/a.js.br", "brotli form");
    tree_text(tree, "root/a.js.gz", "gzip form of it");
    tree_text(tree, "root/plain", "plain");
    tree_text(tree, "secret", "secret");
    fixture->policy.index = "index.html";
    fixture->place = (struct file_place){ .policy = &fixture->policy,
                                          .root_path = tree_path(tree, "root") };
    assert_int_equal(
        file_root_open(&fixture->root, tree_path(tree, "root"), FILE_SYMLINKS_INSIDE), 0);
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
                                   const struct accepted_codings *accepted)
{
    struct file_resolution *resolution =
        file_resolution_new(&fixture->place, file_root_get(fixture->root), SLICE("key"),
                            slice_of(path), false);

    assert_non_null(resolution);
    resolution->accepted = *accepted;
    return resolution;
}

static struct file_resolution *run(struct fixture *fixture, const char *path,
                                   const struct accepted_codings *accepted)
{
    struct file_resolution *resolution = ask(fixture, path, accepted);

    file_resolution_run(resolution);
    return resolution;
}

/* The answer is this form, with these bytes. */
static void check_form(int line, struct fixture *fixture, const char *path,
                       const struct accepted_codings *accepted, enum coding coding,
                       unsigned codings, const char *content)
{
    struct file_resolution *r = run(fixture, path, accepted);

    CHECK_CASE(line, path, r->outcome == FILE_FOUND);
    CHECK_CASE(line, path, r->form.coding == coding);
    CHECK_CASE(line, path, r->form.codings == codings);
    CHECK_CASE(line, path, (size_t)r->identity.size == strlen(content));
    CHECK_CASE(line, path, memcmp(r->content, content, strlen(content)) == 0);
    /* The type is that of the file, so its name is. */
    CHECK_CASE(line, path, slice_equal(file_resolution_path(r), slice_of(path)));
    file_resolution_put(r);
}

static void test_the_form_that_is_liked_best(void **state)
{
    check_form(__LINE__, *state, "a.js", &nothing, CODING_IDENTITY, ALL, "as it is");
    check_form(__LINE__, *state, "a.js", &every, CODING_ZSTD, ALL, "zstd form");
    check_form(__LINE__, *state, "a.js", &only_gzip, CODING_GZIP, ALL, "gzip form of it");
    check_form(__LINE__, *state, "plain", &every, CODING_IDENTITY, 0, "plain");
    /* A sibling is a file of its own too, and has none. */
    check_form(__LINE__, *state, "a.js.gz", &every, CODING_IDENTITY, 0,
               "gzip form of it");
}

static void test_an_index_has_siblings(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    struct file_resolution *r;

    tree_directory(tree, "root/dir");
    tree_text(tree, "root/dir/index.html", "<p>");
    tree_text(tree, "root/dir/index.html.gz", "packed");
    r = file_resolution_new(&fixture->place, file_root_get(fixture->root), SLICE("key"),
                            SLICE("dir"), true);
    r->accepted = every;
    file_resolution_run(r);
    assert_int_equal(r->outcome, FILE_FOUND);
    assert_int_equal(r->form.coding, CODING_GZIP);
    assert_memory_equal(r->content, "packed", 6);
    assert_true(slice_equal(file_resolution_path(r), SLICE("dir/index.html")));
    file_resolution_put(r);
}

static void test_what_is_no_sibling(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;

    tree_text(tree, "root/x", "x");
    tree_link(tree, "root/x.zst", "../secret");
    tree_directory(tree, "root/x.br");
    assert_int_equal(mkfifo(tree_path(tree, "root/x.gz"), 0644), 0);
    check_form(__LINE__, fixture, "x", &every, CODING_IDENTITY, 0, "x");

    tree_text(tree, "root/y", "y");
    tree_link(tree, "root/y.zst", "y.zst");
    tree_link(tree, "root/y.br", "nowhere");
    tree_link(tree, "root/y.gz", "/etc/passwd");
    check_form(__LINE__, fixture, "y", &every, CODING_IDENTITY, 0, "y");

    /* A link that stays inside is as good as a file, where links are followed. */
    tree_text(tree, "root/z", "z");
    tree_mtime(tree, "root/z", 1, 0);
    tree_link(tree, "root/z.gz", "a.js.gz");
    check_form(__LINE__, fixture, "z", &every, CODING_GZIP, GZIP, "gzip form of it");
    fixture->root->symlinks = FILE_SYMLINKS_NEVER;
    check_form(__LINE__, fixture, "z", &every, CODING_IDENTITY, 0, "z");
    fixture->root->symlinks = FILE_SYMLINKS_INSIDE;

    /* Without the file there is nothing that siblings could stand for. */
    tree_text(tree, "root/only.gz", "only");
    {
        struct file_resolution *r = run(fixture, "only", &every);

        assert_int_equal(r->error, -ENOENT);
        file_resolution_put(r);
    }
}

static void test_age(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    static const struct {
        int line;
        int64_t seconds;
        long ns;
        bool counts;
    } cases[] = {
        { __LINE__, 1000, 500, true },   { __LINE__, 1000, 501, true },
        { __LINE__, 1000, 499, false },  { __LINE__, 1001, 0, true },
        { __LINE__, 999, 999, false },   { __LINE__, -1000, 0, false },
        { __LINE__, 1L << 33, 0, true },
    };

    tree_text(tree, "root/x", "x");
    tree_mtime(tree, "root/x", 1000, 500);
    tree_text(tree, "root/x.gz", "packed");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tree_mtime(tree, "root/x.gz", cases[i].seconds, cases[i].ns);
        check_form(cases[i].line, fixture, "x", &every,
                   cases[i].counts ? CODING_GZIP : CODING_IDENTITY,
                   cases[i].counts ? GZIP : 0, cases[i].counts ? "packed" : "x");
    }
    /* The age of a link is that of what it leads to. */
    tree_text(tree, "root/fresh", "fresh");
    assert_int_equal(unlink(tree_path(tree, "root/x.gz")), 0);
    tree_link(tree, "root/x.gz", "fresh");
    tree_mtime(tree, "root/x.gz", 1, 0);
    check_form(__LINE__, fixture, "x", &every, CODING_GZIP, GZIP, "fresh");
}

/* One that may not be read is as good as none, and another takes its place. */
static void test_unreadable_siblings(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;

    assert_int_equal(chmod(tree_path(tree, "root/a.js.zst"), 0), 0);
    tree_drop_rights();
    check_form(__LINE__, fixture, "a.js", &every, CODING_BROTLI, BROTLI | GZIP,
               "brotli form");
    check_form(__LINE__, fixture, "a.js", &nothing, CODING_IDENTITY, ALL, "as it is");
    tree_rights_again();
    assert_int_equal(chmod(tree_path(tree, "root/a.js.br"), 0), 0);
    assert_int_equal(chmod(tree_path(tree, "root/a.js.gz"), 0), 0);
    tree_drop_rights();
    check_form(__LINE__, fixture, "a.js", &every, CODING_IDENTITY, 0, "as it is");
    tree_rights_again();
}

static void test_large_siblings_are_descriptors(void **state)
{
    struct fixture *fixture = *state;
    unsigned before = tree_open_descriptors();
    struct file_resolution *r;

    tree_bytes(&fixture->tree, "root/a.js.br", FILE_MEMORY_MAX + 1);
    tree_bytes(&fixture->tree, "root/a.js", 3 * FILE_MEMORY_MAX);
    tree_mtime(&fixture->tree, "root/a.js", 1, 0);
    assert_int_equal(unlink(tree_path(&fixture->tree, "root/a.js.zst")), 0);
    r = run(fixture, "a.js", &every);
    assert_int_equal(r->form.coding, CODING_BROTLI);
    assert_true(r->fd >= 0);
    assert_int_equal(r->identity.size, FILE_MEMORY_MAX + 1);
    assert_null(r->content);
    file_resolution_put(r);
    assert_int_equal(tree_open_descriptors(), before);
}

/* ---- what is known */

static struct file_resolution *ask_known(struct fixture *fixture,
                                         const struct file_resolution *before,
                                         const struct accepted_codings *accepted)
{
    struct file_resolution *r = ask(fixture, "a.js", accepted);

    r->known_identity = before->identity;
    r->known_form = before->form;
    r->known = &r->known_identity;
    file_resolution_run(r);
    return r;
}

static void test_unchanged(void **state)
{
    static const struct accepted_codings *const accepted[] = { &nothing, &every,
                                                               &only_gzip };
    struct fixture *fixture = *state;

    for (unsigned i = 0; i < 3; i++) {
        for (unsigned j = 0; j < 3; j++) {
            struct file_resolution *known = run(fixture, "a.js", accepted[i]);
            struct file_resolution *r = ask_known(fixture, known, accepted[j]);

            assert_int_equal(r->outcome, i == j ? FILE_UNCHANGED : FILE_FOUND);
            assert_int_equal(r->form.coding, j == 0   ? CODING_IDENTITY
                                             : j == 1 ? CODING_ZSTD
                                                      : CODING_GZIP);
            assert_true(i != j || file_identity_equal(&r->identity, &known->identity));
            file_resolution_put(known);
            file_resolution_put(r);
        }
    }
}

/* Whoever sends the file as it is must learn of siblings, because of Vary. */
static void test_changes_of_siblings_are_changes(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    struct file_resolution *known = run(fixture, "a.js", &nothing);
    struct file_resolution *r;

    assert_int_equal(unlink(tree_path(tree, "root/a.js.br")), 0);
    r = ask_known(fixture, known, &nothing);
    assert_int_equal(r->outcome, FILE_FOUND);
    assert_int_equal(r->form.codings, ZSTD | GZIP);
    file_resolution_put(known);
    known = r;
    tree_text(tree, "root/a.js.br", "back");
    r = ask_known(fixture, known, &nothing);
    assert_int_equal(r->outcome, FILE_FOUND);
    assert_int_equal(r->form.codings, ALL);
    file_resolution_put(known);
    known = r;
    /* Of one that is not sent only its being there matters. */
    tree_text(tree, "root/a.js.br", "replaced");
    r = ask_known(fixture, known, &nothing);
    assert_int_equal(r->outcome, FILE_UNCHANGED);
    file_resolution_put(r);
    /* The file is newer than its siblings now. */
    tree_mtime(tree, "root/a.js", 1L << 33, 0);
    r = ask_known(fixture, known, &nothing);
    assert_int_equal(r->outcome, FILE_FOUND);
    assert_int_equal(r->form.codings, 0);
    file_resolution_put(r);
    file_resolution_put(known);
}

/* The file and a sibling may be one and the same, but are not the same answer. */
static void test_a_sibling_by_hard_link(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    struct file_resolution *known, *r;

    assert_int_equal(unlink(tree_path(tree, "root/a.js.gz")), 0);
    assert_int_equal(link(tree_path(tree, "root/a.js"), tree_path(tree, "root/a.js.gz")),
                     0);
    known = run(fixture, "a.js", &nothing);
    r = ask_known(fixture, known, &only_gzip);
    assert_int_equal(r->outcome, FILE_FOUND);
    assert_int_equal(r->form.coding, CODING_GZIP);
    file_resolution_put(r);
    file_resolution_put(known);
}

/* ---- without sleeping, and without descriptors */

static void test_try_then_run(void **state)
{
    struct fixture *fixture = *state;
    struct file_resolution *r = ask(fixture, "a.js", &every);

    if (!file_resolution_try(r)) {
        file_resolution_run(r);
    }
    assert_int_equal(r->outcome, FILE_FOUND);
    assert_memory_equal(r->content, "zstd form", 9);
    file_resolution_put(r);
    fixture->root->way = FILE_WALK;
    r = ask(fixture, "a.js", &only_gzip);
    assert_false(file_resolution_try(r));
    file_resolution_run(r);
    assert_memory_equal(r->content, "gzip form of it", 15);
    file_resolution_put(r);
}

static void test_errors_that_are_not_the_siblings(void **state)
{
    (void)state;
    assert_false(file_siblings_spoilt(-EAGAIN));
    assert_false(file_siblings_spoilt(-EMFILE));
    assert_false(file_siblings_spoilt(-ENFILE));
    assert_false(file_siblings_spoilt(-ENOMEM));
    assert_true(file_siblings_spoilt(-ENOENT));
    assert_true(file_siblings_spoilt(-EACCES));
    assert_true(file_siblings_spoilt(-EXDEV));
    assert_true(file_siblings_spoilt(-ENAMETOOLONG));
    assert_true(file_siblings_spoilt(-ESTALE));
    assert_true(file_siblings_spoilt(-EIO));
}

/* Where siblings cannot be looked for, the answer is not the file without Vary. */
static void test_no_descriptor_for_siblings(void **state)
{
    struct fixture *fixture = *state;
    struct file_resolution *r = ask(fixture, "a.js", &every);
    struct rlimit limit, low;
    int last = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_true(last >= 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = limit;
    low.rlim_cur = (rlim_t)last + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    file_resolution_run(r);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(r->outcome, FILE_FAILED);
    assert_int_equal(r->error, -EMFILE);
    file_resolution_put(r);
    assert_int_equal(close(last), 0);
}

/* The longest name that a file can have leaves no room for a suffix. */
static void test_long_names(void **state)
{
    struct fixture *fixture = *state;
    char name[NAME_MAX + 1];
    char path[NAME_MAX + 8];

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)snprintf(path, sizeof path, "root/%s", name);
    tree_text(&fixture->tree, path, "long");
    check_form(__LINE__, fixture, name, &every, CODING_IDENTITY, 0, "long");
    name[NAME_MAX - 3] = '\0';
    (void)snprintf(path, sizeof path, "root/%s", name);
    tree_text(&fixture->tree, path, "shorter");
    strcat(path, ".gz");
    tree_text(&fixture->tree, path, "packed");
    check_form(__LINE__, fixture, name, &every, CODING_GZIP, GZIP, "packed");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_form_that_is_liked_best),
        TEST(test_an_index_has_siblings),
        TEST(test_what_is_no_sibling),
        TEST(test_age),
        TEST(test_unreadable_siblings),
        TEST(test_large_siblings_are_descriptors),
        TEST(test_unchanged),
        TEST(test_changes_of_siblings_are_changes),
        TEST(test_a_sibling_by_hard_link),
        TEST(test_try_then_run),
        cmocka_unit_test(test_errors_that_are_not_the_siblings),
        TEST(test_no_descriptor_for_siblings),
        TEST(test_long_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
