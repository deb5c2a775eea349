/* The pump over a transport that is a script, for the tests of conn.c: what each receive
 * gives, how much each send takes, what was sent. It must never know what a test is about.
 */
#ifndef TETRAD_CONN_DRIVER_H
#define TETRAD_CONN_DRIVER_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "http_conn.h"
#include "server.h"
#include "site.h"
#include "tree.h"
#include "unit.h"

enum { LARGE = 3 * 1024 * 1024, SENT_ROOM = 64 * 1024 };

/* What the next receive gives: bytes of `input`, its end, or nothing yet. */
struct script {
    struct transport base;
    const char *input;
    size_t input_len, take; /* bytes for one receive at most */
    bool ended, broken;
    size_t send_room;       /* bytes taken before the transport says wait */
    size_t sent, file_sent; /* all bytes; those of files */
    ssize_t unacked;
    bool says_full;     /* to has_room */
    unsigned sendfiles; /* calls */
    bool file_is_short;
    size_t file_left; /* 0: as much as is asked for */
    unsigned receives, shutdowns, closes;
    char bytes[SENT_ROOM]; /* what was sent from memory */
    size_t bytes_len;
};

static inline ssize_t script_recv(struct transport *transport, void *to, size_t room,
                                  bool wait)
{
    struct script *script = (struct script *)transport;
    size_t n = script->input_len < room ? script->input_len : room;

    (void)wait;
    script->receives++;
    n = n < script->take ? n : script->take;
    if (script->broken) {
        return TRANSPORT_BROKEN;
    }
    if (n == 0) {
        return script->ended ? 0 : TRANSPORT_WAIT_READ;
    }
    memcpy(to, script->input, n);
    script->input += n;
    script->input_len -= n;
    return (ssize_t)n;
}

static inline size_t script_take(struct script *script, size_t n)
{
    size_t part = n < script->send_room ? n : script->send_room;

    script->send_room -= part;
    script->sent += part;
    return part;
}

static inline bool script_has_room(const struct transport *transport)
{
    return !((const struct script *)transport)->says_full;
}

static inline ssize_t script_sendv(struct transport *transport, const struct iovec *iov,
                                   int count, bool more)
{
    struct script *script = (struct script *)transport;
    size_t n = 0;

    (void)more;
    for (int i = 0; i < count; i++) {
        size_t part = script_take(script, iov[i].iov_len);

        if (script->bytes_len + part <= sizeof script->bytes) {
            memcpy(script->bytes + script->bytes_len, iov[i].iov_base, part);
            script->bytes_len += part;
        }
        n += part;
    }
    return n > 0 ? (ssize_t)n : TRANSPORT_WAIT_WRITE;
}

static inline ssize_t script_sendfile(struct transport *transport, int fd, off_t offset,
                                      size_t count)
{
    struct script *script = (struct script *)transport;
    size_t n;

    (void)fd;
    (void)offset;
    script->sendfiles++;
    if (script->file_is_short) {
        return TRANSPORT_SHORT_FILE;
    }
    if (script->file_left > 0 && script->file_left < count) {
        count = script->file_left;
        script->file_is_short = true;
    }
    n = script_take(script, count);
    script->file_sent += n;
    return n > 0 ? (ssize_t)n : TRANSPORT_WAIT_WRITE;
}

static inline ssize_t script_unacked(const struct transport *transport)
{
    return ((const struct script *)transport)->unacked;
}

static inline int script_shutdown(struct transport *transport)
{
    ((struct script *)transport)->shutdowns++;
    return 0;
}

static inline void script_close(struct transport *transport)
{
    ((struct script *)transport)->closes++;
}

static const struct transport_ops script_ops = {
    .recv = script_recv,
    .sendv = script_sendv,
    .sendfile = script_sendfile,
    .has_room = script_has_room,
    .unacked = script_unacked,
    .shutdown = script_shutdown,
    .close = script_close,
};

__attribute__((unused)) static const struct transport_ops copying_ops = {
    .recv = script_recv,
    .sendv = script_sendv,
    .shutdown = script_shutdown,
    .close = script_close,
};

struct fixture {
    struct tree tree;
    struct http_limits limits;
    struct server server;
    struct worker *worker;
    struct script script;
    struct conn *conn;
};

static inline void open_fixture(struct fixture *fixture, enum worker_kind kind)
{
    struct site_options options = {
        .index = "", .model = "test", .revalidate_ms = 1000, .cache_bytes = 1 << 20
    };
    char *large = malloc(LARGE);

    memset(fixture, 0, sizeof(*fixture));
    tree_open(&fixture->tree);
    tree_text(&fixture->tree, "a.txt", "0123456789");
    assert_non_null(large);
    memset(large, 'x', LARGE);
    tree_write(&fixture->tree, "large", large, LARGE);
    free(large);
    options.root = fixture->tree.path;
    fixture->limits = (struct http_limits){ .header_timeout_ms = 10000,
                                            .keepalive_timeout_ms = 10000,
                                            .body_timeout_ms = 10000,
                                            .send_timeout_ms = 40 };
    assert_int_equal(site_open(&fixture->server.site, &options), 0);
    fixture->server.limits = &fixture->limits;
    fixture->worker = worker_open(&fixture->server, kind, WORKER_OWN_CACHE);
    assert_non_null(fixture->worker);
    fixture->script.base.ops = &script_ops;
    fixture->script.take = fixture->script.send_room = SIZE_MAX;
    fixture->conn = conn_open(fixture->worker, &fixture->script.base, fixture);
    assert_non_null(fixture->conn);
}

static inline void close_fixture(struct fixture *fixture)
{
    conn_close(fixture->conn);
    assert_int_equal(fixture->script.closes, 1);
    assert_int_equal(worker_connections(fixture->worker), 0);
    worker_close(fixture->worker);
    site_close(fixture->server.site);
    tree_close(&fixture->tree);
}

static inline void say(struct fixture *fixture, const char *text)
{
    fixture->script.input = text;
    fixture->script.input_len = strlen(text);
}

/* Steps, running file work inline, until it is not CONN_AGAIN or CONN_WAIT_WORK. */
static inline enum conn_wait settle(struct fixture *fixture)
{
    enum conn_wait wait = conn_step(fixture->conn);

    while (wait == CONN_AGAIN || wait == CONN_WAIT_WORK) {
        if (wait == CONN_WAIT_WORK) {
            assert_int_equal(conn_step(fixture->conn), CONN_WAIT_WORK);
            work_run(conn_work(fixture->conn));
        }
        wait = conn_step(fixture->conn);
    }
    return wait;
}

static inline unsigned count(const struct fixture *fixture, const char *text)
{
    const char *at = fixture->script.bytes, *end = at + fixture->script.bytes_len;
    unsigned n = 0;

    at = memmem(at, (size_t)(end - at), text, strlen(text));
    while (at != NULL) {
        n++;
        at = memmem(at + 1, (size_t)(end - at) - 1, text, strlen(text));
    }
    return n;
}

#define GET_A "GET /a.txt HTTP/1.1\r\nHost: t\r\n\r\n"
#define GET_LARGE "GET /large HTTP/1.1\r\nHost: t\r\n\r\n"

#endif
