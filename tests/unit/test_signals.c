/* Signals, each case in a forked child of its own, because handlers are per process. A
 * child's exit status says at which check it failed. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "signals.h"

enum { WAIT_MS = 10000, PATIENCE_S = 20 };

/* In a child, where cmocka's assertions do not reach: ends it with the line's number. */
#define EXPECT(truth)                                                                    \
    do {                                                                                 \
        if (!(truth))                                                                    \
            _exit(100 + __LINE__ % 100);                                                 \
    } while (0)

static bool is_readable(int fd, int timeout_ms)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
    int ready;

    do {
        ready = poll(&poll_fd, 1, timeout_ms);
    } while (ready < 0 && errno == EINTR);
    return ready == 1;
}

/* The wait status of a child that ran the function and, if it came back, left with 0. */
static int run_in_child(void (*function)(void))
{
    pid_t child = fork();
    int status = -1;

    assert_true(child >= 0);
    if (child == 0) {
        alarm(30);
        function();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void assert_exits(void (*function)(void), int expected)
{
    int status = run_in_child(function);

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), expected);
}

static void stop_once(int signal_number)
{
    int fd = signals_open(PATIENCE_S);

    EXPECT(fd >= 0);
    EXPECT(!signals_stopping());
    EXPECT(!is_readable(fd, 0));
    errno = EXDEV;
    raise(signal_number);
    EXPECT(errno == EXDEV);
    EXPECT(signals_stopping());
    EXPECT(is_readable(fd, 0));
    EXPECT(is_readable(fd, 0));
}

static void stop_by_term(void)
{
    stop_once(SIGTERM);
}

static void stop_by_int(void)
{
    stop_once(SIGINT);
}

static void test_first_signal(void **state)
{
    (void)state;
    assert_exits(stop_by_term, 0);
    assert_exits(stop_by_int, 0);
}

static void stop_twice(void)
{
    EXPECT(signals_open(PATIENCE_S) >= 0);
    raise(SIGTERM);
    raise(SIGINT);
}

static void test_second_signal(void **state)
{
    (void)state;
    assert_exits(stop_twice, 1);
}

/* A thread that nothing ends any more. */
static void hang_after_stop(void)
{
    EXPECT(signals_open(1) >= 0);
    raise(SIGTERM);
    for (;;) {
        pause();
    }
}

static void test_patience(void **state)
{
    (void)state;
    assert_exits(hang_after_stop, 0);
}

static void write_to_nobody(void)
{
    int ends[2];

    EXPECT(signals_open(PATIENCE_S) >= 0);
    EXPECT(pipe(ends) == 0);
    close(ends[0]);
    EXPECT(write(ends[1], "x", 1) < 0);
    EXPECT(errno == EPIPE);
}

static void test_sigpipe(void **state)
{
    (void)state;
    assert_exits(write_to_nobody, 0);
}

static void write_too_much(void)
{
    struct rlimit limit = { 0, RLIM_INFINITY };
    FILE *file = tmpfile();

    EXPECT(signals_open(PATIENCE_S) >= 0);
    EXPECT(file != NULL && getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = 0;
    EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    EXPECT(write(fileno(file), "x", 1) < 0);
    EXPECT(errno == EFBIG);
}

static void test_sigxfsz(void **state)
{
    (void)state;
    assert_exits(write_too_much, 0);
}

/* As a careless starter leaves them: SIGTERM blocked, SIGCHLD and SIGINT ignored. */
static void inherit_badly(void)
{
    sigset_t blocked;
    pid_t child;
    int fd;
    int status;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGCHLD, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    fd = signals_open(PATIENCE_S);
    EXPECT(fd >= 0);
    child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        _exit(7);
    }
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    raise(SIGTERM);
    EXPECT(is_readable(fd, 0));
    raise(SIGINT); /* the second one */
}

static void test_bad_inheritance(void **state)
{
    (void)state;
    assert_exits(inherit_badly, 1);
}

static void stop_a_worker_process(void)
{
    int fd = signals_open(PATIENCE_S);

    EXPECT(fd >= 0);
    signals_in_child();
    EXPECT(!signals_stopping());
    raise(SIGTERM);
    EXPECT(signals_stopping());
    raise(SIGTERM);
    raise(SIGINT);
    EXPECT(signals_stopping());
    EXPECT(!is_readable(fd, 0));
}

static void test_in_child(void **state)
{
    (void)state;
    assert_exits(stop_a_worker_process, 0);
}

/* Sleeps in calls with a time-out, as a context does, that a signal ends: one that came
 * just before the sleep is made good by the alarm, again and again. */
