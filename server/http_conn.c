/* The HTTP/1.1 connection as a state machine; see http_conn.h. It must never know a
 * socket, a file, a clock or a model.
 *
 *   state     what it does                      leaves to
 *   HEAD      collects a request head           ANSWER (complete, refused or late), BODY,
 *                                               CONTINUE, CLOSING (the peer's end)
 *   CONTINUE  a head that expects 100 waits     BODY (http_conn_continue), or as ANSWER
 *             for what the site decides
 *   BODY      discards the body                 ANSWER (complete, refused or late),
 *                                               CLOSING (the peer's end)
 *   ANSWER    a request waits for its answer    HEAD (kept), CLOSING
 *   CLOSING   the last answer is being sent     LINGER (http_conn_half_closed), or the
 *                                               end where the peer closed already
 *   LINGER    drops input                       DONE (the peer's end, or too long)
 *   DONE      nothing is owed                   -
 *
 * Output is a queue beside the states: while it holds bytes, HTTP_WANT_OUTPUT comes
 * first. Input is one buffer; the request's slices point into it, so nothing in it moves
 * while a request is live. */
#include "http_conn_state.h"

#include <assert.h>

#include "http_answer.h"
#include "http_input.h"

enum state { HEAD, CONTINUE, BODY, ANSWER, CLOSING, LINGER, DONE };

static struct http_input *borrow_input(struct http_conn *http)
{
    if (http->input == NULL) {
        http->input = http_input_borrow(http->pool);
    }
    return http->input;
}

static void give_back_input(struct http_conn *http)
{
    buffer_pool_return(http->pool, http->input);
    http->input = NULL;
}

static void finish(struct http_conn *http)
{
    http->state = DONE;
    output_clear(&http->output);
    give_back_input(http);
}

/* ---- deadlines */

static enum http_phase phase_of(const struct http_conn *http)
{
    if (http->state == DONE) {
        return HTTP_NO_DEADLINE;
    }
    if (!output_empty(&http->output)) {
        return HTTP_SENDING;
    }
    switch ((enum state)http->state) {
    case HEAD:
        /* A connection that never asked has the time of a head, from its start. */
        return head_guard_begun(&http->guard) || http->requests == 0 ? HTTP_HEAD
                                                                     : HTTP_IDLE;
    case BODY:
        return HTTP_BODY;
    case LINGER:
        return HTTP_LINGER;
    case CONTINUE:
    case ANSWER:
    case CLOSING:
    case DONE:
        break;
    }
    return HTTP_NO_DEADLINE;
}

static uint64_t time_limit(const struct http_conn *http, enum http_phase phase)
{
    switch (phase) {
    case HTTP_IDLE:
        return http->limits->keepalive_timeout_ms;
    case HTTP_HEAD:
        return http->limits->header_timeout_ms;
    case HTTP_BODY:
        return http->limits->body_timeout_ms;
    case HTTP_SENDING:
        return http->limits->send_timeout_ms;
    case HTTP_LINGER:
        return HTTP_LINGER_SILENCE_MS;
    case HTTP_NO_DEADLINE:
        break;
    }
    return 0;
}

static void restart_deadline(struct http_conn *http, uint64_t now_ms)
{
    http->phase = phase_of(http);
    http->deadline_ms = http->phase == HTTP_NO_DEADLINE
                            ? UINT64_MAX
                            : now_ms + time_limit(http, http->phase);
    if (http->phase == HTTP_LINGER && http->deadline_ms > http->linger_end_ms) {
        http->deadline_ms = http->linger_end_ms;
    }
}

static void follow_phase(struct http_conn *http, uint64_t now_ms)
{
    if (http->phase != phase_of(http)) {
        restart_deadline(http, now_ms);
    }
}

void http_conn_init(struct http_conn *http, const struct http_limits *limits,
                    struct buffer_pool *pool, struct head_memo *memo, uint64_t now_ms)
{
    *http = (struct http_conn){
        .limits = limits, .pool = pool, .memo = memo, .state = HEAD, .begun_ms = now_ms
    };
    head_guard_init(&http->guard);
    output_init(&http->output, pool);
    restart_deadline(http, now_ms);
}

bool http_conn_is_bare(const struct http_conn *http)
{
    return http->input == NULL && http->output.queue == NULL &&
           http->exchanges.buffer == NULL;
}

void http_conn_rebind(struct http_conn *http, struct buffer_pool *pool,
                      struct head_memo *memo)
{
    http->pool = http->output.pool = pool;
    http->memo = memo;
    if (exchange_queue_in_use(&http->exchanges)) {
        http->exchanges.pool = pool;
    }
}

void http_conn_end(struct http_conn *http)
{
    finish(http);
}

void http_conn_destroy(struct http_conn *http)
{
    finish(http);
    exchange_queue_destroy(&http->exchanges);
}

