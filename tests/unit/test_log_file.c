/* Where a log goes: files, FIFOs, pipes, sockets and full devices; nothing here may wait
 * for a reader. A case that would wait is ended by alarm. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log_file.h"
#include "tree.h"

struct place {
    struct tree tree;
    char path[512];
};

static int make_place(void **state)
{
    static struct place place;

    tree_open(&place.tree);
    strcpy(place.path, tree_path(&place.tree, "log"));
    *state = &place;
    alarm(20);
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;

    alarm(0);
    tree_close(&place->tree);
    return 0;
}

static ssize_t write_text(const struct log_file *file, const char *text)
{
    return log_file_write(file, text, strlen(text));
}

static void assert_contents(const char *path, const char *expected)
{
    char text[256];
    int fd = open(path, O_RDONLY);
    ssize_t n;

    assert_true(fd >= 0);
    n = read(fd, text, sizeof text - 1);
    assert_true(n >= 0);
    text[n] = '\0';
    assert_string_equal(text, expected);
    close(fd);
}

static void test_new_file(void **state)
{
    const struct place *place = *state;
    struct log_file file;
    struct stat status;
    mode_t mask = umask(0);

    assert_int_equal(log_file_open(&file, place->path), 0);
    umask(mask);
    assert_true(file.created);
    assert_int_equal(write_text(&file, "one\n"), 4);
    assert_int_equal(stat(place->path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    assert_int_equal(log_file_batch(&file), LOG_FILE_BATCH);
    assert_int_equal(log_file_poll_fd(&file), -1);
    assert_int_equal(fcntl(file.fd, F_GETFD), FD_CLOEXEC);
    log_file_close(&file);
    log_file_close(&file);
}

/* Others may write to it as well, and copytruncate may empty it. */
static void test_appends(void **state)
{
    const struct place *place = *state;
    struct log_file file, other;

    assert_int_equal(log_file_open(&file, place->path), 0);
    assert_int_equal(log_file_open(&other, place->path), 0);
    assert_false(other.created);
    write_text(&file, "one\n");
    write_text(&other, "two\n");
    write_text(&file, "three\n");
    assert_contents(place->path, "one\ntwo\nthree\n");
    assert_int_equal(truncate(place->path, 0), 0);
    write_text(&other, "four\n");
    assert_contents(place->path, "four\n");
    log_file_close(&file);
    log_file_close(&other);
}

static void test_reopen(void **state)
{
    const struct place *place = *state;
    struct log_file file;
    const char *other = tree_path(&place->tree, "log.1");

    assert_int_equal(log_file_open(&file, place->path), 0);
    write_text(&file, "old\n");
    assert_int_equal(rename(place->path, other), 0);
    write_text(&file, "late\n");
    assert_int_equal(log_file_reopen(&file), 0);
    write_text(&file, "new\n");
    assert_contents(other, "old\nlate\n");
    assert_contents(place->path, "new\n");
    assert_int_equal(log_file_reopen(&file), 0);
    write_text(&file, "more\n");
    assert_contents(place->path, "new\nmore\n");
    log_file_close(&file);
}

static void test_reopen_fails(void **state)
{
    const struct place *place = *state;
    struct log_file file;

    assert_int_equal(log_file_open(&file, place->path), 0);
    assert_int_equal(unlink(place->path), 0);
    assert_int_equal(mkdir(place->path, 0700), 0);
    assert_int_equal(log_file_reopen(&file), -EISDIR);
    assert_int_equal(write_text(&file, "kept\n"), 5);
    log_file_close(&file);
}

static void test_cannot_open(void **state)
{
    const struct place *place = *state;
    struct log_file file;

    assert_int_equal(log_file_open(&file, place->tree.path), -EISDIR);
    assert_int_equal(file.fd < 0, 1);
    assert_int_equal(log_file_open(&file, "/nowhere/at/all"), -ENOENT);
    log_file_close(&file);
}

