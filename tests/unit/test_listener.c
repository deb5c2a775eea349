/* The listener: addresses and ports, what accepted sockets inherit, files of unix sockets,
 * and running out of descriptors. */
#include "listening.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static void assert_refused(const struct options *options, const char *expected)
{
    struct listener *listener;
    char error[ERROR_MAX] = "";

    assert_int_equal(listener_open(&listener, options, error, sizeof(error)), -1);
    assert_null(listener);
    assert_string_equal(error, expected);
}

/* The accepted socket of a client that has connected; the kernel may take a moment. */
static int accepted(struct listener *listener, unsigned i)
{
    struct pollfd ready = { .fd = listener_fd(listener, i), .events = POLLIN };
    int fd = -1;

    assert_int_equal(poll(&ready, 1, ACCEPT_WAIT_MS), 1);
    assert_int_equal(listener_accept(listener, i, &fd), ACCEPT_OK);
    return fd;
}

static int int_option(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof(value);

    assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

static void test_url(void **state)
{
    struct listener *listener = open_listener(&one_address);
    struct bind_address name;
    char url[64];

    (void)state;
    name_of(listener, 0, &name);
    assert_true(bind_address_port(&name) > 0);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", bind_address_port(&name));
    assert_string_equal(listener_url(listener, 0), url);
    assert_null(listener_url(listener, 1));
    assert_int_equal(listener_count(listener), 1);
    listener_close(listener, true);
}

static void test_one_port_for_all(void **state)
{
    struct listener *listener = open_listener(&two_addresses);
    struct bind_address names[2];

    (void)state;
    assert_int_equal(listener_count(listener), 2);
    for (unsigned i = 0; i < 2; i++) {
        name_of(listener, i, &names[i]);
    }
    assert_int_equal(bind_address_port(&names[0]), bind_address_port(&names[1]));
    assert_null(listener_url(listener, 2));
    listener_close(listener, true);
}

static void test_ipv6_only(void **state)
{
    struct options options = ipv6_address;
    struct options both = one_address;
    struct listener *listener;
    struct listener *other;
    struct bind_address name;

    (void)state;
    if (!ipv6_works()) {
        return;
    }
    listener = open_listener(&ipv6_address);
    assert_int_equal(int_option(listener_fd(listener, 0), IPPROTO_IPV6, IPV6_V6ONLY), 1);
    assert_ptr_equal(strstr(listener_url(listener, 0), "http://[::1]:"),
                     listener_url(listener, 0));
    /* The same port is free for IPv4. */
    name_of(listener, 0, &name);
    both.port = bind_address_port(&name);
    other = open_listener(&both);
    listener_close(other, true);
    listener_close(listener, true);
    options.port = both.port;
    listener = open_listener(&options);
    listener_close(listener, true);
}

static void test_port_in_use(void **state)
{
    struct listener *listener = open_listener(&one_address);
    struct options options = one_address;
    struct options second = { .binds = { .values = { "unix:socket", "127.0.0.1" },
                                         .count = 2 } };
    struct bind_address name;
    char expected[ERROR_MAX];

    (void)state;
    name_of(listener, 0, &name);
    options.port = second.port = bind_address_port(&name);
    snprintf(expected, sizeof(expected),
             "cannot listen on 127.0.0.1:%u: Address already in use", options.port);
    assert_refused(&options, expected);
    /* Refused for its second address, it takes away what the first one made. */
    assert_refused(&second, expected);
    assert_int_equal(access("socket", F_OK), -1);
    listener_close(listener, true);
    /* Free again at once. */
    listener = open_listener(&options);
    listener_close(listener, true);
}

static void test_foreign_address(void **state)
{
    struct options options = { .port = 9,
                               .binds = { .values = { "192.0.2.1" }, .count = 1 } };

    (void)state;
    assert_refused(&options,
                   "cannot listen on 192.0.2.1:9: Cannot assign requested address");
}

static void test_accept(void **state)
{
    struct listener *listener = open_listener(&one_address);
    int fd = -1;
    int client;

    (void)state;
    assert_int_equal(listener_accept(listener, 0, &fd), ACCEPT_NONE);
    client = connected(listener, 0);
    fd = accepted(listener, 0);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_not_equal(int_option(fd, IPPROTO_TCP, TCP_NODELAY), 0);
    assert_int_equal(int_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT), 128 * 1024);
    assert_int_equal(write(client, "x", 1), 1);
    close(fd);
    close(client);
    assert_int_equal(listener_accept(listener, 0, &fd), ACCEPT_NONE);
    listener_close(listener, true);
}

