/* See access_line.h. Bytes that a log's reader or a terminal could take for more than
 * themselves become escapes: \xHH, which Apache and nginx write too, or in JSON \u00HH,
 * where a byte is read as the code point of its value, so that none is lost. It must never
 * know a file or a clock. */
#include "access_line.h"

#include <stdbool.h>
#include <string.h>

/* Escaped lengths; the rest of a line is numbers, names and an address. */
enum { NUMBER_MAX = 20, ESCAPE_MAX = 6, REST_MAX = 280 };
_Static_assert(EXCHANGE_LINE_MAX + EXCHANGE_REFERER_MAX + EXCHANGE_USER_AGENT_MAX +
                       EXCHANGE_HOST_MAX + 4 * sizeof("...") + REST_MAX <=
                   ACCESS_LINE_MAX,
               "a line must fit");

static char *put(char *to, const char *text)
{
    size_t len = strlen(text);

    memcpy(to, text, len);
    return to + len;
}

static char *put_number(char *to, uint64_t number)
{
    char digits[NUMBER_MAX];
    size_t n = sizeof digits;

    do {
        digits[--n] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    memcpy(to, digits + n, sizeof digits - n);
    return to + sizeof digits - n;
}

static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte <= 0x7e && byte != '"' && byte != '\\';
}

/* The escape of a byte; its length. */
static size_t escape(unsigned char byte, bool json, char to[ESCAPE_MAX])
{
    static const char digits[] = "0123456789ABCDEF";
    size_t len = 0;

    to[len++] = '\\';
    if (json && (byte == '"' || byte == '\\')) {
        to[len++] = (char)byte;
        return len;
    }
    to[len++] = json ? 'u' : 'x';
    if (json) {
        to[len++] = '0';
        to[len++] = '0';
    }
    to[len++] = digits[byte >> 4];
    to[len++] = digits[byte & 15];
    return len;
}

/* At most `room` bytes, and "..." where something had to be left out. */
static char *put_escaped(char *to, struct slice text, size_t room, bool json)
{
    const char *limit = to + room;

    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.base[i];
        char escaped[ESCAPE_MAX] = { (char)byte };
        size_t len = is_plain(byte) ? 1 : escape(byte, json, escaped);

        if ((size_t)(limit - to) < len) {
            return put(to, "...");
        }
        memcpy(to, escaped, len);
        to += len;
    }
    return to;
}

/* The same for what all formats quote: "-" for what is not there, as in the Common Log
 * Format. */
static char *put_quoted(char *to, struct slice text, size_t room)
{
    to = put(to, "\"");
    to = text.len == 0 ? put(to, "-") : put_escaped(to, text, room, false);
    return put(to, "\"");
}

static size_t render_common(bool combined, const struct exchange *exchange,
                            const struct access_context *context, char *line)
{
    char *end = put(line, context->remote);

    end = put(end, " - - [");
    end = put(end, context->time);
    end = put(end, "] ");
    end = put_quoted(end, exchange->line, EXCHANGE_LINE_MAX);
    end = put(end, " ");
    end = put_number(end, exchange->status);
    end = put(end, " ");
    end = put_number(end, exchange->body_bytes);
    if (combined) {
        end = put(end, " ");
        end = put_quoted(end, exchange->referer, EXCHANGE_REFERER_MAX);
        end = put(end, " ");
        end = put_quoted(end, exchange->user_agent, EXCHANGE_USER_AGENT_MAX);
    }
    end = put(end, "\n");
    return (size_t)(end - line);
}

/* `name` with the punctuation around it; null for what is not there. */
static char *put_json(char *to, const char *name, struct slice text, size_t room)
{
    to = put(to, name);
    if (text.base == NULL) {
        return put(to, "null");
    }
    to = put(to, "\"");
    to = put_escaped(to, text, room, true);
    return put(to, "\"");
}

static size_t render_json(const struct exchange *exchange,
                          const struct access_context *context, char *line)
{
    char *end = put(line, "{\"time\":\"");

    end = put(end, context->time);
    end = put(end, "\",\"remote\":\"");
    end = put(end, context->remote);
    end = put_json(end, "\",\"host\":", exchange->host, EXCHANGE_HOST_MAX);
    end = put_json(end, ",\"request\":", exchange->line, EXCHANGE_LINE_MAX);
    end = put(end, ",\"status\":");
    end = put_number(end, exchange->status);
    end = put(end, ",\"bytes\":");
    end = put_number(end, exchange->body_bytes);
    end = put(end, ",\"duration_ms\":");
    end = put_number(end, context->duration_ms);
    end = put_json(end, ",\"referer\":", exchange->referer, EXCHANGE_REFERER_MAX);
    end =
        put_json(end, ",\"user_agent\":", exchange->user_agent, EXCHANGE_USER_AGENT_MAX);
    end = put(end, "}\n");
    return (size_t)(end - line);
}

size_t access_line_render(enum access_format format, const struct exchange *exchange,
                          const struct access_context *context,
                          char line[ACCESS_LINE_MAX])
{
    switch (format) {
    case ACCESS_COMMON:
        return render_common(false, exchange, context, line);
    case ACCESS_COMBINED:
        return render_common(true, exchange, context, line);
    case ACCESS_JSON:
        break;
    }
    return render_json(exchange, context, line);
}
