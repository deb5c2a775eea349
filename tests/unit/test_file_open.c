/* Unit tests of file_open.c: every case by the kernel's resolution and by the walk. */
#include "tree.h"

#include "file_open.h"

/* A root of a tree beside which there is something to escape to. */
struct fixture {
    struct tree tree;
    struct file_root *root;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    const struct tree *tree = &fixture->tree;

    tree_open(&fixture->tree);
    tree_text(tree, "secret", "outside");
    tree_directory(tree, "root-private");
    tree_text(tree, "root-private/x", "outside");
    tree_directory(tree, "root");
    tree_text(tree, "root/a.txt", "0123456789");
    tree_directory(tree, "root/dir");
    tree_text(tree, "root/dir/b.txt", "b");
    tree_link(tree, "root/inside", "dir/b.txt");
    tree_link(tree, "root/dir/up", "../a.txt");
    tree_link(tree, "root/linked", "dir");
    tree_link(tree, "root/absolute", "/etc/passwd");
    tree_link(tree, "root/outside", "../secret");
    tree_link(tree, "root/sibling", "../root-private");
    tree_link(tree, "root/loop", "loop");
    tree_link(tree, "root/dangling", "nowhere");
    tree_link(tree, "root/magic", "/proc/self/root/etc/passwd");
    assert_int_equal(mkfifo(tree_path(tree, "root/fifo"), 0644), 0);
    tree_socket(tree, "root/socket");
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

/* Opens for reading what can be, as the caller does: after a look. */
static int open_after_look(const struct file_root *root, const char *path,
                           struct stat *st)
{
    int error = file_open_stat(root, path, true, st);

    if (error != 0 || S_ISDIR(st->st_mode)) {
        return error;
    }
    return file_open_read(root, path, true, st);
}

/* What each path gives: 0 for a directory, 1 for a file, or -errno. */
static void test_paths(void **state)
{
    struct fixture *fixture = *state;
    char long_name[302];
    char long_path[5000];
    const struct {
        int line;
        const char *path;
        int beneath, walk;
    } cases[] = {
        { __LINE__, "", 0, 0 },
        { __LINE__, "a.txt", 1, 1 },
        { __LINE__, "dir", 0, 0 },
        { __LINE__, "dir/b.txt", 1, 1 },
        { __LINE__, "missing", -ENOENT, -ENOENT },
        { __LINE__, "missing/x", -ENOENT, -ENOENT },
        { __LINE__, "a.txt/x", -ENOTDIR, -ENOTDIR },
        { __LINE__, "inside", 1, -ELOOP },
        { __LINE__, "dir/up", 1, -ELOOP },
        { __LINE__, "linked", 0, -ELOOP },
        { __LINE__, "linked/b.txt", 1, -ENOTDIR },
        { __LINE__, "absolute", -EXDEV, -ELOOP },
        { __LINE__, "outside", -EXDEV, -ELOOP },
        { __LINE__, "sibling/x", -EXDEV, -ENOTDIR },
        { __LINE__, "magic", -EXDEV, -ELOOP },
        { __LINE__, "loop", -ELOOP, -ELOOP },
        { __LINE__, "dangling", -ENOENT, -ELOOP },
        { __LINE__, "../secret", -EXDEV, -EXDEV },
        { __LINE__, "dir/../../secret", -EXDEV, -EXDEV },
        { __LINE__, "../root-private/x", -EXDEV, -EXDEV },
        { __LINE__, long_name, -ENAMETOOLONG, -ENAMETOOLONG },
        { __LINE__, long_path, -ENAMETOOLONG, -ENAMETOOLONG },
    };

    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    memset(long_path, 'p', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    for (unsigned way = FILE_BENEATH; way <= FILE_WALK; way++) {
        fixture->root->way = (enum file_way)way;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            int expected = way == FILE_BENEATH ? cases[i].beneath : cases[i].walk;
            struct stat st;
            int fd = open_after_look(fixture->root, cases[i].path, &st);

            if (expected == 1) {
                CHECK_CASE(cases[i].line, cases[i].path, fd > 0 && S_ISREG(st.st_mode));
                assert_int_equal(close(fd), 0);
            } else {
                CHECK_CASE(cases[i].line, cases[i].path, fd == expected);
            }
        }
    }
}

/* Under the other two rules for links: beneath, walk. */
static void test_links(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        int line;
        const char *path;
        int never[2], follow[2];
    } cases[] = {
        { __LINE__, "", { 0, 0 }, { 0, 0 } },
        { __LINE__, "a.txt", { 1, 1 }, { 1, 1 } },
        { __LINE__, "dir/b.txt", { 1, 1 }, { 1, 1 } },
        { __LINE__, "missing", { -ENOENT, -ENOENT }, { -ENOENT, -ENOENT } },
        { __LINE__, "inside", { -ELOOP, -ELOOP }, { 1, 1 } },
        { __LINE__, "dir/up", { -ELOOP, -ELOOP }, { 1, 1 } },
        { __LINE__, "linked", { -ELOOP, -ELOOP }, { 0, 0 } },
        { __LINE__, "linked/b.txt", { -ELOOP, -ENOTDIR }, { 1, 1 } },
        { __LINE__, "absolute", { -ELOOP, -ELOOP }, { 1, 1 } },
        { __LINE__, "outside", { -ELOOP, -ELOOP }, { 1, 1 } },
        { __LINE__, "sibling/x", { -ELOOP, -ENOTDIR }, { 1, 1 } },
        { __LINE__, "magic", { -ELOOP, -ELOOP }, { -ELOOP, 1 } },
        { __LINE__, "loop", { -ELOOP, -ELOOP }, { -ELOOP, -ELOOP } },
        { __LINE__, "dangling", { -ELOOP, -ELOOP }, { -ENOENT, -ENOENT } },
        /* A request may never climb, whatever links may do. */
        { __LINE__, "..", { -EXDEV, -EXDEV }, { -EXDEV, -EXDEV } },
        { __LINE__, "../secret", { -EXDEV, -EXDEV }, { -EXDEV, -EXDEV } },
        { __LINE__, "dir/../../secret", { -EXDEV, -EXDEV }, { -EXDEV, -EXDEV } },
        { __LINE__, "linked/../../secret", { -EXDEV, -EXDEV }, { -EXDEV, -EXDEV } },
        { __LINE__, "/etc/passwd", { -EXDEV, -EXDEV }, { -EXDEV, -EXDEV } },
    };

