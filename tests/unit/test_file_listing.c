/* Unit tests of file_listing.c, and of file_resolve.c where a directory is listed: only
 * what a request would be answered with is named. */
#include "tree.h"

#include <limits.h>

#include "file_listing.h"
#include "file_resolve.h"

struct fixture {
    struct tree tree;
    struct file_policy policy;
    struct file_place place;
    struct text_budget budget;
    struct file_root *root;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    tree_open(&fixture->tree);
    tree_directory(&fixture->tree, "root");
    tree_directory(&fixture->tree, "root/d");
    tree_text(&fixture->tree, "secret", "secret");
    fixture->policy.index = "index.html";
    text_budget_init(&fixture->budget, 64 * 1024 * 1024);
    fixture->place = (struct file_place){ .policy = &fixture->policy,
                                          .root_path = fixture->tree.path,
                                          .listings = &fixture->budget };
    assert_int_equal(file_root_open(&fixture->root, tree_path(&fixture->tree, "root"),
                                    FILE_SYMLINKS_INSIDE),
                     0);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(atomic_load(&fixture->budget.used), 0);
    file_root_put(fixture->root);
    tree_close(&fixture->tree);
    free(fixture);
    return 0;
}

static int read_directory(struct fixture *fixture, const char *path,
                          struct file_listing *found)
{
    return file_listing_read(found, fixture->root, &fixture->policy, path,
                             &fixture->budget);
}

/* The names, sorted, directories first and with a slash, each ended by a space. */
static void check_names(int line, struct fixture *fixture, const char *path,
                        const char *wanted)
{
    struct file_listing found;
    char names[1024] = "";

    assert_int_equal(read_directory(fixture, path, &found), 0);
    listing_sort(&found.listing, &(struct listing_wish){ LISTING_HTML, LISTING_NAME, 0 });
    for (size_t i = 0; i < found.listing.count; i++) {
        const struct listing_entry *entry = &found.listing.entries[i];

        strncat(names, entry->name.base, entry->name.len);
        strcat(names, entry->directory ? "/ " : " ");
    }
    CHECK_CASE(line, names, strcmp(names, wanted) == 0);
    assert_false(found.listing.cut_short);
    assert_true(slice_equal(found.listing.path, slice_of(path)));
    file_listing_free(&found);
}

static void test_entries(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    struct file_listing found;

    check_names(__LINE__, fixture, "d", "");
    tree_text(tree, "root/d/b.txt", "12345");
    tree_mtime(tree, "root/d/b.txt", 1234567890, 987654321);
    tree_directory(tree, "root/d/sub");
    tree_text(tree, "root/d/\xff \n\"<", "odd");
    check_names(__LINE__, fixture, "d", "sub/ b.txt \xff \n\"< ");
    check_names(__LINE__, fixture, "", "d/ ");
    check_names(__LINE__, fixture, "d/sub", "");
    assert_int_equal(unlink(tree_path(tree, "root/d/\xff \n\"<")), 0);
    assert_int_equal(read_directory(fixture, "d", &found), 0);
    listing_sort(&found.listing, &(struct listing_wish){ LISTING_HTML, LISTING_NAME, 0 });
    assert_int_equal(found.listing.count, 2);
    assert_int_equal(found.listing.entries[1].size, 5);
    assert_int_equal(found.listing.entries[1].mtime, 1234567890);
    assert_int_equal(found.listing.entries[1].mtime_ns, 987654321);
    file_listing_free(&found);
}

