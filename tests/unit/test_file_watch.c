/* Unit tests of file_watch.c. Where the system gives no inotify descriptor there is
 * nothing to watch with, and the server works without. */
#include "tree.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "file_watch.h"

struct fixture {
    struct tree tree;
    struct file_watch *watch;
};

/* A file that is changed before each read(2) of the program: by its name, as the watch may
 * have another table of descriptors. */
static _Atomic(const char *) pressed;

ssize_t read(int fd, void *to, size_t room)
{
    const char *file = atomic_load(&pressed);

    if (file != NULL && chmod(file, 0600) != 0) {
        return -1;
    }
    return syscall(SYS_read, fd, to, room);
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    tree_open(&fixture->tree);
    tree_directory(&fixture->tree, "dir");
    tree_text(&fixture->tree, "dir/a.txt", "a");
    fixture->watch = file_watch_open();
    assert_non_null(fixture->watch);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    atomic_store(&pressed, NULL);
    file_watch_close(fixture->watch);
    tree_close(&fixture->tree);
    free(fixture);
    return 0;
}

static void watch(const struct fixture *fixture, const char *name)
{
    int fd = open(tree_path(&fixture->tree, name), O_PATH | O_DIRECTORY | O_CLOEXEC);

    assert_true(fd >= 0);
    file_watch_directory(fixture->watch, fd);
    assert_int_equal(close(fd), 0);
}

/* Waits until the counter has left `before`; 10 s is far more than it may take. */
static uint64_t wait_for_step(const struct fixture *fixture, uint64_t before)
{
    for (unsigned i = 0; i < 10000; i++) {
        if (file_watch_generation(fixture->watch) != before) {
            return file_watch_generation(fixture->watch);
        }
        wait_a_moment();
    }
    fail_msg("no change was noticed");
    return before;
}

static void test_each_kind_of_change(void **state)
{
    struct fixture *fixture = *state;
    const struct tree *tree = &fixture->tree;
    uint64_t generation = file_watch_generation(fixture->watch);

    assert_int_equal(generation, 0);
    watch(fixture, "dir");
    tree_text(tree, "dir/a.txt", "rewritten");
    generation = wait_for_step(fixture, generation);
    tree_text(tree, "dir/new", "created");
    generation = wait_for_step(fixture, generation);
    tree_rename(tree, "dir/new", "dir/a.txt");
    generation = wait_for_step(fixture, generation);
    assert_int_equal(chmod(tree_path(tree, "dir/a.txt"), 0600), 0);
    generation = wait_for_step(fixture, generation);
    assert_int_equal(unlink(tree_path(tree, "dir/a.txt")), 0);
    generation = wait_for_step(fixture, generation);
    tree_rename(tree, "dir", "moved");
    generation = wait_for_step(fixture, generation);
    assert_int_equal(rmdir(tree_path(tree, "moved")), 0);
    (void)wait_for_step(fixture, generation);
}

/* Reading is no change: what is served would else be checked for ever. */
static void test_reading_is_no_change(void **state)
{
    struct fixture *fixture = *state;
    char byte;
    int fd;

    watch(fixture, "dir");
    watch(fixture, "dir"); /* twice is as good as once */
    fd = open(tree_path(&fixture->tree, "dir/a.txt"), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, &byte, 1), 1);
    assert_int_equal(close(fd), 0);
    /* Ten times the pause after which a step must have come. */
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(file_watch_generation(fixture->watch), 0);
        wait_a_moment();
    }
    tree_text(&fixture->tree, "dir/mark", "x");
    (void)wait_for_step(fixture, 0);
}

/* A child adds watches to the inherited descriptor and sees the parent's counter. */
static void test_forked_child(void **state)
{
    struct fixture *fixture = *state;
    int to_parent[2];
    uint64_t before;
    char byte;
    int status;
    pid_t child;

    assert_int_equal(pipe(to_parent), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        watch(fixture, "dir");
        if (write(to_parent[1], "w", 1) != 1) {
            _exit(2);
        }
        for (unsigned i = 0; i < 10000 && file_watch_generation(fixture->watch) == 0;
             i++) {
            wait_a_moment();
        }
        status = file_watch_generation(fixture->watch) > 0 ? 0 : 1;
        file_watch_close(fixture->watch);
        _exit(status);
    }
    assert_int_equal(read(to_parent[0], &byte, 1), 1);
    tree_text(&fixture->tree, "dir/b.txt", "b");
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    /* The child's close took nothing from the parent. */
    before = file_watch_generation(fixture->watch);
    tree_text(&fixture->tree, "dir/c.txt", "c");
    (void)wait_for_step(fixture, before);
    close(to_parent[0]);
    close(to_parent[1]);
}

/* A file that changes faster than its events are read holds up neither the counter nor
 * the close. */
static void test_changed_without_pause(void **state)
{
    struct fixture *fixture = *state;
    char *file = strdup(tree_path(&fixture->tree, "dir/a.txt"));
    uint64_t generation;

    assert_non_null(file);
    watch(fixture, "dir");
    atomic_store(&pressed, file);
    assert_int_equal(chmod(file, 0600), 0);
    generation = wait_for_step(fixture, 0);
    assert_int_equal(chmod(file, 0600), 0);
    (void)wait_for_step(fixture, generation);
    file_watch_close(fixture->watch);
    fixture->watch = NULL;
    atomic_store(&pressed, NULL);
    free(file);
}

/* The thread of the watch has a table of descriptors of its own, and in it nothing that
 * the process thinks closed, be its number small or large. */
static void test_it_holds_no_descriptor(void **state)
{
    struct file_watch *other;
    int ends[2], small, large;
    char byte;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    small = ends[1];
    large = fcntl(small, F_DUPFD_CLOEXEC, 500);
    assert_true(large >= 500);
    other = file_watch_open();
    assert_non_null(other);
    assert_int_equal(close(small), 0);
    assert_int_equal(read(ends[0], &byte, 1), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(close(large), 0);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    assert_int_equal(close(ends[0]), 0);
    file_watch_close(other);
}

static void test_without_a_watch(void **state)
{
    (void)state;
    file_watch_directory(NULL, 0);
    assert_int_equal(file_watch_generation(NULL), 0);
    file_watch_close(NULL);
}

static void test_nothing_is_left(void **state)
{
    unsigned before = tree_open_descriptors();
    struct file_watch *other = file_watch_open();

    (void)state;
    assert_non_null(other);
    assert_true(tree_open_descriptors() > before);
    file_watch_close(other);
    assert_int_equal(tree_open_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_kind_of_change, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reading_is_no_change, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forked_child, setup, teardown),
        cmocka_unit_test_setup_teardown(test_changed_without_pause, setup, teardown),
        cmocka_unit_test(test_it_holds_no_descriptor),
        cmocka_unit_test(test_without_a_watch),
        cmocka_unit_test(test_nothing_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
