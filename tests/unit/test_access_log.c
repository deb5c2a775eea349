/* The access log's thread: lines come soon, also a forked child's; they are whole and none
 * is lost when the file is opened again or its disk was full for a while; what must be
 * dropped is counted and told of, but not too often. A full disk is a limit of the file
 * size here, at which a write takes a part of a line. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "access_log.h"
#include "clock.h"
#include "log_lanes.h"
#include "tree.h"

enum { WAIT_MS = 20000, TEXT_MAX = 1024 * 1024 };

struct fixture {
    struct tree tree;
    char path[512], errors[512];
    int saved_stderr;
    struct rlimit limit;
    int reopen_fd;
};

static char text[TEXT_MAX];

static int set_up(void **state)
{
    static struct fixture fixture;
    int fd;

    tree_open(&fixture.tree);
    strcpy(fixture.path, tree_path(&fixture.tree, "log"));
    strcpy(fixture.errors, tree_path(&fixture.tree, "errors"));
    fixture.saved_stderr = dup(STDERR_FILENO);
    fd = open(fixture.errors, O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && fixture.saved_stderr >= 0);
    assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    close(fd);
    fixture.reopen_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_true(fixture.reopen_fd >= 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &fixture.limit), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    alarm(60);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    alarm(0);
    (void)setrlimit(RLIMIT_FSIZE, &fixture->limit);
    (void)dup2(fixture->saved_stderr, STDERR_FILENO);
    close(fixture->saved_stderr);
    close(fixture->reopen_fd);
    tree_close(&fixture->tree);
    return 0;
}

static void limit_file_size(const struct fixture *fixture, rlim_t bytes)
{
    struct rlimit limit = { bytes, fixture->limit.rlim_max };

    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static struct access_log *start(const struct fixture *fixture, const char *path)
{
    struct access_log *log;

    assert_int_equal(access_log_open(&log, path), 0);
    assert_int_equal(access_log_start(log, fixture->reopen_fd), 0);
    return log;
}

static void reopen(const struct fixture *fixture)
{
    (void)eventfd_write(fixture->reopen_fd, 1);
}

static void add(struct access_log *log, const char *line)
{
    access_log_add(log, 0, line, strlen(line));
}

static void add_numbers(struct access_log *log, unsigned from, unsigned to)
{
    char line[64];

    for (unsigned i = from; i < to; i++) {
        snprintf(line, sizeof line, "line %u of them\n", i);
        add(log, line);
    }
}

/* The file's content; "" if there is no file. */
static const char *read_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = 0;

    if (fd >= 0) {
        n = read(fd, text, sizeof text - 1);
        close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    return text;
}

/* True once the file contains the text. */
static bool wait_for(const char *path, const char *part)
{
    uint64_t limit_ms = clock_now_ms() + WAIT_MS;

    while (strstr(read_file(path), part) == NULL) {
        if (clock_now_ms() > limit_ms) {
            return false;
        }
        usleep(1000);
    }
    return true;
}

/* True once the file exists. */
static bool wait_until_there(const char *path)
{
    uint64_t limit_ms = clock_now_ms() + WAIT_MS;

    while (access(path, F_OK) != 0) {
        if (clock_now_ms() > limit_ms) {
            return false;
        }
        usleep(1000);
    }
    return true;
}

/* Checks that the text holds these numbers' lines, in order and whole, from *next on. */
static void check_numbers(const char *lines, unsigned *next)
{
    char line[64];

    while (*lines != '\0') {
        int len = snprintf(line, sizeof line, "line %u of them\n", *next);

        assert_memory_equal(lines, line, (size_t)len);
        lines += len;
        (*next)++;
    }
}

static unsigned count(const char *path, const char *part)
{
    unsigned found = 0;

    for (const char *at = strstr(read_file(path), part); at != NULL;
         at = strstr(at + 1, part)) {
        found++;
    }
    return found;
}

static void test_soon(void **state)
{
    const struct fixture *fixture = *state;
    struct access_log *log = start(fixture, fixture->path);

    add(log, "one\n");
    assert_true(wait_for(fixture->path, "one\n"));
    add(log, "two\n");
    assert_true(wait_for(fixture->path, "one\ntwo\n"));
    add(log, "three\n");
    access_log_close(log);
    assert_string_equal(read_file(fixture->path), "one\ntwo\nthree\n");
    assert_string_equal(read_file(fixture->errors), "");
}

