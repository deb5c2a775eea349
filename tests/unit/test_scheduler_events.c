/* What comes to user threads from outside: readiness of descriptors, and messages of other
 * kernel threads. */
#include "story.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"

/* Reads what is there in small steps, as a connection does: bits cleared before each. */
static void reads_to_the_end(void *argument)
{
    struct actor *actor = argument;
    struct poller_source source = { .fd = actor->story->fds[0], .slot = POLLER_NONE };
    char buffer[64];
    ssize_t n = -1;

    while (n != 0) {
        source.ready &= POLLER_FINAL;
        n = recv(source.fd, buffer, sizeof(buffer), MSG_DONTWAIT);
        note(actor->story, (int)n);
        if (n != 0) {
            assert_int_equal(scheduler_await(&source, POLLER_READ, TIMEOUT_HEADER,
                                             clock_now_ms() + 20000),
                             PARK_WOKEN);
        }
    }
    scheduler_forget(&source);
}

static void test_end_behind_data(void **state)
{
    static const int expected[] = { -1, 3, 4, 0 };
    struct scheduler *scheduler = scheduler_open(0);
    struct story story = { .count = 0 };

    (void)state;
    open_pair(&story);
    spawn(scheduler, reads_to_the_end, &story, 1);
    spawn(scheduler, sends_then_closes, &story, 2);
    run_all(scheduler);
    check_notes(&story, expected, 4);
    close(story.fds[0]);
}

static void awaits_in_vain(void *argument)
{
    struct actor *actor = argument;
    struct poller_source source = { .fd = actor->story->fds[0], .slot = POLLER_NONE };

    assert_int_equal(
        scheduler_await(&source, POLLER_READ, TIMEOUT_HEADER, clock_now_ms() + 20),
        PARK_EXPIRED);
    note(actor->story, 1);
    /* The other direction was seen meanwhile: at once, and expired all the same once its
     * deadline is over, or a bit that stays would keep it from ever expiring. */
    assert_int_equal(
        scheduler_await(&source, POLLER_WRITE, TIMEOUT_SEND, clock_now_ms() + 20000),
        PARK_WOKEN);
    assert_int_equal(scheduler_await(&source, POLLER_WRITE, TIMEOUT_SEND, 1),
                     PARK_EXPIRED);
    scheduler_remove(&source);
    source.fd = -1;
    assert_int_equal(scheduler_await(&source, POLLER_READ, TIMEOUT_NONE, UINT64_MAX),
                     PARK_FAILED);
    note(actor->story, 2);
}

static void test_await_expires(void **state)
{
    static const int expected[] = { 1, 2 };
    struct scheduler *scheduler = scheduler_open(0);
    struct story story = { .count = 0 };

    (void)state;
    open_pair(&story);
    spawn(scheduler, awaits_in_vain, &story, 1);
    run_all(scheduler);
    check_notes(&story, expected, 2);
    close(story.fds[0]);
    close(story.fds[1]);
}

/* ---- messages from other kernel threads */

enum { POSTERS = 4, POSTS = 500 };

struct post {
    struct scheduler_message message;
    struct mailbox *mailbox;
    int from, number;
};

struct mailbox {
    struct scheduler *scheduler;
    struct user_thread *reader;
    int last[POSTERS];
    int count;
    struct post posts[POSTERS][POSTS];
};

struct poster {
    struct mailbox *mailbox;
    int number;
    pthread_t thread;
};

static void post_deliver(struct scheduler_message *message)
{
    struct post *post = (struct post *)message;

    /* In the order of their sender. */
    assert_int_equal(post->number, post->mailbox->last[post->from]);
    post->mailbox->last[post->from]++;
    post->mailbox->count++;
    scheduler_wake(post->mailbox->reader);
}

static void *poster_main(void *argument)
{
    struct poster *poster = argument;

    for (int i = 0; i < POSTS; i++) {
        struct post *post = &poster->mailbox->posts[poster->number][i];

        *post = (struct post){ .message.deliver = post_deliver,
                               .mailbox = poster->mailbox,
                               .from = poster->number,
                               .number = i };
        scheduler_post(poster->mailbox->scheduler, &post->message);
    }
    return NULL;
}

static void reads_mailbox(void *argument)
{
    struct mailbox *mailbox = *(struct mailbox **)argument;

    mailbox->reader = scheduler_self();
    while (mailbox->count < POSTERS * POSTS) {
        (void)scheduler_park(TIMEOUT_NONE, UINT64_MAX);
    }
}

static void keeps_busy(void *argument)
{
    struct mailbox *mailbox = *(struct mailbox **)argument;

    while (mailbox->count < POSTERS * POSTS) {
        scheduler_yield();
    }
}

static void check_posts(bool busy)
{
    static struct mailbox mailbox;
    struct mailbox *argument = &mailbox;
    struct poster posters[POSTERS];

    memset(&mailbox, 0, sizeof(mailbox));
    mailbox.scheduler = scheduler_open(0);
    scheduler_expect(mailbox.scheduler);
    assert_int_equal(
        scheduler_spawn(mailbox.scheduler, reads_mailbox, &argument, sizeof(argument)),
        0);
    if (busy) {
        assert_int_equal(
            scheduler_spawn(mailbox.scheduler, keeps_busy, &argument, sizeof(argument)),
            0);
    }
    for (int i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){ .mailbox = &mailbox, .number = i };
        assert_int_equal(
            pthread_create(&posters[i].thread, NULL, poster_main, &posters[i]), 0);
    }
    scheduler_run(mailbox.scheduler);
    for (int i = 0; i < POSTERS; i++) {
        pthread_join(posters[i].thread, NULL);
    }
    assert_int_equal(mailbox.count, POSTERS * POSTS);
    scheduler_close(mailbox.scheduler);
}

static void test_post(void **state)
{
    (void)state;
    check_posts(false);
    check_posts(true);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_end_behind_data),
        cmocka_unit_test(test_await_expires),
        cmocka_unit_test(test_post),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
