/* Deadlines of many connections, without a heap: one first-in-first-out list per timeout
 * class. All members of a class wait for the same length of time, so appending keeps a
 * list sorted. It must never know what expires. One owner thread per queue.
 *
 * A node moves to its list's end only when its deadline has grown by the queue's slack
 * since it was queued, so a busy keep-alive connection costs nothing per request; a node
 * is reported up to that much late. */
#ifndef TETRAD_TIMEOUT_QUEUE_H
#define TETRAD_TIMEOUT_QUEUE_H

#include <stddef.h>
#include <stdint.h>

/* Which list a deadline belongs to. TIMEOUT_NONE: no deadline, in no list. */
enum timeout_class {
    TIMEOUT_NONE,
    TIMEOUT_HEADER,
    TIMEOUT_KEEPALIVE,
    TIMEOUT_BODY,
    TIMEOUT_SETTLE, /* the first part of a send deadline, see conn_deadline.c */
    TIMEOUT_SEND,
    TIMEOUT_LINGER,
    TIMEOUT_CLASSES
};

enum { TIMEOUT_SLACK_MS = 64 };

/* Embedded in whatever waits; all zero is a node in no list. */
struct timeout_node {
    struct timeout_node *next, *previous;
    uint64_t queued_ms; /* the deadline it was queued with */
    enum timeout_class class;
};

struct timeout_queue {
    uint64_t slack_ms;
    struct timeout_node
        lists[TIMEOUT_CLASSES]; /* circular, with the list head as sentinel */
};

/* slack_ms: how late a node may be reported; TIMEOUT_SLACK_MS, or 0 where that matters
 * more than what a move costs. */
void timeout_queue_init(struct timeout_queue *queue, uint64_t slack_ms);

/* Queues, moves or (TIMEOUT_NONE) removes the node, for a deadline in ms of the monotonic
 * clock. O(1). */
void timeout_queue_set(struct timeout_queue *queue, struct timeout_node *node,
                       enum timeout_class class, uint64_t deadline_ms);

/* Takes the node out of its list; a node in no list is allowed. O(1). */
void timeout_queue_remove(struct timeout_node *node);

/* Unlinks and returns a node whose deadline has passed; NULL when there is none left.
 * The caller asks the node's owner for the deadline that holds now: it may set it again.
 */
struct timeout_node *timeout_queue_expired(struct timeout_queue *queue, uint64_t now_ms);

/* When timeout_queue_expired can next give a node, in ms of the clock; UINT64_MAX:
 * nothing queued. */
uint64_t timeout_queue_next(const struct timeout_queue *queue);

#endif
