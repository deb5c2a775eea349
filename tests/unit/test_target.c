/* Decoding and encoding of targets. Random targets are compared with a slow reading of the
 * same rules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"
#include "unit.h"

/* A copy on the heap, exactly as long, so that the address sanitizer sees a byte read too
 * far. */
static char *exact_copy(const char *text, struct slice *copy)
{
    size_t len = strlen(text);
    char *bytes = malloc(len > 0 ? len : 1);

    assert_non_null(bytes);
    memcpy(bytes, text, len);
    *copy = (struct slice){ bytes, len };
    return bytes;
}

struct target_case {
    int line;
    const char *raw;
    enum target_result result;
    const char *path;
    bool directory;
};

/* What is here is good, and what it decodes to. */
static const struct target_case good[] = {
    { __LINE__, "/", TARGET_OK, "", true },
    { __LINE__, "//", TARGET_OK, "", true },
    { __LINE__, "/a.txt", TARGET_OK, "a.txt", false },
    { __LINE__, "/a/b/c", TARGET_OK, "a/b/c", false },
    { __LINE__, "/a/b/", TARGET_OK, "a/b", true },
    { __LINE__, "/a//b///c//", TARGET_OK, "a/b/c", true },
    { __LINE__, "//evil.test/a", TARGET_OK, "evil.test/a", false },
    /* dot segments */
    { __LINE__, "/.", TARGET_OK, "", true },
    { __LINE__, "/./", TARGET_OK, "", true },
    { __LINE__, "/a/.", TARGET_OK, "a", true },
    { __LINE__, "/a/./b", TARGET_OK, "a/b", false },
    { __LINE__, "/a/..", TARGET_OK, "", true },
    { __LINE__, "/a/../b", TARGET_OK, "b", false },
    { __LINE__, "/a/b/..", TARGET_OK, "a", true },
    { __LINE__, "/a/b/../", TARGET_OK, "a", true },
    { __LINE__, "/a//../b", TARGET_OK, "b", false },
    { __LINE__, "/a/b/../../c", TARGET_OK, "c", false },
    { __LINE__, "/a/%2e", TARGET_OK, "a", true },
    { __LINE__, "/a/%2E%2e/b", TARGET_OK, "b", false },
    { __LINE__, "/a/.%2e/b", TARGET_OK, "b", false },
    { __LINE__, "/a/%2e./b", TARGET_OK, "b", false },
    { __LINE__, "//evil.test/%2e%2e", TARGET_OK, "", true },
    /* what only looks like one */
    { __LINE__, "/...", TARGET_OK, "...", false },
    { __LINE__, "/.../x", TARGET_OK, ".../x", false },
    { __LINE__, "/..%20/x", TARGET_OK, ".. /x", false },
    { __LINE__, "/a.txt.", TARGET_OK, "a.txt.", false },
    { __LINE__, "/.a/..b/c..", TARGET_OK, ".a/..b/c..", false },
    /* one decoding */
    { __LINE__, "/foo%2525bar.txt", TARGET_OK, "foo%25bar.txt", false },
    { __LINE__, "/%252e%252e/x", TARGET_OK, "%2e%2e/x", false },
    { __LINE__, "/with%20space.txt", TARGET_OK, "with space.txt", false },
    { __LINE__, "/caf%C3%A9.txt", TARGET_OK, "caf\xc3\xa9.txt", false },
    { __LINE__, "/%C3", TARGET_OK, "\xc3", false },
    { __LINE__, "/%F0%80%80", TARGET_OK, "\xf0\x80\x80", false },
    { __LINE__, "/%ff%FF", TARGET_OK, "\xff\xff", false },
    { __LINE__, "/a+b.txt", TARGET_OK, "a+b.txt", false },
    { __LINE__, "/a%2Bb.txt", TARGET_OK, "a+b.txt", false },
    { __LINE__, "/+x+.css", TARGET_OK, "+x+.css", false },
    { __LINE__, "/d%0d%0aX:%20y", TARGET_OK, "d\r\nX: y", false },
    { __LINE__, "/a%3fb%23c", TARGET_OK, "a?b#c", false },
    { __LINE__, "/%7e%41", TARGET_OK, "~A", false },
    /* a backslash is an ordinary byte */
    { __LINE__, "/a\\..\\b", TARGET_OK, "a\\..\\b", false },
    { __LINE__, "/x//%5c../%5c../etc", TARGET_OK, "x/\\../\\../etc", false },
};

