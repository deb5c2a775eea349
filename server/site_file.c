/* From a file to its answer: the header fields, preconditions, ranges. It must never know
 * how the file was found. */
#include <stdio.h>
#include <string.h>

#include "http_date.h"
#include "precondition.h"
#include "site_internal.h"

/* ---- fields */

/* A line that does not fit, whole, is left out. */
static void put_line(struct file_fields *fields, const char *name, struct slice value,
                     const char *suffix)
{
    size_t room = sizeof fields->text - fields->len;
    int n = snprintf(fields->text + fields->len, room, "%s: %.*s%s\r\n", name,
                     (int)value.len, value.base, suffix);

    if (n > 0 && (size_t)n < room) {
        fields->len += (size_t)n;
    }
}

static void put_validator(struct file_fields *fields, const struct file_version *version,
                          int64_t second)
{
    char date[HTTP_DATE_LEN];

    if (version->has_validators) {
        http_date_format(file_version_modified(version, second), date);
        put_line(fields, "Last-Modified", (struct slice){ date, sizeof date }, "");
    }
}

/* The request's fields that decided on this answer. */
static const char *vary_of(const struct file_version *version)
{
    if (version->codings == 0) {
        return version->by_accept ? "Accept" : "";
    }
    return version->by_accept ? "Accept, Accept-Encoding" : "Accept-Encoding";
}

static void render_fields(const struct site *site, const struct file_version *version,
                          int64_t second, struct file_fields *fields)
{
    memcpy(fields->text, site->common_text, site->common.len);
    fields->len = site->common.len;
    put_line(fields, "Cache-Control", version->cache_control, "");
    if (version->etag_len > 0) {
        put_line(fields, "ETag", (struct slice){ version->etag, version->etag_len }, "");
    }
    if (*vary_of(version) != '\0') {
        put_line(fields, "Vary", slice_of(vary_of(version)), "");
    }
    fields->unmodified_len = fields->len;
    put_validator(fields, version, second);
    put_line(fields, "Accept-Ranges", SLICE("bytes"), "");
    put_line(fields, "X-Content-Type-Options", SLICE("nosniff"), "");
    fields->untyped_len = fields->len;
    if (version->coding != CODING_IDENTITY) {
        put_line(fields, "Content-Encoding",
                 slice_of(negotiate_coding_name(version->coding)), "");
    }
    put_line(fields, "Content-Type", slice_of(version->type),
             site_fields_charset(site, version->type));
}

struct file_block *site_file_block(struct site_view *view, struct file_version *version,
                                   const struct file_block *before)
{
    render_fields(view->site, version, view->second, &view->fields);
    return file_block_new(version, before, &view->fields, view->second, view->date);
}

/* ---- answers */

struct span site_file_span(const struct file_block *block, const struct byte_range *range)
{
    struct span span = { .kind = SPAN_MEMORY,
                         .fd = -1,
                         .length = (size_t)(range->last - range->first + 1) };

    if (block->version->fd >= 0) {
        span.kind = SPAN_FILE;
        span.fd = block->version->fd;
        span.offset = (off_t)range->first;
    } else {
        span.base = block->body.base + range->first;
    }
    return span;
}

/* The pin goes with the response in every case, because its fields are the block's. */
static void start(struct site_view *view, unsigned status, struct file_block *block,
                  struct response *response)
{
    response_init(response, status, view->date);
    response->fields = block->fields;
    response->release = file_block_release;
    response->owner = block;
}

static void answer_whole(struct site_view *view, const struct request *request,
                         struct file_block *block, struct response *response)
{
    int64_t size = block->version->identity.size;
    /* Where memory for a new block was short, the Date in this one is too old. */
    bool current = block->second >= view->second;

    start(view, 200, block, response);
    response->content_length = size;
    if (request->method == METHOD_HEAD) {
        response->ready = current ? block->head : response->ready;
        return;
    }
    if (current && block->ready.base != NULL) {
        response->ready = block->ready;
    }
    if (size > 0) {
        response->body_count = 1;
        response->body[0] =
            site_file_span(block, &(struct byte_range){ 0, (uint64_t)size - 1 });
    }
}

