/* Readiness, over real sockets: each change is reported once, bits stay until cleared, the
 * end of the peer's stream stays for good, and nobody gets another's event. */
#include "unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "poller.h"

enum { WAIT_MS = 5000 };

struct ends {
    int near, far;
};

/* Over the loopback interface, since its half-close and its buffers are what is served. */
static struct ends tcp_pair(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t len = sizeof(address);
    struct ends ends;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(listening, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &len), 0);
    ends.far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(ends.far, (struct sockaddr *)&address, len), 0);
    ends.near = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(ends.near >= 0);
    close(listening);
    return ends;
}

static void ends_close(const struct ends *ends)
{
    close(ends->near);
    close(ends->far);
}

/* Waits until the source has all of `bits`, however many events bring them. */
static void wait_for_bits(struct poller *poller, struct poller_source *source,
                          unsigned bits)
{
    struct poller_source *named[POLLER_BATCH];

    while ((source->ready & bits) != bits) {
        source->awaited = bits & ~source->ready;
        assert_int_equal(poller_wait(poller, WAIT_MS, named), 1);
        assert_ptr_equal(named[0], source);
    }
    source->awaited = 0;
}

static int named_now(struct poller *poller)
{
    struct poller_source *named[POLLER_BATCH];

    return poller_wait(poller, 0, named);
}

static void test_once_and_sticky(void **state)
{
    struct poller *poller = poller_open();
    struct ends ends = tcp_pair();
    struct poller_source source = { .fd = ends.near, .slot = POLLER_NONE };
    char buffer[8];

    (void)state;
    assert_int_equal(poller_add(poller, &source), 0);
    wait_for_bits(poller, &source, POLLER_WRITABLE);
    assert_int_equal(source.ready, POLLER_WRITABLE);
    assert_int_equal(send(ends.far, "a", 1, 0), 1);
    wait_for_bits(poller, &source, POLLER_READABLE);
    /* Not read, yet not reported again: the bit is all there is. */
    source.ready = 0;
    source.awaited = POLLER_READ;
    assert_int_equal(named_now(poller), 0);
    assert_int_equal(source.ready, 0);
    /* More of it is. */
    assert_int_equal(send(ends.far, "b", 1, 0), 1);
    wait_for_bits(poller, &source, POLLER_READABLE);
    assert_int_equal(recv(ends.near, buffer, sizeof(buffer), 0), 2);
    assert_int_equal(source.ready & POLLER_READABLE, POLLER_READABLE);
    poller_remove(poller, &source);
    assert_int_equal(source.slot, POLLER_NONE);
    ends_close(&ends);
    poller_close(poller);
}

/* The one event of data and end together is all that ever comes, so the end must outlive
 * the clearing before the step that reads only the data. */
static void test_end_behind_data(void **state)
{
    struct poller *poller = poller_open();
    struct ends ends = tcp_pair();
    struct poller_source source = { .fd = ends.near, .slot = POLLER_NONE };
    char buffer[8];

    (void)state;
    assert_int_equal(send(ends.far, "data", 4, 0), 4);
    assert_int_equal(shutdown(ends.far, SHUT_WR), 0);
    assert_int_equal(poller_add(poller, &source), 0);
    wait_for_bits(poller, &source, POLLER_READABLE | POLLER_HALF_CLOSED);
    source.ready &= POLLER_FINAL;
    assert_int_equal(recv(ends.near, buffer, sizeof(buffer), 0), 4);
    source.awaited = POLLER_READ;
    assert_int_equal(named_now(poller), 0);
    assert_true((source.ready & POLLER_READ) != 0);
    assert_true((source.ready & POLLER_WRITE) == 0);
    assert_int_equal(recv(ends.near, buffer, sizeof(buffer), 0), 0);
    poller_remove(poller, &source);
    ends_close(&ends);
    poller_close(poller);
}