static const struct target_case bad[] = {
    { __LINE__, "/%", TARGET_MALFORMED, "", false },
    { __LINE__, "/%2", TARGET_MALFORMED, "", false },
    { __LINE__, "/a%2", TARGET_MALFORMED, "", false },
    { __LINE__, "/%zz", TARGET_MALFORMED, "", false },
    { __LINE__, "/%2g", TARGET_MALFORMED, "", false },
    { __LINE__, "/%g2", TARGET_MALFORMED, "", false },
    { __LINE__, "/%u0041", TARGET_MALFORMED, "", false },
    { __LINE__, "/%2/a", TARGET_MALFORMED, "", false },
    { __LINE__, "/%/2f", TARGET_MALFORMED, "", false },
    { __LINE__, "/%-1", TARGET_MALFORMED, "", false },
    { __LINE__, "/% 1", TARGET_MALFORMED, "", false },
    { __LINE__, "/%%32%65%%32%65/etc/passwd", TARGET_MALFORMED, "", false },
    { __LINE__, "/%00", TARGET_MALFORMED, "", false },
    { __LINE__, "/a.txt%00", TARGET_MALFORMED, "", false },
    { __LINE__, "/a%00/../b", TARGET_MALFORMED, "", false },
    { __LINE__, "/..", TARGET_MALFORMED, "", false },
    { __LINE__, "/../", TARGET_MALFORMED, "", false },
    { __LINE__, "/a/../..", TARGET_MALFORMED, "", false },
    { __LINE__, "/a/../../a", TARGET_MALFORMED, "", false },
    { __LINE__, "/%2e%2e/%2e%2e/etc/passwd", TARGET_MALFORMED, "", false },
    { __LINE__, "/.%2e/x", TARGET_MALFORMED, "", false },
    { __LINE__, "/%2E./x", TARGET_MALFORMED, "", false },
    { __LINE__, "/../www-private/x", TARGET_MALFORMED, "", false },
    { __LINE__, "//../x", TARGET_MALFORMED, "", false },
    { __LINE__, "/./../x", TARGET_MALFORMED, "", false },
    /* not a path */
    { __LINE__, "", TARGET_MALFORMED, "", false },
    { __LINE__, "a.txt", TARGET_MALFORMED, "", false },
    { __LINE__, "../secret", TARGET_MALFORMED, "", false },
    { __LINE__, "*", TARGET_MALFORMED, "", false },
    /* an encoded slash is never a separator */
    { __LINE__, "/a%2Fb", TARGET_MISSING, "", false },
    { __LINE__, "/a%2fb", TARGET_MISSING, "", false },
    { __LINE__, "/%2f", TARGET_MISSING, "", false },
    { __LINE__, "/a%2f", TARGET_MISSING, "", false },
    { __LINE__, "/..%2f..%2fetc/passwd", TARGET_MISSING, "", false },
    { __LINE__, "/dir/..%2f..%2fetc/passwd", TARGET_MISSING, "", false },
    { __LINE__, "/a%2fb/../c", TARGET_MISSING, "", false },
    { __LINE__, "//evil.test/..%2f..%2f../dir", TARGET_MISSING, "", false },
    { __LINE__, "/x/..%2F%5cevil.test%2F%3f%2F..%2F..", TARGET_MISSING, "", false },
    /* malformed outranks missing, wherever it is */
    { __LINE__, "/a%2fb/%zz", TARGET_MALFORMED, "", false },
    { __LINE__, "/%zz/a%2fb", TARGET_MALFORMED, "", false },
    { __LINE__, "/a%2fb/%00", TARGET_MALFORMED, "", false },
    { __LINE__, "/a%2fb%2", TARGET_MALFORMED, "", false },
    /* a segment with an encoded slash is one segment to take away */
    { __LINE__, "/a%2fb/../..", TARGET_MALFORMED, "", false },
    { __LINE__, "/a%2fb/c/../..", TARGET_MISSING, "", false },
};

static void check_decode(const struct target_case *one)
{
    struct target target = { 77, true };
    struct slice raw;
    char path[256];
    char *bytes = exact_copy(one->raw, &raw);

    memset(path, 'x', sizeof(path));
    CHECK_CASE(one->line, one->raw,
               target_decode(raw, path, sizeof(path), &target) == one->result);
    CHECK_CASE(one->line, one->raw, strcmp(path, one->path) == 0);
    CHECK_CASE(one->line, one->raw, target.len == strlen(one->path));
    CHECK_CASE(one->line, one->raw, target.directory == one->directory);
    free(bytes);
}

static void good_targets_are_decoded(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        check_decode(&good[i]);
    }
}

static void bad_targets_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        check_decode(&bad[i]);
    }
}

