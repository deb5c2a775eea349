/* For tests: what main opens, over a free port of the loopback interface, and a client.
 * It must never listen on an address that others can reach. */
#ifndef TETRAD_TINY_SERVER_H
#define TETRAD_TINY_SERVER_H

#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "http_conn.h"
#include "listener.h"
#include "model.h"
#include "options.h"
#include "server.h"
#include "site.h"

struct tiny_server {
    struct options options;
    struct http_limits limits;
    struct server server;
};

static inline void tiny_server_open(struct tiny_server *tiny)
{
    static const struct site_options site = { .root = "/", .index = "", .model = "tiny" };
    char error[256];

    memset(tiny, 0, sizeof(*tiny));
    tiny->options = (struct options){ .binds = { .values = { "127.0.0.1" }, .count = 1 },
                                      .workers = 1,
                                      .max_connections = 10,
                                      .grace_ms = 60000 };
    tiny->limits = (struct http_limits){ .header_timeout_ms = 10000,
                                         .keepalive_timeout_ms = 10000,
                                         .body_timeout_ms = 10000,
                                         .send_timeout_ms = 10000 };
    tiny->server.options = &tiny->options;
    tiny->server.limits = &tiny->limits;
    assert_int_equal(site_open(&tiny->server.site, &site), 0);
    assert_int_equal(
        listener_open(&tiny->server.listener, &tiny->options, error, sizeof(error)), 0);
    tiny->server.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_true(tiny->server.stop_fd >= 0);
}

static inline void tiny_server_close(struct tiny_server *tiny)
{
    close(tiny->server.stop_fd);
    listener_close(tiny->server.listener, true);
    site_close(tiny->server.site);
}

/* A connected client. */
static inline int tiny_server_connect(const struct tiny_server *tiny)
{
    struct sockaddr_in address;
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(getsockname(listener_fd(tiny->server.listener, 0),
                                 (struct sockaddr *)&address, &len),
                     0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, len), 0);
    return fd;
}

/* Reads all that the server sends until it ends the stream; as a string. */
static inline void tiny_server_read_all(int fd, char *text, size_t room)
{
    size_t len = 0;
    ssize_t n = 1;

    while (n > 0 && len < room - 1) {
        n = read(fd, text + len, room - 1 - len);
        assert_true(n >= 0);
        len += (size_t)n;
    }
    text[len] = '\0';
}

#endif
