/* llhttp behind head_guard and chunk_guard; see http_parser.h. Guards and parser must
 * agree: where they do not, the message is refused. It must never know what a field means
 * for an answer. */
#include "http_parser.h"

#include <stddef.h>
#include <string.h>

#include "llhttp.h"

/* What a callback needs, for the time of one llhttp_execute. */
struct collector {
    struct request *request;
    struct slice name, value;
    bool message_complete;
};

_Static_assert(sizeof(llhttp_t) <= sizeof((struct http_parser *)0)->state,
               "llhttp_t grew");
_Static_assert(_Alignof(llhttp_t) <= 16, "llhttp_t is aligned more strictly");

static llhttp_t *library(struct http_parser *parser)
{
    return (llhttp_t *)(void *)parser->state;
}

/* The library may hand one value over in pieces; they are adjacent. */
static void extend(struct slice *slice, const char *at, size_t len)
{
    if (slice->base == NULL) {
        slice->base = at;
    }
    slice->len = (size_t)(at - slice->base) + len;
}

static int on_name(llhttp_t *llhttp, const char *at, size_t len)
{
    struct collector *collector = llhttp->data;

    extend(&collector->name, at, len);
    return 0;
}

static int on_value(llhttp_t *llhttp, const char *at, size_t len)
{
    struct collector *collector = llhttp->data;

    extend(&collector->value, at, len);
    return 0;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static struct slice trimmed(struct slice text)
{
    while (text.len > 0 && is_blank(text.base[text.len - 1])) {
        text.len--;
    }
    while (text.len > 0 && is_blank(text.base[0])) {
        text.base++;
        text.len--;
    }
    return text;
}

static void take_field(struct collector *collector)
{
    struct request *request = collector->request;

    /* Trailers (request == NULL) are never merged into the fields. */
    if (request != NULL) {
        enum field_id id = request_field_id(collector->name);

        if (id != FIELD_OTHER && request->field_count < REQUEST_FIELDS_MAX) {
            request->present |= UINT32_C(1) << id;
            request->fields[request->field_count++] =
                (struct request_field){ id, trimmed(collector->value) };
        }
    }
    collector->name = (struct slice){ NULL, 0 };
    collector->value = (struct slice){ NULL, 0 };
}

static int on_value_complete(llhttp_t *llhttp)
{
    take_field(llhttp->data);
    return 0;
}

static int on_message_complete(llhttp_t *llhttp)
{
    struct collector *collector = llhttp->data;

    collector->message_complete = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_header_field = on_name,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_complete,
    .on_message_complete = on_message_complete,
};

/* A request line that means nothing to the library (no CONNECT, no upgrade): the true one
 * was read by head_guard. */
static const char stand_in_line[] = "POST / HTTP/1.1\r\n";

/* The library stopped inside a value (a Content-Length over 64 bits): the field counts all
 * the same, so that the reason is seen. head_guard saw its line end. */
static void take_unfinished_field(struct collector *collector, struct slice lines)
{
    const char *colon, *end = lines.base + lines.len;

    if (collector->name.base == NULL) {
        return;
    }
    colon = collector->name.base + collector->name.len;
    if (colon < end && *colon == ':') {
        const char *cr = memchr(colon, '\r', (size_t)(end - colon));

        if (cr != NULL) {
            collector->value = (struct slice){ colon + 1, (size_t)(cr - colon) - 1 };
            take_field(collector);
        }
    }
}

bool http_parser_fields(struct http_parser *parser, struct slice lines,
                        struct request *request)
{
    llhttp_t *llhttp = library(parser);
    struct collector collector = { .request = request };
    llhttp_errno_t error;

    llhttp_init(llhttp, HTTP_REQUEST, &settings);
    llhttp->data = &collector;
    chunk_guard_init(&parser->chunks);
    error = llhttp_execute(llhttp, stand_in_line, sizeof stand_in_line - 1);
    if (error == HPE_OK) {
        error = llhttp_execute(llhttp, lines.base, lines.len);
    }
    llhttp->data = NULL;
    /* Without a body the message ends with its head, at the last byte fed. */
    if (error == HPE_OK || collector.message_complete) {
        return true;
    }
    take_unfinished_field(&collector, lines);
    return false;
}

/* Feeds what the guard has passed; false if the library refuses, or sees the end
 * elsewhere. */
static bool feed_library(struct http_parser *parser, const char *bytes, size_t n,
                         bool ends)
{
    llhttp_t *llhttp = library(parser);
    struct collector collector = { .request = NULL };
    llhttp_errno_t error;

    llhttp->data = &collector;
    error = llhttp_execute(llhttp, bytes, n);
    llhttp->data = NULL;
    if (error == HPE_PAUSED || error == HPE_PAUSED_UPGRADE) {
        error = HPE_OK;
    }
    return error == HPE_OK && collector.message_complete == ends;
}

static enum http_parser_verdict refuse(struct request *request, unsigned status)
{
    request->status = status;
    request->close = true;
    return HTTP_PARSER_REFUSED;
}

/* Extensions and trailers are skipped here: the library reads a meaning into some of
 * them, and does not take all that RFC 9112 7.1 allows. */
static enum http_parser_verdict read_chunks(struct http_parser *parser,
                                            struct request *request, const char *bytes,
                                            size_t n, size_t *used)
{
    struct chunk_guard *guard = &parser->chunks;
    enum chunk_guard_verdict verdict = CHUNK_GUARD_MORE;

    *used = 0;
    while (*used < n && verdict == CHUNK_GUARD_MORE) {
        const char *at = bytes + *used;
        size_t part;

        verdict = chunk_guard_feed(guard, at, n - *used, &part);
        if (verdict == CHUNK_GUARD_REFUSED) {
            return refuse(request, guard->status);
        }
        if (!guard->hidden && !feed_library(parser, at, part, false)) {
            return refuse(request, 400);
        }
        *used += part;
    }
    if (verdict == CHUNK_GUARD_MORE) {
        return HTTP_PARSER_MORE;
    }
    return feed_library(parser, "\r\n", 2, true) ? HTTP_PARSER_COMPLETE
                                                 : refuse(request, 400);
}

enum http_parser_verdict http_parser_body(struct http_parser *parser,
                                          struct request *request, const char *bytes,
                                          size_t n, size_t *used)
{
    uint64_t left;
    bool ends;

    if (request_has(request, FIELD_TRANSFER_ENCODING)) {
        return read_chunks(parser, request, bytes, n, used);
    }
    left = library(parser)->content_length; /* it counts down */
    *used = n < left ? n : (size_t)left;
    ends = *used == left;
    if (!feed_library(parser, bytes, *used, ends)) {
        return refuse(request, 400);
    }
    return ends ? HTTP_PARSER_COMPLETE : HTTP_PARSER_MORE;
}
