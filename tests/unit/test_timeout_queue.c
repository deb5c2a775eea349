/* The time-out lists: case by case, and against a slow reference under random use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "timeout_queue.h"

static void test_empty(void **state)
{
    struct timeout_queue queue;
    struct timeout_node node = { 0 };

    (void)state;
    timeout_queue_init(&queue, TIMEOUT_SLACK_MS);
    assert_true(timeout_queue_next(&queue) == UINT64_MAX);
    assert_null(timeout_queue_expired(&queue, UINT64_MAX - 1));
    timeout_queue_remove(&node);
    timeout_queue_set(&queue, &node, TIMEOUT_NONE, 5);
    timeout_queue_set(&queue, &node, TIMEOUT_SEND, UINT64_MAX);
    assert_true(timeout_queue_next(&queue) == UINT64_MAX);
}

/* Never early, and at most the slack late. */
static void test_when(void **state)
{
    struct timeout_queue queue;
    struct timeout_node node = { 0 };

    (void)state;
    timeout_queue_init(&queue, TIMEOUT_SLACK_MS);
    timeout_queue_set(&queue, &node, TIMEOUT_HEADER, 1000);
    assert_null(timeout_queue_expired(&queue, 999));
    assert_in_range(timeout_queue_next(&queue), 1000, 1000 + TIMEOUT_SLACK_MS);
    assert_null(timeout_queue_expired(&queue, timeout_queue_next(&queue) - 1));
    assert_ptr_equal(timeout_queue_expired(&queue, timeout_queue_next(&queue)), &node);
    assert_int_equal(node.class, TIMEOUT_NONE);
    assert_null(timeout_queue_expired(&queue, UINT64_MAX - 1));
}

/* A deadline that grows little by little costs no move until it has grown by the slack. */
static void test_small_growth_stays(void **state)
{
    struct timeout_queue queue;
    struct timeout_node busy = { 0 };
    struct timeout_node other = { 0 };

    (void)state;
    timeout_queue_init(&queue, TIMEOUT_SLACK_MS);
    timeout_queue_set(&queue, &busy, TIMEOUT_KEEPALIVE, 1000);
    timeout_queue_set(&queue, &other, TIMEOUT_KEEPALIVE, 1001);
    timeout_queue_set(&queue, &busy, TIMEOUT_KEEPALIVE, 1000 + TIMEOUT_SLACK_MS - 1);
    assert_int_equal(busy.queued_ms, 1000);
    assert_ptr_equal(busy.next, &other);
    assert_null(timeout_queue_expired(&queue, 1000 + TIMEOUT_SLACK_MS - 1));
    timeout_queue_set(&queue, &busy, TIMEOUT_KEEPALIVE, 1000 + TIMEOUT_SLACK_MS);
    assert_int_equal(busy.queued_ms, 1000 + TIMEOUT_SLACK_MS);
    assert_ptr_equal(other.next, &busy);
    assert_ptr_equal(timeout_queue_expired(&queue, 5000), &other);
    assert_ptr_equal(timeout_queue_expired(&queue, 5000), &busy);
    assert_null(timeout_queue_expired(&queue, 5000));
}

/* A cap on the total time shortens a deadline: it must not hide behind later ones. */
static void test_shortened(void **state)
{
    struct timeout_queue queue;
    struct timeout_node first = { 0 };
    struct timeout_node second = { 0 };
    struct timeout_node capped = { 0 };

    (void)state;
    timeout_queue_init(&queue, TIMEOUT_SLACK_MS);
    timeout_queue_set(&queue, &first, TIMEOUT_LINGER, 1000);
    timeout_queue_set(&queue, &second, TIMEOUT_LINGER, 3000);
    timeout_queue_set(&queue, &capped, TIMEOUT_LINGER, 4000);
    timeout_queue_set(&queue, &capped, TIMEOUT_LINGER, 2000);
    assert_ptr_equal(timeout_queue_expired(&queue, 2500), &first);
    assert_ptr_equal(timeout_queue_expired(&queue, 2500), &capped);
    assert_null(timeout_queue_expired(&queue, 2500));
    timeout_queue_set(&queue, &capped, TIMEOUT_LINGER, 1);
    assert_int_equal(timeout_queue_next(&queue), 1 + TIMEOUT_SLACK_MS);
}

static void test_class_changes(void **state)
{
    struct timeout_queue queue;
    struct timeout_node node = { 0 };

    (void)state;
    timeout_queue_init(&queue, TIMEOUT_SLACK_MS);
    timeout_queue_set(&queue, &node, TIMEOUT_HEADER, 1000);
    /* Within the slack, but another list. */
    timeout_queue_set(&queue, &node, TIMEOUT_SEND, 1001);
    assert_int_equal(node.class, TIMEOUT_SEND);
    assert_int_equal(node.queued_ms, 1001);
    assert_ptr_equal(queue.lists[TIMEOUT_HEADER].next, &queue.lists[TIMEOUT_HEADER]);
    timeout_queue_set(&queue, &node, TIMEOUT_NONE, 1001);
    assert_true(timeout_queue_next(&queue) == UINT64_MAX);
    timeout_queue_set(&queue, &node, TIMEOUT_BODY, 7);
    timeout_queue_remove(&node);
    timeout_queue_remove(&node);
    assert_true(timeout_queue_next(&queue) == UINT64_MAX);
}

