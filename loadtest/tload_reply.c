/* Answers: the status line, the few fields that matter, and the body's length. */
#include "tload_reply.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What the fields of a head have said so far. */
struct fields {
    uint64_t length;
    bool has_length, close, keep_alive;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_token(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

static bool named(const char *name, size_t size, const char *wanted)
{
    return size == strlen(wanted) && strncasecmp(name, wanted, size) == 0;
}

static const char *take_length(struct fields *fields, const char *value, size_t size)
{
    uint64_t length = 0;

    if (size == 0 || size > 18) {
        return "a Content-Length that is no number";
    }
    for (size_t i = 0; i < size; i++) {
        if (!is_digit(value[i])) {
            return "a Content-Length that is no number";
        }
        length = length * 10 + (uint64_t)(value[i] - '0');
    }
    if (fields->has_length && fields->length != length) {
        return "two lengths";
    }
    fields->has_length = true;
    fields->length = length;
    return NULL;
}

static void take_connection(struct fields *fields, const char *value, size_t size)
{
    const char *end = value + size;

    while (value < end) {
        const char *comma = memchr(value, ',', (size_t)(end - value));
        const char *stop = comma ? comma : end, *last = stop;

        while (value < last && (*value == ' ' || *value == '\t')) {
            value++;
        }
        while (last > value && (last[-1] == ' ' || last[-1] == '\t')) {
            last--;
        }
        fields->close |= named(value, (size_t)(last - value), "close");
        fields->keep_alive |= named(value, (size_t)(last - value), "keep-alive");
        value = stop + 1;
    }
}

static void take_server(struct tload_reader *reader, const char *value, size_t size)
{
    if (reader->server_known) {
        return;
    }
    size = size < sizeof(reader->server) - 1 ? size : sizeof(reader->server) - 1;
    for (size_t i = 0; i < size; i++) {
        reader->server[i] = value[i] >= ' ' && value[i] < 127 ? value[i] : '?';
    }
    reader->server[size] = '\0';
}

/* One line without its end. Returns what is wrong with it, or NULL. */
static const char *take_field(struct tload_reader *reader, struct fields *fields,
                              const char *line, size_t size)
{
    size_t name = 0, value;

    while (name < size && is_token(line[name])) {
        name++;
    }
    if (name == 0 || name == size || line[name] != ':') {
        return "a line that is no field";
    }
    value = name + 1;
    while (value < size && (line[value] == ' ' || line[value] == '\t')) {
        value++;
    }
    while (size > value && (line[size - 1] == ' ' || line[size - 1] == '\t')) {
        size--;
    }
    if (named(line, name, "content-length")) {
        return take_length(fields, line + value, size - value);
    }
    if (named(line, name, "transfer-encoding")) {
        return "Transfer-Encoding, which tload does not understand";
    }
    if (named(line, name, "connection")) {
        take_connection(fields, line + value, size - value);
    } else if (named(line, name, "server")) {
        take_server(reader, line + value, size - value);
    }
    return NULL;
}

/* The length of "HTTP/1.1 200 ...", and its end; 0: it is none. */
static size_t parse_status(const char *head, size_t size, struct tload_head *parsed,
                           bool *old)
{
    const char *end = memchr(head, '\r', size);

    if (!end || end - head < 12 || memcmp(head, "HTTP/1.", 7) != 0 ||
        (head[7] != '0' && head[7] != '1') || head[8] != ' ' || !is_digit(head[9]) ||
        !is_digit(head[10]) || !is_digit(head[11]) ||
        (head[12] != ' ' && head[12] != '\r')) {
        return 0;
    }
    *old = head[7] == '0';
    parsed->status =
        (unsigned)((head[9] - '0') * 100 + (head[10] - '0') * 10 + head[11] - '0');
    return (size_t)(end - head) + 2;
}

/* Bytes within the head, which is no string. */
static const char *find(const char *head, size_t size, const char *wanted)
{
    return memmem(head, size, wanted, strlen(wanted));
}

/* The rule of 1998, which looks for words anywhere in the head, and takes the number
 * after the colon and one more byte. */
static const char *apply_zb(const struct tload_reader *reader, const char *head,
                            size_t size, struct tload_head *parsed)
{
    const char *length = find(head, size, "Content-Length:");

    if (size > TLOAD_ZB_HEAD_MOST) {
        return "a head of more than 511 bytes";
    }
    length = length ? length : find(head, size, "Content-length:");
    parsed->keep = !reader->close && length && length[15] == ' ' &&
                   is_digit(length[16]) &&
                   (find(head, size, "Keep-Alive") || find(head, size, "keep-alive"));
    if (!parsed->keep) {
        parsed->length = UINT64_MAX;
    }
    return NULL;
}

/* A whole head, its empty line included. Returns what is wrong with it, or NULL. */
static const char *parse_head(struct tload_reader *reader, const char *head, size_t size,
                              struct tload_head *parsed)
{
    struct fields fields = { 0 };
    bool old, bodiless;
    size_t at = parse_status(head, size, parsed, &old);

    if (at == 0) {
        return "no status line of HTTP/1";
    }
    while (at < size - 2) {
        const char *end = memchr(head + at, '\r', size - at);
        size_t length = (size_t)(end - (head + at));
        const char *wrong = take_field(reader, &fields, head + at, length);

        if (wrong || end[1] != '\n') {
            return wrong ? wrong : "a line that does not end";
        }
        at += length + 2;
    }
    reader->server_known = true;
    if (parsed->status < 200) {
        return "an interim answer, which nobody asked for";
    }
    bodiless = reader->of_head || parsed->status == 204 || parsed->status == 304;
    parsed->keep = !fields.close && (fields.keep_alive || !(old || reader->old_request));
    parsed->length = bodiless ? 0 : fields.has_length ? fields.length : UINT64_MAX;
    if (reader->zb) {
        return apply_zb(reader, head, size, parsed);
    }
    return parsed->keep && parsed->length == UINT64_MAX
               ? "neither a length nor the promise to close"
               : NULL;
}

static enum tload_result bad(struct tload_reader *reader, const char *reason)
{
    reader->reason = reason;
    return TLOAD_BAD;
}

/* Where the head ends; 0: not here. */
static size_t end_of_head(const char *bytes, size_t size)
{
    const char *found = memmem(bytes, size, "\r\n\r\n", 4);

    return found ? (size_t)(found - bytes) + 4 : 0;
}

/* Keeps the beginning of a head until the rest comes. */
static enum tload_result stash(struct tload_reader *reader, struct tload_reply *reply,
                               const char *bytes, size_t size, size_t *used)
{
    size_t before = reply->stashed, room, end;
    const char *wrong;

    if (!reply->stash) {
        reply->stash = malloc(TLOAD_HEAD_MOST);
        if (!reply->stash) {
            return bad(reader, "no memory");
        }
    }
    room = TLOAD_HEAD_MOST - before;
    size = size < room ? size : room;
    memcpy(reply->stash + before, bytes, size);
    reply->stashed += size;
    end = end_of_head(reply->stash, reply->stashed);
    if (end == 0) {
        *used = size;
        return size == room ? bad(reader, "a head that does not end") : TLOAD_MORE;
    }
    wrong = parse_head(reader, reply->stash, end, &reply->head);
    *used = end - before;
    free(reply->stash);
    reply->stash = NULL;
    reply->in_body = true;
    return wrong ? bad(reader, wrong) : TLOAD_MORE;
}

static enum tload_result take_head(struct tload_reader *reader, struct tload_reply *reply,
                                   const char *bytes, size_t size, size_t *used)
{
    const char *wrong;

    if (reply->stash) {
        return stash(reader, reply, bytes, size, used);
    }
    if (reader->memo_size > 0 && size >= reader->memo_size &&
        memcmp(bytes, reader->memo_bytes, reader->memo_size) == 0) {
        reply->head = reader->memo;
        *used = reader->memo_size;
        reply->in_body = true;
        return TLOAD_MORE;
    }
    *used = end_of_head(bytes, size);
    if (*used == 0) {
        return stash(reader, reply, bytes, size, used);
    }
    wrong = *used > TLOAD_HEAD_MOST ? "a head that does not end"
                                    : parse_head(reader, bytes, *used, &reply->head);
    if (wrong) {
        return bad(reader, wrong);
    }
    reply->in_body = true;
    if (*used <= TLOAD_MEMO_MOST) {
        memcpy(reader->memo_bytes, bytes, *used);
        reader->memo_size = *used;
        reader->memo = reply->head;
    }
    return TLOAD_MORE;
}

static void compare(const struct tload_reader *reader, struct tload_reply *reply,
                    const char *bytes, size_t size)
{
    if (reader->verify && !reply->differs) {
        reply->differs = reply->body + size > reader->verify_size ||
                         memcmp(bytes, reader->verify + reply->body, size) != 0;
    }
}

enum tload_result tload_reply_take(struct tload_reader *reader, struct tload_reply *reply,
                                   const char *bytes, size_t size, size_t *used)
{
    uint64_t left;

    *used = 0;
    if (!reply->in_body) {
        enum tload_result result = take_head(reader, reply, bytes, size, used);

        reply->received += *used;
        if (result == TLOAD_BAD || !reply->in_body) {
            return result;
        }
        bytes += *used;
        size -= *used;
    }
    left = reply->head.length - reply->body;
    size = size < left ? size : (size_t)left;
    compare(reader, reply, bytes, size);
    reply->body += size;
    reply->received += size;
    *used += size;
    return reply->body == reply->head.length ? TLOAD_DONE : TLOAD_MORE;
}

enum tload_result tload_reply_end(const struct tload_reply *reply)
{
    if (!reply->in_body || reply->head.length != UINT64_MAX) {
        return TLOAD_BAD;
    }
    return TLOAD_DONE;
}

bool tload_reply_begun(const struct tload_reply *reply)
{
    return reply->in_body || reply->stash;
}

void tload_reply_reset(struct tload_reply *reply)
{
    free(reply->stash);
    *reply = (struct tload_reply){ 0 };
}
