/* The raw request head as a byte automaton; see head_guard.h.
 *
 *   START -CR-> START_LF -LF-> START (at most 4 times)
 *   START -token-> METHOD -SP-> TARGET -SP-> VERSION -CR-> LINE_LF -LF-> FIELD_START
 *   FIELD_START -token-> NAME -":"-> VALUE -CR-> VALUE_LF -LF-> FIELD_START
 *   FIELD_START -CR-> END_LF -LF-> complete
 *
 * Every byte that has no arrow refuses the head. It must never know what a field means.
 */
#include "head_guard.h"

#include <stdbool.h>
#include <string.h>

#include "request.h"

enum state {
    START,
    START_LF,
    METHOD,
    TARGET,
    VERSION,
    LINE_LF,
    FIELD_START,
    NAME,
    VALUE,
    VALUE_LF,
    END_LF
};

/* What a byte may be part of. */
enum { TOKEN = 1, TARGET_BYTE = 2, VALUE_BYTE = 4 };

/* RFC 9110 5.6.2 token; target: printable ASCII without space and "#"; value: RFC
 * 9110 5.5 with tab, obs-text. */
static const uint8_t byte_class[256] = {
#define T (TOKEN | TARGET_BYTE | VALUE_BYTE)
#define U (TARGET_BYTE | VALUE_BYTE)
#define V VALUE_BYTE
    ['\t'] = V,        [' '] = V, ['!'] = T,           ['"'] = U,  ['#'] = TOKEN | V,
    ['$'] = T,         ['%'] = T, ['&'] = T,           ['\''] = T, ['('] = U,
    [')'] = U,         ['*'] = T, ['+'] = T,           [','] = U,  ['-'] = T,
    ['.'] = T,         ['/'] = U, ['0' ... '9'] = T,   [':'] = U,  [';'] = U,
    ['<'] = U,         ['='] = U, ['>'] = U,           ['?'] = U,  ['@'] = U,
    ['A' ... 'Z'] = T, ['['] = U, ['\\'] = U,          [']'] = U,  ['^'] = T,
    ['_'] = T,         ['`'] = T, ['a' ... 'z'] = T,   ['{'] = U,  ['|'] = T,
    ['}'] = U,         ['~'] = T, [0x80 ... 0xff] = V,
#undef T
#undef U
#undef V
};

static bool is_class(char byte, int class)
{
    return (byte_class[(unsigned char)byte] & class) != 0;
}

static bool refuse(struct head_guard *guard, unsigned status)
{
    guard->status = (uint16_t)status;
    return false;
}

/* First byte at or after `at` that is not of the class; `end` if all are. */
static size_t skip(const char *base, size_t at, size_t end, int class)
{
    while (at < end && is_class(base[at], class)) {
        at++;
    }
    return at;
}

/* HTTP-name is case-sensitive (RFC 9112 2.3). Well-formed but not 1.0 or 1.1: 505. */
static bool check_version(struct head_guard *guard, const char *text, size_t len)
{
    if (len != 8 || memcmp(text, "HTTP/", 5) != 0 || text[5] < '0' || text[5] > '9' ||
        text[6] != '.' || text[7] < '0' || text[7] > '9') {
        return refuse(guard, 400);
    }
    if (text[5] != '1' || text[7] > '1') {
        return refuse(guard, 505);
    }
    guard->version_minor = (uint8_t)(text[7] - '0');
    return true;
}

/* The bytes of the request line up to its CR: advances *at; false refuses. */
static bool feed_line(struct head_guard *guard, const char *base, size_t *at, size_t end)
{
    size_t i = *at;

    switch ((enum state)guard->state) {
    case METHOD:
        i = skip(base, i, end, TOKEN);
        if (i < end) {
            if (base[i] != ' ') {
                return refuse(guard, 400);
            }
            guard->method_end = (uint32_t)i;
            guard->target_start = (uint32_t)++i;
            guard->state = TARGET;
        }
        break;
    case TARGET:
        i = skip(base, i, end, TARGET_BYTE);
        if (i - guard->target_start > REQUEST_TARGET_MAX) {
            return refuse(guard, 414);
        }
        if (i < end) {
            if (base[i] != ' ' || i == guard->target_start) {
                return refuse(guard, 400);
            }
            guard->target_end = (uint32_t)i++;
            guard->state = VERSION;
        }
        break;
    default: /* VERSION: at most 8 bytes, whatever they are, then CR */
        while (i < end && base[i] != '\r' && i - guard->target_end <= 8) {
            i++;
        }
        if (i < end) {
            if (!check_version(guard, base + guard->target_end + 1,
                               i - guard->target_end - 1)) {
                return false;
            }
            if (base[i] != '\r') {
                return refuse(guard, 400);
            }
            i++;
            guard->state = LINE_LF;
        }
        break;
    }
    *at = i;
    return true;
}

