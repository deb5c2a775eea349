/* The last head that was read, and what came of it. Clients repeat themselves: a head of
 * the same bytes is known by one comparison, and is not read again. Nothing can be stale,
 * since what a head says depends on its bytes alone. One owner thread, any number of its
 * connections. Pure data; it must never know a connection's state, or an answer. */
#ifndef TETRAD_HEAD_MEMO_H
#define TETRAD_HEAD_MEMO_H

#include <stdbool.h>
#include <stddef.h>

#include "head_guard.h"
#include "request.h"

/* Larger heads are not kept: they are rare, and the comparison should be short. */
enum { HEAD_MEMO_BYTES_MAX = 1024, HEAD_MEMO_FIELDS_MAX = 16 };

struct head_memo {
    size_t len; /* of the head; 0: none is kept */
    struct head_guard guard;
    const char *at;         /* where the head last lay; maybe other bytes by now */
    struct request request; /* its slices lie there */
    char bytes[HEAD_MEMO_BYTES_MAX];
};

void head_memo_init(struct head_memo *memo);

/* Keeps the head at `bytes`, which guard completed and of which request tells, in place of
 * the one before. One that was refused, that has a body, that is not for a path, or that
 * is too large is not kept, and the one before stays. */
void head_memo_keep(struct head_memo *memo, const char *bytes,
                    const struct head_guard *guard, const struct request *request);

/* True if the len bytes begin with the head that is kept: then *guard and *request are as
 * if these had been read. */
bool head_memo_recall(struct head_memo *memo, const char *bytes, size_t len,
                      struct head_guard *guard, struct request *request);

#endif
