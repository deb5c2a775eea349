/* Reading a request's fields: look-up by name, and lists in their values (RFC 9110 5).
 * Slices in, slices out; it must never know what a field means. */
#include "request.h"

unsigned request_field_count(const struct request *request, enum field_id id)
{
    unsigned count = 0;

    if (!request_has(request, id)) {
        return 0;
    }
    for (unsigned i = 0; i < request->field_count; i++) {
        count += request->fields[i].id == id;
    }
    return count;
}

struct slice request_field(const struct request *request, enum field_id id)
{
    struct slice value = { NULL, 0 };
    unsigned cursor = 0;

    (void)request_field_next(request, id, &cursor, &value);
    return value;
}

bool request_field_next(const struct request *request, enum field_id id, unsigned *cursor,
                        struct slice *value)
{
    if (!request_has(request, id)) {
        return false;
    }
    while (*cursor < request->field_count) {
        const struct request_field *field = &request->fields[(*cursor)++];

        if (field->id == id) {
            *value = field->value;
            return true;
        }
    }
    return false;
}

static bool is_ows(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* The length of the element that `list` begins with, up to a comma outside of quotes. A
 * quoted string that is never closed reaches to the end. */
static size_t element_len(struct slice list)
{
    bool quoted = false;
    size_t i;

    for (i = 0; i < list.len; i++) {
        char byte = list.base[i];

        if (byte == '"') {
            quoted = !quoted;
        } else if (byte == '\\' && quoted && i + 1 < list.len) {
            i++;
        } else if (byte == ',' && !quoted) {
            break;
        }
    }
    return i;
}

bool request_list_next(struct slice *list, struct slice *element)
{
    size_t len;

    while (list->len > 0 && (is_ows(*list->base) || *list->base == ',')) {
        list->base++;
        list->len--;
    }
    if (list->len == 0) {
        return false;
    }
    len = element_len(*list);
    *element = (struct slice){ list->base, len };
    list->base += len;
    list->len -= len;
    while (is_ows(element->base[element->len - 1])) {
        element->len--;
    }
    return true;
}

/* The names by length, so that most are told apart without a comparison of bytes. */
struct field_name {
    struct slice text;
    enum field_id id;
};

enum { NAME_LEN_MIN = 4, NAME_LEN_MAX = 19, NAMES_PER_LEN = 2 };

static const struct field_name names[NAME_LEN_MAX + 1][NAMES_PER_LEN] = {
#define NAME(literal, id)                                                                \
    {                                                                                    \
        { (literal), sizeof(literal) - 1 }, (id)                                         \
    }
    [4] = { NAME("host", FIELD_HOST) },
    [5] = { NAME("range", FIELD_RANGE) },
    [6] = { NAME("accept", FIELD_ACCEPT), NAME("expect", FIELD_EXPECT) },
    [7] = { NAME("referer", FIELD_REFERER) },
    [8] = { NAME("if-range", FIELD_IF_RANGE), NAME("if-match", FIELD_IF_MATCH) },
    [10] = { NAME("user-agent", FIELD_USER_AGENT), NAME("connection", FIELD_CONNECTION) },
    [13] = { NAME("if-none-match", FIELD_IF_NONE_MATCH) },
    [14] = { NAME("content-length", FIELD_CONTENT_LENGTH) },
    [15] = { NAME("accept-encoding", FIELD_ACCEPT_ENCODING) },
    [17] = { NAME("if-modified-since", FIELD_IF_MODIFIED_SINCE),
             NAME("transfer-encoding", FIELD_TRANSFER_ENCODING) },
    [19] = { NAME("if-unmodified-since", FIELD_IF_UNMODIFIED_SINCE) },
#undef NAME
};

enum field_id request_field_id(struct slice name)
{
    if (name.len < NAME_LEN_MIN || name.len > NAME_LEN_MAX) {
        return FIELD_OTHER;
    }
    for (unsigned i = 0; i < NAMES_PER_LEN; i++) {
        const struct field_name *known = &names[name.len][i];

        if (slice_equal_nocase(known->text, name)) {
            return known->id;
        }
    }
    return FIELD_OTHER;
}
