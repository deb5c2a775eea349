/* Unit tests of file_block.c. */
#include "tree.h"

#include "file_block.h"

static const char date[] = "Sun, 06 Nov 1994 08:49:37 GMT";
static const char next_date[] = "Sun, 06 Nov 1994 08:49:38 GMT";

enum { SECOND = 784111777 };

static struct file_fields fields_of(const char *text, size_t unmodified, size_t untyped)
{
    struct file_fields fields = { .unmodified_len = unmodified, .untyped_len = untyped };

    fields.len = strlen(text);
    memcpy(fields.text, text, fields.len);
    return fields;
}

static struct file_version *version_of(enum file_sharing sharing, size_t size)
{
    struct file_identity identity = { .size = (int64_t)size, .mtime = SECOND - 100 };
    char *content = size > 0 ? malloc(size) : NULL;

    for (size_t i = 0; i < size; i++) {
        content[i] = tree_byte(i);
    }
    return file_version_new(sharing, &identity, content, -1, "text/plain");
}

static void check_body(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        assert_int_equal(bytes[i], tree_byte(i));
    }
}

static void test_one_run_of_bytes(void **state)
{
    static const char head[] = "HTTP/1.1 200 OK\r\n"
                               "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                               "A: 1\r\nB: 2\r\nC: 3\r\n"
                               "Content-Length: 300\r\n\r\n";
    struct file_fields fields = fields_of("A: 1\r\nB: 2\r\nC: 3\r\n", 6, 12);
    struct file_version *version = version_of(FILE_PRIVATE, 300);
    struct file_block *block = file_block_new(version, NULL, &fields, SECOND, date);

    (void)state;
    assert_non_null(block);
    assert_true(slice_equal(block->head, SLICE(head)));
    assert_true(slice_equal(block->unmodified, SLICE("A: 1\r\n")));
    assert_true(slice_equal(block->untyped, SLICE("A: 1\r\nB: 2\r\n")));
    assert_true(slice_equal(block->fields, SLICE("A: 1\r\nB: 2\r\nC: 3\r\n")));
    assert_ptr_equal(block->ready.base, block->head.base);
    assert_int_equal(block->ready.len, block->head.len + 300);
    assert_ptr_equal(block->body.base, block->head.base + block->head.len);
    assert_int_equal(block->body.len, 300);
    check_body(block->body.base, 300);
    /* The bytes are kept once. */
    assert_null(version->content);
    file_version_put(version);
    file_block_put(block);
}

static void test_a_new_second_leaves_the_old_block_alone(void **state)
{
    static const size_t sizes[] = { 0, 1, FILE_COPY_MAX, FILE_COPY_MAX + 1, 65536 };
    struct file_fields fields = fields_of("A: 1\r\n", 0, 6);

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct file_version *version = version_of(FILE_PRIVATE, sizes[i]);
        struct file_block *old = file_block_new(version, NULL, &fields, SECOND, date);
        struct file_block *new =
            file_block_new(version, old, &fields, SECOND + 1, next_date);
        bool copied = sizes[i] <= FILE_COPY_MAX;

        file_version_put(version);
        assert_int_equal(new->second, SECOND + 1);
        assert_non_null(memmem(old->head.base, old->head.len, date, strlen(date)));
        assert_non_null(
            memmem(new->head.base, new->head.len, next_date, strlen(next_date)));
        assert_int_equal(new->ready.base != NULL, copied);
        assert_int_equal(new->body.base == old->body.base, !copied || sizes[i] == 0);
        check_body(old->body.base, sizes[i]);
        /* The new one stands alone. */
        file_block_put(old);
        assert_int_equal(new->body.len, sizes[i]);
        check_body(new->body.base, sizes[i]);
        file_block_release(new);
    }
}