/* The room counts for the result and its NUL, and not for what dot segments remove. */
static void the_room_is_respected(void **state)
{
    static const struct {
        int line;
        const char *raw;
        size_t room;
        enum target_result result;
    } cases[] = {
        { __LINE__, "/", 0, TARGET_MISSING },
        { __LINE__, "/%zz", 0, TARGET_MALFORMED },
        { __LINE__, "/..", 0, TARGET_MALFORMED },
        { __LINE__, "/", 1, TARGET_OK },
        { __LINE__, "/a", 1, TARGET_MISSING },
        { __LINE__, "/a", 2, TARGET_OK },
        { __LINE__, "/ab/cd", 5, TARGET_MISSING },
        { __LINE__, "/ab/cd", 6, TARGET_OK },
        { __LINE__, "/ab/cd/", 6, TARGET_OK },
        { __LINE__, "/%61%62", 3, TARGET_OK },
        { __LINE__, "/..", 1, TARGET_MALFORMED },
        { __LINE__, "/a/..", 1, TARGET_OK },
        { __LINE__, "/./././.", 1, TARGET_OK },
        { __LINE__, "/a/b/c/../../..", 2, TARGET_OK },
        { __LINE__, "/long/../a", 2, TARGET_OK },
        { __LINE__, "/long/x/../a", 2, TARGET_MISSING },
        { __LINE__, "/long/x/../../../a", 2, TARGET_MALFORMED },
        { __LINE__, "/long/%zz", 2, TARGET_MALFORMED },
        { __LINE__, "/long/x%2fy/../../a", 2, TARGET_MISSING },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct target target;
        char *path = malloc(cases[i].room > 0 ? cases[i].room : 1);

        assert_non_null(path);
        CHECK_CASE(cases[i].line, cases[i].raw,
                   target_decode(slice_of(cases[i].raw), path, cases[i].room, &target) ==
                       cases[i].result);
        if (cases[i].room > 0) {
            CHECK_CASE(cases[i].line, cases[i].raw, strlen(path) == target.len);
        }
        free(path);
    }
}

enum { SLOW_SEGMENTS = 32, SLOW_LEN = 64 };

/* One raw segment into `to`, without slashes in the alphabet of random_target but encoded
 * ones. */
static enum target_result slow_segment(const char *raw, size_t len, char *to)
{
    enum target_result result = TARGET_OK;
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned byte = (unsigned char)raw[i];
        char digits[3] = { 0 };

        if (byte == '%') {
            if (i + 2 >= len) {
                return TARGET_MALFORMED;
            }
            memcpy(digits, raw + i + 1, 2);
            if (strspn(digits, "0123456789abcdefABCDEF") != 2 ||
                strcmp(digits, "00") == 0) {
                return TARGET_MALFORMED;
            }
            byte = (unsigned)strtoul(digits, NULL, 16);
            i += 2;
        }
        if (byte == '/') {
            result = TARGET_MISSING;
        }
        to[n++] = (char)byte;
    }
    to[n] = '\0';
    return result;
}

/* The same rules with a stack of segments, each a string. */
static enum target_result slow_decode(const char *raw, char *path, bool *directory)
{
    static char stack[SLOW_SEGMENTS][SLOW_LEN];
    enum target_result result = TARGET_OK;
    size_t depth = 0;

    *directory = raw[strlen(raw) - 1] == '/';
    for (const char *at = raw; *at != '\0';) {
        size_t len = strcspn(++at, "/");
        enum target_result one = slow_segment(at, len, stack[depth]);
        const char *name = stack[depth];

        at += len;
        if (one == TARGET_MALFORMED) {
            return one;
        }
        if (one == TARGET_MISSING) {
            result = one;
        }
        if (*at == '\0' && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)) {
            *directory = true;
        }
        if (strcmp(name, "..") == 0 && depth == 0) {
            return TARGET_MALFORMED;
        }
        if (strcmp(name, "..") == 0) {
            depth--;
        } else if (name[0] != '\0' && strcmp(name, ".") != 0) {
            depth++;
        }
    }
    path[0] = '\0';
    for (size_t i = 0; i < depth; i++) {
        strcat(path, i > 0 ? "/" : "");
        strcat(path, stack[i]);
    }
    if (depth == 0) {
        *directory = true;
    }
    return result;
}

static void random_target(uint64_t *seed, char *to)
{
    static const char *const pieces[] = { "/", "/",   "/",   "/",   "..",   ".",   ".",
                                          "a", "b",   "%2e", "%2E", "%41",  "%20", "\\",
                                          "+", "ccc", "/..", "/a",  "/../", "/b/" };
    static const char *const rare[] = { "%2f",   "%00", "%zz", "%2", "%",
                                        "/%2F/", "%ff", "%+1", "%0a" };
    unsigned count = random_below(seed, 12);

    strcpy(to, "/");
    for (unsigned i = 0; i < count; i++) {
        if (random_below(seed, 25) == 0) {
            strcat(to, rare[random_below(seed, sizeof(rare) / sizeof(rare[0]))]);
        } else {
            strcat(to, pieces[random_below(seed, sizeof(pieces) / sizeof(pieces[0]))]);
        }
    }
}

