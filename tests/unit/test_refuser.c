/* Connections over the limit: the answer, the bound on how many are held, and that nothing
 * here ever sleeps. */
#include "refuser.h"

#include <fcntl.h>
#include <stdbool.h>

#include "clock.h"
#include "tiny_server.h"

struct fixture {
    struct tiny_server tiny;
    struct refuser *refuser;
};

static int set_up(void **state)
{
    static struct fixture fixture;

    tiny_server_open(&fixture.tiny);
    assert_int_equal(listener_set_blocking(fixture.tiny.server.listener), 0);
    fixture.refuser = refuser_open(&fixture.tiny.server);
    assert_non_null(fixture.refuser);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    refuser_close(fixture->refuser);
    tiny_server_close(&fixture->tiny);
    return 0;
}

/* One round of the supervisor's loop, which may wait for at most wait_ms. */
static void poll_round(struct fixture *fixture, bool accepting, int wait_ms)
{
    struct pollfd fds[REFUSER_FDS];
    unsigned count = refuser_pollfds(fixture->refuser, fds, accepting);

    assert_true(count <= REFUSER_FDS);
    assert_true(poll(fds, count, wait_ms) >= 0);
    if (refuser_step(fixture->refuser, fds, count)) {
        refuser_accept(fixture->refuser);
    }
}

static void poll_until_held(struct fixture *fixture, unsigned held)
{
    while (refuser_held(fixture->refuser) != held) {
        poll_round(fixture, true, 10);
    }
}

static void a_client_reads_503_and_the_end(void **state)
{
    struct fixture *fixture = *state;
    char text[2048];
    int fd = tiny_server_connect(&fixture->tiny);

    poll_until_held(fixture, 1);
    tiny_server_read_all(fd, text, sizeof(text));
    assert_ptr_equal(strstr(text, "HTTP/1.1 503 "), text);
    assert_non_null(strstr(text, "\r\nConnection: close\r\n"));
    assert_non_null(strstr(text, "\r\nRetry-After: "));
    assert_non_null(strstr(text, "\r\nDate: "));
    close(fd);
    poll_until_held(fixture, 0);
}

/* A request that is already under way must not turn the close into a reset. */
static void a_request_does_not_cost_the_answer(void **state)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    struct fixture *fixture = *state;
    char text[2048];
    int fd = tiny_server_connect(&fixture->tiny);

    assert_int_equal(write(fd, request, sizeof(request) - 1), sizeof(request) - 1);
    poll_until_held(fixture, 1);
    assert_int_equal(write(fd, request, sizeof(request) - 1), sizeof(request) - 1);
    poll_round(fixture, false, 10);
    tiny_server_read_all(fd, text, sizeof(text));
    assert_ptr_equal(strstr(text, "HTTP/1.1 503 "), text);
    close(fd);
    poll_until_held(fixture, 0);
}

static void nobody_waits_means_nothing_happens(void **state)
{
    struct fixture *fixture = *state;
    uint64_t start_ms = clock_now_ms();

    /* The socket is a blocking one: this would sleep for LISTENER_TICK_MS. */
    refuser_accept(fixture->refuser);
    assert_true(clock_now_ms() - start_ms < LISTENER_TICK_MS / 2);
    assert_int_equal(refuser_held(fixture->refuser), 0);
    assert_true(refuser_deadline(fixture->refuser, true) == UINT64_MAX);
    int flags = fcntl(listener_fd(fixture->tiny.server.listener, 0), F_GETFL);
    assert_int_equal(flags & O_NONBLOCK, 0);
}

static void without_accepting_nobody_is_taken(void **state)
{
    struct fixture *fixture = *state;
    int fd = tiny_server_connect(&fixture->tiny);
    struct pollfd fds[REFUSER_FDS];

    assert_int_equal(refuser_pollfds(fixture->refuser, fds, false), 0);
    assert_int_equal(refuser_pollfds(fixture->refuser, fds, true), 1);
    close(fd);
}

static void full_places_are_given_on_only_after_a_while(void **state)
{
    struct fixture *fixture = *state;
    int fds[REFUSER_MAX + 1];
    struct pollfd polled[REFUSER_FDS];
    char text[2048];

    for (int i = 0; i <= REFUSER_MAX; i++) {
        fds[i] = tiny_server_connect(&fixture->tiny);
    }
    poll_until_held(fixture, REFUSER_MAX);
    uint64_t full_ms = clock_now_ms();
    /* No place: the listening socket is left alone, until the first one may be taken. */
    assert_int_equal(refuser_pollfds(fixture->refuser, polled, true), REFUSER_MAX);
    uint64_t due_ms = refuser_deadline(fixture->refuser, true);
    assert_true(due_ms <= full_ms + REFUSER_HOLD_MS);
    assert_true(due_ms + REFUSER_HOLD_MS > full_ms);
    struct pollfd last = { .fd = fds[REFUSER_MAX], .events = POLLIN };
    while (poll(&last, 1, 0) == 0) {
        poll_round(fixture, true, 10);
    }
    tiny_server_read_all(fds[REFUSER_MAX], text, sizeof(text));
    assert_ptr_equal(strstr(text, "HTTP/1.1 503 "), text);
    assert_true(clock_now_ms() >= due_ms);
    for (int i = 0; i <= REFUSER_MAX; i++) {
        close(fds[i]);
    }
    poll_until_held(fixture, 0);
}

static void abandoned_means_closed(void **state)
{
    struct fixture *fixture = *state;
    int fd = tiny_server_connect(&fixture->tiny);
    char text[2048];

    poll_until_held(fixture, 1);
    refuser_abandon(fixture->refuser);
    assert_int_equal(refuser_held(fixture->refuser), 0);
    tiny_server_read_all(fd, text, sizeof(text));
    close(fd);
}

int main(void)
{
#define REFUSER_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        REFUSER_TEST(a_client_reads_503_and_the_end),
        REFUSER_TEST(a_request_does_not_cost_the_answer),
        REFUSER_TEST(nobody_waits_means_nothing_happens),
        REFUSER_TEST(without_accepting_nobody_is_taken),
        REFUSER_TEST(full_places_are_given_on_only_after_a_while),
        REFUSER_TEST(abandoned_means_closed),
    };

    alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
