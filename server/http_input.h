/* The input buffer of a connection and the request it holds: where bytes are read to,
 * where the current message lies, and what its head says. While a request is live nothing
 * in the buffer moves. It must never know the states of a connection. */
#ifndef TETRAD_HTTP_INPUT_H
#define TETRAD_HTTP_INPUT_H

#include "buffer_pool.h"
#include "head_guard.h"
#include "head_memo.h"
#include "http_parser.h"
#include "request.h"

/* Lies in a buffer borrowed from the pool. [at, end) was received but not looked at yet.
 */
struct http_input {
    struct http_parser parser;
    struct request request;
    unsigned head, head_end; /* of the current message */
    unsigned at, end;
    unsigned limit; /* where the room for receiving ends */
    char bytes[];
};

/* An empty one; NULL without memory. It is given back with buffer_pool_return. */
struct http_input *http_input_borrow(struct buffer_pool *pool);

/* Room at bytes + end for more of a head (which may move), of a body, or of what is to be
 * dropped. At least 1. */
size_t http_input_space_for_head(struct http_input *input);
size_t http_input_space_for_body(struct http_input *input);
size_t http_input_space_for_nothing(struct http_input *input);

/* Fills the request from a head that guard refused or never completed, with this status,
 * as far as it is known: so that a refusal of HEAD has no body and a log shows what came.
 */
void http_input_refuse(struct http_input *input, const struct head_guard *guard,
                       unsigned status);

/* Fills the request from a head that guard completed; its status is set if it is to be
 * refused. */
void http_input_read_head(struct http_input *input, const struct head_guard *guard);

/* True if a whole head lies at the front that is the one in the memo: then guard and
 * request are as if it had been read. */
bool http_input_recall_head(struct http_input *input, struct head_memo *memo,
                            struct head_guard *guard);

/* Drops what came of the body; a refusal sets the request's status. */
enum http_parser_verdict http_input_read_body(struct http_input *input);

/* The message is answered: the next one begins at the first byte not looked at. False if
 * there is none. */
bool http_input_next(struct http_input *input);

#endif
