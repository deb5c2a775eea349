/* Groups of senders and receivers: each sender writes messages to every receiver of its
 * group, over a pair that they share. What hackbench does, and perf's "sched messaging". It
 * must never know the runtime. */
#include <errno.h>
#include <string.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run.h"

enum { OVER_UNIX, OVER_PIPE };
enum { MESSAGE_MAX = 4096 };

/* A descriptor has one writer at most, so each sender has a copy of its own of each. */
struct hack {
    struct rt_descriptor *from; /* one of each receiver */
    struct rt_descriptor *to;   /* members of each sender, one group after the other */
    uint64_t *bytes, *sums;     /* what each receiver got */
};

/* Senders and receivers are numbered alike, group by group. */
static struct rt_descriptor *to_of(struct run *run, size_t sender, size_t receiver)
{
    struct hack *hack = run->data;

    return &hack->to[sender * run->params->members + receiver];
}

static void send_all(struct run *run, size_t sender)
{
    const struct params *params = run->params;
    char message[MESSAGE_MAX];

    memset(message, (int)(sender % params->members) + 1, params->size);
    for (uint64_t i = 0; i < params->loops; i++) {
        for (size_t receiver = 0; receiver < params->members; receiver++) {
            run_must(run, "a message",
                     rt_write_all(run->rt, to_of(run, sender, receiver), message,
                                  params->size));
        }
    }
}

static void receive_all(struct run *run, size_t receiver)
{
    const struct params *params = run->params;
    struct hack *hack = run->data;
    unsigned char message[MESSAGE_MAX];
    uint64_t bytes = 0, sum = 0;

    for (uint64_t i = 0; i < params->members * params->loops; i++) {
        run_must(run, "a message",
                 rt_read_all(run->rt, &hack->from[receiver], message, params->size));
        bytes += params->size;
        sum += message[0] + (uint64_t)message[params->size - 1];
    }
    hack->bytes[receiver] = bytes;
    hack->sums[receiver] = sum;
}

/* First all senders, then all receivers. */
static void hack_body(struct run *run, size_t number)
{
    size_t senders = run->params->groups * run->params->members;

    if (number < senders) {
        send_all(run, number);
    } else {
        receive_all(run, number - senders);
    }
}

/* What all senders of its group write to the receiver. */
static void receiver_make(struct run *run, size_t group, size_t member)
{
    struct hack *hack = run->data;
    size_t members = run->params->members;
    int fds[2];

    if ((run->params->over == OVER_PIPE
             ? pipe2(fds, O_CLOEXEC)
             : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) < 0) {
        run_stop(run, "a pair", -errno);
    }
    run->rt->open(&hack->from[group * members + member], fds[0]);
    for (size_t i = 0; i < members; i++) {
        int fd = i == 0 ? fds[1] : fcntl(fds[1], F_DUPFD_CLOEXEC, 0);

        run_must(run, "a copy of a descriptor", fd < 0 ? -errno : 0);
        if (run->rt->descriptors_max > 0 && fd >= run->rt->descriptors_max) {
            run_absent(run, "it cannot wait for as many: descriptors end at %d",
                       run->rt->descriptors_max - 1);
        }
        run->rt->open(to_of(run, group * members + i, member), fd);
    }
}

static void hack_make(struct run *run)
{
    struct hack *hack = run_share(run, sizeof(*hack));
    size_t all = run->params->groups * run->params->members;

    hack->from = run_share(run, all * sizeof(*hack->from));
    hack->to = run_share(run, all * run->params->members * sizeof(*hack->to));
    hack->bytes = run_share(run, all * sizeof(*hack->bytes));
    hack->sums = run_share(run, all * sizeof(*hack->sums));
    run->data = hack;
    for (size_t group = 0; group < run->params->groups; group++) {
        for (size_t member = 0; member < run->params->members; member++) {
            receiver_make(run, group, member);
        }
    }
}

static void hack_run(struct run *run)
{
    const struct params *params = run->params;
    size_t all = params->groups * params->members;
    struct race race = { .threads = 2 * all, .body = hack_body };
    struct outcome *outcome = run->outcome;
    /* Of one message of each sender: its number in front and at the end. */
    uint64_t numbers = params->members * (params->members + 1);
    double messages = (double)all * (double)params->members * (double)params->loops;
    struct hack *hack;

    hack_make(run);
    run_race(run, &race);
    hack = run->data;
    for (size_t i = 0; i < all; i++) {
        answer_expect_of(&outcome->answer, i, "the number of bytes", hack->bytes[i],
                         params->members * params->loops * params->size);
        answer_expect_of(&outcome->answer, i, "the sum", hack->sums[i],
                         numbers * params->loops);
        run->rt->close(&hack->from[i]);
        for (size_t j = 0; j < params->members; j++) {
            run->rt->close(to_of(run, i, j));
        }
    }
    answer_say(&outcome->answer, "%.0f messages", messages);
    outcome->metrics[0] = outcome->real_s * 1e9 / messages;
    outcome->metrics[1] = run_ratio(messages, outcome->real_s);
    outcome->metrics[2] = (double)run_switches(run) / messages;
    outcome->metrics[3] = outcome->real_s + outcome->end_s;
}

static const char *hack_refuse(const struct params *params)
{
    return params->groups * params->members > 10000 ? "more than 20000 would be alive"
                                                    : NULL;
}

static const struct word over_words[] = {
    { .text = "unix", .value = OVER_UNIX },
    { .text = "pipe", .value = OVER_PIPE, .letter = 'p' },
    { .text = NULL },
};

static const struct argument hack_arguments[] = {
    { .name = "groups",
      .offset = offsetof(struct params, groups),
      .letter = 'g',
      .least = 1,
      .most = 1000,
      .help = "of senders and receivers" },
    { .name = "members",
      .offset = offsetof(struct params, members),
      .letter = 'f',
      .least = 1,
      .most = 100,
      .help = "senders of each group, and as many receivers" },
    { .name = "loops",
      .offset = offsetof(struct params, loops),
      .letter = 'l',
      .least = 1,
      .most = 1000000,
      .help = "messages of each sender to each receiver" },
    { .name = "size",
      .offset = offsetof(struct params, size),
      .letter = 's',
      .least = 1,
      .most = MESSAGE_MAX,
      .help = "bytes of a message" },
    { .name = "over",
      .offset = offsetof(struct params, over),
      .least = 1,
      .most = 0,
      .words = over_words,
      .help = "pairs of UNIX sockets, or pipes" },
    { .name = NULL },
};

static const struct metric hack_metrics[] = {
    { "ns_per_message", "ns/message", 0 },
    { "messages_per_s", "messages/s", 0 },
    { "switches_per_message", "switches/message", 2 },
    { "s_with_end", "s with end", 4 },
    { NULL, NULL, 0 },
};

static const char *const hack_positionals[] = { NULL };

const struct bench bench_hack = {
    .name = "hack",
    .help = "groups of senders and receivers (hackbench)",
    .defaults = { .groups = 10, .members = 20, .loops = 100, .size = 100 },
    .arguments = hack_arguments,
    .positionals = hack_positionals,
    .metrics = hack_metrics,
    .refuse = hack_refuse,
    .run = hack_run,
};
