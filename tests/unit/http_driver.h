/* Drives an http_conn as the pump does, with a site that answers every request by a short
 * text about it. Input comes in pieces of a chosen size, output leaves in pieces of a
 * chosen size; what was sent and how the connection ended must not depend on either. It
 * must never know a socket. */
#ifndef TETRAD_HTTP_DRIVER_H
#define TETRAD_HTTP_DRIVER_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_conn_state.h"
#include "unit.h"

enum { TRANSCRIPT_MAX = 64 * 1024 };

static const struct http_limits driver_limits = {
    .header_timeout_ms = 10000,
    .keepalive_timeout_ms = 15000,
    .body_timeout_ms = 30000,
    .send_timeout_ms = 20000,
};

/* Never cleared: whatever was read before must make no difference. */
static struct head_memo driver_memo;

struct driver {
    struct buffer_pool pool;
    struct http_conn http;
    uint64_t now_ms;
    size_t send_max;  /* bytes taken by one send */
    unsigned pins;    /* taken and not yet released */
    unsigned answers; /* final ones */
    bool closed;      /* it wanted to close */
    bool half_closed;
    size_t sent_len;
    char text[256]; /* the body of the answer being made */
    char sent[TRANSCRIPT_MAX];
};

static inline void driver_unpin(void *owner)
{
    ((struct driver *)owner)->pins--;
}

static inline void driver_open(struct driver *driver, const struct http_limits *limits,
                               size_t send_max)
{
    memset(driver, 0, sizeof(*driver));
    driver->send_max = send_max;
    driver->now_ms = 1000;
    buffer_pool_init(&driver->pool, 4);
    http_conn_init(&driver->http, limits, &driver->pool, &driver_memo, driver->now_ms);
}

static inline void driver_close(struct driver *driver)
{
    http_conn_destroy(&driver->http);
    assert_int_equal(driver->pins, 0);
    buffer_pool_destroy(&driver->pool);
}

/* "METHOD path?query status" is the whole site. A HEAD has no body. */
static inline void driver_answer(struct driver *driver, const struct request *request)
{
    static const char date[] = "Sun, 06 Nov 1994 08:49:37 GMT";
    struct response response;
    int path_len = request->path.len < 100 ? (int)request->path.len : 100;
    int len = snprintf(driver->text, sizeof driver->text, "%.*s %.*s %d\n",
                       (int)request->method_text.len % 100, request->method_text.base,
                       path_len, request->path.base, (int)request->has_query);
    unsigned status = request->status != 0                   ? request->status
                      : request->method == METHOD_REGISTERED ? 405
                                                             : 200;

    if (request->expects_continue && status == 200) {
        http_conn_continue(&driver->http, driver->now_ms);
        return;
    }
    response_init(&response, status, date);
    response.content_length = len;
    if (request->method != METHOD_HEAD) {
        response.body_count = 1;
        response.body[0] = (struct span){ .kind = SPAN_MEMORY,
                                          .base = driver->text,
                                          .length = (size_t)len };
    }
    response.release = driver_unpin;
    response.owner = driver;
    driver->pins++;
    driver->answers++;
    http_conn_respond(&driver->http, &response, driver->now_ms);
}

static inline void driver_send(struct driver *driver)
{
    struct output *output = http_conn_output(&driver->http);
    struct iovec iov[OUTPUT_SPANS_MAX];

    while (!output_empty(output)) {
        int count = output_iovecs(output, iov, OUTPUT_SPANS_MAX);
        size_t left = driver->send_max;
        size_t n = 0;

        for (int i = 0; i < count && left > 0; i++) {
            size_t part = iov[i].iov_len < left ? iov[i].iov_len : left;

            assert_true(driver->sent_len + part <= sizeof driver->sent);
            memcpy(driver->sent + driver->sent_len, iov[i].iov_base, part);
            driver->sent_len += part;
            left -= part;
            n += part;
        }
        assert_true(n > 0);
        http_conn_sent(&driver->http, n, driver->now_ms);
    }
}

/* Answers and sends until the connection wants input or is done. One answer at a time is
 * under way, because all are made of one text. */
static inline void driver_run(struct driver *driver)
{
    for (;;) {
        switch (http_conn_want(&driver->http)) {
        case HTTP_WANT_ANSWER:
            driver_answer(driver, http_conn_request(&driver->http));
            break;
        case HTTP_WANT_OUTPUT:
            driver_send(driver);
            break;
        case HTTP_WANT_HALF_CLOSE:
            driver->half_closed = true;
            http_conn_half_closed(&driver->http, driver->now_ms);
            break;
        case HTTP_WANT_INPUT:
            http_conn_rest(&driver->http);
            return;
        case HTTP_WANT_CLOSE:
            driver->closed = true;
            return;
        }
    }
}

/* Feeds bytes in pieces of at most `piece`. */
static inline void driver_feed(struct driver *driver, const char *bytes, size_t n,
                               size_t piece)
{
    driver_run(driver);
    while (n > 0 && !driver->closed) {
        char *where;
        size_t room = http_conn_space(&driver->http, &where);
        size_t part = n < piece ? n : piece;

        part = part < room ? part : room;
        assert_true(part > 0);
        memcpy(where, bytes, part);
        http_conn_received(&driver->http, part, driver->now_ms);
        bytes += part;
        n -= part;
        driver_run(driver);
    }
}

/* The peer's end of stream. */
static inline void driver_end(struct driver *driver)
{
    char *where;

    if (!driver->closed) {
        assert_true(http_conn_space(&driver->http, &where) > 0);
        http_conn_received(&driver->http, 0, driver->now_ms);
        driver_run(driver);
    }
}

#endif