static void answer_part(struct site_view *view, struct file_block *block,
                        const struct byte_range *range, struct response *response)
{
    int n =
        snprintf(view->more, sizeof view->more, "Content-Range: bytes %llu-%llu/%lld\r\n",
                 (unsigned long long)range->first, (unsigned long long)range->last,
                 (long long)block->version->identity.size);

    start(view, 206, block, response);
    response->more = (struct slice){ view->more, (size_t)n };
    response->content_length = (int64_t)(range->last - range->first + 1);
    response->body_count = 1;
    response->body[0] = site_file_span(block, range);
}

/* A refusal that depends on the file's form says so. What else it says beyond its page is
 * in view->more. */
static void add_vary(struct site_view *view, const char *vary, struct response *response)
{
    size_t len = response->more.len;

    if (*vary != '\0') {
        len += (size_t)snprintf(view->more + len, sizeof view->more - len, "Vary: %s\r\n",
                                vary);
        response->more = (struct slice){ view->more, len };
    }
}

/* 412, and the block's reference is given back. */
static void answer_failed(struct site_view *view, const struct request *request,
                          struct file_block *block, struct response *response)
{
    const char *vary = vary_of(block->version);

    file_block_put(block);
    site_page_answer(view, request, 412, response);
    add_vary(view, vary, response);
}

/* 416, likewise. */
static void answer_no_range(struct site_view *view, const struct request *request,
                            struct file_block *block, struct response *response)
{
    const char *vary = vary_of(block->version);
    uint64_t size = (uint64_t)block->version->identity.size;

    file_block_put(block);
    site_page_range(view, request, size, response);
    add_vary(view, vary, response);
}

/* False if the whole file is to be sent. Else the block's reference is taken. */
static bool answer_ranges(struct site_view *view, const struct request *request,
                          struct file_block *block, struct response *response)
{
    struct byte_range ranges[RANGES_MAX];
    uint64_t size = (uint64_t)block->version->identity.size;
    size_t count;

    switch (range_parse(request_field(request, FIELD_RANGE), size, ranges, &count)) {
    case RANGE_IGNORED:
        return false;
    case RANGE_UNSATISFIABLE:
        answer_no_range(view, request, block, response);
        return true;
    case RANGE_SATISFIABLE:
        break;
    }
    if (count > 1) {
        return site_multipart_answer(view, block, ranges, count, response);
    }
    answer_part(view, block, &ranges[0], response);
    return true;
}

/* Fields that make the answer depend on more than the file. */
static const uint32_t on_condition =
    UINT32_C(1) << FIELD_IF_MATCH | UINT32_C(1) << FIELD_IF_NONE_MATCH |
    UINT32_C(1) << FIELD_IF_MODIFIED_SINCE | UINT32_C(1) << FIELD_IF_UNMODIFIED_SINCE |
    UINT32_C(1) << FIELD_RANGE;

static void answer_on_condition(struct site_view *view, const struct request *request,
                                struct file_block *block, struct response *response)
{
    const struct file_version *version = block->version;
    struct validators validators = { .etag = { version->etag, version->etag_len },
                                     .has_mtime = version->has_validators,
                                     .mtime = block->modified };

    switch (precondition_evaluate(request, &validators, view->second)) {
    case PRECONDITION_PASS:
        break;
    case PRECONDITION_NOT_MODIFIED:
        start(view, 304, block, response);
        response->fields = block->unmodified;
        return;
    case PRECONDITION_FAILED:
        answer_failed(view, request, block, response);
        return;
    }
    if (request->method == METHOD_GET && request_has(request, FIELD_RANGE) &&
        precondition_range_applies(request, &validators, view->second) &&
        answer_ranges(view, request, block, response)) {
        return;
    }
    answer_whole(view, request, block, response);
}

void site_file_answer(struct site_view *view, const struct request *request,
                      struct file_block *block, struct response *response)
{
    if ((request->present & on_condition) == 0) {
        answer_whole(view, request, block, response);
    } else {
        answer_on_condition(view, request, block, response);
    }
}
