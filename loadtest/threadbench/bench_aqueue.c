/* One queue, one that pushes numbered items and one that pops them. It must never know
 * the runtime. */
#include <inttypes.h>
#include <stdio.h>

#include "run.h"

enum { SIGNAL_ALWAYS, SIGNAL_EMPTY };
enum { ALLOC_NODE, ALLOC_RING };
enum { RING_FIRST = 64 };

struct node {
    struct node *next;
    uint64_t item;
};

/* All under the mutex. */
struct queue {
    struct rt_mutex mutex;
    struct rt_condition filled, room;
    uint64_t count, most; /* most: the deepest it was */
    uint64_t pops_waited, pushes_waited, signals;

    struct node *head, *tail, *spare; /* ALLOC_NODE */
    struct node *pool;
    uint64_t pool_used;

    uint64_t *ring; /* ALLOC_RING: reserved for all, used up to `size` */
    uint64_t first, size;

    struct answer_order order;
};

/* Nodes come from the queue's own list: malloc is not shared between processes, and would
 * measure itself. */
static void node_append(struct queue *queue, uint64_t item)
{
    struct node *node = queue->spare;

    if (node != NULL) {
        queue->spare = node->next;
    } else {
        node = &queue->pool[queue->pool_used++];
    }
    *node = (struct node){ .item = item };
    if (queue->head == NULL) {
        queue->head = node;
    } else {
        queue->tail->next = node;
    }
    queue->tail = node;
}

static uint64_t node_take(struct queue *queue)
{
    struct node *node = queue->head;

    queue->head = node->next;
    node->next = queue->spare;
    queue->spare = node;
    return node->item;
}

/* Doubles in place: what had wrapped round to the front moves behind the old end. */
static void ring_grow(struct queue *queue)
{
    for (uint64_t i = 0; i < queue->first; i++) {
        queue->ring[queue->size + i] = queue->ring[i];
    }
    queue->size *= 2;
}

static void ring_append(struct queue *queue, uint64_t item)
{
    if (queue->count == queue->size) {
        ring_grow(queue);
    }
    queue->ring[(queue->first + queue->count) & (queue->size - 1)] = item;
}

static uint64_t ring_take(struct queue *queue)
{
    uint64_t item = queue->ring[queue->first];

    queue->first = (queue->first + 1) & (queue->size - 1);
    return item;
}

static void queue_push(struct run *run, uint64_t item)
{
    const struct rt *rt = run->rt;
    const struct params *params = run->params;
    struct queue *queue = run->data;

    rt->lock(&queue->mutex);
    while (params->cap > 0 && queue->count == params->cap) {
        queue->pushes_waited++;
        rt->wait(&queue->room, &queue->mutex);
    }
    if (params->alloc == ALLOC_NODE) {
        node_append(queue, item);
    } else {
        ring_append(queue, item);
    }
    queue->count++;
    if (queue->count > queue->most) {
        queue->most = queue->count;
    }
    if (params->signal == SIGNAL_ALWAYS || queue->count == 1) {
        queue->signals++;
        rt->signal(&queue->filled);
    }
    rt->unlock(&queue->mutex);
}

static uint64_t queue_pop(struct run *run)
{
    const struct rt *rt = run->rt;
    const struct params *params = run->params;
    struct queue *queue = run->data;
    uint64_t item;

    rt->lock(&queue->mutex);
    while (queue->count == 0) {
        queue->pops_waited++;
        rt->wait(&queue->filled, &queue->mutex);
    }
    item = params->alloc == ALLOC_NODE ? node_take(queue) : ring_take(queue);
    queue->count--;
    if (params->cap > 0 &&
        (params->signal == SIGNAL_ALWAYS || queue->count + 1 == params->cap)) {
        queue->signals++;
        rt->signal(&queue->room);
    }
    rt->unlock(&queue->mutex);
    return item;
}

static void aqueue_body(struct run *run, size_t number)
{
    struct queue *queue = run->data;
    struct answer_order order = { .count = 0 };

    if (number == 0) {
        for (uint64_t i = 0; i < run->params->items; i++) {
            queue_push(run, i);
        }
        return;
    }
    for (uint64_t i = 0; i < run->params->items; i++) {
        answer_order_take(&order, queue_pop(run));
    }
    queue->order = order;
}