/* Over one address and over several: a connection is found, and then the tick passes. */
static void accept_blocking(const struct options *options)
{
    struct listener *listener = open_listener(options);
    int clients[OPTIONS_LIST_MAX];
    unsigned count = listener_count(listener);
    int fd = -1;

    assert_int_equal(listener_set_blocking(listener), 0);
    for (unsigned i = 0; i < count; i++) {
        clients[i] = connected(listener, i);
    }
    for (unsigned i = 0; i < count; i++) {
        enum accept_result result;

        do {
            result = listener_accept_blocking(listener, &fd);
        } while (result == ACCEPT_NONE);
        assert_int_equal(result, ACCEPT_OK);
        assert_false(fcntl(fd, F_GETFL) & O_NONBLOCK);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        close(fd);
    }
    assert_int_equal(listener_accept_blocking(listener, &fd), ACCEPT_NONE);
    for (unsigned i = 0; i < count; i++) {
        close(clients[i]);
    }
    listener_close(listener, true);
}

static void test_accept_blocking(void **state)
{
    (void)state;
    accept_blocking(&one_address);
    accept_blocking(&two_addresses);
    accept_blocking(&unix_address);
    accept_blocking(&mixed_addresses);
}

static void test_unix_file(void **state)
{
    struct listener *listener = open_listener(&unix_address);
    struct stat status;
    int client;
    int fd;

    (void)state;
    assert_string_equal(listener_url(listener, 0), "unix:socket");
    assert_int_equal(lstat("socket", &status), 0);
    assert_true(S_ISSOCK(status.st_mode));
    assert_int_equal(status.st_mode & 0777, 0666);
    client = connected(listener, 0);
    fd = accepted(listener, 0);
    close(fd);
    close(client);
    /* Somebody answers: it is not stale. */
    assert_refused(&unix_address, "cannot listen on unix:socket: Address already in use");
    assert_int_equal(access("socket", F_OK), 0);

    listener_close(listener, false);
    assert_int_equal(access("socket", F_OK), 0);
    listener = open_listener(&unix_address); /* over the stale file */
    listener_close(listener, true);
    assert_int_equal(access("socket", F_OK), -1);
}

/* A socket of another kind refuses to connect for another reason: it is in use. */
static void test_unix_datagrams(void **state)
{
    struct bind_address address;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(bind_address_parse(&address, "unix:socket", 0), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address.storage, address.len), 0);
    assert_refused(&unix_address, "cannot listen on unix:socket: Address already in use");
    assert_int_equal(access("socket", F_OK), 0);
    close(fd);
}

