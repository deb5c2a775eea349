/* See head_memo.h. The request that is kept has its slices in the bytes of the last head that
 * was recalled; they are moved when the next one lies elsewhere, which is seldom, since the
 * buffer that was returned last is lent first. It must never know a connection's state, or an
 * answer. */
#include "head_memo.h"

#include <stdint.h>

void head_memo_init(struct head_memo *memo)
{
    memo->len = 0;
}

static void move(struct slice *slice, const char *from, const char *to)
{
    if (slice->base != NULL) {
        /* As numbers: what lay there may have been given back meanwhile. */
        slice->base = to + ((uintptr_t)slice->base - (uintptr_t)from);
    }
}

/* The slices, from one copy of the same bytes to another. */
static void move_all(struct request *request, const char *from, const char *to)
{
    move(&request->line, from, to);
    move(&request->method_text, from, to);
    move(&request->target, from, to);
    move(&request->path, from, to);
    move(&request->query, from, to);
    move(&request->authority, from, to);
    for (unsigned i = 0; i < request->field_count; i++) {
        move(&request->fields[i].value, from, to);
    }
}

/* Fields are copied as far as there are any: the table is long. */
static void copy(struct request *request, const struct request *original)
{
    memcpy(request, original, offsetof(struct request, fields));
    for (unsigned i = 0; i < original->field_count; i++) {
        request->fields[i] = original->fields[i];
    }
}

void head_memo_keep(struct head_memo *memo, const char *bytes,
                    const struct head_guard *guard, const struct request *request)
{
    /* A target in another form may have a path that is none of its bytes. */
    if (request->status != 0 || request->has_body || request->expects_continue ||
        request->target.base[0] != '/' || guard->fed > HEAD_MEMO_BYTES_MAX ||
        request->field_count > HEAD_MEMO_FIELDS_MAX) {
        return;
    }
    memo->len = guard->fed;
    memo->guard = *guard;
    memcpy(memo->bytes, bytes, memo->len);
    copy(&memo->request, request);
    memo->at = bytes;
}

bool head_memo_recall(struct head_memo *memo, const char *bytes, size_t len,
                      struct head_guard *guard, struct request *request)
{
    if (memo->len == 0 || len < memo->len || memcmp(bytes, memo->bytes, memo->len) != 0) {
        return false;
    }
    *guard = memo->guard;
    if (memo->at != bytes) {
        move_all(&memo->request, memo->at, bytes);
        memo->at = bytes;
    }
    copy(request, &memo->request);
    return true;
}
