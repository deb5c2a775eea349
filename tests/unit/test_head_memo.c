/* The memo of the last head: what it gives back is what reading would give, whatever lies
 * behind the head, and only for the same bytes. */
#include "head_memo.h"

#include <stdio.h>
#include <string.h>

#include "http_input.h"
#include "unit.h"

#define PLAIN "GET /a/b?c=d HTTP/1.1\r\nHost: t:80\r\nRange: bytes=0-1\r\nX: y\r\n\r\n"

struct fixture {
    struct buffer_pool pool;
    struct http_input *input;
    struct head_guard guard;
    struct head_memo memo;
};

static void open_fixture(struct fixture *fixture)
{
    buffer_pool_init(&fixture->pool, 1);
    fixture->input = http_input_borrow(&fixture->pool);
    assert_non_null(fixture->input);
    head_memo_init(&fixture->memo);
}

static void close_fixture(struct fixture *fixture)
{
    buffer_pool_return(&fixture->pool, fixture->input);
    buffer_pool_destroy(&fixture->pool);
}

/* Reads a head, which must be whole, behind `before` other bytes. */
static struct request *read_head(struct fixture *fixture, unsigned before,
                                 const char *text)
{
    struct http_input *input = fixture->input;
    size_t len = strlen(text);

    input->head = before;
    input->end = before + (unsigned)len;
    memset(input->bytes, 'x', before);
    memcpy(input->bytes + before, text, len);
    head_guard_init(&fixture->guard);
    assert_int_equal(head_guard_feed(&fixture->guard, input->bytes + before, len),
                     HEAD_GUARD_COMPLETE);
    http_input_read_head(input, &fixture->guard);
    return &input->request;
}

static void keep(struct fixture *fixture, const char *text)
{
    const struct request *request = read_head(fixture, 0, text);

    head_memo_keep(&fixture->memo, fixture->input->bytes, &fixture->guard, request);
}

static bool recall(struct fixture *fixture, const char *text, struct request *request)
{
    struct head_guard guard;

    return head_memo_recall(&fixture->memo, text, strlen(text), &guard, request);
}

static void check_slice(struct slice is, struct slice should, const char *base)
{
    assert_true(slice_equal(is, should));
    if (should.base != NULL) {
        assert_true(is.base >= base && is.base + is.len <= base + HEAD_MEMO_BYTES_MAX);
    }
}

static void check_same(const struct request *is, const struct request *should,
                       const char *base)
{
    assert_int_equal(is->status, should->status);
    assert_int_equal(is->method, should->method);
    assert_int_equal(is->version_minor, should->version_minor);
    assert_int_equal(is->close, should->close);
    assert_int_equal(is->has_query, should->has_query);
    assert_int_equal(is->present, should->present);
    assert_int_equal(is->field_count, should->field_count);
    check_slice(is->line, should->line, base);
    check_slice(is->method_text, should->method_text, base);
    check_slice(is->target, should->target, base);
    check_slice(is->path, should->path, base);
    check_slice(is->query, should->query, base);
    check_slice(is->authority, should->authority, base);
    for (unsigned i = 0; i < is->field_count; i++) {
        assert_int_equal(is->fields[i].id, should->fields[i].id);
        check_slice(is->fields[i].value, should->fields[i].value, base);
    }
}

static void test_what_is_recalled_is_what_was_read(void **state)
{
    static const char *const heads[] = {
        PLAIN,
        "GET / HTTP/1.0\r\n\r\n",
        "HEAD /? HTTP/1.1\r\nHost: t\r\nAccept:\r\n\r\n",
        "\r\nGET /x HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n",
        "PUT /x HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n\r\n",
    };
    static struct fixture fixture;
    static struct request recalled;
    static char text[HEAD_MEMO_BYTES_MAX];
    (void)state;

    open_fixture(&fixture);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct head_guard guard;

        keep(&fixture, heads[i]);
        memset(&recalled, 0xff, sizeof recalled);
        snprintf(text, sizeof text, "%sGET / HTTP/1.1\r\n", heads[i]);
        assert_true(
            head_memo_recall(&fixture.memo, text, strlen(text), &guard, &recalled));
        assert_int_equal(guard.fed, strlen(heads[i]));
        assert_memory_equal(&guard, &fixture.guard, sizeof guard);
        check_same(&recalled, read_head(&fixture, 100, heads[i]), text);
    }
    close_fixture(&fixture);
}

