/* The socket transport: results instead of errno, ticks of a blocking socket, no SIGPIPE,
 * a file shorter than announced; and what is told of a cold file. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "cold_file.h"
#include "transport_socket.h"
#include "tree.h"
#include "unit.h"

struct pair {
    struct transport_socket transport;
    int peer;
};

static void open_pair(struct pair *pair, int flags)
{
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0, fds), 0);
    transport_socket_open(&pair->transport, fds[0]);
    pair->peer = fds[1];
}

/* A blocking one, whose tick is this. */
static void open_ticking(struct pair *pair, unsigned tick_ms)
{
    open_pair(pair, 0);
    assert_int_equal(transport_socket_set_tick(&pair->transport, tick_ms), 0);
}

static void close_pair(struct pair *pair)
{
    struct transport *base = &pair->transport.base;

    base->ops->close(base);
    base->ops->close(base); /* again: does nothing */
    close(pair->peer);
}

static ssize_t receive(struct pair *pair, char *to, size_t room, bool wait)
{
    return pair->transport.base.ops->recv(&pair->transport.base, to, room, wait);
}

static ssize_t send_text(struct pair *pair, const char *a, const char *b)
{
    struct iovec iov[2] = { { (void *)(uintptr_t)a, strlen(a) },
                            { (void *)(uintptr_t)b, strlen(b) } };

    return pair->transport.base.ops->sendv(&pair->transport.base, iov, *b == '\0' ? 1 : 2,
                                           false);
}

static void bytes_go_both_ways(void **state)
{
    struct pair pair;
    char text[16];

    (void)state;
    open_pair(&pair, SOCK_NONBLOCK);
    assert_int_equal(receive(&pair, text, sizeof text, true), TRANSPORT_WAIT_READ);
    assert_int_equal(write(pair.peer, "hello", 5), 5);
    assert_int_equal(receive(&pair, text, 3, true), 3);
    assert_int_equal(receive(&pair, text, sizeof text, true), 2);
    assert_int_equal(send_text(&pair, "one", ""), 3);
    assert_int_equal(send_text(&pair, "two", "three"), 8);
    assert_int_equal(read(pair.peer, text, sizeof text), 11);
    assert_memory_equal(text, "onetwothree", 11);
    assert_int_equal(pair.transport.base.ops->shutdown(&pair.transport.base), 0);
    assert_int_equal(read(pair.peer, text, sizeof text), 0);
    assert_int_equal(shutdown(pair.peer, SHUT_WR), 0);
    assert_int_equal(receive(&pair, text, sizeof text, true), 0);
    close_pair(&pair);
}

static void a_gone_peer_is_broken_without_a_signal(void **state)
{
    struct pair pair;

    (void)state;
    open_pair(&pair, SOCK_NONBLOCK);
    close(pair.peer);
    assert_int_equal(send_text(&pair, "x", ""), TRANSPORT_BROKEN);
    assert_int_equal(send_text(&pair, "x", "y"), TRANSPORT_BROKEN);
    pair.peer = -1;
    pair.transport.base.ops->close(&pair.transport.base);
}

static void a_full_socket_says_wait(void **state)
{
    struct pair pair;
    char *large = calloc(1, 1 << 20);
    struct iovec iov = { large, 1 << 20 };
    ssize_t n = 0;

    (void)state;
    assert_non_null(large);
    open_pair(&pair, SOCK_NONBLOCK);
    while (n >= 0) {
        n = pair.transport.base.ops->sendv(&pair.transport.base, &iov, 1, true);
    }
    assert_int_equal(n, TRANSPORT_WAIT_WRITE);
    assert_true(pair.transport.base.ops->unacked(&pair.transport.base) > 0);
    free(large);
    close_pair(&pair);
}

static void a_blocking_socket_gives_up_at_its_tick(void **state)
{
    struct pair pair;
    char text[4];

    (void)state;
    open_ticking(&pair, 20);
    assert_int_equal(receive(&pair, text, sizeof text, false), TRANSPORT_WAIT_READ);
    assert_int_equal(receive(&pair, text, sizeof text, true), TRANSPORT_WAIT_READ);
    close_pair(&pair);
    pair.transport.fd = -1;
    assert_true(transport_socket_set_tick(&pair.transport, 20) < 0);
}

static unsigned patience_ms(const struct pair *pair, int option)
{
    struct timeval time = { 0 };
    socklen_t size = sizeof time;

    assert_int_equal(getsockopt(pair->transport.fd, SOL_SOCKET, option, &time, &size), 0);
    return (unsigned)(time.tv_sec * 1000 + time.tv_usec / 1000);
}

