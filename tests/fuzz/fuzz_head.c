/* head_guard, llhttp and head_check over arbitrary heads: the verdict, the end and the
 * parts do not depend on how the input is cut; what the guard refuses is never parsed; and
 * what is accepted holds none of the bytes that RFC 9112 forbids. */
#include "fuzz.h"

#include <string.h>

#include "head_check.h"
#include "head_guard.h"
#include "head_memo.h"
#include "http_parser.h"

static enum head_guard_verdict feed(struct head_guard *guard, const char *text, size_t n,
                                    size_t piece)
{
    enum head_guard_verdict verdict = HEAD_GUARD_MORE;
    size_t given = 0;

    head_guard_init(guard);
    while (verdict == HEAD_GUARD_MORE && given < n) {
        given = n - given < piece ? n : given + piece;
        verdict = head_guard_feed(guard, text, given);
    }
    return verdict;
}

/* No bare CR or LF, no fold, no NUL in an accepted head. */
static void check_lines(const char *head, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)head[i];

        CHECK(byte != 0 && byte != 0x7f);
        CHECK(byte != '\r' || (i + 1 < len && head[i + 1] == '\n'));
        CHECK(byte != '\n' || (i > 0 && head[i - 1] == '\r'));
        CHECK(byte != '\n' || i + 1 == len ||
              (head[i + 1] != ' ' && head[i + 1] != '\t'));
    }
}

/* A head that is kept is recalled from another copy of its bytes as it was read. */
static void check_memo(const struct head_guard *guard, const char *text,
                       const struct request *request)
{
    static struct head_memo memo;
    static struct request recalled;
    struct head_guard recalled_guard;
    char *bytes = fuzz_exact(text, guard->fed);

    head_memo_init(&memo);
    head_memo_keep(&memo, text, guard, request);
    if (head_memo_recall(&memo, bytes, guard->fed, &recalled_guard, &recalled)) {
        CHECK(recalled_guard.fed == guard->fed && recalled.status == request->status);
        CHECK(recalled.present == request->present &&
              recalled.field_count == request->field_count);
        CHECK(recalled.path.base - bytes == request->path.base - text);
        CHECK(slice_equal(recalled.path, request->path));
        CHECK(slice_equal(recalled.authority, request->authority));
        for (unsigned i = 0; i < request->field_count; i++) {
            CHECK(recalled.fields[i].id == request->fields[i].id);
            CHECK(slice_equal(recalled.fields[i].value, request->fields[i].value));
        }
    }
    free(bytes);
}

static void check_request(const struct head_guard *guard, const char *text)
{
    struct http_parser parser;
    struct request request;
    struct slice lines = { text + guard->fields_start, guard->fed - guard->fields_start };
    bool parsed;

    memset(&request, 0, sizeof request);
    request.version_minor = guard->version_minor;
    request.method_text =
        (struct slice){ text + guard->start, guard->method_end - guard->start };
    request.target = (struct slice){ text + guard->target_start,
                                     guard->target_end - guard->target_start };
    parsed = http_parser_fields(&parser, lines, &request);
    head_check(&request);
    check_memo(guard, text, &request);
    CHECK(request.field_count <= guard->fields);
    for (unsigned i = 0; i < request.field_count; i++) {
        struct slice value = request.fields[i].value;

        CHECK(value.base >= lines.base &&
              value.base + value.len <= lines.base + lines.len);
        CHECK(memchr(value.base, '\r', value.len) == NULL);
    }
    if (parsed && request.status == 0) {
        /* The body's extent is known beyond doubt. */
        unsigned lengths = request_field_count(&request, FIELD_CONTENT_LENGTH);

        CHECK(lengths <= 1);
        CHECK(lengths == 0 || !request_has(&request, FIELD_TRANSFER_ENCODING));
        CHECK(request_field_count(&request, FIELD_HOST) <= 1);
        CHECK(request.path.len > 0);
        CHECK(request.path.base[0] == '/' || slice_equal(request.path, SLICE("*")));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_exact(data, size);
    struct head_guard whole, cut;
    enum head_guard_verdict verdict = feed(&whole, text, size, size > 0 ? size : 1);
    size_t piece = size > 0 ? 1 + data[size - 1] % 37 : 1;

    CHECK(feed(&cut, text, size, 1) == verdict);
    CHECK(cut.status == whole.status && cut.fields_start == whole.fields_start);
    CHECK(feed(&cut, text, size, piece) == verdict);
    CHECK(cut.status == whole.status && cut.target_end == whole.target_end);
    switch (verdict) {
    case HEAD_GUARD_MORE:
        CHECK(size <= REQUEST_HEAD_MAX);
        break;
    case HEAD_GUARD_COMPLETE:
        CHECK(cut.fed == whole.fed && whole.fed <= REQUEST_HEAD_MAX);
        check_lines(text + whole.start, whole.fed - whole.start);
        check_request(&whole, text);
        break;
    case HEAD_GUARD_REFUSED:
        CHECK(whole.status == 400 || whole.status == 414 || whole.status == 431 ||
              whole.status == 505);
        break;
    }
    free(text);
    return 0;
}
