/* The whole connection machine, driven by a script of bytes, short sends, the peer's end,
 * time and drain. Never more answers than requests, lengths exactly as announced, nothing
 * behind an answer that closes, bounded buffers, one record for the log of each answer, and
 * always progress. */
#include "fuzz.h"

#include <stdbool.h>
#include <string.h>

#include "http_conn_state.h"

enum { SENT_MAX = 256 * 1024, STEPS_MAX = 100000 };

static const struct http_limits limits = { .header_timeout_ms = 100,
                                           .keepalive_timeout_ms = 150,
                                           .body_timeout_ms = 120,
                                           .send_timeout_ms = 110,
                                           .max_requests = 50 };

struct world {
    struct buffer_pool pool;
    struct head_memo memo;
    struct http_conn http;
    uint64_t now_ms;
    size_t send_max;
    unsigned pins, answers, logged;
    unsigned heads, matched; /* see count_heads */
    bool half_closed, closed;
    size_t sent;
    char bytes[SENT_MAX];
};

static const char body_text[] = "0123456789abcdef0123456789abcdef0123456789abcdef";

static void unpin(void *owner)
{
    ((struct world *)owner)->pins--;
}

/* The path's length chooses the answer, so that the script does. */
static void answer(struct world *world, const struct request *request)
{
    struct response response;
    unsigned status = request->status != 0         ? request->status
                      : request->path.len % 5 == 4 ? 404
                                                   : 200;
    size_t length = request->path.len % sizeof body_text;

    CHECK(request->status == 0 || request->status >= 400);
    CHECK(request->has_body || !request->expects_continue);
    if (request->expects_continue && status < 400) {
        http_conn_continue(&world->http, world->now_ms);
        return;
    }
    response_init(&response, status, "Sun, 06 Nov 1994 08:49:37 GMT");
    response.content_length = (int64_t)length;
    response.close = request->path.len % 7 == 6;
    if (request->method != METHOD_HEAD && length > 0) {
        size_t half = length / 2;

        response.body_count = 2;
        response.body[0] =
            (struct span){ .kind = SPAN_MEMORY, .base = body_text, .length = half };
        response.body[1] = (struct span){ .kind = SPAN_MEMORY,
                                          .base = body_text + half,
                                          .length = length - half };
    }
    response.release = unpin;
    response.owner = world;
    world->pins++;
    world->answers++;
    http_conn_respond(&world->http, &response, world->now_ms);
}

/* No more of a body than it has, and nothing of a text that is not the request's. */
static void take_log(struct world *world)
{
    struct exchange exchange;

    while (http_conn_finished(&world->http, &exchange)) {
        CHECK(exchange.body_bytes < sizeof body_text);
        CHECK(exchange.line.len <= EXCHANGE_LINE_MAX + 1);
        CHECK(exchange.begun_ms <= world->now_ms);
        CHECK(exchange.line.len == 0 ||
              memchr(exchange.line.base, '\n', exchange.line.len) == NULL);
        world->logged++;
    }
}

static void send_some(struct world *world)
{
    struct output *output = http_conn_output(&world->http);
    struct iovec iov[8];
    int count = output_iovecs(output, iov, 8);
    size_t left = world->send_max, n = 0;

    for (int i = 0; i < count && left > 0; i++) {
        size_t part = iov[i].iov_len < left ? iov[i].iov_len : left;

        if (world->sent + part <= sizeof world->bytes) {
            memcpy(world->bytes + world->sent, iov[i].iov_base, part);
        }
        world->sent += part;
        left -= part;
        n += part;
    }
    CHECK(n > 0);
    http_conn_sent(&world->http, n, world->now_ms);
    take_log(world);
}

/* Everything that can be done without input. */
static void run(struct world *world)
{
    for (unsigned steps = 0;; steps++) {
        CHECK(steps < STEPS_MAX);
        CHECK(world->pool.lent <= 3);
        switch (http_conn_want(&world->http)) {
        case HTTP_WANT_ANSWER:
            CHECK(!world->half_closed);
            answer(world, http_conn_request(&world->http));
            break;
        case HTTP_WANT_OUTPUT:
            CHECK(!world->half_closed);
            send_some(world);
            break;
        case HTTP_WANT_HALF_CLOSE:
            CHECK(!world->half_closed);
            world->half_closed = true;
            http_conn_half_closed(&world->http, world->now_ms);
            break;
        case HTTP_WANT_INPUT:
            http_conn_rest(&world->http);
            CHECK(http_conn_deadline(&world->http) != UINT64_MAX);
            return;
        case HTTP_WANT_CLOSE:
            world->closed = true;
            return;
        }
    }
}