static void test_dotfiles(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;

    tree_text(tree, "root/d/.hidden", "x");
    tree_directory(tree, "root/d/.git");
    tree_directory(tree, "root/.well-known");
    tree_text(tree, "root/.well-known/security.txt", "x");
    tree_text(tree, "root/d/shown", "x");
    check_names(__LINE__, fixture, "d", "shown ");
    check_names(__LINE__, fixture, "", "d/ ");
    check_names(__LINE__, fixture, ".well-known", "security.txt ");
    fixture->policy.dotfiles = FILE_DOTFILES_HIDE;
    check_names(__LINE__, fixture, "d", "shown ");
    fixture->policy.dotfiles = FILE_DOTFILES_SHOW;
    check_names(__LINE__, fixture, "d", ".git/ .hidden shown ");
    check_names(__LINE__, fixture, "", ".well-known/ d/ ");
}

static void test_links(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    struct file_listing found;

    tree_text(tree, "root/target", "1234567");
    tree_link(tree, "root/d/inside", "../target");
    tree_link(tree, "root/d/folder", "../d");
    tree_link(tree, "root/d/outside", "../../secret");
    tree_link(tree, "root/d/absolute", "/etc/passwd");
    tree_link(tree, "root/d/dangling", "nowhere");
    tree_link(tree, "root/d/loop", "loop");
    tree_link(tree, "root/d/device", "/dev/null");
    check_names(__LINE__, fixture, "d", "folder/ inside ");
    /* Size and time are those of what it leads to. */
    assert_int_equal(read_directory(fixture, "d/folder", &found), 0);
    listing_sort(&found.listing, &(struct listing_wish){ LISTING_HTML, LISTING_NAME, 0 });
    assert_int_equal(found.listing.count, 2);
    assert_int_equal(found.listing.entries[1].size, 7);
    file_listing_free(&found);

    fixture->root->symlinks = FILE_SYMLINKS_NEVER;
    check_names(__LINE__, fixture, "d", "");
    assert_int_equal(read_directory(fixture, "d/folder", &found), -ELOOP);
    file_listing_free(&found);
    fixture->root->symlinks = FILE_SYMLINKS_FOLLOW;
    check_names(__LINE__, fixture, "d", "folder/ absolute inside outside ");
}

static void test_special_files(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;

    assert_int_equal(mkfifo(tree_path(tree, "root/d/fifo"), 0644), 0);
    tree_socket(tree, "root/d/socket");
    tree_text(tree, "root/d/file", "x");
    check_names(__LINE__, fixture, "d", "file ");
}

static void test_what_may_not_be_read(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    struct file_listing found;

    tree_text(tree, "root/d/open", "x");
    tree_text(tree, "root/d/locked", "x");
    tree_directory(tree, "root/d/closed");
    tree_directory(tree, "root/d/blind");
    tree_directory(tree, "root/d/free");
    tree_link(tree, "root/d/to-locked", "locked");
    assert_int_equal(chmod(tree_path(tree, "root/d/locked"), 0), 0);
    assert_int_equal(chmod(tree_path(tree, "root/d/closed"), 0), 0);
    assert_int_equal(chmod(tree_path(tree, "root/d/blind"), 0111), 0);
    tree_drop_rights();
    check_names(__LINE__, fixture, "d", "free/ open ");
    assert_int_equal(read_directory(fixture, "d/closed", &found), -EACCES);
    file_listing_free(&found);
    assert_int_equal(read_directory(fixture, "d/blind", &found), -EACCES);
    file_listing_free(&found);
    tree_rights_again();
    assert_int_equal(chmod(tree_path(tree, "root/d/closed"), 0755), 0);
    assert_int_equal(chmod(tree_path(tree, "root/d/blind"), 0755), 0);
}

static void test_what_is_no_directory(void **state)
{
    struct fixture *fixture = *state;
    struct file_listing found;
    char path[PATH_MAX + 16];

    tree_text(&fixture->tree, "root/file", "x");
    assert_int_equal(read_directory(fixture, "file", &found), -ENOTDIR);
    file_listing_free(&found);
    assert_int_equal(read_directory(fixture, "missing", &found), -ENOENT);
    file_listing_free(&found);
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(read_directory(fixture, path, &found), -ENAMETOOLONG);
    file_listing_free(&found);
}