static void sleep_in_a_worker_process(void)
{
    int fd = signals_open(PATIENCE_S);

    EXPECT(fd >= 0);
    signals_in_child();
    raise(SIGTERM);
    for (int i = 0; i < 2; i++) {
        EXPECT(poll(NULL, 0, WAIT_MS) == -1 && errno == EINTR);
    }
}

static void test_sleep_in_child(void **state)
{
    (void)state;
    assert_exits(sleep_in_a_worker_process, 0);
}

/* It was blocked by the starter, and means nothing but the end of a sleep. */
static void be_nudged(void)
{
    pid_t parent = getpid(), sender;
    sigset_t nudge;
    int fd, status;

    sigemptyset(&nudge);
    sigaddset(&nudge, SIGNALS_NUDGE);
    sigprocmask(SIG_BLOCK, &nudge, NULL);
    raise(SIGNALS_NUDGE);
    fd = signals_open(PATIENCE_S);
    EXPECT(fd >= 0);
    sender = fork();
    if (sender == 0) {
        alarm(WAIT_MS / 1000);
        while (kill(parent, SIGNALS_NUDGE) == 0) {
            poll(NULL, 0, 1);
        }
        _exit(0);
    }
    EXPECT(poll(NULL, 0, WAIT_MS) == -1 && errno == EINTR);
    EXPECT(!signals_stopping());
    EXPECT(!is_readable(fd, 0));
    EXPECT(kill(sender, SIGKILL) == 0);
    while (waitpid(sender, &status, 0) < 0) {
        EXPECT(errno == EINTR);
    }
}

static void test_nudge(void **state)
{
    (void)state;
    assert_exits(be_nudged, 0);
}

/* The parent is told to stop; a child of it that sleeps sees it on the descriptor. */
static void stop_is_shared(void)
{
    int fd = signals_open(PATIENCE_S);
    pid_t child;
    int status;

    EXPECT(fd >= 0);
    child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        signals_in_child();
        EXPECT(is_readable(fd, WAIT_MS));
        EXPECT(!signals_stopping());
        _exit(0);
    }
    raise(SIGTERM);
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_descriptor_is_shared(void **state)
{
    (void)state;
    assert_exits(stop_is_shared, 0);
}

/* How many signals are read from the descriptor. */
static int take_user1(int fd)
{
    struct signalfd_siginfo news;
    int count = 0;

    while (read(fd, &news, sizeof(news)) == sizeof(news)) {
        EXPECT(news.ssi_signo == SIGUSR1);
        count++;
    }
    return count;
}

static void *raise_in_thread(void *argument)
{
    (void)argument;
    kill(getpid(), SIGUSR1);
    return NULL;
}

/* Ignored until somebody wants it, and then only seen on the descriptor, whatever thread
 * runs. */
static void read_user1(void)
{
    pthread_t thread;
    int fd;

    EXPECT(signals_open(PATIENCE_S) >= 0);
    raise(SIGUSR1);
    fd = signals_user1_open();
    EXPECT(fd >= 0);
    EXPECT(take_user1(fd) == 0);
    raise(SIGUSR1);
    EXPECT(is_readable(fd, 0));
    EXPECT(take_user1(fd) == 1 && !is_readable(fd, 0));
    EXPECT(pthread_create(&thread, NULL, raise_in_thread, NULL) == 0);
    EXPECT(is_readable(fd, WAIT_MS) && take_user1(fd) == 1);
    EXPECT(pthread_join(thread, NULL) == 0);
    signals_in_child();
    raise(SIGUSR1);
    EXPECT(!signals_stopping());
}

static void test_user1(void **state)
{
    (void)state;
    assert_exits(read_user1, 0);
}

static void test_but_faults(void **state)
{
    static const int kept[] = { SIGTERM, SIGINT, SIGALRM, SIGCHLD, SIGUSR1, SIGPIPE };
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };
    sigset_t set;

    (void)state;
    signals_but_faults(&set);
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        assert_int_equal(sigismember(&set, kept[i]), 1);
    }
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        assert_int_equal(sigismember(&set, faults[i]), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_but_faults),    cmocka_unit_test(test_first_signal),
        cmocka_unit_test(test_second_signal), cmocka_unit_test(test_patience),
        cmocka_unit_test(test_sigpipe),       cmocka_unit_test(test_bad_inheritance),
        cmocka_unit_test(test_in_child),      cmocka_unit_test(test_sleep_in_child),
        cmocka_unit_test(test_nudge),         cmocka_unit_test(test_descriptor_is_shared),
        cmocka_unit_test(test_user1),         cmocka_unit_test(test_sigxfsz),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