static uint64_t power_above(uint64_t least)
{
    uint64_t power = RING_FIRST;

    while (power < least) {
        power *= 2;
    }
    return power;
}

static void queue_make(struct run *run)
{
    const struct rt *rt = run->rt;
    const struct params *params = run->params;
    struct queue *queue = run_share(run, sizeof(*queue));
    bool bounded = params->cap > 0 && params->cap < params->items;
    uint64_t most = bounded ? params->cap : params->items;

    run_must(run, "a mutex", rt->mutex_init(&queue->mutex));
    run_must(run, "a condition", rt->condition_init(&queue->filled));
    run_must(run, "a condition", rt->condition_init(&queue->room));
    if (params->alloc == ALLOC_NODE) {
        queue->pool = run_share(run, most * sizeof(*queue->pool));
    } else {
        queue->ring = run_share(run, power_above(most) * sizeof(*queue->ring));
        queue->size = RING_FIRST;
    }
    run->data = queue;
}

static void aqueue_run(struct run *run)
{
    static const struct race race = { .threads = 2, .body = aqueue_body };
    struct outcome *outcome = run->outcome;
    double items = (double)run->params->items;
    const struct queue *queue;

    queue_make(run);
    run_race(run, &race);
    queue = run->data;
    answer_expect_order(&outcome->answer, &queue->order, run->params->items);
    answer_expect(&outcome->answer, "what is left", queue->count, 0);
    answer_say(&outcome->answer, "sum %" PRIu64 ", in order", queue->order.sum);
    outcome->metrics[0] = outcome->real_s * 1e9 / items;
    outcome->metrics[1] = (double)(queue->pops_waited + queue->pushes_waited);
    outcome->metrics[2] = (double)queue->signals;
    outcome->metrics[3] = run_ratio(items, (double)queue->pops_waited);
    outcome->metrics[4] = (double)queue->most;
}

/* What the published program is known to say, and what its readers timed it with. */
static void aqueue_layout(const struct params *params, const struct outcome *outcome)
{
    (void)params;
    (void)printf("pusher started\npoper started\n");
    (void)printf("%12.2f real %12.2f user %12.2f sys\n", outcome->real_s,
                 (double)outcome->used.user_us / 1e6, (double)outcome->used.sys_us / 1e6);
}

static const struct word signal_words[] = {
    { .text = "always", .value = SIGNAL_ALWAYS },
    { .text = "empty", .value = SIGNAL_EMPTY },
    { .text = NULL },
};

static const struct word alloc_words[] = {
    { .text = "node", .value = ALLOC_NODE },
    { .text = "ring", .value = ALLOC_RING },
    { .text = NULL },
};

static const struct argument aqueue_arguments[] = {
    { .name = "items",
      .offset = offsetof(struct params, items),
      .letter = 'n',
      .least = 1,
      .most = 1000000000,
      .help = "through the queue" },
    { .name = "cap",
      .offset = offsetof(struct params, cap),
      .least = 0,
      .most = 1000000000,
      .help = "items before the pusher waits; 0: it never does" },
    { .name = "signal",
      .offset = offsetof(struct params, signal),
      .least = 1,
      .most = 0,
      .words = signal_words,
      .help = "with each item, or only where the other may wait" },
    { .name = "alloc",
      .offset = offsetof(struct params, alloc),
      .least = 1,
      .most = 0,
      .words = alloc_words,
      .help = "a node for each item, or a ring that doubles" },
    { .name = NULL },
};

static const struct metric aqueue_metrics[] = {
    { "ns_per_item", "ns/item", 0 }, { "waits", "waits", 0 },
    { "signals", "signals", 0 },     { "items_per_wake", "items/wake", 1 },
    { "deepest", "deepest", 0 },     { NULL, NULL, 0 },
};

static const char *const aqueue_positionals[] = { NULL };

const struct bench bench_aqueue = {
    .name = "aqueue",
    .help = "one pushes numbered items, one pops them",
    .defaults = { .items = 1000000, .signal = SIGNAL_ALWAYS, .alloc = ALLOC_NODE },
    .arguments = aqueue_arguments,
    .positionals = aqueue_positionals,
    .metrics = aqueue_metrics,
    .run = aqueue_run,
    .layout = aqueue_layout,
};
