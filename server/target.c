/* The request target as a path below the document root, and back (RFC 3986 2.1, 3.2,
 * 5.2.4). Every byte is decoded once, before dot segments are looked for, so that there
 * is no second reading of a name. Text only: it must never know a file system. */
#include "target.h"

#include <string.h>

/* What a byte may be in a URI (RFC 3986 2, 3). */
enum {
    BYTE_NAME = 1, /* unreserved and sub-delims */
    BYTE_PATH = 2, /* those, ":", "@" and "/": what stays as it is in a path */
    BYTE_DIGIT = 4,
    BYTE_HEX = 8,
    BYTE_HOST = 16 /* what the name of a host holds */
};

static unsigned byte_class(char byte)
{
    if (byte >= '0' && byte <= '9') {
        return BYTE_NAME | BYTE_HOST | BYTE_PATH | BYTE_DIGIT | BYTE_HEX;
    }
    if ((byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F')) {
        return BYTE_NAME | BYTE_HOST | BYTE_PATH | BYTE_HEX;
    }
    if ((byte >= 'g' && byte <= 'z') || (byte >= 'G' && byte <= 'Z')) {
        return BYTE_NAME | BYTE_HOST | BYTE_PATH;
    }
    if (byte == '-' || byte == '.' || byte == '_') {
        return BYTE_NAME | BYTE_HOST | BYTE_PATH;
    }
    if (byte != '\0' && strchr("~!$&'()*+,;=", byte) != NULL) {
        return BYTE_NAME | BYTE_PATH;
    }
    return byte == ':' || byte == '@' || byte == '/' ? BYTE_PATH : 0;
}

static bool byte_is(char byte, unsigned class)
{
    return (byte_class(byte) & class) != 0;
}

/* The value of a digit that BYTE_HEX accepts. */
static unsigned hex_value(char byte)
{
    return byte <= '9' ? (unsigned)byte - '0' : ((unsigned)byte | 0x20) - 'a' + 10;
}

/* True if text begins with a percent-encoded byte. */
static bool is_escape(struct slice text)
{
    return text.len >= 3 && text.base[0] == '%' && byte_is(text.base[1], BYTE_HEX) &&
           byte_is(text.base[2], BYTE_HEX);
}

/* The decoded path so far. A segment that is too long, or holds a slash, is counted in
 * `lost` instead of written, and so is each behind it, until dot segments have taken them
 * away again: what matters is the length of the result, not of the detour. */
struct path {
    char *to;
    size_t room;
    size_t len;
    size_t lost;
};

/* One segment, decoded behind the path's end but not yet part of it. */
struct segment {
    size_t len;
    bool fits; /* written, and may become part of the path */
    bool only_dots;
    bool has_slash;
};

/* Where the next segment is written: behind a slash, except at the root. */
static size_t path_next(const struct path *path)
{
    return path->len == 0 ? 0 : path->len + 1;
}

/* False if malformed. */
static bool segment_decode(const struct path *path, struct slice raw,
                           struct segment *segment)
{
    size_t at = path_next(path);

    *segment = (struct segment){ .fits = path->lost == 0, .only_dots = true };
    while (raw.len > 0) {
        char byte = *raw.base;
        size_t used = 1;

        if (byte == '%') {
            if (!is_escape(raw)) {
                return false;
            }
            byte = (char)(hex_value(raw.base[1]) << 4 | hex_value(raw.base[2]));
            used = 3;
        }
        if (byte == '\0') {
            return false;
        }
        segment->only_dots = segment->only_dots && byte == '.';
        segment->has_slash = segment->has_slash || byte == '/';
        /* One byte stays free for the final NUL. */
        segment->fits = segment->fits && path->room > at + segment->len + 1;
        if (segment->fits) {
            path->to[at + segment->len] = byte;
        }
        segment->len++;
        raw.base += used;
        raw.len -= used;
    }
    return true;
}

static void path_push(struct path *path, const struct segment *segment)
{
    if (!segment->fits || segment->has_slash) {
        path->lost++;
        return;
    }
    if (path->len > 0) {
        path->to[path->len] = '/';
    }
    path->len = path_next(path) + segment->len;
}

/* False if there is nothing to take away: above the root. */
static bool path_pop(struct path *path)
{
    if (path->lost > 0) {
        path->lost--;
        return true;
    }
    if (path->len == 0) {
        return false;
    }
    while (path->len > 0 && path->to[path->len - 1] != '/') {
        path->len--;
    }
    if (path->len > 0) {
        path->len--;
    }
    return true;
}

static struct slice segment_take(struct slice *raw)
{
    const char *slash = memchr(raw->base, '/', raw->len);
    size_t len = slash == NULL ? raw->len : (size_t)(slash - raw->base);
    struct slice segment = { raw->base, len };

    if (slash != NULL) {
        len++;
    }
    raw->base += len;
    raw->len -= len;
    return segment;
}

/* Reads all of it even where a segment is known to be missing, so that a malformed target
 * is answered alike wherever the fault is. *dots: the last segment was a dot segment. */
static enum target_result path_read(struct path *path, struct slice raw, bool *dots)
{
    enum target_result result = TARGET_OK;

    *dots = false;
    while (raw.len > 0) {
        struct slice text = segment_take(&raw);
        struct segment segment;

        if (text.len == 0) {
            continue;
        }
        if (!segment_decode(path, text, &segment)) {
            return TARGET_MALFORMED;
        }
        if (segment.has_slash) {
            result = TARGET_MISSING;
        }
        *dots = segment.only_dots && segment.len <= 2;
        if (!*dots) {
            path_push(path, &segment);
        } else if (segment.len == 2 && !path_pop(path)) {
            return TARGET_MALFORMED;
        }
    }
    return path->lost > 0 ? TARGET_MISSING : result;
}

enum target_result target_decode(struct slice raw, char *to, size_t room,
                                 struct target *target)
{
    struct path path = { .to = to, .room = room };
    enum target_result result = TARGET_MALFORMED;
    bool dots = false;

    *target = (struct target){ 0 };
    if (raw.len > 0 && raw.base[0] == '/') {
        result = path_read(&path, raw, &dots);
    }
    if (result == TARGET_OK && room == 0) {
        result = TARGET_MISSING;
    }
    if (result != TARGET_OK) {
        path.len = 0;
    }
    if (room > 0) {
        to[path.len] = '\0';
    }
    if (result == TARGET_OK) {
        target->len = path.len;
        target->directory = path.len == 0 || dots || raw.base[raw.len - 1] == '/';
    }
    return result;
}

size_t target_encode(struct slice path, char *to, size_t room)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t len = 0;

    for (size_t i = 0; i < path.len; i++) {
        unsigned char byte = (unsigned char)path.base[i];
        bool plain = byte_is(path.base[i], BYTE_PATH);

        if (room - len < (plain ? 1 : 3)) {
            return (size_t)-1;
        }
        if (plain) {
            to[len++] = path.base[i];
            continue;
        }
        to[len++] = '%';
        to[len++] = digits[byte >> 4];
        to[len++] = digits[byte & 15];
    }
    return len;
}

