/* See exchange.h. Records are appended and never moved; the buffer starts again from its
 * front, and goes back to its pool, when all of them were taken. It must never know a log's
 * format. */
#include "exchange.h"

#include <string.h>

enum text { LINE, REFERER, USER_AGENT, HOST, TEXTS };

static const size_t text_max[TEXTS] = {
    [LINE] = EXCHANGE_LINE_MAX,
    [REFERER] = EXCHANGE_REFERER_MAX,
    [USER_AGENT] = EXCHANGE_USER_AGENT_MAX,
    [HOST] = EXCHANGE_HOST_MAX,
};

enum { ABSENT = UINT16_MAX, ALIGNMENT = sizeof(uint64_t) };

struct record {
    struct exchange_mark mark;
    uint16_t lengths[TEXTS]; /* ABSENT: no such text */
    char text[];
};

/* Lies at the start of the borrowed buffer. */
struct exchange_buffer {
    size_t first, end; /* of the records not taken yet */
    _Alignas(ALIGNMENT) char records[];
};

enum {
    ROOM = BUFFER_SIZE - sizeof(struct exchange_buffer),
    RECORD_MAX = sizeof(struct record) + EXCHANGE_LINE_MAX + EXCHANGE_REFERER_MAX +
                 EXCHANGE_USER_AGENT_MAX + EXCHANGE_HOST_MAX + TEXTS + ALIGNMENT
};
_Static_assert(RECORD_MAX < ROOM, "a record must fit");

void exchange_queue_init(struct exchange_queue *queue, struct buffer_pool *pool)
{
    *queue = (struct exchange_queue){ .pool = pool };
}

static void give_back(struct exchange_queue *queue)
{
    if (queue->buffer != NULL) {
        buffer_pool_return(queue->pool, queue->buffer);
        queue->buffer = NULL;
    }
}

void exchange_queue_destroy(struct exchange_queue *queue)
{
    give_back(queue);
}

bool exchange_queue_has_room(const struct exchange_queue *queue)
{
    return queue->buffer == NULL || ROOM - queue->buffer->end >= RECORD_MAX;
}

static struct exchange_buffer *borrow(struct exchange_queue *queue)
{
    if (queue->buffer == NULL) {
        queue->buffer = buffer_pool_lend(queue->pool);
        if (queue->buffer != NULL) {
            queue->buffer->first = queue->buffer->end = 0;
        }
    }
    return queue->buffer;
}

bool exchange_queue_add(struct exchange_queue *queue, const struct request *request,
                        const struct exchange_mark *mark)
{
    const struct slice texts[TEXTS] = {
        [LINE] = request->line,
        [REFERER] = request_field(request, FIELD_REFERER),
        [USER_AGENT] = request_field(request, FIELD_USER_AGENT),
        [HOST] = request->authority,
    };
    struct exchange_buffer *buffer = borrow(queue);
    struct record *record;
    size_t len = 0;

    if (buffer == NULL) {
        return false;
    }
    record = (struct record *)(void *)(buffer->records + buffer->end);
    record->mark = *mark;
    for (int i = 0; i < TEXTS; i++) {
        size_t part = texts[i].len <= text_max[i] ? texts[i].len : text_max[i] + 1;

        record->lengths[i] = texts[i].base == NULL ? ABSENT : (uint16_t)part;
        if (part > 0) {
            memcpy(record->text + len, texts[i].base, part);
            len += part;
        }
    }
    len += sizeof(struct record);
    buffer->end += (len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return true;
}

/* How much of the body was sent, when `sent` bytes of all were. */
static uint64_t body_sent(const struct exchange_mark *mark, uint64_t sent)
{
    uint64_t begin = mark->end - mark->body_bytes;

    if (sent >= mark->end) {
        return mark->body_bytes;
    }
    return sent > begin ? sent - begin : 0;
}

bool exchange_queue_take(struct exchange_queue *queue, uint64_t sent, bool over,
                         struct exchange *exchange)
{
    struct exchange_buffer *buffer = queue->buffer;
    const struct record *record;
    struct slice texts[TEXTS];
    size_t len = 0;

    if (buffer == NULL) {
        return false;
    }
    if (buffer->first == buffer->end) {
        give_back(queue);
        return false;
    }
    record = (const struct record *)(void *)(buffer->records + buffer->first);
    if (record->mark.end > sent && !over) {
        return false;
    }
    for (int i = 0; i < TEXTS; i++) {
        bool absent = record->lengths[i] == ABSENT;

        texts[i].base = absent ? NULL : record->text + len;
        texts[i].len = absent ? 0 : record->lengths[i];
        len += texts[i].len;
    }
    *exchange = (struct exchange){ .status = record->mark.status,
                                   .body_bytes = body_sent(&record->mark, sent),
                                   .begun_ms = record->mark.begun_ms,
                                   .line = texts[LINE],
                                   .referer = texts[REFERER],
                                   .user_agent = texts[USER_AGENT],
                                   .host = texts[HOST] };
    len += sizeof(struct record);
    buffer->first += (len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return true;
}
