/* Posts are handles for other threads, the only ones of libuv that can be made due at any
 * time: each post is a write to the loop's eventfd. It must never know what is called. */
#include "uv_loop.h"

#include <stdio.h>

#include <uv.h>

struct caller {
    union {
        uv_handle_t any;
        uv_async_t post;
        uv_poll_t watch;
    };
    size_t number;
};

struct loop {
    uv_loop_t uv;
    struct run *run;
    void (*called)(struct run *run, size_t number);
    size_t count;
    struct caller callers[];
};

void loop_loaded(char *text, size_t size)
{
    (void)snprintf(text, size, "libuv %s", uv_version_string());
}

struct loop *loop_open(struct run *run, size_t count,
                       void (*called)(struct run *run, size_t number))
{
    struct loop *loop = run_share(run, sizeof(*loop) + count * sizeof(loop->callers[0]));

    run_must(run, "libuv", uv_loop_init(&loop->uv));
    loop->uv.data = loop;
    loop->run = run;
    loop->called = called;
    loop->count = count;
    for (size_t i = 0; i < count; i++) {
        loop->callers[i].number = i;
    }
    return loop;
}

static void post_due(uv_async_t *post)
{
    struct loop *loop = post->loop->data;

    loop->called(loop->run, ((const struct caller *)post->data)->number);
}

static void watch_due(uv_poll_t *watch, int status, int bits)
{
    struct loop *loop = watch->loop->data;

    (void)bits;
    run_must(loop->run, "libuv", status);
    loop->called(loop->run, ((const struct caller *)watch->data)->number);
}

void loop_add_post(struct loop *loop, size_t number)
{
    struct caller *caller = &loop->callers[number];

    run_must(loop->run, "libuv", uv_async_init(&loop->uv, &caller->post, post_due));
    caller->any.data = caller;
}

void loop_add_watch(struct loop *loop, size_t number, int fd, enum rt_direction direction)
{
    struct caller *caller = &loop->callers[number];
    int bits = direction == RT_READ ? UV_READABLE : UV_WRITABLE;

    run_must(loop->run, "libuv", uv_poll_init(&loop->uv, &caller->watch, fd));
    caller->any.data = caller;
    run_must(loop->run, "libuv", uv_poll_start(&caller->watch, bits, watch_due));
}

void loop_drop(struct loop *loop, size_t number)
{
    (void)uv_poll_stop(&loop->callers[number].watch);
}

void loop_post(struct loop *loop, size_t number)
{
    run_must(loop->run, "libuv", uv_async_send(&loop->callers[number].post));
}

void loop_run(struct loop *loop)
{
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_once(struct loop *loop)
{
    (void)uv_run(&loop->uv, UV_RUN_ONCE);
}

void loop_end(struct loop *loop)
{
    uv_stop(&loop->uv);
}

void loop_close(struct loop *loop)
{
    for (size_t i = 0; i < loop->count; i++) {
        uv_close(&loop->callers[i].any, NULL);
    }
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    (void)uv_loop_close(&loop->uv);
}