/* The reference: what is queued, in no order, with the number of the set that queued it. */
enum { NODES = 40, STEPS = 50000 };

struct reference {
    struct timeout_node node;
    enum timeout_class class;
    uint64_t queued_ms, deadline_ms;
    unsigned turn;
};

static uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* The member of a class that is first to expire; NULL: none. */
static struct reference *reference_first(struct reference *all, unsigned class)
{
    struct reference *first = NULL;

    for (size_t i = 0; i < NODES; i++) {
        if (all[i].class != class) {
            continue;
        }
        if (first == NULL || all[i].queued_ms < first->queued_ms ||
            (all[i].queued_ms == first->queued_ms && all[i].turn < first->turn)) {
            first = &all[i];
        }
    }
    return first;
}

static void reference_set(struct reference *of, enum timeout_class class,
                          uint64_t deadline_ms, unsigned turn)
{
    bool stays = class != TIMEOUT_NONE && of->class == class &&
                 deadline_ms >= of->queued_ms &&
                 deadline_ms < of->queued_ms + TIMEOUT_SLACK_MS;

    of->deadline_ms = deadline_ms;
    if (stays) {
        return;
    }
    of->class = class;
    of->queued_ms = deadline_ms;
    of->turn = turn;
}

static void check_next(const struct timeout_queue *queue, struct reference *all)
{
    uint64_t soonest = UINT64_MAX;

    for (unsigned class = TIMEOUT_NONE + 1; class < TIMEOUT_CLASSES; class ++) {
        struct reference *first = reference_first(all, class);

        if (first != NULL && first->queued_ms + TIMEOUT_SLACK_MS < soonest) {
            soonest = first->queued_ms + TIMEOUT_SLACK_MS;
        }
    }
    assert_true(timeout_queue_next(queue) == soonest);
}

static void check_expired(struct timeout_queue *queue, struct reference *all,
                          uint64_t now_ms)
{
    struct timeout_node *node = timeout_queue_expired(queue, now_ms);

    for (; node != NULL; node = timeout_queue_expired(queue, now_ms)) {
        struct reference *expired = (struct reference *)node;

        assert_true(expired->deadline_ms <= now_ms);
        assert_ptr_equal(expired, reference_first(all, expired->class));
        expired->class = TIMEOUT_NONE;
    }
    for (size_t i = 0; i < NODES; i++) {
        assert_true(all[i].class == TIMEOUT_NONE ||
                    all[i].deadline_ms + TIMEOUT_SLACK_MS > now_ms);
    }
}

static void run_random(uint64_t seed)
{
    static const uint64_t lengths[TIMEOUT_CLASSES] = { 0, 1000, 1500, 3000, 3000, 200 };
    struct reference all[NODES];
    struct timeout_queue queue;
    uint64_t now_ms = 1;

    memset(all, 0, sizeof(all));
    timeout_queue_init(&queue, TIMEOUT_SLACK_MS);
    for (unsigned step = 0; step < STEPS; step++) {
        struct reference *one = &all[random_next(&seed) % NODES];
        enum timeout_class class = random_next(&seed) % TIMEOUT_CLASSES;
        uint64_t deadline_ms = now_ms + lengths[class];

        now_ms += random_next(&seed) % 20;
        if (random_next(&seed) % 4 == 0) { /* one that is out of order */
            deadline_ms = now_ms + random_next(&seed) % 4000;
        }
        if (random_next(&seed) % 8 == 0) {
            timeout_queue_remove(&one->node);
            one->class = TIMEOUT_NONE;
        } else {
            timeout_queue_set(&queue, &one->node, class, deadline_ms);
            reference_set(one, class, deadline_ms, step);
        }
        check_next(&queue, all);
        if (random_next(&seed) % 3 == 0) {
            check_expired(&queue, all, now_ms);
        }
    }
}

static void test_random(void **state)
{
    (void)state;
    run_random(UINT64_C(0x9e3779b97f4a7c15));
    run_random(UINT64_C(0xd1b54a32d192ed03));
}

/* Without slack: on time, and moved by every change. */
static void test_no_slack(void **state)
{
    struct timeout_queue queue;
    struct timeout_node nodes[2] = { { 0 }, { 0 } };

    (void)state;
    timeout_queue_init(&queue, 0);
    timeout_queue_set(&queue, &nodes[0], TIMEOUT_SEND, 100);
    timeout_queue_set(&queue, &nodes[1], TIMEOUT_SEND, 101);
    timeout_queue_set(&queue, &nodes[0], TIMEOUT_SEND, 102);
    assert_int_equal(timeout_queue_next(&queue), 101);
    assert_null(timeout_queue_expired(&queue, 100));
    assert_ptr_equal(timeout_queue_expired(&queue, 101), &nodes[1]);
    assert_null(timeout_queue_expired(&queue, 101));
    assert_ptr_equal(timeout_queue_expired(&queue, 102), &nodes[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_when),
        cmocka_unit_test(test_small_growth_stays),
        cmocka_unit_test(test_shortened),
        cmocka_unit_test(test_class_changes),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_no_slack),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
