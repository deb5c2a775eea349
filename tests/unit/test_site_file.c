/* Unit tests of site_file.c and site_multipart.c: conditions and ranges, on a file of each
 * kind of storage. */
#include "site_driver.h"

#include "clock.h"

enum {
    MTIME = 784111777, /* Sun, 06 Nov 1994 08:49:37 GMT */
    SHARED_SIZE = FILE_COPY_MAX + 1000,
    LARGE_SIZE = FILE_MEMORY_MAX + 1000
};

static int setup(void **state)
{
    struct site_fixture *fixture = calloc(1, sizeof *fixture);
    const struct tree *tree = &fixture->tree;

    site_fixture_open(fixture);
    tree_text(tree, "a.txt", "0123456789");
    tree_text(tree, "empty", "");
    tree_bytes(tree, "shared", SHARED_SIZE);
    tree_bytes(tree, "large", LARGE_SIZE);
    tree_text(tree, "untimed", "0123456789");
    tree_mtime(tree, "a.txt", MTIME, 0);
    tree_mtime(tree, "empty", MTIME, 0);
    tree_mtime(tree, "shared", MTIME, 0);
    tree_mtime(tree, "large", MTIME, 0);
    tree_mtime(tree, "untimed", 0, 0);
    site_fixture_start(fixture);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    site_fixture_close(*state);
    free(*state);
    return 0;
}

#define TAG "\"ae1b981bc490a00-a\""