/* Names whose requests would be too long to be read: bytes that take three each in a
 * target, so that the folders use 7,661 of 8,192. */
static void test_names_that_no_request_can_have(void **state)
{
    enum { DEPTH = 10, FIRST = 170, LAST = 180, LONGEST = (8192 - 7661 - 1) / 3 };
    struct fixture *fixture = *state;
    struct file_listing found;
    char path[PATH_MAX] = "";
    char name[NAME_MAX + 1];
    int at = open(tree_path(&fixture->tree, "root"), O_PATH | O_CLOEXEC);

    memset(name, '\xff', NAME_MAX);
    name[NAME_MAX] = '\0';
    for (unsigned i = 0; i < DEPTH; i++) {
        int inner;

        assert_int_equal(mkdirat(at, name, 0755), 0);
        inner = openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(inner >= 0);
        assert_int_equal(close(at), 0);
        at = inner;
        strcat(strcat(path, i > 0 ? "/" : ""), name);
    }
    for (unsigned len = FIRST; len <= LAST; len++) {
        name[len] = '\0';
        assert_int_equal(mkdirat(at, name, 0755), 0);
        name[len] = '\xff';
    }
    assert_int_equal(close(at), 0);
    assert_int_equal(read_directory(fixture, path, &found), 0);
    assert_int_equal(found.listing.count, LONGEST - FIRST + 1);
    for (size_t i = 0; i < found.listing.count; i++) {
        assert_true(found.listing.entries[i].name.len <= LONGEST);
    }
    file_listing_free(&found);
}

/* ---- limits */

static void make_many(struct fixture *fixture, const char *format, unsigned count)
{
    int at = open(tree_path(&fixture->tree, "root/d"), O_PATH | O_CLOEXEC);

    assert_true(at >= 0);
    for (unsigned i = 0; i < count; i++) {
        char name[32];
        int fd;

        (void)snprintf(name, sizeof name, format, i);
        fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(close(fd), 0);
    }
    assert_int_equal(close(at), 0);
}

static void test_at_most_so_many(void **state)
{
    struct fixture *fixture = *state;
    struct file_listing found;

    make_many(fixture, "file-%05u", LISTING_ENTRIES_MAX);
    make_many(fixture, ".hidden-%05u", 100);
    assert_int_equal(read_directory(fixture, "d", &found), 0);
    assert_int_equal(found.listing.count, LISTING_ENTRIES_MAX);
    assert_false(found.listing.cut_short);
    file_listing_free(&found);
    tree_text(&fixture->tree, "root/d/one more", "");
    assert_int_equal(read_directory(fixture, "d", &found), 0);
    assert_int_equal(found.listing.count, LISTING_ENTRIES_MAX);
    assert_true(found.listing.cut_short);
    /* No name comes twice, and none is mixed up with its neighbour. */
    listing_sort(&found.listing, &(struct listing_wish){ LISTING_HTML, LISTING_NAME, 0 });
    for (size_t i = 0; i + 1 < found.listing.count; i++) {
        const struct listing_entry *entry = &found.listing.entries[i];

        assert_true(entry->name.len == 10 || slice_equal(entry->name, SLICE("one more")));
        assert_false(slice_equal(entry->name, entry[1].name));
    }
    file_listing_free(&found);
}

static void test_budget(void **state)
{
    struct fixture *fixture = *state;
    struct file_listing found;

    make_many(fixture, "file-%05u", 1000);
    text_budget_init(&fixture->budget, 16 * 1024);
    assert_int_equal(read_directory(fixture, "d", &found), -ENOMEM);
    file_listing_free(&found);
}

/* ---- in a resolution */

static struct file_resolution *ask_listing(struct fixture *fixture, const char *path,
                                           enum listing_format format)
{
    struct file_resolution *r =
        file_resolution_new(&fixture->place, file_root_get(fixture->root), SLICE("key"),
                            slice_of(path), true);

