/* The lanes: lines come out whole and in their lane's order, nothing waits, who is full
 * drops and counts, the taker is woken when it must be, and a writer that is stopped or
 * killed anywhere holds nobody up. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "log_lanes.h"

enum { LINE_MAX_LEN = 4096, ROOM = 64 * 1024 };

static char taken[ROOM];

static enum log_lanes_rouse put(struct log_lanes *lanes, unsigned lane, const char *line)
{
    return log_lanes_put(lanes, lane, line, strlen(line));
}

static struct log_lanes *open_lanes(void)
{
    struct log_lanes *lanes = log_lanes_open();

    assert_non_null(lanes);
    return lanes;
}

/* All that can be taken with this room, as a string. */
static const char *take(struct log_lanes *lanes, size_t room)
{
    taken[log_lanes_take(lanes, taken, room)] = '\0';
    return taken;
}

static void test_order(void **state)
{
    struct log_lanes *lanes = open_lanes();

    (void)state;
    assert_true(log_lanes_empty(lanes));
    assert_string_equal(take(lanes, 100), "");
    put(lanes, 1, "b1\n");
    put(lanes, 0, "a1\n");
    put(lanes, 1, "b2\n");
    assert_false(log_lanes_empty(lanes));
    assert_string_equal(take(lanes, 100), "a1\nb1\nb2\n");
    assert_true(log_lanes_empty(lanes));
    put(lanes, LOG_LANES - 1, "z\n");
    assert_string_equal(take(lanes, 100), "z\n");
    assert_int_equal(log_lanes_dropped(lanes), 0);
    log_lanes_close(lanes);
}

static void test_claims_take_turns(void **state)
{
    struct log_lanes *lanes = open_lanes();

    (void)state;
    for (unsigned i = 0; i < 3 * LOG_LANES; i++) {
        assert_int_equal(log_lanes_claim(lanes), i % LOG_LANES);
    }
    log_lanes_close(lanes);
}

/* Whole lines only, the rest next time, and the other lanes are not forgotten. */
static void test_little_room(void **state)
{
    struct log_lanes *lanes = open_lanes();

    (void)state;
    put(lanes, 3, "12345\n");
    put(lanes, 3, "67890\n");
    put(lanes, 4, "abc\n");
    assert_string_equal(take(lanes, 6), "12345\n");
    assert_string_equal(take(lanes, 9), "67890\n");
    assert_string_equal(take(lanes, 6), "abc\n");
    put(lanes, 3, "1\n");
    put(lanes, 4, "2\n");
    put(lanes, 4, "3\n");
    assert_string_equal(take(lanes, 5), "2\n3\n");
    assert_string_equal(take(lanes, 5), "1\n");
    log_lanes_close(lanes);
}

/* Many times around the ring, with lines of every length. */
static void test_around_the_ring(void **state)
{
    struct log_lanes *lanes = open_lanes();
    char line[LINE_MAX_LEN];
    size_t bytes = 0;

    (void)state;
    for (unsigned i = 0; bytes < 5 * LOG_LANE_BYTES; i++) {
        size_t len = 1 + i * 7 % LINE_MAX_LEN;

        memset(line, 'a' + (int)(i % 26), len);
        line[len - 1] = '\n';
        assert_int_not_equal(log_lanes_put(lanes, 5, line, len), LOG_LANES_DROPPED);
        assert_int_equal(log_lanes_take(lanes, taken, ROOM), len);
        assert_memory_equal(taken, line, len);
        bytes += len;
    }
    log_lanes_close(lanes);
}