    for (unsigned i = 0; i < 4 * sizeof cases / sizeof cases[0]; i++) {
        unsigned way = i % 2;
        bool follow = i / 2 % 2 == 1;
        int expected = follow ? cases[i / 4].follow[way] : cases[i / 4].never[way];
        struct stat st;
        int fd;

        fixture->root->way = way == 0 ? FILE_BENEATH : FILE_WALK;
        fixture->root->symlinks = follow ? FILE_SYMLINKS_FOLLOW : FILE_SYMLINKS_NEVER;
        fd = open_after_look(fixture->root, cases[i / 4].path, &st);
        if (expected == 1) {
            CHECK_CASE(cases[i / 4].line, cases[i / 4].path,
                       fd > 0 && S_ISREG(st.st_mode));
            assert_int_equal(close(fd), 0);
        } else {
            CHECK_CASE(cases[i / 4].line, cases[i / 4].path, fd == expected);
        }
    }
    /* Without openat2 nothing can be asked of memory alone. */
    fixture->root->way = FILE_WALK;
    fixture->root->symlinks = FILE_SYMLINKS_FOLLOW;
    assert_int_equal(file_open_directory(fixture->root, "dir", false), -EAGAIN);
}

static void test_kinds_are_seen_without_opening(void **state)
{
    struct fixture *fixture = *state;
    struct stat st;

    for (unsigned way = FILE_BENEATH; way <= FILE_WALK; way++) {
        fixture->root->way = (enum file_way)way;
        assert_int_equal(file_open_stat(fixture->root, "fifo", true, &st), 0);
        assert_true(S_ISFIFO(st.st_mode));
        assert_int_equal(file_open_stat(fixture->root, "socket", true, &st), 0);
        assert_true(S_ISSOCK(st.st_mode));
        /* Should one take a file's place after the look, it is refused, and at once. */
        assert_int_equal(file_open_read(fixture->root, "fifo", true, &st), -EACCES);
        assert_int_equal(file_open_read(fixture->root, "socket", true, &st), -EACCES);
        assert_int_equal(file_open_read(fixture->root, "dir", true, &st), -EACCES);
    }
}