static void test_writable_again(void **state)
{
    static char block[64 * 1024];
    struct poller *poller = poller_open();
    struct ends ends = tcp_pair();
    struct poller_source source = { .fd = ends.near, .slot = POLLER_NONE };
    size_t sent = 0, received = 0;
    ssize_t n;

    (void)state;
    assert_int_equal(poller_add(poller, &source), 0);
    wait_for_bits(poller, &source, POLLER_WRITABLE);
    source.ready = 0;
    do {
        n = send(ends.near, block, sizeof(block), MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
    } while (n == (ssize_t)sizeof(block));
    source.awaited = POLLER_WRITE;
    assert_int_equal(named_now(poller), 0);
    while (received < sent) {
        n = recv(ends.far, block, sizeof(block), 0);
        assert_true(n > 0);
        received += (size_t)n;
    }
    wait_for_bits(poller, &source, POLLER_WRITABLE);
    poller_remove(poller, &source);
    ends_close(&ends);
    poller_close(poller);
}

static void test_reset(void **state)
{
    static const struct linger at_once = { .l_onoff = 1 };
    struct poller *poller = poller_open();
    struct ends ends = tcp_pair();
    struct poller_source source = { .fd = ends.near, .slot = POLLER_NONE };

    (void)state;
    assert_int_equal(poller_add(poller, &source), 0);
    assert_int_equal(
        setsockopt(ends.far, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    close(ends.far);
    wait_for_bits(poller, &source, POLLER_BROKEN);
    poller_forget(poller, &source);
    close(ends.near);
    poller_close(poller);
}

/* The kernel keeps a closed descriptor's registration while a duplicate lives. */
static void test_stale_event(void **state)
{
    struct poller *poller = poller_open();
    struct ends old = tcp_pair(), young = tcp_pair();
    int duplicate = dup(old.near);
    struct poller_source old_source = { .fd = old.near, .slot = POLLER_NONE };
    struct poller_source young_source = { .fd = young.near, .slot = POLLER_NONE };
    uint32_t slot;

    (void)state;
    assert_int_equal(poller_add(poller, &old_source), 0);
    wait_for_bits(poller, &old_source, POLLER_WRITABLE);
    slot = old_source.slot;
    poller_forget(poller, &old_source);
    close(old.near);
    assert_int_equal(poller_add(poller, &young_source), 0);
    assert_int_equal(young_source.slot, slot);
    wait_for_bits(poller, &young_source, POLLER_WRITABLE);
    old_source.ready = young_source.ready = 0;
    old_source.awaited = young_source.awaited = POLLER_READ;
    assert_int_equal(send(old.far, "x", 1, 0), 1);
    /* Both are ready once the second is, for the first was sent before. */
    assert_int_equal(send(young.far, "yy", 2, 0), 2);
    wait_for_bits(poller, &young_source, POLLER_READABLE);
    assert_int_equal(named_now(poller), 0);
    assert_int_equal(old_source.ready, 0);
    assert_int_equal(recv(young.near, (char[4]){ 0 }, 4, 0), 2);
    poller_remove(poller, &young_source);
    close(duplicate);
    close(old.far);
    ends_close(&young);
    poller_close(poller);
}

static void test_level(void **state)
{
    struct poller *poller = poller_open();
    struct ends ends = tcp_pair();
    struct poller_source source = { .fd = ends.near, .level = true, .slot = POLLER_NONE };

    (void)state;
    assert_int_equal(send(ends.far, "a", 1, 0), 1);
    assert_int_equal(poller_add(poller, &source), 0);
    for (int i = 0; i < 3; i++) {
        source.ready = 0;
        wait_for_bits(poller, &source, POLLER_READABLE);
    }
    poller_remove(poller, &source);
    source.ready = 0;
    source.awaited = POLLER_READ;
    assert_int_equal(named_now(poller), 0);
    ends_close(&ends);
    poller_close(poller);
}

/* More sources than the first table holds; each event finds its own. */
static void test_many(void **state)
{
    enum { COUNT = 150 };
    struct poller *poller = poller_open();
    struct poller_source sources[COUNT];
    struct poller_source *named[POLLER_BATCH];
    int peers[COUNT], fds[2];

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        sources[i] = (struct poller_source){ .fd = fds[0],
                                             .slot = POLLER_NONE,
                                             .awaited = POLLER_READ };
        peers[i] = fds[1];
        assert_int_equal(poller_add(poller, &sources[i]), 0);
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        assert_int_equal(send(peers[i], "x", 1, 0), 1);
        while ((sources[i].ready & POLLER_READABLE) == 0) {
            assert_int_equal(poller_wait(poller, WAIT_MS, named), 1);
        }
        assert_ptr_equal(named[0], &sources[i]);
        sources[i].awaited = 0;
    }
    for (int i = 0; i < COUNT; i++) {
        poller_forget(poller, &sources[i]);
        close(sources[i].fd);
        close(peers[i]);
    }
    poller_close(poller);
}

static void test_bad_descriptor(void **state)
{
    struct poller *poller = poller_open();
    struct poller_source source = { .fd = -1, .slot = POLLER_NONE };

    (void)state;
    assert_int_equal(poller_add(poller, &source), -EBADF);
    assert_int_equal(source.slot, POLLER_NONE);
    poller_remove(poller, &source);
    poller_forget(poller, &source);
    poller_close(poller);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once_and_sticky),
        cmocka_unit_test(test_end_behind_data),
        cmocka_unit_test(test_writable_again),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_stale_event),
        cmocka_unit_test(test_level),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_bad_descriptor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
