/* Modes uv and uv-tcp: the same loop by libuv, which in the first only says when, and in
 * the second reads and writes as well. It must never know what is sent. */
#include "floor.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <uv.h>

static void check_uv(int result)
{
    if (result < 0) {
        errno = -result;
        floor_die("libuv");
    }
}

/* ---- uv: libuv only says when */

struct polled {
    struct floor_peer peer;
    uv_poll_t poll;
};

static void on_polled_closed(uv_handle_t *handle)
{
    struct polled *polled = handle->data;

    close(polled->peer.fd);
    free(polled);
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
    struct floor_peer *peer = &((struct polled *)handle->data)->peer;
    bool owing = peer->owed > 0;

    (void)events;
    if (status < 0 || !floor_step(peer, false)) {
        uv_close((uv_handle_t *)handle, on_polled_closed);
    } else if (owing != (peer->owed > 0)) {
        check_uv(uv_poll_start(handle, owing ? UV_READABLE : UV_WRITABLE, on_poll));
    }
}

static void on_poll_listener(uv_poll_t *handle, int status, int events)
{
    int fd = floor_accept(*(int *)handle->data);

    (void)events;
    check_uv(status);
    if (fd >= 0) {
        struct polled *polled = floor_allocate(sizeof *polled);

        polled->peer.fd = fd;
        polled->poll.data = polled;
        check_uv(uv_poll_init(handle->loop, &polled->poll, fd));
        check_uv(uv_poll_start(&polled->poll, UV_READABLE, on_poll));
    }
}

void floor_serve_uv(int listener)
{
    uv_loop_t *loop = uv_default_loop();
    uv_poll_t accepting = { .data = &listener };

    check_uv(uv_poll_init(loop, &accepting, listener));
    check_uv(uv_poll_start(&accepting, UV_READABLE, on_poll_listener));
    uv_run(loop, UV_RUN_DEFAULT);
}

/* ---- uv-tcp: libuv reads and writes */

struct stream {
    uv_tcp_t tcp;
    uv_write_t rest;
};

static void on_stream_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void give_input(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)handle;
    (void)suggested;
    *buffer = uv_buf_init(floor_input, sizeof floor_input);
}

static void on_read(uv_stream_t *tcp, ssize_t count, const uv_buf_t *buffer);

static void on_rest_written(uv_write_t *rest, int status)
{
    if (status == 0) {
        uv_read_start(rest->handle, give_input, on_read);
    } else if (!uv_is_closing((uv_handle_t *)rest->handle)) {
        uv_close((uv_handle_t *)rest->handle, on_stream_closed);
    }
}

static void on_read(uv_stream_t *tcp, ssize_t count, const uv_buf_t *buffer)
{
    struct stream *stream = tcp->data;
    uv_buf_t whole = uv_buf_init(floor_response.base, (unsigned)floor_response.len);
    int sent = count > 0 ? uv_try_write(tcp, &whole, 1) : 0;

    (void)buffer;
    sent = sent == UV_EAGAIN ? 0 : sent;
    if (count < 0 || sent < 0) {
        uv_close((uv_handle_t *)tcp, on_stream_closed);
    } else if (count > 0 && (size_t)sent < floor_response.len) {
        whole = uv_buf_init(floor_response.base + sent,
                            (unsigned)floor_response.len - (unsigned)sent);
        uv_read_stop(tcp);
        check_uv(uv_write(&stream->rest, tcp, &whole, 1, on_rest_written));
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct stream *stream = floor_allocate(sizeof *stream);

    check_uv(status);
    stream->tcp.data = stream;
    check_uv(uv_tcp_init(listener->loop, &stream->tcp));
    check_uv(uv_accept(listener, (uv_stream_t *)&stream->tcp));
    check_uv(uv_read_start((uv_stream_t *)&stream->tcp, give_input, on_read));
}

void floor_serve_uv_tcp(int listener)
{
    uv_loop_t *loop = uv_default_loop();
    uv_tcp_t accepting;

    check_uv(uv_tcp_init(loop, &accepting));
    check_uv(uv_tcp_open(&accepting, listener));
    check_uv(uv_listen((uv_stream_t *)&accepting, FLOOR_BACKLOG, on_connection));
    uv_run(loop, UV_RUN_DEFAULT);
}