    assert_non_null(r);
    r->lists = true;
    r->wish.format = format;
    return r;
}

static void test_resolution(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    struct file_resolution *r = ask_listing(fixture, "d", LISTING_JSON);

    tree_text(tree, "root/d/x", "12");
    tree_mtime(tree, "root/d/x", 0, 0);
    file_resolution_run(r);
    assert_int_equal(r->outcome, FILE_LISTED);
    assert_int_equal(r->error, 0);
    assert_false(r->cut_short);
    text_add(&r->listing, (struct slice){ "", 1 });
    assert_string_equal(r->listing.base,
                        "[\n{\"name\":\"x\",\"type\":\"file\",\"size\":2,"
                        "\"mtime\":\"1970-01-01T00:00:00Z\"}\n]\n");
    assert_true(slice_equal(file_resolution_path(r), SLICE("d")));
    assert_true(atomic_load(&fixture->budget.used) > 0);
    file_resolution_put(r);
    assert_int_equal(atomic_load(&fixture->budget.used), 0);

    /* An index is preferred; one that may not be read is no reason to list. */
    tree_text(tree, "root/d/index.html", "<p>");
    r = ask_listing(fixture, "d", LISTING_HTML);
    file_resolution_run(r);
    assert_int_equal(r->outcome, FILE_FOUND);
    file_resolution_put(r);
    assert_int_equal(chmod(tree_path(tree, "root/d/index.html"), 0), 0);
    tree_drop_rights();
    r = ask_listing(fixture, "d", LISTING_HTML);
    file_resolution_run(r);
    assert_int_equal(r->error, -EACCES);
    tree_rights_again();
    file_resolution_put(r);
    assert_int_equal(unlink(tree_path(tree, "root/d/index.html")), 0);
    tree_link(tree, "root/d/index.html", "../../secret");
    r = ask_listing(fixture, "d", LISTING_HTML);
    file_resolution_run(r);
    assert_int_equal(r->error, -EXDEV);
    file_resolution_put(r);
}

/* A directory is never read by whoever must not sleep. */
static void test_resolution_without_sleeping(void **state)
{
    struct file_resolution *r = ask_listing(*state, "d", LISTING_HTML);

    assert_false(file_resolution_try(r));
    file_resolution_run(r);
    assert_int_equal(r->outcome, FILE_LISTED);
    file_resolution_put(r);
}

static void test_resolution_over_the_budget(void **state)
{
    struct fixture *fixture = *state;
    struct file_resolution *r = ask_listing(fixture, "d", LISTING_HTML);

    tree_text(&fixture->tree, "root/d/x", "12");
    /* Enough to read the directory, but not for the page. */
    text_budget_init(&fixture->budget, 2048);
    file_resolution_run(r);
    assert_int_equal(r->outcome, FILE_FAILED);
    assert_int_equal(r->error, -ENOMEM);
    file_resolution_put(r);
}

static void test_descriptors_are_given_back(void **state)
{
    struct fixture *fixture = *state;
    unsigned before = tree_open_descriptors();

    tree_link(&fixture->tree, "root/d/link", "../d");
    for (unsigned i = 0; i < 10; i++) {
        struct file_resolution *r =
            ask_listing(fixture, i % 2 == 0 ? "d" : "missing", LISTING_HTML);

        file_resolution_run(r);
        file_resolution_put(r);
    }
    assert_int_equal(tree_open_descriptors(), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_entries),
        TEST(test_dotfiles),
        TEST(test_links),
        TEST(test_special_files),
        TEST(test_what_may_not_be_read),
        TEST(test_what_is_no_directory),
        TEST(test_names_that_no_request_can_have),
        TEST(test_at_most_so_many),
        TEST(test_budget),
        TEST(test_resolution),
        TEST(test_resolution_without_sleeping),
        TEST(test_resolution_over_the_budget),
        TEST(test_descriptors_are_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