/* So many that they cannot wait for the time: more than a lane holds. */
static void test_many(void **state)
{
    const struct fixture *fixture = *state;
    struct access_log *log = start(fixture, fixture->path);
    unsigned next = 0;
    char last[64];

    for (unsigned i = 0; i < 40000; i += 1000) {
        add_numbers(log, i, i + 1000);
        snprintf(last, sizeof last, "line %u of them\n", i + 999);
        if (i % 8000 == 7000) {
            assert_true(wait_for(fixture->path, last));
        }
    }
    access_log_close(log);
    check_numbers(read_file(fixture->path), &next);
    assert_int_equal(next, 40000);
    assert_string_equal(read_file(fixture->errors), "");
}

/* A child adds and is killed: its lines are there, and it needs no thread for it. */
static void test_children(void **state)
{
    const struct fixture *fixture = *state;
    struct access_log *log = start(fixture, fixture->path);
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        access_log_add(log, access_log_claim(log), "child\n", 6);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(wait_for(fixture->path, "child\n"));
    access_log_close(log);
}

/* Each line is in the old file or in the new one. A child may ask, too. */
static void test_reopen(void **state)
{
    const struct fixture *fixture = *state;
    const char *old = tree_path(&fixture->tree, "log.1");
    struct access_log *log = start(fixture, fixture->path);
    unsigned next = 0;
    pid_t child;
    int status;

    add_numbers(log, 0, 100);
    assert_true(wait_for(fixture->path, "line 99 of them\n"));
    add_numbers(log, 100, 200);
    assert_int_equal(rename(fixture->path, old), 0);
    add_numbers(log, 200, 300);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        reopen(fixture);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    add_numbers(log, 300, 400);
    assert_true(wait_until_there(fixture->path));
    add_numbers(log, 400, 500);
    assert_true(wait_for(fixture->path, "line 499 of them\n"));
    access_log_close(log);
    check_numbers(read_file(old), &next);
    check_numbers(read_file(fixture->path), &next);
    assert_int_equal(next, 500);
    assert_string_equal(read_file(fixture->errors), "");
}

static void test_reopen_fails(void **state)
{
    const struct fixture *fixture = *state;
    const char *old = tree_path(&fixture->tree, "log.1");
    struct access_log *log = start(fixture, fixture->path);

    assert_int_equal(rename(fixture->path, old), 0);
    assert_int_equal(mkdir(fixture->path, 0700), 0);
    reopen(fixture);
    assert_true(wait_for(fixture->errors, "cannot reopen the access log"));
    assert_int_equal(count(fixture->errors, "Is a directory; the old one stays\n"), 1);
    add(log, "kept\n");
    assert_true(wait_for(old, "kept\n"));
    access_log_close(log);
}

/* The line of which a part was written becomes whole when there is room again. */
static void test_full_disk(void **state)
{
    const struct fixture *fixture = *state;
    struct access_log *log = start(fixture, fixture->path);
    unsigned next = 0;

    limit_file_size(fixture, 1000);
    add_numbers(log, 0, 200);
    assert_true(wait_for(fixture->errors, "File too large; 0 lines dropped\n"));
    assert_int_equal(strlen(read_file(fixture->path)), 1000);
    add_numbers(log, 200, 300);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &fixture->limit), 0);
    assert_true(wait_for(fixture->path, "line 299 of them\n"));
    assert_true(wait_for(fixture->errors, "written again; 0 lines dropped\n"));
    add_numbers(log, 300, 310);
    access_log_close(log);
    check_numbers(read_file(fixture->path), &next);
    assert_int_equal(next, 310);
    assert_int_equal(count(fixture->errors, "warning"), 2);
}

/* A new file does not begin with the rest of a line. */
static void test_full_disk_and_reopen(void **state)
{
    const struct fixture *fixture = *state;
    struct access_log *log = start(fixture, fixture->path);
    unsigned next = 0;

    limit_file_size(fixture, 1005); /* 63 whole lines and a part of the next one */
    add_numbers(log, 0, 200);
    assert_true(wait_for(fixture->errors, "File too large"));
    assert_int_equal(rename(fixture->path, tree_path(&fixture->tree, "log.1")), 0);
    reopen(fixture);
    assert_true(wait_for(fixture->path, "line "));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &fixture->limit), 0);
    assert_true(wait_for(fixture->path, "line 199 of them\n"));
    access_log_close(log);
    assert_int_equal(sscanf(read_file(fixture->path), "line %u of them\n", &next), 1);
    assert_int_equal(next, 64);
    check_numbers(read_file(fixture->path), &next);
    assert_int_equal(next, 200);
    assert_true(count(fixture->errors, "written again; 1 lines dropped\n") == 1);
}