/* Its reader may come late, leave and come again. */
static void test_fifo(void **state)
{
    const struct place *place = *state;
    struct log_file file;
    char text[16];
    int reader;

    assert_int_equal(mkfifo(place->path, 0600), 0);
    assert_int_equal(log_file_open(&file, place->path), 0);
    assert_int_equal(log_file_batch(&file), PIPE_BUF);
    assert_int_equal(write_text(&file, "one\n"), 4);
    reader = open(place->path, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_int_equal(read(reader, text, sizeof text), 4);
    close(reader);
    assert_int_equal(write_text(&file, "two\n"), 4);
    reader = open(place->path, O_RDONLY | O_NONBLOCK);
    assert_int_equal(read(reader, text, sizeof text), 4);
    assert_memory_equal(text, "two\n", 4);
    close(reader);
    log_file_close(&file);
}

static char batch[PIPE_BUF];

/* Until there is no room; then a batch is taken whole or not at all. */
static void fill(const struct log_file *file)
{
    ssize_t n = sizeof batch;

    while (n == (ssize_t)sizeof batch) {
        n = log_file_write(file, batch, sizeof batch);
    }
    assert_int_equal(n, -EAGAIN);
}

static void test_stuck_fifo(void **state)
{
    const struct place *place = *state;
    struct log_file file;
    int reader;

    assert_int_equal(mkfifo(place->path, 0600), 0);
    assert_int_equal(log_file_open(&file, place->path), 0);
    fill(&file);
    log_file_wait(&file, 1);
    reader = open(place->path, O_RDONLY | O_NONBLOCK);
    assert_int_equal(read(reader, batch, sizeof batch), sizeof batch);
    log_file_wait(&file, 10000);
    assert_int_equal(log_file_write(&file, batch, sizeof batch), sizeof batch);
    close(reader);
    log_file_close(&file);
}

/* Standard output, made `to` while a log is opened on it. */
static void open_on(struct log_file *file, int to)
{
    int saved = dup(STDOUT_FILENO);

    fflush(stdout);
    assert_int_equal(dup2(to, STDOUT_FILENO), STDOUT_FILENO);
    assert_int_equal(log_file_open(file, "-"), 0);
    assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
    close(saved);
}

/* The flags that others share with us stay as they were. */
static void test_standard_output_is_a_pipe(void **state)
{
    struct log_file file;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    open_on(&file, ends[1]);
    assert_int_equal(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(log_file_batch(&file), PIPE_BUF);
    assert_int_equal(write_text(&file, "one\n"), 4);
    assert_int_equal(log_file_reopen(&file), 0);
    fill(&file);
    close(ends[0]);
    log_file_close(&file);
    close(ends[1]);
}

static void test_standard_output_is_a_file(void **state)
{
    const struct place *place = *state;
    struct log_file file;
    int fd = open(place->path, O_CREAT | O_WRONLY, 0600);

    assert_true(fd >= 0);
    open_on(&file, fd);
    write_text(&file, "one\n");
    assert_int_equal(write(fd, "x", 1), 1); /* at its own offset, 0 */
    write_text(&file, "two\n");
    assert_contents(place->path, "xne\ntwo\n");
    close(fd);
    log_file_close(&file);
}

/* As the journal is: it cannot be opened by a name. */
static void test_standard_output_is_a_socket(void **state)
{
    struct log_file file;
    char text[16];
    int pair[2];
    ssize_t n = 1;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    open_on(&file, pair[0]);
    assert_int_equal(write_text(&file, "one\n"), 4);
    assert_int_equal(read(pair[1], text, sizeof text), 4);
    while (n > 0) {
        n = log_file_write(&file, batch, sizeof batch);
    }
    assert_int_equal(n, -EAGAIN);
    close(pair[1]);
    log_file_wait(&file, 10000);
    assert_true(write_text(&file, "nobody\n") < 0); /* and no SIGPIPE */
    close(pair[0]);
    log_file_close(&file);
}

static void test_full_device(void **state)
{
    struct log_file file;

    (void)state;
    assert_int_equal(log_file_open(&file, "/dev/full"), 0);
    assert_int_equal(write_text(&file, "one\n"), -ENOSPC);
    log_file_close(&file);
}

/* Only a file that was made is given away; to whom it belongs already takes no right. */
static void test_give(void **state)
{
    const struct place *place = *state;
    struct log_file file;
    struct stat status;
    uid_t user = geteuid() == 0 ? 12345 : geteuid();

    assert_int_equal(log_file_open(&file, place->path), 0);
    assert_int_equal(log_file_give(&file, user, getegid()), 0);
    assert_int_equal(stat(place->path, &status), 0);
    assert_int_equal(status.st_uid, user);
    log_file_close(&file);
    assert_int_equal(log_file_open(&file, place->path), 0);
    assert_int_equal(log_file_give(&file, user + 1, getegid()), 0);
    assert_int_equal(stat(place->path, &status), 0);
    assert_int_equal(status.st_uid, user);
    log_file_close(&file);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_new_file),
        TEST(test_appends),
        TEST(test_reopen),
        TEST(test_reopen_fails),
        TEST(test_cannot_open),
        TEST(test_fifo),
        TEST(test_stuck_fifo),
        TEST(test_standard_output_is_a_pipe),
        TEST(test_standard_output_is_a_file),
        TEST(test_standard_output_is_a_socket),
        TEST(test_full_device),
        TEST(test_give),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