static void test_conditions(void **state)
{
    static const struct {
        int line;
        const char *target, *lines;
        unsigned status;
    } cases[] = {
        { __LINE__, "/a.txt", "If-None-Match: " TAG, 304 },
        { __LINE__, "/a.txt", "If-None-Match: \"x\", " TAG, 304 },
        { __LINE__, "/a.txt", "If-None-Match: W/" TAG, 304 },
        { __LINE__, "/a.txt", "If-None-Match: *", 304 },
        { __LINE__, "/a.txt", "If-None-Match: \"x\"", 200 },
        { __LINE__, "/a.txt", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", 304 },
        { __LINE__, "/a.txt", "If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT", 304 },
        { __LINE__, "/a.txt", "If-Modified-Since: Sun Nov  6 08:49:37 1994", 304 },
        { __LINE__, "/a.txt", "If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT", 200 },
        { __LINE__, "/a.txt", "If-Modified-Since: 2030", 200 },
        { __LINE__, "/a.txt",
          "If-None-Match: \"x\"\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", 200 },
        { __LINE__, "/a.txt", "If-Match: \"x\"", 412 },
        { __LINE__, "/a.txt", "If-Match: W/" TAG, 412 },
        { __LINE__, "/a.txt", "If-Match: " TAG, 200 },
        { __LINE__, "/a.txt", "If-Match: *", 200 },
        { __LINE__, "/a.txt", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT", 412 },
        { __LINE__, "/a.txt", "If-Match: \"x\"\nIf-None-Match: " TAG, 412 },
        { __LINE__, "/untimed", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", 200 },
        { __LINE__, "/untimed", "If-None-Match: \"\"", 200 },
        { __LINE__, "/untimed", "If-None-Match: *", 304 },
        { __LINE__, "/large", "If-None-Match: *", 304 },
        { __LINE__, "/missing", "If-None-Match: *", 404 },
        { __LINE__, "/missing", "If-Match: *", 404 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_CASE(cases[i].line, cases[i].lines,
                   status_of(*state, METHOD_GET, cases[i].target, cases[i].lines) ==
                       cases[i].status);
        CHECK_CASE(cases[i].line, cases[i].lines,
                   status_of(*state, METHOD_HEAD, cases[i].target, cases[i].lines) ==
                       cases[i].status);
    }
}

static void test_fields_of_304(void **state)
{
    struct answer answer =
        ask(*state, METHOD_GET, "/a.txt", "If-None-Match: *\nRange: bytes=0-1");

    assert_int_equal(answer.status, 304);
    assert_true(has_field(&answer, "ETag", TAG));
    assert_true(has_field(&answer, "Cache-Control", "no-cache"));
    assert_non_null(field(&answer, "Date"));
    assert_true(has_field(&answer, "Content-Length", NULL));
    assert_true(has_field(&answer, "Content-Type", NULL));
    assert_true(has_field(&answer, "Content-Range", NULL));
    assert_int_equal(answer.len, 0);
    assert_false(answer.one_send);
    answer_free(&answer);
    answer = ask(*state, METHOD_GET, "/a.txt", "If-Match: \"x\"");
    assert_true(has_field(&answer, "Cache-Control", "no-store"));
    assert_true(has_field(&answer, "ETag", NULL));
    assert_non_null(strstr(answer.body, "412"));
    answer_free(&answer);
}

static void test_single_ranges(void **state)
{
    static const struct {
        int line;
        const char *lines;
        unsigned status;
        const char *range, *body;
    } cases[] = {
        { __LINE__, "Range: bytes=0-0", 206, "bytes 0-0/10", "0" },
        { __LINE__, "Range: bytes=2-4", 206, "bytes 2-4/10", "234" },
        { __LINE__, "Range: bytes=5-999", 206, "bytes 5-9/10", "56789" },
        { __LINE__, "Range: bytes=9-", 206, "bytes 9-9/10", "9" },
        { __LINE__, "Range: bytes=-3", 206, "bytes 7-9/10", "789" },
        { __LINE__, "Range: bytes=-9999", 206, "bytes 0-9/10", "0123456789" },
        { __LINE__, "Range: bytes=50-60,0-1", 206, "bytes 0-1/10", "01" },
        { __LINE__, "Range: bytes=0-4,3-6,7-8", 206, "bytes 0-8/10", "012345678" },
        { __LINE__, "Range: bytes=10-", 416, "bytes */10", NULL },
        { __LINE__, "Range: bytes=-0", 416, "bytes */10", NULL },
        { __LINE__, "Range: bytes=18-18446744073709551615", 416, "bytes */10", NULL },
        { __LINE__, "Range: bytes=5-2", 200, NULL, "0123456789" },
        { __LINE__, "Range: lines=0-1", 200, NULL, "0123456789" },
        { __LINE__, "Range: bytes=0-1\nRange: bytes=0-1", 200, NULL, "0123456789" },
        { __LINE__, "Range: bytes=2-4\nIf-Range: " TAG, 206, "bytes 2-4/10", "234" },
        { __LINE__, "Range: bytes=2-4\nIf-Range: W/" TAG, 200, NULL, "0123456789" },
        { __LINE__, "Range: bytes=2-4\nIf-Range: Sun, 06 Nov 1994 08:49:37 GMT", 206,
          "bytes 2-4/10", "234" },
        { __LINE__, "Range: bytes=2-4\nIf-Range: Sun, 06 Nov 1994 08:49:38 GMT", 200,
          NULL, "0123456789" },
        { __LINE__, "Range: bytes=99-\nIf-Range: \"x\"", 200, NULL, "0123456789" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer = ask(*state, METHOD_GET, "/a.txt", cases[i].lines);

        CHECK_CASE(cases[i].line, cases[i].lines, answer.status == cases[i].status);
        CHECK_CASE(cases[i].line, cases[i].lines,
                   has_field(&answer, "Content-Range", cases[i].range));
        CHECK_CASE(cases[i].line, cases[i].lines,
                   cases[i].body == NULL || strcmp(answer.body, cases[i].body) == 0);
        if (cases[i].status == 206) {
            CHECK_CASE(cases[i].line, cases[i].lines, has_field(&answer, "ETag", TAG));
            CHECK_CASE(cases[i].line, cases[i].lines,
                       has_field(&answer, "Content-Type", "text/plain; charset=utf-8"));
        }
        answer_free(&answer);
        /* GET only. */
        answer = ask(*state, METHOD_HEAD, "/a.txt", cases[i].lines);
        CHECK_CASE(cases[i].line, cases[i].lines, answer.status == 200);
        CHECK_CASE(cases[i].line, cases[i].lines, answer.content_length == 10);
        answer_free(&answer);
    }
}

static void test_ranges_of_nothing(void **state)
{
    struct answer answer = ask(*state, METHOD_GET, "/empty", "Range: bytes=0-");

    assert_int_equal(answer.status, 416);
    assert_true(has_field(&answer, "Content-Range", "bytes */0"));
    answer_free(&answer);
    assert_int_equal(status_of(*state, METHOD_GET, "/empty", "Range: bytes=-5"), 200);
}

/* The same bytes, whether they lie behind the head, beside it, or in the file. */
static void test_ranges_of_each_storage(void **state)
{
    static const struct {
        const char *target;
        size_t size;
    } files[] = { { "/shared", SHARED_SIZE }, { "/large", LARGE_SIZE } };

    for (size_t i = 0; i < 2; i++) {
        struct answer answer = get(*state, files[i].target);

        assert_int_equal(answer.len, files[i].size);
        assert_false(answer.one_send);
        for (size_t at = 0; at < answer.len; at++) {
            assert_int_equal(answer.body[at], tree_byte(at));
        }
        answer_free(&answer);
        answer = ask(*state, METHOD_HEAD, files[i].target, "");
        assert_int_equal(answer.content_length, files[i].size);
        assert_true(answer.one_send);
        answer_free(&answer);
        answer = ask(*state, METHOD_GET, files[i].target, "Range: bytes=1000-16999");
        assert_int_equal(answer.status, 206);
        assert_int_equal(answer.len, 16000);
        for (size_t at = 0; at < answer.len; at++) {
            assert_int_equal(answer.body[at], tree_byte(1000 + at));
        }
        answer_free(&answer);
    }
}

/* What the body has to be, byte for byte, for this boundary. */
static size_t expected_multipart(char *to, const char *boundary, const char *type,
                                 const size_t (*ranges)[2], size_t count, size_t size)
{
    char *end = to;

    for (size_t i = 0; i < count; i++) {
        end += sprintf(end, "%s--%s\r\n", i == 0 ? "" : "\r\n", boundary);
        end += sprintf(end, "Content-Type: %s\r\n", type);
        end += sprintf(end, "Content-Range: bytes %zu-%zu/%zu\r\n\r\n", ranges[i][0],
                       ranges[i][1], size);
        for (size_t at = ranges[i][0]; at <= ranges[i][1]; at++) {
            *end++ = size == 10 ? (char)('0' + at) : tree_byte(at);
        }
    }
    end += sprintf(end, "\r\n--%s--\r\n", boundary);
    return (size_t)(end - to);
}

static void test_multipart(void **state)
{
    static const char prefix[] = "multipart/byteranges; boundary=";
    static const struct {
        int line;
        const char *target, *lines, *type;
        size_t ranges[RANGES_MAX][2];
        size_t count, size;
    } cases[] = {
        { __LINE__,
          "/a.txt",
          "Range: bytes=0-1,4-5",
          "text/plain; charset=utf-8",
          { { 0, 1 }, { 4, 5 } },
          2,
          10 },
        { __LINE__,
          "/a.txt",
          "Range: bytes=-1,20-,0-0,3-4",
          "text/plain; charset=utf-8",
          { { 9, 9 }, { 0, 0 }, { 3, 4 } },
          3,
          10 },
        { __LINE__,
          "/shared",
          "Range: bytes=17000-17010,5-16500",
          "application/octet-stream",
          { { 17000, 17010 }, { 5, 16500 } },
          2,
          SHARED_SIZE },
        { __LINE__,
          "/large",
          "Range: bytes=0-0,70-79,66000-",
          "application/octet-stream",
          { { 0, 0 }, { 70, 79 }, { 66000, LARGE_SIZE - 1 } },
          3,
          LARGE_SIZE },
        { __LINE__,
          "/large",
          "Range: bytes=0-0,2-2,4-4,6-6,8-8,10-10,12-12,14-14,16-16,18-18,20-20,22-22,"
          "24-24,26-26,28-28,30-30",
          "application/octet-stream",
          { { 0, 0 },
            { 2, 2 },
            { 4, 4 },
            { 6, 6 },
            { 8, 8 },
            { 10, 10 },
            { 12, 12 },
            { 14, 14 },
            { 16, 16 },
            { 18, 18 },
            { 20, 20 },
            { 22, 22 },
            { 24, 24 },
            { 26, 26 },
            { 28, 28 },
            { 30, 30 } },
          16,
          LARGE_SIZE },
    };
    static char expected[LARGE_SIZE];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer = ask(*state, METHOD_GET, cases[i].target, cases[i].lines);
        const char *type = field(&answer, "Content-Type");
        size_t len;

        CHECK_CASE(cases[i].line, cases[i].lines, answer.status == 206);
        CHECK_CASE(cases[i].line, cases[i].lines,
                   type != NULL && strncmp(type, prefix, sizeof prefix - 1) == 0);
        CHECK_CASE(cases[i].line, cases[i].lines,
                   strstr(strstr(answer.head, "\r\nContent-Type: ") + 1,
                          "\r\nContent-Type: ") == NULL);
        CHECK_CASE(cases[i].line, cases[i].lines,
                   has_field(&answer, "Content-Range", NULL));
        len = expected_multipart(expected, type + sizeof prefix - 1, cases[i].type,
                                 cases[i].ranges, cases[i].count, cases[i].size);
        CHECK_CASE(cases[i].line, cases[i].lines, answer.len == len);
        assert_memory_equal(answer.body, expected, len);
        answer_free(&answer);
    }
}

static void test_boundaries_differ(void **state)
{
    struct answer first = ask(*state, METHOD_GET, "/a.txt", "Range: bytes=0-1,4-5");
    struct answer second = ask(*state, METHOD_GET, "/a.txt", "Range: bytes=0-1,4-5");

    assert_string_not_equal(field(&first, "Content-Type"),
                            field(&second, "Content-Type"));
    answer_free(&first);
    answer_free(&second);
}

static void test_too_many_ranges(void **state)
{
    char lines[20000] = "Range: bytes=0-0";
    size_t len = strlen(lines);

    for (unsigned i = 1; i <= 16; i++) {
        len += (size_t)sprintf(lines + len, ",%u-%u", 2 * i, 2 * i);
    }
    assert_int_equal(status_of(*state, METHOD_GET, "/large", lines), 200);
    /* Overlapping ones join, however many. */
    strcpy(lines, "Range: bytes=5-");
    len = strlen(lines);
    for (unsigned i = 0; i < 1300; i++) {
        len += (size_t)sprintf(lines + len, ",5-");
    }
    assert_int_equal(status_of(*state, METHOD_GET, "/large", lines), 206);
}

/* 64-bit offsets, in a file that needs no disk space. */
static void test_beyond_4_gib(void **state)
{
    struct site_fixture *fixture = *state;
    const char *path = tree_path(&fixture->tree, "huge");
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    struct answer answer;

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, INT64_C(5) << 30), 0);
    assert_int_equal(pwrite(fd, "edge", 4, INT64_C(4294967296)), 4);
    assert_int_equal(close(fd), 0);
    answer = ask(fixture, METHOD_GET, "/huge", "Range: bytes=4294967296-4294967299");
    assert_int_equal(answer.status, 206);
    assert_string_equal(answer.body, "edge");
    assert_true(
        has_field(&answer, "Content-Range", "bytes 4294967296-4294967299/5368709120"));
    answer_free(&answer);
    answer = ask(fixture, METHOD_HEAD, "/huge", "");
    assert_true(has_field(&answer, "Content-Length", "5368709120"));
    answer_free(&answer);
}

/* Every kind of answer gives its pin back: the cache's own is all that is left. */
static void test_pins_are_given_back(void **state)
{
    struct site_fixture *fixture = *state;
    static const char *const lines[] = { "",
                                         "Range: bytes=0-1",
                                         "Range: bytes=0-1,4-5",
                                         "Range: bytes=99-",
                                         "If-None-Match: *",
                                         "If-Match: \"x\"" };
    struct file_cache_hit hit;

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        (void)status_of(fixture, METHOD_GET, "/a.txt", lines[i]);
        (void)status_of(fixture, METHOD_HEAD, "/a.txt", lines[i]);
    }
    assert_int_equal(file_cache_find(fixture->view->store->cache, SLICE("/a.txt"),
                                     fixture->view->check, UINT64_MAX, &hit),
                     FILE_CACHE_FRESH);
    assert_int_equal(atomic_load(&hit.block->count.references), 2);
    file_block_put(hit.block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_conditions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fields_of_304, setup, teardown),
        cmocka_unit_test_setup_teardown(test_single_ranges, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ranges_of_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ranges_of_each_storage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_multipart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_boundaries_differ, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_many_ranges, setup, teardown),
        cmocka_unit_test_setup_teardown(test_beyond_4_gib, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pins_are_given_back, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