static void test_other_bytes_are_not_recalled(void **state)
{
    static struct fixture fixture;
    static struct request request;
    char text[] = PLAIN;
    (void)state;

    open_fixture(&fixture);
    assert_false(recall(&fixture, text, &request));
    keep(&fixture, PLAIN);
    assert_true(recall(&fixture, text, &request));
    for (size_t i = 0; i < sizeof text - 1; i++) {
        char byte = text[i];

        text[i] ^= 0x20;
        assert_false(recall(&fixture, text, &request));
        text[i] = '\0';
        assert_false(recall(&fixture, text, &request)); /* and it ends there */
        text[i] = byte;
    }
    close_fixture(&fixture);
}

/* Neither what is refused, nor what needs more than its head. */
static void test_what_is_not_kept(void **state)
{
    static const char *const heads[] = {
        "GET /b HTTP/1.1\r\n\r\n",
        "GET http://t?q HTTP/1.1\r\nHost: t\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: t\r\n\r\n",
        "POST /b HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\n\r\n",
        "POST /b HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n",
        "PUT /b HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
    };
    static struct fixture fixture;
    static struct request request;
    (void)state;

    open_fixture(&fixture);
    keep(&fixture, PLAIN);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        keep(&fixture, heads[i]);
        assert_false(recall(&fixture, heads[i], &request));
        assert_true(recall(&fixture, PLAIN, &request));
    }
    close_fixture(&fixture);
}

/* A head of this many fields that something reads, and of this many bytes in all. */
static const char *head_of(unsigned fields, size_t len)
{
    static char text[2 * HEAD_MEMO_BYTES_MAX];
    size_t n = (size_t)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: t\r\n");

    for (unsigned i = 1; i < fields; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "Accept: %u\r\n", i);
    }
    n += (size_t)snprintf(text + n, sizeof text - n, "X: ");
    memset(text + n, 'x', len - n - 4);
    memcpy(text + len - 4, "\r\n\r\n", 5);
    return text;
}

static void test_what_is_too_large_is_not_kept(void **state)
{
    static struct fixture fixture;
    static struct request request;
    (void)state;

    open_fixture(&fixture);
    keep(&fixture, head_of(1, HEAD_MEMO_BYTES_MAX));
    assert_true(recall(&fixture, head_of(1, HEAD_MEMO_BYTES_MAX), &request));
    keep(&fixture, head_of(1, HEAD_MEMO_BYTES_MAX + 1));
    assert_false(recall(&fixture, head_of(1, HEAD_MEMO_BYTES_MAX + 1), &request));
    keep(&fixture, head_of(HEAD_MEMO_FIELDS_MAX, 600));
    assert_true(recall(&fixture, head_of(HEAD_MEMO_FIELDS_MAX, 600), &request));
    assert_int_equal(request.field_count, HEAD_MEMO_FIELDS_MAX);
    keep(&fixture, head_of(HEAD_MEMO_FIELDS_MAX + 1, 600));
    assert_false(recall(&fixture, head_of(HEAD_MEMO_FIELDS_MAX + 1, 600), &request));
    close_fixture(&fixture);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_recalled_is_what_was_read),
        cmocka_unit_test(test_other_bytes_are_not_recalled),
        cmocka_unit_test(test_what_is_not_kept),
        cmocka_unit_test(test_what_is_too_large_is_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