/* The bytes of the fields, line ends aside. */
static bool feed_fields(struct head_guard *guard, const char *base, size_t *at,
                        size_t end)
{
    size_t i = *at;

    switch ((enum state)guard->state) {
    case FIELD_START:
        if (base[i] == '\r') {
            i++;
            guard->state = END_LF;
        } else if (!is_class(base[i], TOKEN)) { /* obs-fold and empty names too */
            return refuse(guard, 400);
        } else if (guard->fields == REQUEST_FIELDS_MAX) {
            return refuse(guard, 431);
        } else {
            guard->fields++;
            guard->state = NAME;
        }
        break;
    case NAME:
        i = skip(base, i, end, TOKEN);
        if (i < end) {
            if (base[i] != ':') {
                return refuse(guard, 400);
            }
            i++;
            guard->state = VALUE;
        }
        break;
    default: /* VALUE */
        i = skip(base, i, end, VALUE_BYTE);
        if (i < end) {
            if (base[i] != '\r') {
                return refuse(guard, 400);
            }
            i++;
            guard->state = VALUE_LF;
        }
        break;
    }
    *at = i;
    return true;
}

/* The LF that must follow a CR; *done at the end of the head. */
static bool feed_line_end(struct head_guard *guard, char byte, size_t after, bool *done)
{
    if (byte != '\n') {
        return refuse(guard, 400);
    }
    if (guard->state == START_LF) {
        if (++guard->empty_lines > HEAD_GUARD_EMPTY_LINES_MAX) {
            return refuse(guard, 400);
        }
        guard->start = (uint32_t)after;
        guard->state = START;
    } else if (guard->state == END_LF) {
        *done = true;
    } else {
        if (guard->state == LINE_LF) {
            guard->fields_start = (uint32_t)after;
        }
        guard->state = FIELD_START;
    }
    return true;
}

static bool feed_start(struct head_guard *guard, char byte, size_t *at)
{
    if (byte == '\r') {
        (*at)++;
        guard->state = START_LF;
        return true;
    }
    if (!is_class(byte, TOKEN)) {
        return refuse(guard, 400);
    }
    guard->state = METHOD;
    return true;
}

static bool feed_byte_run(struct head_guard *guard, const char *base, size_t *at,
                          size_t end, bool *done)
{
    switch ((enum state)guard->state) {
    case START:
        return feed_start(guard, base[*at], at);
    case METHOD:
    case TARGET:
    case VERSION:
        return feed_line(guard, base, at, end);
    case FIELD_START:
    case NAME:
    case VALUE:
        return feed_fields(guard, base, at, end);
    case START_LF:
    case LINE_LF:
    case VALUE_LF:
    case END_LF:
        (*at)++;
        return feed_line_end(guard, base[*at - 1], *at, done);
    }
    return refuse(guard, 400);
}

/* Feeds [*at, length), of which only the first `limit` bytes may belong to the head. */
static enum head_guard_verdict feed(struct head_guard *guard, const char *base,
                                    size_t *at, size_t length, size_t limit)
{
    size_t end = length < limit ? length : limit;
    bool done = false;

    while (*at < end) {
        if (!feed_byte_run(guard, base, at, end, &done)) {
            return HEAD_GUARD_REFUSED;
        }
        if (done) {
            return HEAD_GUARD_COMPLETE;
        }
    }
    if (length > limit) {
        refuse(guard, 431);
        return HEAD_GUARD_REFUSED;
    }
    return HEAD_GUARD_MORE;
}

void head_guard_init(struct head_guard *guard)
{
    *guard = (struct head_guard){ .state = START };
}

void head_guard_init_trailer(struct head_guard *guard)
{
    *guard = (struct head_guard){ .state = FIELD_START };
}

enum head_guard_verdict head_guard_feed(struct head_guard *guard, const char *base,
                                        size_t length)
{
    /* The few bytes of skipped empty lines count too: the limit must not move while the
     * input is looked at. */
    size_t at = guard->fed;
    enum head_guard_verdict verdict = feed(guard, base, &at, length, REQUEST_HEAD_MAX);

    guard->fed = (uint32_t)at;
    return verdict;
}

enum head_guard_verdict head_guard_feed_trailer(struct head_guard *guard,
                                                const char *bytes, size_t n, size_t *used)
{
    size_t at = 0;
    enum head_guard_verdict verdict =
        feed(guard, bytes, &at, n, REQUEST_HEAD_MAX - guard->fed);

    guard->fed += (uint32_t)at;
    *used = at;
    return verdict;
}

bool head_guard_begun(const struct head_guard *guard)
{
    return guard->state != START && guard->state != START_LF;
}