/* ---- requests */

/* Makes the current request a refusal that closes. */
static void refuse(struct http_conn *http, unsigned status)
{
    struct request *request = &http->input->request;

    if (http->state == HEAD) {
        http_input_refuse(http->input, &http->guard, status);
    } else {
        request->status = status;
        request->close = true;
    }
    http->state = ANSWER;
}

void http_conn_refuse(struct http_conn *http, unsigned status)
{
    if (borrow_input(http) == NULL) {
        finish(http);
        return;
    }
    refuse(http, status);
    http->phase = HTTP_NO_DEADLINE;
    http->deadline_ms = UINT64_MAX;
}

/* The head is whole: what does it ask for? */
static void read_head(struct http_conn *http)
{
    struct request *request = &http->input->request;

    http_input_read_head(http->input, &http->guard);
    head_memo_keep(http->memo, http->input->bytes + http->input->head, &http->guard,
                   request);
    if (request->expects_continue) {
        http->state = CONTINUE;
    } else {
        /* A refusal that keeps the connection has no body to discard. */
        http->state = request->has_body && request->status == 0 ? BODY : ANSWER;
    }
}

static void advance_head(struct http_conn *http)
{
    struct http_input *input = http->input;

    if (http->guard.fed == 0 && http_input_recall_head(input, http->memo, &http->guard)) {
        http->state = ANSWER; /* a head that is kept has no body */
        return;
    }
    switch (head_guard_feed(&http->guard, input->bytes + input->head,
                            input->end - input->head)) {
    case HEAD_GUARD_MORE:
        break;
    case HEAD_GUARD_COMPLETE:
        read_head(http);
        break;
    case HEAD_GUARD_REFUSED:
        refuse(http, http->guard.status);
        break;
    }
}

static void advance_body(struct http_conn *http)
{
    switch (http_input_read_body(http->input)) {
    case HTTP_PARSER_MORE:
        break;
    case HTTP_PARSER_COMPLETE:
    case HTTP_PARSER_REFUSED:
        http->state = ANSWER;
        break;
    }
}

/* Reads on from what is buffered, until a request or the end of the input. */
static void advance(struct http_conn *http)
{
    if (http->input == NULL) {
        return;
    }
    if (http->state == HEAD) {
        advance_head(http);
    }
    if (http->state == BODY && http->input->at < http->input->end) {
        advance_body(http);
    }
}

const struct request *http_conn_request(struct http_conn *http)
{
    return http->state == ANSWER || http->state == CONTINUE ? &http->input->request
                                                            : NULL;
}

/* ---- input */

size_t http_conn_space(struct http_conn *http, char **where)
{
    struct http_input *input = borrow_input(http);
    size_t room;

    if (input == NULL) {
        return 0;
    }
    if (http->state == BODY) {
        room = http_input_space_for_body(input);
    } else if (http->state == HEAD) {
        room = http_input_space_for_head(input);
    } else {
        room = http_input_space_for_nothing(input);
    }
    *where = input->bytes + input->end;
    return room;
}

static void end_of_input(struct http_conn *http)
{
    http->peer_closed = true;
    if (http->state == LINGER) {
        http->state = DONE;
    } else if (http->state == HEAD || http->state == BODY) {
        /* What came of an unfinished message is dropped; nothing could be told to a peer
         * that sent no whole request. */
        http->state = CLOSING;
    }
}

void http_conn_received(struct http_conn *http, size_t n, uint64_t now_ms)
{
    bool begun = head_guard_begun(&http->guard);

    if (!begun) {
        http->begun_ms = now_ms; /* what a first byte that is refused leaves not begun */
    }
    if (n == 0) {
        end_of_input(http);
    } else if (http->state == LINGER) {
        if (now_ms >= http->linger_end_ms) {
            http->state = DONE;
        }
    } else {
        http->input->end += (unsigned)n;
        advance(http);
    }
    /* The time for a head runs from its first byte, not from its last. */
    if (http->state != HEAD || head_guard_begun(&http->guard) != begun) {
        restart_deadline(http, now_ms);
    }
}

void http_conn_rest(struct http_conn *http)
{
    struct http_input *input = http->input;

    if (input != NULL && (http->state == LINGER || http->state == CLOSING ||
                          (http->state == HEAD && input->head == input->end))) {
        give_back_input(http);
    }
}

/* ---- answers */

bool http_conn_can_respond(const struct http_conn *http)
{
    return output_room(&http->output) > RESPONSE_SPANS_MAX &&
           exchange_queue_has_room(&http->exchanges);
}

static bool must_close(const struct http_conn *http, const struct response *response)
{
    const struct http_limits *limits = http->limits;

    /* An answer instead of 100 Continue leaves the body unread. */
    return response->close || http->input->request.close || http->draining ||
           http->state == CONTINUE ||
           (limits->max_requests > 0 && http->requests + 1 >= limits->max_requests);
}