/* How many heads can have ended: no request has less than an empty line to itself. */
static void count_heads(struct world *world, const char *bytes, size_t n)
{
    static const char end[] = "\r\n\r\n";

    for (size_t i = 0; i < n; i++) {
        /* Behind "\r\n\r" a carriage return may be the first of another end. */
        if (bytes[i] == end[world->matched]) {
            world->matched++;
        } else {
            world->matched = bytes[i] == '\r' ? 1 : 0;
        }
        if (world->matched == 4) {
            world->heads++;
            world->matched = 2;
        }
    }
}

static void receive(struct world *world, struct fuzz_input *input, size_t n)
{
    while (n > 0 && !world->closed) {
        char *where;
        size_t room = http_conn_space(&world->http, &where);
        size_t part = n < room ? n : room;

        CHECK(room > 0 && room <= BUFFER_SIZE);
        memcpy(where, input->at, part);
        count_heads(world, (const char *)input->at, part);
        input->at += part;
        n -= part;
        http_conn_received(&world->http, part, world->now_ms);
        run(world);
    }
}

static void end_input(struct world *world)
{
    char *where;

    CHECK(http_conn_space(&world->http, &where) > 0);
    http_conn_received(&world->http, 0, world->now_ms);
    run(world);
}

static void play(struct world *world, struct fuzz_input *input)
{
    bool ended = false;

    run(world);
    while (fuzz_left(input) > 0 && !world->closed && !ended) {
        uint8_t what = fuzz_byte(input);
        size_t amount = fuzz_byte(input);

        switch (what % 8) {
        case 0:
            world->now_ms += amount;
            http_conn_expire(&world->http, world->now_ms);
            run(world);
            break;
        case 1:
            world->send_max = 1 + amount;
            break;
        case 2:
            ended = amount % 8 == 0;
            if (ended) {
                end_input(world);
            }
            break;
        case 3:
            if (amount % 16 == 0) {
                http_conn_drain(&world->http);
                run(world);
            }
            break;
        default:
            amount = (what & 128) != 0 ? amount * 16 : amount;
            receive(world, input, amount < fuzz_left(input) ? amount : fuzz_left(input));
            break;
        }
    }
}

/* Only heads that the machine made and bodies as long as they say; HEAD is not told apart
 * here, so a missing body is allowed where a status line follows at once. */
static void check_sent(const struct world *world)
{
    const char *at = world->bytes, *end = world->bytes + world->sent;
    unsigned finals = 0;
    bool last = false;

    if (world->sent > sizeof world->bytes) {
        return;
    }
    while (at < end) {
        const char *head_end = memmem(at, (size_t)(end - at), "\r\n\r\n", 4);
        const char *length;
        size_t body;

        if (head_end == NULL) {
            CHECK(world->closed); /* given up in the middle: time, or the end */
            return;
        }
        CHECK(!last && memcmp(at, "HTTP/1.1 ", 9) == 0);
        if (memcmp(at + 9, "100", 3) == 0) {
            at = head_end + 4;
            continue;
        }
        finals++;
        length = memmem(at, (size_t)(head_end - at), "Content-Length: ", 16);
        last =
            memmem(at, (size_t)(head_end + 2 - at), "Connection: close\r\n", 19) != NULL;
        CHECK(length != NULL);
        body = strtoul(length + 16, NULL, 10);
        at = head_end + 4;
        if ((size_t)(end - at) >= body && memcmp(at, body_text, body) == 0) {
            at += body;
        } else if (at < end && *at != 'H') {
            CHECK(world->closed && memcmp(at, body_text, (size_t)(end - at)) == 0);
            return;
        }
    }
    CHECK(finals <= world->answers);
    CHECK(!world->half_closed || last);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world world;
    struct fuzz_input input = { data, data + size };

    world.now_ms = 1000;
    world.send_max = SIZE_MAX;
    world.pins = world.answers = world.logged = 0;
    world.heads = world.matched = 0;
    world.half_closed = world.closed = false;
    world.sent = 0;
    buffer_pool_init(&world.pool, 2);
    head_memo_init(&world.memo);
    http_conn_init(&world.http, &limits, &world.pool, &world.memo, world.now_ms);
    http_conn_record(&world.http);
    play(&world, &input);
    /* One may be the refusal of what is no whole head. */
    CHECK(world.answers <= world.heads + 1);
    check_sent(&world);
    http_conn_end(&world.http);
    take_log(&world);
    CHECK(world.logged == world.answers);
    http_conn_destroy(&world.http);
    CHECK(world.pins == 0 && world.pool.lent == 0);
    buffer_pool_destroy(&world.pool);
    return 0;
}
