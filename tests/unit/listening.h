/* For tests of the listener: addresses, a folder for unix sockets, and a client. It must
 * never listen on an address that others can reach. */
#ifndef TETRAD_LISTENING_H
#define TETRAD_LISTENING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "bind_address.h"
#include "listener.h"
#include "options.h"

enum { ERROR_MAX = 256, ACCEPT_WAIT_MS = 10000 };

static const struct options one_address = {
    .binds = { .values = { "127.0.0.1" }, .count = 1 },
};
static const struct options two_addresses = {
    .binds = { .values = { "127.0.0.1", "127.0.0.2" }, .count = 2 },
};
static const struct options ipv6_address = {
    .binds = { .values = { "::1" }, .count = 1 },
};
static const struct options unix_address = {
    .binds = { .values = { "unix:socket" }, .count = 1 },
};
static const struct options mixed_addresses = {
    .binds = { .values = { "127.0.0.1", "unix:socket" }, .count = 2 },
};

/* Each test runs in a new folder, because a unix socket is a file. */
static inline int enter_folder(void **state)
{
    static char name[] = "listener-XXXXXX";

    memcpy(name + sizeof("listener-") - 1, "XXXXXX", 6);
    *state = name;
    if (mkdtemp(name) == NULL)
        return -1;
    return chdir(name);
}

static inline int leave_folder(void **state)
{
    unlink("socket");
    if (chdir("..") < 0)
        return -1;
    return rmdir(*state);
}

static inline struct listener *open_listener(const struct options *options)
{
    struct listener *listener;
    char error[ERROR_MAX] = "";

    if (listener_open(&listener, options, error, sizeof(error)) != 0)
        fail_msg("%s", error);
    return listener;
}

static inline void name_of(const struct listener *listener, unsigned i,
                           struct bind_address *name)
{
    name->len = sizeof(name->storage);
    assert_int_equal(getsockname(listener_fd(listener, i),
                                 (struct sockaddr *)&name->storage, &name->len),
                     0);
}

/* A client's socket, connected to the i-th address; -1 with errno set: it was refused. */
static inline int connect_to(const struct listener *listener, unsigned i)
{
    struct bind_address name;
    int fd;

    name_of(listener, i, &name);
    fd = socket(name.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&name.storage, name.len) == 0)
        return fd;
    close(fd);
    return -1;
}

static inline int connected(const struct listener *listener, unsigned i)
{
    int fd = connect_to(listener, i);

    assert_true(fd >= 0);
    return fd;
}

/* Where the machine has no IPv6, the line must say so. */
static inline bool ipv6_works(void)
{
    struct listener *listener;
    char error[ERROR_MAX] = "";

    if (listener_open(&listener, &ipv6_address, error, sizeof(error)) == 0) {
        listener_close(listener, true);
        return true;
    }
    assert_ptr_equal(strstr(error, "cannot listen on [::1]:0: "), error);
    return false;
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

#endif
