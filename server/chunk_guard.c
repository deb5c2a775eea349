/* A chunked body as a byte automaton; see chunk_guard.h.
 *
 *   SIZE -hex-> SIZE -CR-> SIZE_LF -LF-> DATA -all of it-> DATA_CR -CR-> DATA_LF -LF-> SIZE
 *   SIZE -SP/HTAB-> BLANK -";"-> EXTENSION -CR-> SIZE_LF;  a size of 0 leads to TRAILER
 *
 * It must never know a request. */
#include "chunk_guard.h"

#include "request.h"

enum state { SIZE, BLANK, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF, TRAILER };

static bool refuse(struct chunk_guard *guard, unsigned status)
{
    guard->status = (uint16_t)status;
    return false;
}

static int hex_value(char byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    if (byte >= 'a' && byte <= 'f') {
        return byte - 'a' + 10;
    }
    return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

static bool feed_size(struct chunk_guard *guard, char byte)
{
    int value = hex_value(byte);

    if (value >= 0) {
        if (guard->digits == CHUNK_GUARD_DIGITS_MAX) {
            return refuse(guard, 400);
        }
        guard->digits++;
        guard->left = guard->left << 4 | (unsigned)value; /* 16 digits: exactly 64 bits */
        return true;
    }
    if (guard->digits == 0) {
        return refuse(guard, 400);
    }
    switch (byte) {
    case '\r':
        guard->state = SIZE_LF;
        return true;
    case ';':
        guard->state = EXTENSION;
        return true;
    case ' ':
    case '\t':
        guard->state = BLANK;
        return true;
    default:
        return refuse(guard, 400);
    }
}

/* RFC 9112 7.1.1: white space may stand before the ";" of an extension, and only there.
 */
static bool feed_extension(struct chunk_guard *guard, char byte)
{
    unsigned char code = (unsigned char)byte;

    if (++guard->extensions > CHUNK_GUARD_EXTENSIONS_MAX) {
        return refuse(guard, 400);
    }
    if (guard->state == BLANK) {
        if (byte == ';') {
            guard->state = EXTENSION;
        }
        return byte == ';' || byte == ' ' || byte == '\t' ? true : refuse(guard, 400);
    }
    if (byte == '\r') {
        guard->state = SIZE_LF;
        return true;
    }
    return byte == '\t' || (code >= ' ' && code != 0x7f) ? true : refuse(guard, 400);
}

static bool end_size(struct chunk_guard *guard)
{
    if (guard->left == 0) {
        head_guard_init_trailer(&guard->trailer);
        guard->state = TRAILER;
        return true;
    }
    if (guard->left > REQUEST_BODY_MAX - guard->total) {
        return refuse(guard, 413);
    }
    guard->total += guard->left;
    guard->state = DATA;
    return true;
}

/* One byte of the framing around the data. */
static bool feed_framing(struct chunk_guard *guard, char byte)
{
    switch ((enum state)guard->state) {
    case SIZE:
        return feed_size(guard, byte);
    case BLANK:
    case EXTENSION:
        return feed_extension(guard, byte);
    case SIZE_LF:
        return byte == '\n' ? end_size(guard) : refuse(guard, 400);
    case DATA_CR:
        guard->state = DATA_LF;
        return byte == '\r' ? true : refuse(guard, 400);
    case DATA_LF:
        guard->state = SIZE;
        guard->digits = 0;
        return byte == '\n' ? true : refuse(guard, 400);
    case DATA:
    case TRAILER:
        break;
    }
    return refuse(guard, 400);
}

static size_t feed_data(struct chunk_guard *guard, size_t n)
{
    size_t part = n < guard->left ? n : (size_t)guard->left;

    guard->left -= part;
    if (guard->left == 0) {
        guard->state = DATA_CR;
    }
    return part;
}

static enum chunk_guard_verdict feed_trailer(struct chunk_guard *guard, const char *bytes,
                                             size_t n, size_t *used)
{
    enum head_guard_verdict verdict =
        head_guard_feed_trailer(&guard->trailer, bytes, n, used);

    switch (verdict) {
    case HEAD_GUARD_MORE:
        return CHUNK_GUARD_MORE;
    case HEAD_GUARD_COMPLETE:
        return CHUNK_GUARD_COMPLETE;
    case HEAD_GUARD_REFUSED:
        break;
    }
    refuse(guard, guard->trailer.status);
    return CHUNK_GUARD_REFUSED;
}

void chunk_guard_init(struct chunk_guard *guard)
{
    *guard = (struct chunk_guard){ .state = SIZE };
}

static bool is_hidden(const struct chunk_guard *guard, char next)
{
    switch ((enum state)guard->state) {
    case TRAILER:
        return true;
    case BLANK:
    case EXTENSION:
        return next != '\r';
    case SIZE:
        return next == ';' || next == ' ' || next == '\t';
    case SIZE_LF:
    case DATA:
    case DATA_CR:
    case DATA_LF:
        break;
    }
    return false;
}

enum chunk_guard_verdict chunk_guard_feed(struct chunk_guard *guard, const char *bytes,
                                          size_t n, size_t *used)
{
    size_t at = 0, part = 0;
    enum chunk_guard_verdict verdict = CHUNK_GUARD_MORE;

    guard->hidden = n > 0 && is_hidden(guard, bytes[0]);
    while (at < n && verdict == CHUNK_GUARD_MORE &&
           is_hidden(guard, bytes[at]) == guard->hidden) {
        if (guard->state == DATA) {
            at += feed_data(guard, n - at);
        } else if (guard->state == TRAILER) {
            verdict = feed_trailer(guard, bytes + at, n - at, &part);
            at += part;
        } else if (!feed_framing(guard, bytes[at++])) {
            verdict = CHUNK_GUARD_REFUSED;
        }
    }
    *used = at;
    return verdict;
}
