/* A chain of threads: each takes a number, adds one and gives it to the next; the last
 * adds what reaches it to a sum. The mailbox between two decides as much as the runtime,
 * so it is the same on all of them. It must never know which runtime that is. */
#include <stdio.h>

#include "uv_loop.h"
#include "message.h"

/* A capacity, or one of these. */
enum { MAILBOX_RENDEZVOUS = 0, MAILBOX_SLOT = 1 };
static const uint64_t MAILBOX_UNBOUNDED = UINT64_MAX;

struct mailbox {
    struct rt_mutex mutex;
    struct rt_condition filled, taken;
    uint64_t first, count, capacity;
    uint32_t *ring;
};

struct chain {
    uint64_t sum;
    struct loop *loop; /* of the event form */
    uint64_t fed, crossed;
    struct mailbox boxes[];
};

static void box_fill(struct mailbox *box, uint32_t value)
{
    uint64_t at = box->first + box->count;

    box->ring[at < box->capacity ? at : at - box->capacity] = value;
    box->count++;
}

static uint32_t box_empty(struct mailbox *box)
{
    uint32_t value = box->ring[box->first];

    box->first = box->first + 1 < box->capacity ? box->first + 1 : 0;
    box->count--;
    return value;
}

/* Waits for room. */
static void mailbox_put(const struct rt *rt, struct mailbox *box, uint32_t value)
{
    rt->lock(&box->mutex);
    while (box->count == box->capacity) {
        rt->wait(&box->taken, &box->mutex);
    }
    box_fill(box, value);
    rt->signal(&box->filled);
    rt->unlock(&box->mutex);
}

/* The mutex is locked. */
static uint32_t mailbox_take_locked(const struct rt *rt, struct mailbox *box)
{
    uint32_t value;

    while (box->count == 0) {
        rt->wait(&box->filled, &box->mutex);
    }
    value = box_empty(box);
    rt->signal(&box->taken);
    return value;
}

static uint32_t mailbox_take(const struct rt *rt, struct mailbox *box)
{
    uint32_t value;

    rt->lock(&box->mutex);
    value = mailbox_take_locked(rt, box);
    rt->unlock(&box->mutex);
    return value;
}

/* Returns when the value was taken, and whoever took it has let go of the mailbox. */
static void mailbox_meet(const struct rt *rt, struct mailbox *box, uint32_t value)
{
    rt->lock(&box->mutex);
    box->ring[box->first] = value;
    box->count = 1;
    rt->signal(&box->filled);
    while (box->count > 0) {
        rt->wait(&box->taken, &box->mutex);
    }
    rt->unlock(&box->mutex);
}

/* The next one is met while this one's own mailbox stays locked, so a message has crossed
 * the whole chain before the next one enters. */
static void pass_by_meeting(struct run *run, size_t number)
{
    struct chain *chain = run->data;
    struct mailbox *own = &chain->boxes[number];
    bool last = number + 1 == run->params->threads;

    for (uint64_t i = 0; i < run->params->messages; i++) {
        uint32_t value;

        run->rt->lock(&own->mutex);
        value = mailbox_take_locked(run->rt, own) + 1;
        if (last) {
            chain->sum += value;
        } else {
            mailbox_meet(run->rt, own + 1, value);
        }
        run->rt->unlock(&own->mutex);
    }
}

static void pass_by_mailbox(struct run *run, size_t number)
{
    struct chain *chain = run->data;
    struct mailbox *own = &chain->boxes[number];
    bool last = number + 1 == run->params->threads;

    for (uint64_t i = 0; i < run->params->messages; i++) {
        uint32_t value = mailbox_take(run->rt, own) + 1;

        if (last) {
            chain->sum += value;
        } else {
            mailbox_put(run->rt, own + 1, value);
        }
    }
}

static void feed(struct run *run)
{
    struct chain *chain = run->data;

    for (uint64_t i = 0; i < run->params->messages; i++) {
        if (run->params->mailbox == MAILBOX_RENDEZVOUS) {
            mailbox_meet(run->rt, &chain->boxes[0], 0);
        } else {
            mailbox_put(run->rt, &chain->boxes[0], 0);
        }
    }
}

/* Without a bound no sender waits: room for all messages is as good, and nothing is
 * allocated while time is taken. */
static uint64_t mailbox_capacity(const struct params *params)
{
    if (params->mailbox == MAILBOX_RENDEZVOUS) {
        return 1;
    }
    return params->mailbox < params->messages ? params->mailbox : params->messages;
}

static void chain_make(struct run *run)
{
    const struct rt *rt = run->rt;
    uint64_t threads = run->params->threads;
    uint64_t capacity = mailbox_capacity(run->params);
    struct chain *chain =
        run_share(run, sizeof(*chain) + threads * sizeof(chain->boxes[0]));
    uint32_t *rings = run_share(run, threads * capacity * sizeof(*rings));

    for (uint64_t i = 0; i < threads; i++) {
        struct mailbox *box = &chain->boxes[i];

        run_must(run, "a mutex", rt->mutex_init(&box->mutex));
        run_must(run, "a condition", rt->condition_init(&box->filled));
        run_must(run, "a condition", rt->condition_init(&box->taken));
        box->capacity = capacity;
        box->ring = rings + i * capacity;
    }
    run->data = chain;
}