static void test_devices_are_refused(void **state)
{
    struct file_root *devices;
    struct stat st;

    (void)state;
    assert_int_equal(file_root_open(&devices, "/dev", FILE_SYMLINKS_INSIDE), 0);
    assert_int_equal(file_open_stat(devices, "zero", true, &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(file_open_read(devices, "zero", true, &st), -EACCES);
    file_root_put(devices);
}

static void test_modes_count(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    struct stat st;

    tree_directory(tree, "root/closed");
    tree_text(tree, "root/closed/c.txt", "c");
    assert_int_equal(chmod(tree_path(tree, "root/closed"), 0600), 0);
    tree_text(tree, "root/unreadable", "u");
    assert_int_equal(chmod(tree_path(tree, "root/unreadable"), 0), 0);
    tree_drop_rights();
    for (unsigned way = FILE_BENEATH; way <= FILE_WALK; way++) {
        fixture->root->way = (enum file_way)way;
        assert_int_equal(file_open_stat(fixture->root, "closed/c.txt", true, &st),
                         -EACCES);
        assert_int_equal(file_open_stat(fixture->root, "unreadable", true, &st), 0);
        assert_int_equal(file_open_read(fixture->root, "unreadable", true, &st), -EACCES);
    }
    tree_rights_again();
    assert_int_equal(chmod(tree_path(tree, "root/closed"), 0700), 0);
}

static void test_never_sleeping(void **state)
{
    struct fixture *fixture = *state;
    struct stat st;
    int fd;

    /* A walk cannot promise it. */
    fixture->root->way = FILE_WALK;
    assert_int_equal(file_open_stat(fixture->root, "a.txt", false, &st), -EAGAIN);
    assert_int_equal(file_open_read(fixture->root, "a.txt", false, &st), -EAGAIN);
    /* The kernel may only answer with what is so. */
    fixture->root->way = FILE_BENEATH;
    fd = file_open_read(fixture->root, "a.txt", false, &st);
    assert_true(fd == -EAGAIN || (fd >= 0 && st.st_size == 10));
    if (fd >= 0) {
        close(fd);
    }
    fd = file_open_read(fixture->root, "outside", false, &st);
    assert_true(fd == -EAGAIN || fd == -EXDEV);
}

static void test_root_renewed(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    struct file_root *root, *fresh;
    struct stat st;

    tree_directory(tree, "next");
    tree_text(tree, "next/only.txt", "next");
    tree_link(tree, "current", "root");
    assert_int_equal(
        file_root_open(&root, tree_path(tree, "current"), FILE_SYMLINKS_NEVER), 0);
    assert_int_equal(file_root_renew(root, &fresh, tree_path(tree, "current"), true), 0);
    assert_null(fresh);
    tree_link(tree, "new", "next");
    tree_rename(tree, "new", "current");
    assert_int_equal(file_root_renew(root, &fresh, tree_path(tree, "current"), true), 0);
    assert_non_null(fresh);
    assert_int_equal(file_open_stat(root, "only.txt", true, &st), -ENOENT);
    assert_int_equal(file_open_stat(fresh, "only.txt", true, &st), 0);
    /* The rule for links is the root's, not its path's. */
    tree_link(tree, "next/link", "only.txt");
    assert_int_equal(file_open_stat(fresh, "link", true, &st), -ELOOP);
    file_root_put(fresh);
    assert_int_equal(file_root_renew(root, &fresh, tree_path(tree, "gone"), true),
                     -ENOENT);
    assert_null(fresh);
    assert_int_equal(file_root_renew(root, &fresh, tree_path(tree, "secret"), true),
                     -ENOTDIR);
    file_root_put(root);
}

static void test_identity(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    struct file_identity first, second;
    struct stat st;

    assert_int_equal(file_open_stat(fixture->root, "a.txt", true, &st), 0);
    first = file_identity_of(&st);
    assert_int_equal(first.size, 10);
    assert_true(file_identity_equal(&first, &first));
    /* Same size, same mtime, other inode. */
    tree_text(tree, "new", "9876543210");
    tree_mtime(tree, "new", first.mtime, (long)first.mtime_ns);
    tree_rename(tree, "new", "root/a.txt");
    assert_int_equal(file_open_stat(fixture->root, "a.txt", true, &st), 0);
    second = file_identity_of(&st);
    assert_int_equal(second.size, first.size);
    assert_int_equal(second.mtime, first.mtime);
    assert_int_equal(second.mtime_ns, first.mtime_ns);
    assert_false(file_identity_equal(&first, &second));
}

static void test_descriptors_are_given_back(void **state)
{
    struct fixture *fixture = *state;
    unsigned before = tree_open_descriptors();

    test_paths(state);
    test_links(state);
    fixture->root->symlinks = FILE_SYMLINKS_INSIDE;
    test_kinds_are_seen_without_opening(state);
    fixture->root->way = FILE_BENEATH;
    assert_int_equal(tree_open_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(test_links, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kinds_are_seen_without_opening, setup,
                                        teardown),
        cmocka_unit_test(test_devices_are_refused),
        cmocka_unit_test_setup_teardown(test_modes_count, setup, teardown),
        cmocka_unit_test_setup_teardown(test_never_sleeping, setup, teardown),
        cmocka_unit_test_setup_teardown(test_root_renewed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_identity, setup, teardown),
        cmocka_unit_test_setup_teardown(test_descriptors_are_given_back, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