static void random_targets_agree_with_the_slow_reading(void **state)
{
    uint64_t seed = 1;
    unsigned seen[3] = { 0 };

    (void)state;
    for (unsigned i = 0; i < 200000; i++) {
        char raw[128], path[128], wanted[128];
        size_t room = random_below(&seed, 4) == 0 ? 1 + random_below(&seed, 8) : 128;
        struct target target;
        enum target_result result, wanted_result;
        bool wanted_directory;

        random_target(&seed, raw);
        wanted_result = slow_decode(raw, wanted, &wanted_directory);
        if (wanted_result == TARGET_OK && strlen(wanted) >= room) {
            wanted_result = TARGET_MISSING;
        }
        result = target_decode(slice_of(raw), path, room, &target);
        CHECK_CASE(__LINE__, raw, result == wanted_result);
        seen[result]++;
        if (result != TARGET_OK) {
            continue;
        }
        CHECK_CASE(__LINE__, raw, strcmp(path, wanted) == 0);
        CHECK_CASE(__LINE__, raw, target.len == strlen(wanted));
        CHECK_CASE(__LINE__, raw, target.directory == wanted_directory);
    }
    assert_true(seen[TARGET_OK] > 1000 && seen[TARGET_MALFORMED] > 1000 &&
                seen[TARGET_MISSING] > 1000);
}

static void paths_are_encoded(void **state)
{
    static const struct {
        int line;
        const char *path;
        const char *encoded;
    } cases[] = {
        { __LINE__, "", "" },
        { __LINE__, "a/b.txt", "a/b.txt" },
        { __LINE__, "AZaz09-._~!$&'()*+,;=:@/", "AZaz09-._~!$&'()*+,;=:@/" },
        { __LINE__, "with space", "with%20space" },
        { __LINE__, "d\r\nX: y", "d%0D%0AX:%20y" },
        { __LINE__, "a%25b", "a%2525b" },
        { __LINE__, "caf\xc3\xa9", "caf%C3%A9" },
        { __LINE__, "a?b#c", "a%3Fb%23c" },
        { __LINE__, "\\host", "%5Chost" },
        { __LINE__, "<\">`{|}^[]", "%3C%22%3E%60%7B%7C%7D%5E%5B%5D" },
        { __LINE__, "\x01\x7f\xff", "%01%7F%FF" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t len = strlen(cases[i].encoded);
        char *to = malloc(len > 0 ? len : 1);

        assert_non_null(to);
        CHECK_CASE(cases[i].line, cases[i].path,
                   target_encode(slice_of(cases[i].path), to, len) == len);
        CHECK_CASE(cases[i].line, cases[i].path, memcmp(to, cases[i].encoded, len) == 0);
        for (size_t room = 0; room < len; room++) {
            CHECK_CASE(cases[i].line, cases[i].path,
                       target_encode(slice_of(cases[i].path), to, room) == (size_t)-1);
        }
        free(to);
    }
}

/* Every byte but NUL comes back from its encoding, which is plain ASCII. */
static void encoding_and_decoding_are_inverse(void **state)
{
    uint64_t seed = 2;

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        char path[40], raw[128], back[64];
        size_t len = 1 + random_below(&seed, sizeof(path) - 1);
        size_t raw_len;
        struct target target;

        for (size_t at = 0; at < len; at++) {
            path[at] = (char)(1 + random_below(&seed, 255));
            if (path[at] == '/' || path[at] == '.') {
                path[at] = 'x';
            }
        }
        raw[0] = '/';
        raw_len = target_encode((struct slice){ path, len }, raw + 1, sizeof(raw) - 1);
        assert_true(raw_len >= len && raw_len <= 3 * len);
        for (size_t at = 0; at <= raw_len; at++) {
            assert_true(raw[at] > 0x20 && raw[at] < 0x7f);
        }
        assert_int_equal(target_decode((struct slice){ raw, raw_len + 1 }, back,
                                       sizeof(back), &target),
                         TARGET_OK);
        assert_int_equal(target.len, len);
        assert_memory_equal(back, path, len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_targets_are_decoded),
        cmocka_unit_test(bad_targets_are_refused),
        cmocka_unit_test(the_room_is_respected),
        cmocka_unit_test(random_targets_agree_with_the_slow_reading),
        cmocka_unit_test(paths_are_encoded),
        cmocka_unit_test(encoding_and_decoding_are_inverse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
