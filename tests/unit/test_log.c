/* The error log: what a line looks like, that it is one write, that it never blocks, and
 * the limit. Standard error is a datagram socket here, so that each write is seen apart. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "log.h"

enum { LINE_ROOM = 4096 };

/* Standard error, redirected into `to` for one call of log_write. */
static int redirect(int to)
{
    int saved = dup(STDERR_FILENO);

    assert_true(saved >= 0);
    assert_int_equal(dup2(to, STDERR_FILENO), STDERR_FILENO);
    return saved;
}

static void restore(int saved)
{
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    close(saved);
}

/* The one line that a call writes. */
static void log_into(char line[LINE_ROOM], enum log_level level, const char *text)
{
    int pair[2];
    int saved;
    ssize_t len;
    char rest;

    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
    saved = redirect(pair[0]);
    log_write(level, "%s", text);
    restore(saved);
    len = recv(pair[1], line, LINE_ROOM - 1, MSG_DONTWAIT);
    assert_true(len > 0);
    line[len] = '\0';
    assert_int_equal(recv(pair[1], &rest, 1, MSG_DONTWAIT), -1);
    close(pair[0]);
    close(pair[1]);
}

static void test_lines(void **state)
{
    static const struct {
        enum log_level level;
        const char *text, *line;
    } cases[] = {
        { LOG_LEVEL_ERROR, "no such model", "tetrad: no such model\n" },
        { LOG_LEVEL_WARN, "late", "tetrad: warning: late\n" },
        { LOG_LEVEL_INFO, "ready", "tetrad: ready\n" },
        { LOG_LEVEL_INFO, "", "tetrad: \n" },
        { LOG_LEVEL_INFO, "a\nb\r\x1b[2J\x7f\x01\t",
          "tetrad: a\\x0ab\\x0d\\x1b[2J\\x7f\\x01\\x09\n" },
        { LOG_LEVEL_INFO, "na\xc3\xafve", "tetrad: na\xc3\xafve\n" },
    };
    char line[LINE_ROOM];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        log_into(line, cases[i].level, cases[i].text);
        assert_string_equal(line, cases[i].line);
    }
}

/* Cut at 1 KiB of text, and never inside an escape. */
static void test_long_lines(void **state)
{
    char text[3000];
    char line[LINE_ROOM];
    size_t prefix = strlen("tetrad: ");

    (void)state;
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    log_into(line, LOG_LEVEL_INFO, text);
    assert_int_equal(strlen(line), prefix + 1024 + 1);
    assert_int_equal(line[strlen(line) - 1], '\n');

    text[1024] = '\0';
    log_into(line, LOG_LEVEL_INFO, text);
    assert_int_equal(strlen(line), prefix + 1024 + 1);

    text[1022] = '\x01';
    log_into(line, LOG_LEVEL_INFO, text);
    assert_int_equal(strlen(line), prefix + 1022 + 1);

    memset(text, '\x01', sizeof(text) - 1);
    log_into(line, LOG_LEVEL_INFO, text);
    assert_int_equal(strlen(line), prefix + 1024 + 1);
    assert_string_equal(line + prefix + 1020, "\\x01\n");
}

static void test_errno_is_kept(void **state)
{
    int null = open("/dev/null", O_WRONLY);
    int read_only = open("/dev/null", O_RDONLY);
    int ends[2] = { null, read_only };

    (void)state;
    for (int i = 0; i < 2; i++) {
        int saved = redirect(ends[i]);
        int kept;

        errno = ENOTDIR;
        log_write(LOG_LEVEL_INFO, "the second write fails");
        kept = errno;
        restore(saved);
        assert_int_equal(kept, ENOTDIR);
    }
    close(null);
    close(read_only);
}

/* Nobody reads the pipe: the line is dropped. Were it written, alarm would end the test. */
static void test_stuck_pipe(void **state)
{
    char filling[4096] = { 0 };
    int ends[2];
    int saved;

    (void)state;
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    while (write(ends[1], filling, sizeof(filling)) > 0) {
        ;
    }
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
    saved = redirect(ends[1]);
    alarm(10);
    log_write(LOG_LEVEL_ERROR, "into the full pipe");
    alarm(0);
    restore(saved);
    close(ends[0]);
    close(ends[1]);
}

static unsigned count_allowed(struct log_limit *limit, uint64_t now_ms, unsigned calls)
{
    unsigned allowed = 0;

    for (unsigned i = 0; i < calls; i++) {
        allowed += log_allow(limit, now_ms) ? 1 : 0;
    }
    return allowed;
}

static void test_limit(void **state)
{
    struct log_limit limit = { 0 };

    (void)state;
    assert_int_equal(count_allowed(&limit, 0, 100), LOG_LINES_PER_SECOND);
    assert_int_equal(count_allowed(&limit, 999, 100), 0);
    assert_int_equal(count_allowed(&limit, 1000, 2), 2);
    assert_int_equal(count_allowed(&limit, 1999, 100), LOG_LINES_PER_SECOND - 2);
    assert_int_equal(count_allowed(&limit, 123456789, 100), LOG_LINES_PER_SECOND);
    assert_int_equal(count_allowed(&limit, 123457000, 1), 1);
    /* A thread whose clock is a little behind counts in the second that has begun. */
    assert_int_equal(count_allowed(&limit, 123456999, 100), LOG_LINES_PER_SECOND - 1);
}

enum { THREADS = 4, CALLS = 5000, SECONDS = 50 };

struct caller {
    struct log_limit *limit;
    unsigned allowed;
};

static void *call_limit(void *argument)
{
    struct caller *caller = argument;

    for (uint64_t second = 0; second < SECONDS; second++) {
        caller->allowed += count_allowed(caller->limit, second * 1000, CALLS / SECONDS);
    }
    return NULL;
}

static void test_limit_between_threads(void **state)
{
    struct log_limit limit = { 0 };
    struct caller callers[THREADS];
    pthread_t threads[THREADS];
    unsigned allowed = 0;

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){ .limit = &limit };
        assert_int_equal(pthread_create(&threads[i], NULL, call_limit, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        allowed += callers[i].allowed;
    }
    assert_int_equal(allowed, SECONDS * LOG_LINES_PER_SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_errno_is_kept),
        cmocka_unit_test(test_stuck_pipe),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_limit_between_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
