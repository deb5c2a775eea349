/* The HTTP/1.1 connection (RFC 9112) as a pure state machine: bytes in; requests, output,
 * a deadline and "what next" out. No system call, no clock, no global: time comes in as
 * now_ms. It must never know a socket, a file or a model.
 *
 * Use: http_conn_space, read into it, http_conn_received; then as long as
 * http_conn_request gives one, answer it with http_conn_respond (or http_conn_continue)
 * and send http_conn_output, reporting with http_conn_sent. */
#ifndef TETRAD_HTTP_CONN_H
#define TETRAD_HTTP_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer_pool.h"
#include "exchange.h"
#include "head_memo.h"
#include "output.h"
#include "request.h"
#include "response.h"

/* Times in ms; one copy for all connections. */
struct http_limits {
    uint64_t header_timeout_ms; /* total, from the first byte of a head (from the start,
                                   for the first one) */
    uint64_t keepalive_timeout_ms; /* idle between requests */
    uint64_t body_timeout_ms;      /* without a byte of the body */
    uint64_t send_timeout_ms;      /* without progress of the output */
    unsigned max_requests;         /* per connection; 0: no limit */
};

/* Lingering close (RFC 9112 9.6): read and drop until the peer closes, this silence, or
 * this total. */
enum { HTTP_LINGER_SILENCE_MS = 2000, HTTP_LINGER_TOTAL_MS = 10000 };

enum http_want {
    HTTP_WANT_INPUT,
    HTTP_WANT_OUTPUT,     /* http_conn_output has bytes to send before anything else can
                             happen */
    HTTP_WANT_ANSWER,     /* http_conn_request has one */
    HTTP_WANT_HALF_CLOSE, /* shut down the sending side, then http_conn_half_closed */
    HTTP_WANT_CLOSE       /* nothing is owed any more: close */
};

enum http_phase {
    HTTP_IDLE,
    HTTP_HEAD,
    HTTP_BODY,
    HTTP_SENDING,
    HTTP_LINGER,
    HTTP_NO_DEADLINE
};

struct http_conn; /* embedded by conn.c, hence defined in http_conn_state.h */

/* What is borrowed outlives the connection; pool and memo belong to its thread. */
void http_conn_init(struct http_conn *http, const struct http_limits *limits,
                    struct buffer_pool *pool, struct head_memo *memo, uint64_t now_ms);

/* Whether it holds nothing of its pool, so that it may go to another thread's; and that. */
bool http_conn_is_bare(const struct http_conn *http);
void http_conn_rebind(struct http_conn *http, struct buffer_pool *pool,
                      struct head_memo *memo);

/* Records every answered request from now on, for the log. Before the first answer. */
void http_conn_record(struct http_conn *http);

/* The oldest answered request that was sent in full, or of which nothing more will be
 * sent; once each. The exchange's texts are valid until the next call for this
 * connection. False: none is finished. */
bool http_conn_finished(struct http_conn *http, struct exchange *exchange);

/* Nothing more will be sent: what is owed is dropped, all exchanges are finished. */
void http_conn_end(struct http_conn *http);

/* Returns buffers and pins. The connection is unusable afterwards. */
void http_conn_destroy(struct http_conn *http);

/* Makes the next http_conn_request give a refusal with this status (503: over the
 * connection limit) unread. */
void http_conn_refuse(struct http_conn *http, unsigned status);

/* Where to read to and how many bytes fit; 0: no memory, close. Only while
 * HTTP_WANT_INPUT. */
size_t http_conn_space(struct http_conn *http, char **where);

/* Bytes read into that space; 0: the peer half-closed (what it asked for is still
 * answered). */
void http_conn_received(struct http_conn *http, size_t n, uint64_t now_ms);

/* Gives the input buffer back if it holds nothing. Call when the connection starts to
 * wait for input. */
void http_conn_rest(struct http_conn *http);

/* The request to answer next; NULL: needs more input. Gives the same one until it is
 * answered. */
const struct request *http_conn_request(struct http_conn *http);

/* True if one more answer fits into the output queue. */
bool http_conn_can_respond(const struct http_conn *http);

/* Queues the answer to the current request, takes its pin, and decides whether the
 * connection goes on. */
void http_conn_respond(struct http_conn *http, const struct response *response,
                       uint64_t now_ms);

/* For a request that expects_continue and would be served: queues 100 Continue, and reads
 * the body. */
void http_conn_continue(struct http_conn *http, uint64_t now_ms);

struct output *http_conn_output(struct http_conn *http);

/* n bytes of the output went out: 0 only renews the deadline (the peer acknowledged
 * more). */
void http_conn_sent(struct http_conn *http, size_t n, uint64_t now_ms);

/* The sending side is shut down. */
void http_conn_half_closed(struct http_conn *http, uint64_t now_ms);

enum http_want http_conn_want(const struct http_conn *http);
enum http_phase http_conn_phase(const struct http_conn *http);

/* In ms of now_ms; UINT64_MAX: none. */
uint64_t http_conn_deadline(const struct http_conn *http);

/* The deadline passed: answers 408 where a head or a body had begun, else wants to close.
 */
void http_conn_expire(struct http_conn *http, uint64_t now_ms);

/* Finish the request at hand, saying close, and then close; an idle connection wants to
 * close at once, unless input arrives first. */
void http_conn_drain(struct http_conn *http);

#endif