/* The answer is queued: notes where it ends, for the log. False without memory. */
static bool record(struct http_conn *http, const struct response *response)
{
    struct exchange_mark mark = { .status = response->status,
                                  .begun_ms = http->begun_ms,
                                  .end = http->sent_bytes + http->output.bytes };

    for (unsigned i = 0; i < response->body_count; i++) {
        mark.body_bytes += response->body[i].length;
    }
    return exchange_queue_add(&http->exchanges, &http->input->request, &mark);
}

static void next_message(struct http_conn *http, bool close, uint64_t now_ms)
{
    if (close) {
        http->state = CLOSING;
        give_back_input(http);
        return;
    }
    http->state = HEAD;
    http->begun_ms = now_ms;
    head_guard_init(&http->guard);
    if (http_input_next(http->input)) {
        advance(http);
    }
    if (http->state == HEAD && http->peer_closed) {
        http->state = CLOSING;
    }
}

void http_conn_respond(struct http_conn *http, const struct response *response,
                       uint64_t now_ms)
{
    bool close = must_close(http, response);
    enum response_persistence persistence = RESPONSE_KEEP;

    assert(http->state == ANSWER || http->state == CONTINUE);
    if (close) {
        persistence = RESPONSE_CLOSE;
    } else if (http->input->request.version_minor == 0) {
        persistence = RESPONSE_KEEP_SAYING;
    }
    http->requests++;
    if (http_answer_queue(&http->output, response, persistence) &&
        (!exchange_queue_in_use(&http->exchanges) || record(http, response))) {
        next_message(http, close, now_ms);
    } else {
        finish(http);
    }
    follow_phase(http, now_ms);
}

void http_conn_continue(struct http_conn *http, uint64_t now_ms)
{
    assert(http->state == CONTINUE);
    http->input->request.expects_continue = false;
    http->state = BODY;
    if (output_append_copy(&http->output, SLICE("HTTP/1.1 100 Continue\r\n\r\n"))) {
        advance(http);
    } else {
        finish(http);
    }
    follow_phase(http, now_ms);
}

/* ---- the log */

void http_conn_record(struct http_conn *http)
{
    exchange_queue_init(&http->exchanges, http->pool);
}

bool http_conn_finished(struct http_conn *http, struct exchange *exchange)
{
    return exchange_queue_take(&http->exchanges, http->sent_bytes, http->state == DONE,
                               exchange);
}

/* ---- output and the end */

struct output *http_conn_output(struct http_conn *http)
{
    return &http->output;
}

void http_conn_sent(struct http_conn *http, size_t n, uint64_t now_ms)
{
    output_sent(&http->output, n);
    http->sent_bytes += n;
    restart_deadline(http, now_ms);
}

void http_conn_half_closed(struct http_conn *http, uint64_t now_ms)
{
    http->state = LINGER;
    http->linger_end_ms = now_ms + HTTP_LINGER_TOTAL_MS;
    restart_deadline(http, now_ms);
}

static bool is_idle(const struct http_conn *http)
{
    return http->state == HEAD && !head_guard_begun(&http->guard);
}

enum http_want http_conn_want(const struct http_conn *http)
{
    if (http->state == DONE) {
        return HTTP_WANT_CLOSE;
    }
    if (!output_empty(&http->output)) {
        return HTTP_WANT_OUTPUT;
    }
    switch ((enum state)http->state) {
    case CLOSING:
        return http->peer_closed ? HTTP_WANT_CLOSE : HTTP_WANT_HALF_CLOSE;
    case CONTINUE:
    case ANSWER:
        return HTTP_WANT_ANSWER;
    case HEAD:
    case BODY:
    case LINGER:
    case DONE:
        break;
    }
    return http->draining && is_idle(http) ? HTTP_WANT_CLOSE : HTTP_WANT_INPUT;
}

enum http_phase http_conn_phase(const struct http_conn *http)
{
    return http->phase;
}

uint64_t http_conn_deadline(const struct http_conn *http)
{
    return http->deadline_ms;
}

void http_conn_expire(struct http_conn *http, uint64_t now_ms)
{
    if (now_ms < http->deadline_ms) {
        return;
    }
    switch (http->phase) {
    case HTTP_HEAD:
    case HTTP_BODY:
        if (is_idle(http)) {
            finish(http);
        } else {
            refuse(http, 408);
        }
        break;
    case HTTP_IDLE:
    case HTTP_SENDING:
    case HTTP_LINGER:
        finish(http);
        break;
    case HTTP_NO_DEADLINE:
        break;
    }
    follow_phase(http, now_ms);
}

void http_conn_drain(struct http_conn *http)
{
    http->draining = true;
}