/* The kernel rounds a time up to its timer's tick, 10 ms at most. */
static void assert_patience(const struct pair *pair, int option, unsigned ms)
{
    unsigned has = patience_ms(pair, option);

    assert_in_range(has, ms, ms + 9);
}

static void a_send_gives_up_when_it_is_told(void **state)
{
    struct pair pair;

    (void)state;
    open_ticking(&pair, 50);
    transport_socket_send_within(&pair.transport, 20);
    assert_patience(&pair, SO_SNDTIMEO, 20);
    assert_int_equal(pair.transport.base.tick_ms, 20);
    transport_socket_send_within(&pair.transport, 50);
    assert_patience(&pair, SO_SNDTIMEO, 50);
    assert_int_equal(pair.transport.base.tick_ms, 50);
    transport_socket_send_within(&pair.transport, 0);
    assert_patience(&pair, SO_SNDTIMEO, 1); /* 0 would be for ever */
    assert_patience(&pair, SO_RCVTIMEO, 50);
    close_pair(&pair);
}

/* Only a receive that waited in vain says so, and until the next await. */
static void bytes_are_awaited(void **state)
{
    struct pair pair;
    char text[4];

    (void)state;
    open_ticking(&pair, 20);
    assert_int_equal(receive(&pair, text, sizeof text, false), TRANSPORT_WAIT_READ);
    assert_false(pair.transport.overslept);
    assert_int_equal(receive(&pair, text, sizeof text, true), TRANSPORT_WAIT_READ);
    assert_true(pair.transport.overslept);
    assert_false(transport_socket_await(&pair.transport, 1));
    assert_false(pair.transport.overslept);
    assert_int_equal(write(pair.peer, "a", 1), 1);
    assert_true(transport_socket_await(&pair.transport, UINT64_MAX));
    assert_int_equal(receive(&pair, text, sizeof text, true), 1);
    assert_false(transport_socket_await(&pair.transport, 0));
    assert_int_equal(shutdown(pair.peer, SHUT_WR), 0);
    assert_true(transport_socket_await(&pair.transport, UINT64_MAX));
    assert_int_equal(receive(&pair, text, sizeof text, true), 0);
    close_pair(&pair);
}

static void a_file_is_sent_up_to_its_end(void **state)
{
    struct tree tree;
    struct pair pair;
    char text[32];
    int fd;

    (void)state;
    tree_open(&tree);
    tree_text(&tree, "f", "0123456789");
    fd = open(tree_path(&tree, "f"), O_RDONLY | O_CLOEXEC);
    open_pair(&pair, SOCK_NONBLOCK);
    assert_int_equal(pair.transport.base.ops->sendfile(&pair.transport.base, fd, 4, 100),
                     6);
    assert_int_equal(read(pair.peer, text, sizeof text), 6);
    assert_memory_equal(text, "456789", 6);
    assert_int_equal(pair.transport.base.ops->sendfile(&pair.transport.base, fd, 10, 1),
                     TRANSPORT_SHORT_FILE);
    close_pair(&pair);
    close(fd);
    tree_close(&tree);
}

/* Just written, it is in memory. Asked out of memory first, it is not, where the file
 * system lets go of it; the work brings it back. */
static void a_cold_file_gives_work_that_warms_it(void **state)
{
    struct tree tree;
    char block[8192] = { 0 };
    struct work *work;
    int fd;

    (void)state;
    tree_open(&tree);
    tree_write(&tree, "f", block, sizeof block);
    fd = open(tree_path(&tree, "f"), O_RDONLY | O_CLOEXEC);
    assert_null(cold_file_work(fd, 0, sizeof block));
    assert_int_equal(fsync(fd), 0);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    work = cold_file_work(fd, 0, sizeof block);
    if (work != NULL) {
        assert_false(work_done(work));
        work_run(work);
        assert_true(work_done(work));
        work_put(work);
    }
    assert_null(cold_file_work(fd, 0, sizeof block));
    close(fd);
    tree_close(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_both_ways),
        cmocka_unit_test(a_gone_peer_is_broken_without_a_signal),
        cmocka_unit_test(a_full_socket_says_wait),
        cmocka_unit_test(a_blocking_socket_gives_up_at_its_tick),
        cmocka_unit_test(a_send_gives_up_when_it_is_told),
        cmocka_unit_test(bytes_are_awaited),
        cmocka_unit_test(a_file_is_sent_up_to_its_end),
        cmocka_unit_test(a_cold_file_gives_work_that_warms_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