static void message_conclude(struct run *run, uint64_t sum)
{
    const struct params *params = run->params;
    double hops = (double)params->threads * (double)params->messages;
    struct outcome *outcome = run->outcome;

    answer_expect(&outcome->answer, "the sum", sum, params->threads * params->messages);
    answer_say(&outcome->answer, "%llu", (unsigned long long)sum);
    outcome->metrics[0] = outcome->real_s * 1e9 / hops;
    outcome->metrics[1] = (double)run_switches(run) / hops;
    outcome->metrics[2] = run_ratio((double)params->messages, outcome->real_s);
}

static void message_run(struct run *run)
{
    const struct params *params = run->params;
    bool meet = params->mailbox == MAILBOX_RENDEZVOUS;
    struct race race = {
        .threads = params->threads,
        .body = meet ? pass_by_meeting : pass_by_mailbox,
        .lead = feed,
    };

    chain_make(run);
    run_race(run, &race);
    message_conclude(run, ((struct chain *)run->data)->sum);
}

/* The same chain as callbacks of one thread: a stage that is due takes what it has as long
 * as the next has room, and posts whoever can go on. */
static bool box_has_room(const struct mailbox *box)
{
    return box->count < box->capacity;
}

/* With a rendezvous the next message enters when the last one has crossed the chain. */
static void stages_feed(struct run *run)
{
    struct chain *chain = run->data;
    bool meet = run->params->mailbox == MAILBOX_RENDEZVOUS;

    while (chain->fed < run->params->messages && box_has_room(&chain->boxes[0]) &&
           (!meet || chain->fed == chain->crossed)) {
        box_fill(&chain->boxes[0], 0);
        chain->fed++;
        loop_post(chain->loop, 0);
    }
}

static void stage_called(struct run *run, size_t number)
{
    struct chain *chain = run->data;
    struct mailbox *own = &chain->boxes[number];
    bool last = number + 1 == run->params->threads;

    while (own->count > 0 && (last || box_has_room(own + 1))) {
        uint32_t value = box_empty(own) + 1;

        if (last) {
            chain->sum += value;
            chain->crossed++;
        } else {
            box_fill(own + 1, value);
            loop_post(chain->loop, number + 1);
        }
        if (number > 0) {
            loop_post(chain->loop, number - 1);
        }
        if (number == 0 || last) {
            stages_feed(run);
        }
    }
    if (chain->crossed == run->params->messages) {
        loop_end(chain->loop);
    }
}

static void stages_lead(struct run *run)
{
    struct chain *chain = run->data;

    stages_feed(run);
    loop_run(chain->loop);
}

static void message_uv_run(struct run *run)
{
    static const struct race race = { .threads = 0, .lead = stages_lead };
    struct chain *chain;

    chain_make(run);
    chain = run->data;
    chain->loop = loop_open(run, run->params->threads, stage_called);
    for (size_t i = 0; i < run->params->threads; i++) {
        loop_add_post(chain->loop, i);
    }
    run_race(run, &race);
    loop_close(chain->loop);
    message_conclude(run, chain->sum);
}

static void message_erlang_run(struct run *run)
{
    message_conclude(run, message_erlang(run));
}

static const struct way message_ways[] = {
    { .name = "uv", .rt = &rt_pthread, .run = message_uv_run, .loaded = loop_loaded },
    { .name = "erlang", .rt = &rt_pthread, .run = message_erlang_run },
    { .name = NULL },
};

static void message_layout(const struct params *params, const struct outcome *outcome)
{
    (void)params;
    (void)printf("%s\n", outcome->answer.text);
}

static const struct word mailbox_words[] = {
    { .text = "rendezvous", .value = MAILBOX_RENDEZVOUS },
    { .text = "slot", .value = MAILBOX_SLOT },
    { .text = "unbounded", .value = UINT64_MAX },
    { .text = NULL },
};

static const struct argument message_arguments[] = {
    { .name = "threads",
      .offset = offsetof(struct params, threads),
      .least = 1,
      .most = 30000,
      .help = "in the chain" },
    { .name = "messages",
      .offset = offsetof(struct params, messages),
      .letter = 'n',
      .least = 1,
      .most = 100000000,
      .help = "through the whole chain" },
    { .name = "mailbox",
      .offset = offsetof(struct params, mailbox),
      .least = 1,
      .most = 1000000,
      .words = mailbox_words,
      .help = "how many messages wait before a sender does" },
    { .name = NULL },
};

static const struct metric message_metrics[] = {
    { "ns_per_hop", "ns/hop", 0 },
    { "switches_per_hop", "switches/hop", 2 },
    { "messages_per_s", "messages/s", 0 },
    { NULL, NULL, 0 },
};

static const char *message_refuse(const struct params *params)
{
    uint64_t capacity = mailbox_capacity(params);

    if (params->mailbox == MAILBOX_UNBOUNDED && params->threads * capacity > UINT64_C(1)
                                                                                 << 34) {
        return "so many messages at once have no room";
    }
    return NULL;
}

static const char *const message_positionals[] = { "messages", NULL };

const struct bench bench_message = {
    .name = "message",
    .help = "numbers through a chain of threads",
    .defaults = { .threads = 500, .messages = 3000, .mailbox = MAILBOX_SLOT },
    .arguments = message_arguments,
    .positionals = message_positionals,
    .metrics = message_metrics,
    .refuse = message_refuse,
    .run = message_run,
    .ways = message_ways,
    .layout = message_layout,
};