static void test_full_lane_drops(void **state)
{
    struct log_lanes *lanes = open_lanes();
    static const char line[] = "fifteen bytes.\n";
    size_t stored = 0, found = 0;

    (void)state;
    while (put(lanes, 0, line) != LOG_LANES_DROPPED) {
        stored++;
    }
    assert_int_equal(stored, LOG_LANE_BYTES / strlen(line));
    assert_int_equal(put(lanes, 0, line), LOG_LANES_DROPPED);
    assert_int_equal(log_lanes_dropped(lanes), 2);
    assert_int_not_equal(put(lanes, 1, "another lane\n"), LOG_LANES_DROPPED);
    for (size_t len = 1; len > 0;) {
        len = log_lanes_take(lanes, taken, ROOM);
        found += len;
    }
    assert_int_equal(found, stored * strlen(line) + strlen("another lane\n"));
    assert_int_not_equal(put(lanes, 0, line), LOG_LANES_DROPPED);
    log_lanes_close(lanes);
}

static void test_rouse(void **state)
{
    struct log_lanes *lanes = open_lanes();
    char line[LINE_MAX_LEN];
    unsigned urgent = 0;

    (void)state;
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    assert_int_equal(put(lanes, 0, "first\n"), LOG_LANES_FIRST);
    assert_int_equal(put(lanes, 0, "second\n"), LOG_LANES_QUIET);
    assert_int_equal(put(lanes, 7, "third\n"), LOG_LANES_QUIET);
    for (unsigned i = 0; i < LOG_LANE_FULLISH / sizeof line; i++) {
        urgent += log_lanes_put(lanes, 0, line, sizeof line) == LOG_LANES_URGENT;
    }
    assert_int_equal(urgent, 1);
    /* Taking alone does not rest. */
    while (log_lanes_take(lanes, taken, ROOM) > 0) {
    }
    assert_int_equal(put(lanes, 0, "quiet\n"), LOG_LANES_QUIET);
    log_lanes_rest(lanes);
    assert_int_equal(put(lanes, 0, "again\n"), LOG_LANES_FIRST);
    log_lanes_close(lanes);
}

/* Writers number their lines; the taker finds each of them whole, and once. More writers
 * than lanes get in each other's way, so that a line may overtake the one before. */
enum { WRITERS = 20, LINES = 2000, NUMBERS = 10 * LINES };

struct reader {
    unsigned lines[WRITERS];
    bool seen[WRITERS][NUMBERS]; /* of the first lines */
};

static void write_lines(struct log_lanes *lanes, unsigned writer, unsigned lines)
{
    unsigned lane = log_lanes_claim(lanes);
    char line[LINE_MAX_LEN], text[600];

    memset(text, '=', sizeof text);
    for (unsigned i = 0; i < lines; i++) {
        int len = snprintf(line, sizeof line, "%u %u %.*s\n", writer, i,
                           (int)(i * 13 % sizeof text), text);

        while (log_lanes_put(lanes, lane, line, (size_t)len) == LOG_LANES_DROPPED) {
        }
    }
}

static bool read_line(struct reader *reader, char *line)
{
    unsigned writer, number;
    int at = 0;

    if (sscanf(line, "%u %u %n", &writer, &number, &at) < 2 || writer >= WRITERS ||
        strspn(line + at, "=") != number * 13 % 600 ||
        strlen(line + at) != number * 13 % 600) {
        return false;
    }
    reader->lines[writer]++;
    if (number < NUMBERS) {
        bool twice = reader->seen[writer][number];

        reader->seen[writer][number] = true;
        return !twice;
    }
    return true;
}