/* RFC 3986 3.2.3: digits, of any number. */
static bool is_port(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!byte_is(text.base[i], BYTE_DIGIT)) {
            return false;
        }
    }
    return true;
}

/* Of an IPv4 address: 1 to 3 digits, at most 255, no leading zero. */
static bool is_octet(struct slice text)
{
    unsigned value = 0;

    if (text.len == 0 || text.len > 3 || !is_port(text)) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        value = value * 10 + ((unsigned)text.base[i] - '0');
    }
    return value <= 255 && (text.len == 1 || text.base[0] != '0');
}

/* Takes what comes before the separator off the text; false if there is no separator. */
static bool cut(struct slice *text, char separator, struct slice *before)
{
    const char *at = memchr(text->base, separator, text->len);
    size_t len = at == NULL ? text->len : (size_t)(at - text->base);

    *before = (struct slice){ text->base, len };
    if (at != NULL) {
        len++;
    }
    text->base += len;
    text->len -= len;
    return at != NULL;
}

static bool is_ipv4(struct slice text)
{
    struct slice octet;

    for (unsigned i = 0; i < 3; i++) {
        if (!cut(&text, '.', &octet) || !is_octet(octet)) {
            return false;
        }
    }
    return is_octet(text);
}

static bool is_group(struct slice text)
{
    if (text.len == 0 || text.len > 4) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (!byte_is(text.base[i], BYTE_HEX)) {
            return false;
        }
    }
    return true;
}

/* Counts the 16-bit groups of one side of "::"; -1 if malformed. An IPv4 address in the
 * last place counts for two. */
static int count_groups(struct slice text, bool last)
{
    int count = 0;
    bool more = text.len > 0;

    while (more) {
        struct slice group;

        more = cut(&text, ':', &group);
        if (is_group(group)) {
            count++;
        } else if (last && !more && is_ipv4(group)) {
            count += 2;
        } else {
            return -1;
        }
    }
    return count;
}

static bool is_ipv6(struct slice text)
{
    const char *gap = NULL;
    int before, behind;

    for (size_t i = 0; gap == NULL && i + 1 < text.len; i++) {
        if (text.base[i] == ':' && text.base[i + 1] == ':') {
            gap = text.base + i;
        }
    }
    if (gap == NULL) {
        return count_groups(text, true) == 8;
    }
    before = count_groups((struct slice){ text.base, (size_t)(gap - text.base) }, false);
    behind = count_groups(
        (struct slice){ gap + 2, (size_t)(text.base + text.len - gap) - 2 }, true);
    return before >= 0 && behind >= 0 && before + behind <= 7;
}

/* "v" 1*HEXDIG "." 1*( unreserved / sub-delims / ":" ) */
static bool is_ipvfuture(struct slice text)
{
    struct slice version;

    if (text.len == 0 || (text.base[0] | 0x20) != 'v' || !cut(&text, '.', &version) ||
        version.len < 2 || text.len == 0) {
        return false;
    }
    for (size_t i = 1; i < version.len; i++) {
        if (!byte_is(version.base[i], BYTE_HEX)) {
            return false;
        }
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.base[i] != ':' && !byte_is(text.base[i], BYTE_NAME)) {
            return false;
        }
    }
    return true;
}

/* RFC 3986 3.2.2 allows more, of which nothing can be the name of a host: two dots in a row,
 * escapes, or the comma that is left where two Host fields were joined. */
static bool is_host_name(struct slice text)
{
    char before = '\0';

    for (size_t i = 0; i < text.len; i++) {
        if (!byte_is(text.base[i], BYTE_HOST) || (text.base[i] == '.' && before == '.')) {
            return false;
        }
        before = text.base[i];
    }
    return text.len > 0 && !slice_equal(text, SLICE("."));
}

bool target_authority_valid(struct slice authority)
{
    struct slice host;

    if (authority.len == 0) {
        return false;
    }
    if (authority.base[0] == '[') {
        authority.base++;
        authority.len--;
        if (!cut(&authority, ']', &host) || (!is_ipv6(host) && !is_ipvfuture(host))) {
            return false;
        }
        if (authority.len == 0) {
            return true;
        }
        return authority.base[0] == ':' &&
               is_port((struct slice){ authority.base + 1, authority.len - 1 });
    }
    (void)cut(&authority, ':', &host);
    return is_host_name(host) && is_port(authority);
}
