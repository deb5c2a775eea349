/* The listener's stop: it ends the sleep of every accept, in all threads and processes, and
 * refuses new connections. */
#include "listening.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* Contexts that sleep in accept, threads or processes; in memory that all share. */
enum { SLEEPERS = 4, ROUNDS = 5 };

struct sleeper {
    atomic_int tid; /* known once accept is next */
    atomic_int result;
    atomic_bool overslept; /* the stop did not wake it: its tick did */
};

struct sleepers {
    struct listener *listener;
    atomic_bool stopping; /* set just before listener_stop */
    struct sleeper each[SLEEPERS];
    atomic_uint started;
};

static void sleep_in_accept(struct sleepers *sleepers)
{
    struct sleeper *sleeper = &sleepers->each[atomic_fetch_add(&sleepers->started, 1)];
    enum accept_result result;
    int fd;

    atomic_store(&sleeper->tid, (int)gettid());
    do {
        result = listener_accept_blocking(sleepers->listener, &fd);
        if (result == ACCEPT_NONE && atomic_load(&sleepers->stopping)) {
            atomic_store(&sleeper->overslept, true);
        }
    } while (result == ACCEPT_NONE);
    atomic_store(&sleeper->result, (int)result);
}

/* The state letter in /proc/TID/stat, behind the name in brackets; 0: not there yet. */
static char thread_state(int tid)
{
    char path[64];
    char text[512];
    const char *bracket;
    ssize_t len;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    len = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[len > 0 ? len : 0] = '\0';
    bracket = strrchr(text, ')');
    return bracket != NULL && bracket[1] == ' ' ? bracket[2] : 0;
}

static void wait_until_all_sleep(const struct sleepers *sleepers)
{
    for (int i = 0; i < SLEEPERS; i++) {
        int tries = 0;

        while (atomic_load(&sleepers->each[i].tid) == 0 ||
               thread_state(atomic_load(&sleepers->each[i].tid)) != 'S') {
            assert_in_range(tries++, 0, ACCEPT_WAIT_MS);
            poll(NULL, 0, 1);
        }
    }
}

static void *run_thread(void *sleepers)
{
    sleep_in_accept(sleepers);
    return NULL;
}

static void stop_threads(struct sleepers *sleepers)
{
    pthread_t threads[SLEEPERS];

    for (int i = 0; i < SLEEPERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_thread, sleepers), 0);
    }
    wait_until_all_sleep(sleepers);
    atomic_store(&sleepers->stopping, true);
    listener_stop(sleepers->listener);
    for (int i = 0; i < SLEEPERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}

/* Processes, and the stop comes from one of them, not from the one that made them all. */
static void stop_processes(struct sleepers *sleepers)
{
    pid_t children[SLEEPERS];
    pid_t stopper;
    int status;

    for (int i = 0; i < SLEEPERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            sleep_in_accept(sleepers);
            _exit(0);
        }
    }
    wait_until_all_sleep(sleepers);
    stopper = fork();
    assert_true(stopper >= 0);
    if (stopper == 0) {
        atomic_store(&sleepers->stopping, true);
        listener_stop(sleepers->listener);
        _exit(0);
    }
    assert_int_equal(waitpid(stopper, &status, 0), stopper);
    for (int i = 0; i < SLEEPERS; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    }
}

/* True if the stop ended every sleep. A tick may pass in the very moment of the stop, so
 * one false among several is no fault. */
static bool stop_wakes(const struct options *options, void (*stop)(struct sleepers *))
{
    struct sleepers *sleepers = mmap(NULL, sizeof(*sleepers), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool woken = true;
    int fd;

    assert_true(sleepers != MAP_FAILED);
    sleepers->listener = open_listener(options);
    assert_int_equal(listener_set_blocking(sleepers->listener), 0);
    stop(sleepers);
    for (int i = 0; i < SLEEPERS; i++) {
        assert_int_equal(atomic_load(&sleepers->each[i].result), ACCEPT_STOPPED);
        woken = woken && !atomic_load(&sleepers->each[i].overslept);
    }
    for (unsigned i = 0; i < listener_count(sleepers->listener); i++) {
        assert_int_equal(listener_accept(sleepers->listener, i, &fd), ACCEPT_STOPPED);
    }
    assert_int_equal(listener_accept_blocking(sleepers->listener, &fd), ACCEPT_STOPPED);
    listener_close(sleepers->listener, true);
    munmap(sleepers, sizeof(*sleepers));
    return woken;
}

static void check_stop(const struct options *options, void (*stop)(struct sleepers *))
{
    for (int round = 0; round < ROUNDS; round++) {
        if (stop_wakes(options, stop)) {
            return;
        }
    }
    fail_msg("accept at %s slept until its tick, %d times", options->binds.values[0],
             ROUNDS);
}

static void test_stop_wakes_threads(void **state)
{
    (void)state;
    check_stop(&one_address, stop_threads);
    check_stop(&unix_address, stop_threads);
    check_stop(&two_addresses, stop_threads);
    check_stop(&mixed_addresses, stop_threads);
    if (ipv6_works()) {
        check_stop(&ipv6_address, stop_threads);
    }
}

static void test_stop_wakes_processes(void **state)
{
    (void)state;
    check_stop(&one_address, stop_processes);
    check_stop(&unix_address, stop_processes);
    check_stop(&mixed_addresses, stop_processes);
}

/* New connections are refused at once, while the sockets are still open; a poller of the
 * socket hears of it; stopping again does no harm. */
static void test_stop_refuses(void **state)
{
    struct listener *listener = open_listener(&mixed_addresses);
    int waiting = connected(listener, 1);
    int fd;

    (void)state;
    listener_stop(listener);
    listener_stop(listener);
    for (unsigned i = 0; i < 2; i++) {
        struct pollfd ready = { .fd = listener_fd(listener, i), .events = POLLIN };

        assert_int_equal(poll(&ready, 1, 0), 1);
        assert_int_equal(listener_accept(listener, i, &fd), ACCEPT_STOPPED);
    }
    errno = 0;
    assert_int_equal(connect_to(listener, 1), -1);
    assert_int_equal(errno, ECONNREFUSED);
    close(waiting);
    listener_close(listener, true);
}

static void test_stop_refuses_tcp(void **state)
{
    struct listener *listener = open_listener(&one_address);
    struct bind_address name;
    int client;

    (void)state;
    name_of(listener, 0, &name);
    listener_stop(listener);
    client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(client >= 0);
    assert_int_equal(connect(client, (struct sockaddr *)&name.storage, name.len), -1);
    assert_int_equal(errno, ECONNREFUSED);
    close(client);
    listener_close(listener, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_stop_wakes_threads),
        IN_FOLDER(test_stop_wakes_processes),
        IN_FOLDER(test_stop_refuses),
        cmocka_unit_test(test_stop_refuses_tcp),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
