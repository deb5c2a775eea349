/* target_decode against a slow reading of RFC 3986 5.2.4 and 6.2.2, and target_encode as
 * its inverse. What is decoded never holds NUL, ".." or a leading slash. */
#include "fuzz.h"

#include <stdbool.h>
#include <string.h>

#include "target.h"

enum { ROOM = 512, SEGMENTS_MAX = 4096 };

static int hex(uint8_t byte)
{
    const char *digits = "0123456789abcdef";
    const char *at = byte == 0 ? NULL : strchr(digits, byte | 0x20);

    return at == NULL || (byte >= 'A' && byte <= 'Z' && at - digits < 10)
               ? -1
               : (int)(at - digits);
}

/* Bytes with the escapes undone; an encoded slash becomes 256. False: malformed. */
static bool unescape(const uint8_t *raw, size_t size, int *units, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < size; i++) {
        int unit = raw[i];

        if (raw[i] == '%') {
            int high = i + 2 < size ? hex(raw[i + 1]) : -1;
            int low = i + 2 < size ? hex(raw[i + 2]) : -1;

            if (high < 0 || low < 0 || high * 16 + low == 0) {
                return false;
            }
            unit = high * 16 + low == '/' ? 256 : high * 16 + low;
            i += 2;
        }
        units[(*count)++] = unit;
    }
    return true;
}

struct reference {
    enum target_result result;
    char path[ROOM * 8];
    size_t len;
    bool directory;
};

/* One segment at a time onto the end of the path; ".." takes the last one off. */
static void slow_decode(const uint8_t *raw, size_t size, struct reference *reference)
{
    static int units[ROOM * 8];
    size_t count, at = 0;
    bool missing = false;

    memset(reference, 0, sizeof *reference);
    reference->result = TARGET_MALFORMED;
    if (!unescape(raw, size, units, &count)) {
        return;
    }
    while (at < count) {
        size_t start = ++at; /* behind the slash */

        while (at < count && units[at] != '/') {
            missing = missing || units[at] == 256;
            at++;
        }
        reference->directory = at - start == 0;
        if (at - start == 1 && units[start] == '.') {
            reference->directory = true;
        } else if (at - start == 2 && units[start] == '.' && units[start + 1] == '.') {
            char *slash = memrchr(reference->path, '/', reference->len);

            if (reference->len == 0) {
                return;
            }
            reference->len = slash == NULL ? 0 : (size_t)(slash - reference->path);
            reference->directory = true;
        } else if (at > start) {
            if (reference->len > 0) {
                reference->path[reference->len++] = '/';
            }
            for (size_t i = start; i < at; i++) {
                reference->path[reference->len++] = (char)units[i];
            }
        }
    }
    reference->result = missing ? TARGET_MISSING : TARGET_OK;
}

static void check_path(const char *path, const struct target *target)
{
    struct slice rest = { path, target->len };

    CHECK(strlen(path) == target->len);
    CHECK(target->len == 0 || (path[0] != '/' && path[target->len - 1] != '/'));
    CHECK(target->len > 0 || target->directory);
    while (rest.len > 0) {
        const char *slash = memchr(rest.base, '/', rest.len);
        size_t len = slash == NULL ? rest.len : (size_t)(slash - rest.base);
        struct slice segment = { rest.base, len };

        CHECK(len > 0 && !slice_equal(segment, SLICE(".")) &&
              !slice_equal(segment, SLICE("..")));
        rest.base += slash == NULL ? len : len + 1;
        rest.len -= slash == NULL ? len : len + 1;
    }
}

static void check_round_trip(const char *path, const struct target *target)
{
    char encoded[3 * ROOM + 1], again[ROOM];
    struct target second;
    size_t len =
        target_encode((struct slice){ path, target->len }, encoded + 1, 3 * ROOM);

    CHECK(len != (size_t)-1);
    encoded[0] = '/';
    for (size_t i = 0; i <= len; i++) {
        CHECK(encoded[i] > ' ' && encoded[i] < 0x7f &&
              strchr("?#\\\"<>", encoded[i]) == NULL);
    }
    CHECK(target_decode((struct slice){ encoded, len + 1 }, again, sizeof again,
                        &second) == TARGET_OK);
    CHECK(second.len == target->len && memcmp(again, path, target->len) == 0);
}

/* head_guard lets only these through: printable, and no "#". */
static char as_target_byte(uint8_t byte)
{
    if (byte <= ' ' || byte >= 0x7f || byte == '#') {
        return (char)('a' + byte % 26);
    }
    return (char)byte;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct reference reference;
    char path[ROOM];
    struct target target;
    enum target_result result;
    char *raw;

    if (size >= ROOM * 8 - 1) {
        return 0;
    }
    raw = fuzz_exact(data, size);
    for (size_t i = 0; i < size; i++) {
        raw[i] = as_target_byte(data[i]);
    }
    (void)target_authority_valid((struct slice){ raw, size });
    if (size > 0 && raw[0] == '/' && memchr(raw, '?', size) == NULL) {
        result = target_decode((struct slice){ raw, size }, path, sizeof path, &target);
        slow_decode((const uint8_t *)raw, size, &reference);
        if (reference.result == TARGET_OK && reference.len + 1 > sizeof path) {
            reference.result = TARGET_MISSING;
        }
        CHECK(result == reference.result);
        if (result == TARGET_OK) {
            CHECK(target.len == reference.len && target.directory == reference.directory);
            CHECK(memcmp(path, reference.path, target.len) == 0);
            check_path(path, &target);
            check_round_trip(path, &target);
        }
    }
    free(raw);
    return 0;
}