static void test_descriptor_closes_with_the_last_reference(void **state)
{
    struct file_fields fields = fields_of("A: 1\r\n", 0, 6);
    struct file_identity identity = { .size = INT64_C(5) << 30, .mtime = 5 };
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct file_version *version =
        file_version_new(FILE_PRIVATE, &identity, NULL, fd, "text/plain");
    struct file_block *block = file_block_new(version, NULL, &fields, SECOND, date);

    (void)state;
    assert_null(block->ready.base);
    assert_null(block->body.base);
    assert_non_null(
        memmem(block->head.base, block->head.len, "Content-Length: 5368709120\r\n", 28));
    file_version_put(version);
    assert_ptr_equal(file_block_get(block), block);
    file_block_put(block);
    assert_true(fcntl(fd, F_GETFD) >= 0);
    file_block_put(block);
    assert_true(fcntl(fd, F_GETFD) < 0);
    file_block_put(NULL);
    file_version_put(NULL);
}

static void test_validators(void **state)
{
    static const struct {
        int line;
        int64_t mtime;
        uint32_t ns;
        int64_t size;
        const char *etag; /* "": none */
    } cases[] = {
        { __LINE__, 784111777, 0, 10, "\"ae1b981bc490a00-a\"" },
        { __LINE__, 784111777, 1, 10, "\"ae1b981bc490a01-a\"" },
        { __LINE__, 784111777, 1, 0, "\"ae1b981bc490a01-0\"" },
        { __LINE__, 1, 1, 255, "\"3b9aca01-ff\"" },
        { __LINE__, 1, 0, 10, "" },
        { __LINE__, 0, 999999999, 10, "" },
        { __LINE__, -1, 0, 10, "" },
        { __LINE__, INT64_MIN, 0, 10, "" },
        { __LINE__, INT64_MAX, 999999999, INT64_MAX,
          "\"ffffffffffffffff-7fffffffffffffff\"" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct file_identity identity = { .mtime = cases[i].mtime,
                                          .mtime_ns = cases[i].ns,
                                          .size = cases[i].size };
        struct file_version *version =
            file_version_new(FILE_PRIVATE, &identity, NULL, -1, "text/plain");
        struct slice etag = { version->etag, version->etag_len };

        CHECK_CASE(cases[i].line, cases[i].etag,
                   version->has_validators == (*cases[i].etag != '\0'));
        if (cases[i].mtime != INT64_MAX) {
            CHECK_CASE(cases[i].line, cases[i].etag,
                       slice_equal(etag, slice_of(cases[i].etag)));
        } else {
            CHECK_CASE(cases[i].line, cases[i].etag,
                       etag.len <= strlen(cases[i].etag) && etag.base[0] == '"' &&
                           etag.base[etag.len - 1] == '"');
        }
        file_version_put(version);
    }
}

static void test_modified_is_never_to_come(void **state)
{
    struct file_identity identity = { .mtime = 1000 };
    struct file_version *version =
        file_version_new(FILE_PRIVATE, &identity, NULL, -1, "text/plain");

    (void)state;
    assert_int_equal(file_version_modified(version, 999), 999);
    assert_int_equal(file_version_modified(version, 1000), 1000);
    assert_int_equal(file_version_modified(version, 1001), 1000);
    file_version_put(version);
}

static void test_shared_counts(void **state)
{
    struct file_fields fields = fields_of("A: 1\r\n", 0, 6);
    struct file_version *version = version_of(FILE_SHARED, 10);
    struct file_block *block = file_block_new(version, NULL, &fields, SECOND, date);

    (void)state;
    file_version_put(version);
    assert_int_equal(atomic_load(&block->count.references), 1);
    assert_int_equal(atomic_load(&block->version->count.references), 1);
    (void)file_block_get(block);
    assert_int_equal(atomic_load(&block->count.references), 2);
    file_block_put(block);
    assert_int_equal(atomic_load(&block->count.references), 1);
    file_block_put(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_run_of_bytes),
        cmocka_unit_test(test_a_new_second_leaves_the_old_block_alone),
        cmocka_unit_test(test_descriptor_closes_with_the_last_reference),
        cmocka_unit_test(test_validators),
        cmocka_unit_test(test_modified_is_never_to_come),
        cmocka_unit_test(test_shared_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