static void test_unix_file_of_others(void **state)
{
    struct listener *listener;
    int fd = open("socket", O_WRONLY | O_CREAT | O_EXCL, 0600);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_refused(&unix_address, "cannot listen on unix:socket: Address already in use");
    assert_int_equal(access("socket", F_OK), 0);
    assert_int_equal(unlink("socket"), 0);

    /* A file that took the place of ours stays. */
    listener = open_listener(&unix_address);
    assert_int_equal(rename("socket", "ours"), 0);
    fd = open("socket", O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    close(fd);
    listener_close(listener, true);
    assert_int_equal(access("socket", F_OK), 0);
    assert_int_equal(unlink("ours"), 0);
}

static void test_unix_folder_missing(void **state)
{
    struct options options = { .binds = { .values = { "unix:missing/socket" },
                                          .count = 1 } };

    (void)state;
    assert_refused(&options,
                   "cannot listen on unix:missing/socket: No such file or directory");
}

/* In a child, where the limit does not hurt the other tests: ends it with the line. */
#define EXPECT(truth)                                                                    \
    do {                                                                                 \
        if (!(truth))                                                                    \
            _exit(1 + __LINE__ % 250);                                                   \
    } while (0)

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Lets no further descriptor be opened. */
static void use_up_descriptors(struct rlimit *before)
{
    struct rlimit limit;
    int lowest = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

    EXPECT(lowest >= 0);
    close(lowest);
    EXPECT(getrlimit(RLIMIT_NOFILE, before) == 0);
    limit = *before;
    limit.rlim_cur = (rlim_t)lowest;
    EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static unsigned count_lines(int from)
{
    char text[1024];
    unsigned lines = 0;

    for (ssize_t len = read(from, text, sizeof(text)); len > 0;
         len = read(from, text, sizeof(text))) {
        for (ssize_t i = 0; i < len; i++) {
            lines += text[i] == '\n';
        }
    }
    return lines;
}

/* Many failures in a row: a few lines, no end, and the connection is still to be had once
 * there are descriptors again. */
static void exhaust(struct listener *listener)
{
    enum { CALLS = 1000 };
    struct rlimit before;
    uint64_t start;
    int ends[2];
    int fd;

    EXPECT(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
    EXPECT(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    use_up_descriptors(&before);
    start = now_ms();
    for (int i = 0; i < CALLS; i++) {
        EXPECT(listener_accept(listener, 0, &fd) == ACCEPT_RETRY);
    }
    /* Three a second, and a second may have begun or passed meanwhile. */
    EXPECT(count_lines(ends[0]) - 1 < 3 * (2 + (now_ms() - start) / 1000));
    EXPECT(setrlimit(RLIMIT_NOFILE, &before) == 0);
    EXPECT(listener_accept(listener, 0, &fd) == ACCEPT_OK);
}

/* The pause of a blocking accept is slept inside. */
static void exhaust_blocking(struct listener *listener)
{
    struct rlimit before;
    uint64_t start;
    int fd;

    EXPECT(listener_set_blocking(listener) == 0);
    EXPECT(dup2(open("/dev/null", O_WRONLY), STDERR_FILENO) == STDERR_FILENO);
    use_up_descriptors(&before);
    start = now_ms();
    for (int i = 0; i < 3; i++) {
        EXPECT(listener_accept_blocking(listener, &fd) == ACCEPT_RETRY);
    }
    EXPECT(now_ms() - start >= 3 * LISTENER_RETRY_MS);
    EXPECT(setrlimit(RLIMIT_NOFILE, &before) == 0);
    EXPECT(listener_accept_blocking(listener, &fd) == ACCEPT_OK);
}

static void run_exhausted(const struct options *options,
                          void (*in_child)(struct listener *))
{
    struct listener *listener = open_listener(options);
    int client = connected(listener, 0);
    struct pollfd ready = { .fd = listener_fd(listener, 0), .events = POLLIN };
    int status = -1;
    pid_t child;

    assert_int_equal(poll(&ready, 1, ACCEPT_WAIT_MS), 1);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        in_child(listener);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(client);
    listener_close(listener, true);
}

static void test_out_of_descriptors(void **state)
{
    (void)state;
    run_exhausted(&one_address, exhaust);
    run_exhausted(&unix_address, exhaust);
    run_exhausted(&one_address, exhaust_blocking);
    run_exhausted(&two_addresses, exhaust_blocking);
}

/* A client that has gone again, with a reset, before it was accepted. */
static void test_client_gone(void **state)
{
    static const struct linger reset = { .l_onoff = 1 };
    struct listener *listener = open_listener(&one_address);
    struct pollfd ready = { .fd = listener_fd(listener, 0), .events = POLLIN };
    int client = connected(listener, 0);
    int fd = -1;
    enum accept_result result;

    (void)state;
    assert_int_equal(poll(&ready, 1, ACCEPT_WAIT_MS), 1);
    assert_int_equal(setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
    close(client);
    result = listener_accept(listener, 0, &fd);
    assert_true(result == ACCEPT_OK || result == ACCEPT_NONE);
    if (result == ACCEPT_OK) {
        close(fd);
    }
    client = connected(listener, 0);
    close(accepted(listener, 0));
    close(client);
    listener_close(listener, true);
}

static void test_close_null(void **state)
{
    (void)state;
    listener_close(NULL, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url),
        cmocka_unit_test(test_one_port_for_all),
        cmocka_unit_test(test_ipv6_only),
        IN_FOLDER(test_port_in_use),
        cmocka_unit_test(test_foreign_address),
        cmocka_unit_test(test_accept),
        IN_FOLDER(test_accept_blocking),
        IN_FOLDER(test_unix_file),
        IN_FOLDER(test_unix_datagrams),
        IN_FOLDER(test_unix_file_of_others),
        IN_FOLDER(test_unix_folder_missing),
        IN_FOLDER(test_out_of_descriptors),
        cmocka_unit_test(test_client_gone),
        cmocka_unit_test(test_close_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
