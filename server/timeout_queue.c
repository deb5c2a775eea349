/* One circular list per timeout class, sorted by the deadline each node was queued with.
 * A deadline that grows a little leaves its node where it is, so a node is looked at only
 * the slack after the deadline it was queued with: whatever the deadline grew to
 * without a move has then passed too. It must never know what expires. */
#include "timeout_queue.h"

#include <assert.h>

void timeout_queue_init(struct timeout_queue *queue, uint64_t slack_ms)
{
    queue->slack_ms = slack_ms;
    for (unsigned class = 0; class < TIMEOUT_CLASSES; class ++) {
        struct timeout_node *head = &queue->lists[class];

        *head = (struct timeout_node){ .next = head, .previous = head, .class = class };
    }
}

/* Almost always the end of the list. A deadline that was shortened, as a cap on the total
 * time does, is out of order and walks back over those that were queued meanwhile. */
static void list_insert(struct timeout_node *head, struct timeout_node *node)
{
    struct timeout_node *before = head->previous;

    while (before != head && before->queued_ms > node->queued_ms) {
        before = before->previous;
    }
    node->previous = before;
    node->next = before->next;
    before->next->previous = node;
    before->next = node;
}

void timeout_queue_set(struct timeout_queue *queue, struct timeout_node *node,
                       enum timeout_class class, uint64_t deadline_ms)
{
    assert(class < TIMEOUT_CLASSES);
    if (class != TIMEOUT_NONE && class == node->class && deadline_ms >= node->queued_ms &&
        deadline_ms - node->queued_ms < queue->slack_ms) {
        return;
    }
    timeout_queue_remove(node);
    if (class == TIMEOUT_NONE || deadline_ms == UINT64_MAX) {
        return;
    }
    node->class = class;
    node->queued_ms = deadline_ms;
    list_insert(&queue->lists[class], node);
}

void timeout_queue_remove(struct timeout_node *node)
{
    if (node->next == NULL) {
        return;
    }
    node->previous->next = node->next;
    node->next->previous = node->previous;
    *node = (struct timeout_node){ .class = TIMEOUT_NONE };
}

static uint64_t due_ms(const struct timeout_queue *queue, const struct timeout_node *node)
{
    if (node->queued_ms > UINT64_MAX - queue->slack_ms) {
        return UINT64_MAX;
    }
    return node->queued_ms + queue->slack_ms;
}

struct timeout_node *timeout_queue_expired(struct timeout_queue *queue, uint64_t now_ms)
{
    for (unsigned class = TIMEOUT_NONE + 1; class < TIMEOUT_CLASSES; class ++) {
        struct timeout_node *first = queue->lists[class].next;

        if (first == &queue->lists[class] || due_ms(queue, first) > now_ms) {
            continue;
        }
        timeout_queue_remove(first);
        return first;
    }
    return NULL;
}

uint64_t timeout_queue_next(const struct timeout_queue *queue)
{
    uint64_t soonest = UINT64_MAX;

    for (unsigned class = TIMEOUT_NONE + 1; class < TIMEOUT_CLASSES; class ++) {
        const struct timeout_node *first = queue->lists[class].next;

        if (first != &queue->lists[class] && due_ms(queue, first) < soonest) {
            soonest = due_ms(queue, first);
        }
    }
    return soonest;
}
