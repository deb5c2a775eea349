/* Makes pipes, writes, counts and checks. Every pipe ends with a byte of its own, so that a
 * reader knows when it has everything, however it waits. It must never know that. */
#include "pipes.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BYTE_DATA = 'd', BYTE_END = 'e' };
/* Writes between two looks at the clock. */
enum { CLOCK_EVERY = 16 };

static void unix_pair(struct run *run, int fds[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
        run_stop(run, "a pair of sockets", -errno);
    }
}

static void tcp_pair(struct run *run, int fds[2])
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr = { .s_addr = htonl(INADDR_LOOPBACK) },
    };
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1;

    fds[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || fds[1] < 0 ||
        bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) < 0 ||
        connect(fds[1], (struct sockaddr *)&address, sizeof(address)) < 0) {
        run_stop(run, "a pair of TCP sockets", -errno);
    }
    fds[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fds[0] < 0 ||
        setsockopt(fds[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0) {
        run_stop(run, "a pair of TCP sockets", -errno);
    }
    (void)close(listener);
}

static void fd_check(struct run *run, int fd)
{
    if (run->rt->descriptors_max > 0 && fd >= run->rt->descriptors_max) {
        run_absent(run, "it cannot wait for as many: descriptors end at %d",
                   run->rt->descriptors_max - 1);
    }
}

static void ends_make(struct run *run, struct rt_descriptor ends[2])
{
    int fds[2];

    if (run->params->over == PIPES_OVER_UNIX) {
        unix_pair(run, fds);
    } else if (run->params->over == PIPES_OVER_TCP) {
        tcp_pair(run, fds);
    } else if (pipe2(fds, O_CLOEXEC) < 0) {
        run_stop(run, "a pipe", -errno);
    }
    fd_check(run, fds[0]);
    fd_check(run, fds[1]);
    run->rt->open(&ends[0], fds[0]);
    run->rt->open(&ends[1], fds[1]);
}

static void starts_make(struct run *run, struct pipes *pipes)
{
    pipes->starts = run_share(run, pipes->count * sizeof(*pipes->starts));
    for (size_t i = 0; i < pipes->count; i++) {
        int fd = fcntl(pipes->ends[i][1].fd, F_DUPFD_CLOEXEC, 0);

        run_must(run, "a copy of a descriptor", fd < 0 ? -errno : 0);
        fd_check(run, fd);
        run->rt->open(&pipes->starts[i], fd);
    }
}

void pipes_make(struct run *run, size_t readers)
{
    struct pipes *pipes = run_share(run, sizeof(*pipes));

    pipes->count = run->params->handles;
    pipes->ends = run_share(run, pipes->count * sizeof(*pipes->ends));
    pipes->readers = readers;
    pipes->counts = run_share(run, readers * sizeof(*pipes->counts));
    run_must(run, "a mutex", run->rt->mutex_init(&pipes->mutex));
    run_must(run, "a condition", run->rt->condition_init(&pipes->turned));
    for (size_t i = 0; i < pipes->count; i++) {
        ends_make(run, pipes->ends[i]);
    }
    if (run->params->mode == PIPES_CHAIN) {
        starts_make(run, pipes);
    }
    run->data = pipes;
}

void pipes_close(struct run *run)
{
    struct pipes *pipes = run->data;

    for (size_t i = 0; i < pipes->count; i++) {
        run->rt->close(&pipes->ends[i][0]);
        run->rt->close(&pipes->ends[i][1]);
        if (pipes->starts != NULL) {
            run->rt->close(&pipes->starts[i]);
        }
    }
}

static void byte_put(struct run *run, struct rt_descriptor *to, char byte)
{
    run_must(run, "a write to a pipe", rt_write_all(run->rt, to, &byte, 1));
}

static void byte_write(struct run *run, size_t number, char byte)
{
    byte_put(run, &((struct pipes *)run->data)->ends[number][1], byte);
}

/* xorshift: the same pipes in the same order in each run. */
static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

void pipes_write(struct run *run, bool in_turn)
{
    struct pipes *pipes = run->data;
    uint64_t until_ns = run->params->seconds * UINT64_C(1000000000);
    uint64_t random = UINT64_C(0x9e3779b97f4a7c15), written = 0;
    size_t next = 0;

    while (written % CLOCK_EVERY != 0 || run_elapsed_ns(run) < until_ns) {
        size_t number = in_turn ? next : random_next(&random) % pipes->count;

        byte_write(run, number, BYTE_DATA);
        next = next + 1 < pipes->count ? next + 1 : 0;
        if (++written % run->params->limit == 0) {
            run->rt->yield();
        }
    }
    pipes->written = written;
    for (size_t i = 0; i < pipes->count; i++) {
        byte_write(run, in_turn ? (next + i) % pipes->count : i, BYTE_END);
    }
}

void pipes_write_ends(struct run *run)
{
    struct pipes *pipes = run->data;

    for (size_t i = 0; i < pipes->count; i++) {
        byte_write(run, i, BYTE_END);
    }
}

bool pipes_note(struct pipes_count *count, const char *bytes, size_t size)
{
    size_t data = size;

    if (bytes[size - 1] == BYTE_END) {
        count->ended++;
        data--;
    }
    count->events += data > 0;
    count->bytes += data;
    return size == PIPES_READ_BYTES;
}

/* Takes one of those that are left. */
static bool left_take(struct pipes *pipes)
{
    uint64_t left = atomic_load(&pipes->left);

    while (left > 0) {
        if (atomic_compare_exchange_weak(&pipes->left, &left, left - 1)) {
            return true;
        }
    }
    return false;
}

void pipes_pass_on(struct run *run, size_t number, size_t bytes)
{
    struct pipes *pipes = run->data;
    size_t next = number + 1 < pipes->count ? number + 1 : 0;

    for (size_t i = 0; i < bytes; i++) {
        if (left_take(pipes)) {
            byte_write(run, next, BYTE_DATA);
        }
    }
    (void)atomic_fetch_add(&pipes->fired, bytes);
}

void pipes_turn_begin(struct run *run)
{
    struct pipes *pipes = run->data;
    uint64_t active = run->params->active;

    atomic_store(&pipes->fired, 0);
    atomic_store(&pipes->left, run->params->writes);
    pipes->written += active + run->params->writes;
    for (uint64_t i = 0; i < active; i++) {
        byte_put(run, &pipes->starts[i * (pipes->count / active)], BYTE_DATA);
    }
}

bool pipes_turn_over(const struct run *run)
{
    const struct pipes *pipes = run->data;

    return atomic_load(&pipes->fired) == run->params->active + run->params->writes;
}

void pipes_conclude(struct run *run)
{
    const struct pipes *pipes = run->data;
    struct outcome *outcome = run->outcome;
    struct pipes_count sum = { .events = 0 };
    bool chain = run->params->mode == PIPES_CHAIN;
    double turns = (double)run->params->turns;

    for (size_t i = 0; i < pipes->readers; i++) {
        sum.events += pipes->counts[i].events;
        sum.bytes += pipes->counts[i].bytes;
        sum.wakes += pipes->counts[i].wakes;
        sum.ended += pipes->counts[i].ended;
    }
    answer_expect(&outcome->answer, "the number of bytes read", sum.bytes,
                  pipes->written);
    answer_expect(&outcome->answer, "the number of ends", sum.ended, pipes->count);
    answer_say(&outcome->answer, "bytes read = bytes written");
    outcome->metrics[0] = run_ratio((double)sum.events, outcome->real_s);
    outcome->metrics[1] = run_ratio((double)sum.bytes, outcome->real_s);
    outcome->metrics[2] = run_ratio((double)sum.events, (double)sum.wakes);
    outcome->metrics[3] = run_ratio((double)run_switches(run), outcome->real_s);
    outcome->metrics[4] = chain ? (double)pipes->turns_ns / 1e3 / turns : NAN;
}