static bool read_lines(struct reader *reader, struct log_lanes *lanes)
{
    size_t len = log_lanes_take(lanes, taken, ROOM - 1);
    char *rest = NULL;

    taken[len] = '\0';
    for (char *line = strtok_r(taken, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        assert_true(read_line(reader, line));
    }
    return len > 0;
}

static void *writer_thread(void *argument)
{
    void **arguments = argument;

    write_lines(arguments[0], (unsigned)(uintptr_t)arguments[1], LINES);
    return NULL;
}

static void test_threads(void **state)
{
    static struct reader reader;
    struct log_lanes *lanes = open_lanes();
    pthread_t threads[WRITERS];
    void *arguments[WRITERS][2];
    unsigned done = 0;

    (void)state;
    memset(&reader, 0, sizeof reader);
    for (unsigned i = 0; i < WRITERS; i++) {
        arguments[i][0] = lanes;
        arguments[i][1] = (void *)(uintptr_t)i;
        assert_int_equal(pthread_create(&threads[i], NULL, writer_thread, arguments[i]),
                         0);
    }
    while (done < WRITERS) {
        read_lines(&reader, lanes);
        done = 0;
        for (unsigned i = 0; i < WRITERS; i++) {
            done += reader.lines[i] == LINES;
        }
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    log_lanes_close(lanes);
}

static pid_t start_writer(struct log_lanes *lanes, unsigned writer, unsigned lines)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60);
        write_lines(lanes, writer, lines);
        _exit(0);
    }
    return pid;
}

/* Processes that are killed while they write, again and again: what they put in is whole,
 * and the others are not held up. */
static void test_killed_writers(void **state)
{
    static struct reader reader;
    struct log_lanes *lanes = open_lanes();
    pid_t steady;
    int status;

    (void)state;
    memset(&reader, 0, sizeof reader);
    steady = start_writer(lanes, 0, NUMBERS);
    for (unsigned i = 1; i < WRITERS; i++) {
        pid_t victim = start_writer(lanes, i, UINT32_MAX);

        while (reader.lines[i] < 100) {
            read_lines(&reader, lanes);
        }
        assert_int_equal(kill(victim, SIGKILL), 0);
        assert_int_equal(waitpid(victim, &status, 0), victim);
    }
    while (reader.lines[0] < NUMBERS) {
        read_lines(&reader, lanes);
    }
    assert_int_equal(waitpid(steady, &status, 0), steady);
    assert_int_equal(status, 0);
    while (read_lines(&reader, lanes)) {
    }
    /* Every lane can still be written. */
    for (unsigned lane = 0; lane < LOG_LANES; lane++) {
        assert_int_not_equal(put(lanes, lane, "x\n"), LOG_LANES_DROPPED);
    }
    assert_int_equal(strlen(take(lanes, 100)), 2 * LOG_LANES);
    log_lanes_close(lanes);
}

/* Processes that are stopped while they write hold their locks for good: a line goes into
 * another lane. */
static void test_stopped_writers(void **state)
{
    static struct reader reader;
    struct log_lanes *lanes = open_lanes();
    pid_t stopped[4];
    int status;

    (void)state;
    memset(&reader, 0, sizeof reader);
    for (unsigned i = 0; i < 4; i++) {
        stopped[i] = start_writer(lanes, i + 1, UINT32_MAX);
        while (reader.lines[i + 1] < 100) {
            read_lines(&reader, lanes);
        }
        assert_int_equal(kill(stopped[i], SIGSTOP), 0);
        assert_int_equal(waitpid(stopped[i], &status, WUNTRACED), stopped[i]);
    }
    while (read_lines(&reader, lanes)) {
    }
    for (unsigned lane = 0; lane < LOG_LANES; lane++) {
        assert_int_not_equal(put(lanes, lane, "x\n"), LOG_LANES_DROPPED);
    }
    assert_int_equal(strlen(take(lanes, 100)), 2 * LOG_LANES);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(kill(stopped[i], SIGKILL), 0);
        assert_int_equal(waitpid(stopped[i], &status, 0), stopped[i]);
    }
    log_lanes_close(lanes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),           cmocka_unit_test(test_claims_take_turns),
        cmocka_unit_test(test_little_room),     cmocka_unit_test(test_around_the_ring),
        cmocka_unit_test(test_full_lane_drops), cmocka_unit_test(test_rouse),
        cmocka_unit_test(test_threads),         cmocka_unit_test(test_killed_writers),
        cmocka_unit_test(test_stopped_writers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
