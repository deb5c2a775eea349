/* The queue of bytes owed to a peer; see output.h. Spans are kept in the order of
 * sending; copied text lives behind them in the same borrowed buffer. It must never know
 * what the bytes mean nor how they are sent. */
#include "output.h"

#include <assert.h>
#include <stdlib.h>

/* Lies at the start of the borrowed buffer; what is left of the buffer holds copied text.
 */
struct output_queue {
    unsigned first, count; /* spans[first] is the front; they are never moved */
    size_t text_used;
    struct span spans[OUTPUT_SPANS_MAX];
    char text[];
};

enum { TEXT_ROOM = BUFFER_SIZE - sizeof(struct output_queue) };

void output_init(struct output *output, struct buffer_pool *pool)
{
    *output = (struct output){ .pool = pool };
}

bool output_empty(const struct output *output)
{
    return output->queue == NULL;
}

unsigned output_room(const struct output *output)
{
    const struct output_queue *queue = output->queue;

    return queue == NULL ? OUTPUT_SPANS_MAX
                         : OUTPUT_SPANS_MAX - queue->first - queue->count;
}

static void release_span(const struct span *span)
{
    if (span->release != NULL) {
        span->release(span->owner);
    }
}

static void give_back_queue(struct output *output)
{
    buffer_pool_return(output->pool, output->queue);
    output->queue = NULL;
}

/* The queue, borrowing its buffer first if need be; NULL without memory. */
static struct output_queue *borrow_queue(struct output *output)
{
    if (output->queue == NULL) {
        struct output_queue *queue = buffer_pool_lend(output->pool);

        if (queue != NULL) {
            queue->first = 0;
            queue->count = 0;
            queue->text_used = 0;
        }
        output->queue = queue;
    }
    return output->queue;
}

bool output_append(struct output *output, struct span span)
{
    struct output_queue *queue;

    if (span.length == 0) {
        release_span(&span);
        return true;
    }
    queue = borrow_queue(output);
    if (queue == NULL || output_room(output) == 0) {
        release_span(&span);
        return false;
    }
    queue->spans[queue->first + queue->count] = span;
    queue->count++;
    output->bytes += span.length;
    return true;
}

bool output_append_copy(struct output *output, struct slice bytes)
{
    struct output_queue *queue = borrow_queue(output);
    struct span span = { .kind = SPAN_MEMORY, .length = bytes.len };
    char *to;

    if (queue == NULL) {
        return false;
    }
    if (bytes.len <= TEXT_ROOM - queue->text_used) {
        to = queue->text + queue->text_used;
        queue->text_used += bytes.len;
    } else {
        to = malloc(bytes.len);
        if (to == NULL) {
            return false;
        }
        span.release = free;
        span.owner = to;
    }
    memcpy(to, bytes.base, bytes.len);
    span.base = to;
    return output_append(output, span);
}

int output_iovecs(const struct output *output, struct iovec *iov, int max)
{
    const struct output_queue *queue = output->queue;
    int n = 0;

    for (unsigned i = 0; queue != NULL && i < queue->count && n < max; i++) {
        const struct span *span = &queue->spans[queue->first + i];

        if (span->kind != SPAN_MEMORY) {
            break;
        }
        iov[n].iov_base = (void *)(uintptr_t)span->base;
        iov[n].iov_len = span->length;
        n++;
    }
    return n;
}

const struct span *output_front(const struct output *output)
{
    return output->queue == NULL ? NULL : &output->queue->spans[output->queue->first];
}

static void drop_front(struct output *output)
{
    struct output_queue *queue = output->queue;
    const struct span *span = &queue->spans[queue->first];

    queue->first++;
    queue->count--;
    output->bytes -= span->length;
    release_span(span);
    if (queue->count == 0) {
        give_back_queue(output);
    }
}

void output_sent(struct output *output, size_t n)
{
    assert(n <= output->bytes);
    if (n == output->bytes) {
        output_clear(output); /* as a rule */
        return;
    }
    while (n > 0) {
        struct span *span = &output->queue->spans[output->queue->first];
        size_t part = n < span->length ? n : span->length;

        span->length -= part;
        output->bytes -= part;
        n -= part;
        if (span->length == 0) {
            drop_front(output);
        } else if (span->kind == SPAN_MEMORY) {
            span->base += part;
        } else {
            span->offset += (off_t)part;
        }
    }
}

void output_clear(struct output *output)
{
    while (output->queue != NULL) {
        /* A queue that was borrowed for a span which then did not fit is empty. */
        if (output->queue->count == 0) {
            give_back_queue(output);
        } else {
            drop_front(output);
        }
    }
}