/* Nothing is said of a pipe that is full, until lines are dropped; then once. */
static void test_stuck_fifo(void **state)
{
    const struct fixture *fixture = *state;
    struct access_log *log;
    unsigned lines = 0;
    char line[2048];
    unsigned long long dropped, lost;
    const char *said;

    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    assert_int_equal(mkfifo(fixture->path, 0600), 0);
    log = start(fixture, fixture->path);
    while (*read_file(fixture->errors) == '\0') {
        access_log_add(log, 0, line, sizeof line);
        lines++;
    }
    /* A pipe and a lane's worth. */
    assert_true(lines > LOG_LANE_BYTES / sizeof line);
    for (unsigned i = 0; i < 1000; i++) {
        access_log_add(log, 0, line, sizeof line);
        lines++;
    }
    access_log_close(log);
    said = strstr(read_file(fixture->errors), "nobody reads it; ");
    assert_non_null(said);
    assert_int_equal(sscanf(said, "nobody reads it; %llu lines dropped", &dropped), 1);
    said = strstr(said, "the last ");
    assert_non_null(said);
    assert_int_equal(sscanf(said, "the last %llu lines are lost", &lost), 1);
    assert_int_equal(count(fixture->errors, "\n"), 2);
    assert_true(dropped > 0 && lost >= 1000);
    /* What the pipe holds was written; all others are accounted for. */
    assert_in_range(lines - dropped - lost, 1, 64 * 1024 / sizeof line + 1);
}

/* A slow reader gets every line, in order. */
static void test_slow_reader(void **state)
{
    const struct fixture *fixture = *state;
    struct access_log *log;
    unsigned next = 0;
    size_t len = 0;
    int reader;

    assert_int_equal(mkfifo(fixture->path, 0600), 0);
    log = start(fixture, fixture->path);
    reader = open(fixture->path, O_RDONLY | O_CLOEXEC);
    assert_true(reader >= 0);
    add_numbers(log, 0, 8000);
    while (len == 0 || strstr(text, "line 7999 of them\n") == NULL) {
        ssize_t n = read(reader, text + len, 1000);

        assert_true(n > 0);
        len += (size_t)n;
        text[len] = '\0';
    }
    check_numbers(text, &next);
    assert_int_equal(next, 8000);
    assert_string_equal(read_file(fixture->errors), "");
    access_log_close(log);
    close(reader);
}

/* For so long: ten lines a millisecond. */
static void pace_lines(struct access_log *log, uint64_t duration_ms)
{
    uint64_t end_ms = clock_now_ms() + duration_ms;

    while (clock_now_ms() < end_ms) {
        add_numbers(log, 0, 50);
        usleep(5000);
    }
}

/* Complaints are rare, however many lines and attempts there are. */
static void test_full_device(void **state)
{
    const struct fixture *fixture = *state;
    struct access_log *log = start(fixture, "/dev/full");

    pace_lines(log, 1500);
    access_log_close(log);
    assert_true(count(fixture->errors, "No space left on device") >= 1);
    assert_in_range(count(fixture->errors, "\n"), 2, 3);
    assert_int_equal(count(fixture->errors, "lines are lost\n"), 1);
}

static void test_cannot_open(void **state)
{
    struct access_log *log = (void *)state;

    assert_int_equal(access_log_open(&log, "/nowhere/at/all"), -ENOENT);
    assert_null(log);
    access_log_close(NULL);
}

/* Opened but never started, as where the start of the program fails later. */
static void test_never_started(void **state)
{
    const struct fixture *fixture = *state;
    struct access_log *log;

    assert_int_equal(access_log_open(&log, fixture->path), 0);
    access_log_close(log);
    assert_string_equal(read_file(fixture->path), "");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_soon),
        TEST(test_many),
        TEST(test_children),
        TEST(test_reopen),
        TEST(test_reopen_fails),
        TEST(test_full_disk),
        TEST(test_full_disk_and_reopen),
        TEST(test_stuck_fifo),
        TEST(test_slow_reader),
        TEST(test_full_device),
        TEST(test_cannot_open),
        TEST(test_never_started),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
