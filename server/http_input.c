/* See http_input.h. The bytes of a body are read behind its head, or in front of it where
 * earlier messages left more room, and dropped at once. It must never know the states of
 * a connection. */
#include "http_input.h"

#include "head_check.h"

enum {
    ROOM = BUFFER_SIZE - sizeof(struct http_input),
    READ_MIN = 1024 /* less room than this is not worth a receive */
};

_Static_assert(ROOM > REQUEST_HEAD_MAX + 2 * READ_MIN, "a head and some body must fit");

static void forget(struct http_input *input)
{
    input->head = input->head_end = input->at = input->end = 0;
    input->limit = ROOM;
}

struct http_input *http_input_borrow(struct buffer_pool *pool)
{
    struct http_input *input = buffer_pool_lend(pool);

    if (input != NULL) {
        forget(input);
    }
    return input;
}

size_t http_input_space_for_head(struct http_input *input)
{
    unsigned len = input->end - input->head;

    if (input->head > 0 && input->limit - input->end < READ_MIN) {
        memmove(input->bytes, input->bytes + input->head, len);
        input->head = 0;
        input->end = len;
        input->limit = ROOM;
    }
    return input->limit - input->end;
}

size_t http_input_space_for_body(struct http_input *input)
{
    /* All that came before was looked at: begin again where there is room. */
    if (ROOM - input->head_end >= READ_MIN) {
        input->at = input->end = input->head_end;
        input->limit = ROOM;
    } else {
        input->at = input->end = 0;
        input->limit = input->head;
    }
    return input->limit - input->end;
}

size_t http_input_space_for_nothing(struct http_input *input)
{
    forget(input);
    return input->limit;
}

static struct slice part(const struct http_input *input, unsigned from, unsigned to)
{
    return (struct slice){ input->bytes + input->head + from, to - from };
}

/* What came of a request line that is not known to be one: up to the first line feed,
 * without a line end before it or in front of it. */
static struct slice line_as_it_came(const struct http_input *input,
                                    const struct head_guard *guard)
{
    struct slice line = part(input, guard->start, input->end - input->head);
    const char *end;

    while (line.len > 0 && (*line.base == '\r' || *line.base == '\n')) {
        line.base++;
        line.len--;
    }
    end = memchr(line.base, '\n', line.len);
    if (end != NULL) {
        line.len = (size_t)(end - line.base);
    }
    if (line.len > 0 && line.base[line.len - 1] == '\r') {
        line.len--;
    }
    return line;
}

void http_input_refuse(struct http_input *input, const struct head_guard *guard,
                       unsigned status)
{
    struct request *request = &input->request;

    *request = (struct request){
        .status = status, .close = true, .version_minor = 1, .method = METHOD_GET
    };
    request->line = line_as_it_came(input, guard);
    if (guard->method_end > 0) {
        request->method_text = part(input, guard->start, guard->method_end);
        request->method = head_check_method(request->method_text);
    }
    if (guard->target_end > 0) {
        request->target = part(input, guard->target_start, guard->target_end);
    }
}

/* Everything but the table of fields, which is long and is read only up to field_count.
 */
static void start_request(struct http_input *input, const struct head_guard *guard)
{
    struct request *request = &input->request;

    request->status = 0;
    request->version_minor = guard->version_minor;
    request->close = request->expects_continue = request->has_body = false;
    request->line = part(input, guard->start, guard->fields_start - 2);
    request->method_text = part(input, guard->start, guard->method_end);
    request->target = part(input, guard->target_start, guard->target_end);
    request->path = request->query = request->authority = (struct slice){ NULL, 0 };
    request->has_query = request->path_is_plain = false;
    request->present = 0;
    request->field_count = 0;
}

void http_input_read_head(struct http_input *input, const struct head_guard *guard)
{
    struct request *request = &input->request;
    bool parsed;

    start_request(input, guard);
    parsed = http_parser_fields(&input->parser,
                                part(input, guard->fields_start, guard->fed), request);
    input->at = input->head_end = input->head + guard->fed;
    head_check(request);
    if (!parsed && request->status == 0) {
        request->status = 400;
        request->close = true;
        request->expects_continue = false;
    }
}

bool http_input_recall_head(struct http_input *input, struct head_memo *memo,
                            struct head_guard *guard)
{
    if (!head_memo_recall(memo, input->bytes + input->head, input->end - input->head,
                          guard, &input->request)) {
        return false;
    }
    input->at = input->head_end = input->head + guard->fed;
    return true;
}

enum http_parser_verdict http_input_read_body(struct http_input *input)
{
    size_t used = 0;
    enum http_parser_verdict verdict =
        http_parser_body(&input->parser, &input->request, input->bytes + input->at,
                         input->end - input->at, &used);

    input->at += (unsigned)used;
    return verdict;
}

bool http_input_next(struct http_input *input)
{
    if (input->at == input->end) {
        forget(input);
        return false;
    }
    input->head = input->at;
    return true;
}
