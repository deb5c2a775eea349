/* Proactive negotiation; see negotiate.h. A list's member that is malformed is as if it
 * had not come. Of several members about the same thing the least counts, because to send
 * what was excluded is the worse mistake. */
#include "negotiate.h"

#include <stddef.h>

#include "request.h"
#include "slice.h"

enum { QUALITY_MAX = 1000 };

static const struct {
    const char *name, *suffix;
} codings[CODINGS] = {
    [CODING_IDENTITY] = { "identity", "" },
    [CODING_ZSTD] = { "zstd", ".zst" },
    [CODING_BROTLI] = { "br", ".br" },
    [CODING_GZIP] = { "gzip", ".gz" },
};

const char *negotiate_coding_name(enum coding coding)
{
    return codings[coding].name;
}

const char *negotiate_coding_suffix(enum coding coding)
{
    return codings[coding].suffix;
}

/* ---- members of a list */

static struct slice trim(struct slice text)
{
    while (text.len > 0 && (*text.base == ' ' || *text.base == '\t')) {
        text.base++;
        text.len--;
    }
    while (text.len > 0 &&
           (text.base[text.len - 1] == ' ' || text.base[text.len - 1] == '\t')) {
        text.len--;
    }
    return text;
}

/* Cuts off what stands before the first semicolon outside of quotes; the rest begins
 * behind it. False if nothing is left. */
static bool take_part(struct slice *rest, struct slice *part)
{
    bool quoted = false;
    size_t i = 0;

    if (rest->base == NULL) {
        return false;
    }
    while (i < rest->len && (quoted || rest->base[i] != ';')) {
        if (rest->base[i] == '"') {
            quoted = !quoted;
        } else if (quoted && rest->base[i] == '\\' && i + 1 < rest->len) {
            i++;
        }
        i++;
    }
    *part = trim((struct slice){ rest->base, i });
    if (i == rest->len) {
        *rest = (struct slice){ NULL, 0 };
    } else {
        *rest = (struct slice){ rest->base + i + 1, rest->len - i - 1 };
    }
    return true;
}

/* qvalue (RFC 9110 12.4.2): 0 to 1 with at most three digits behind the point. False if
 * malformed. */
static bool read_quality(struct slice text, unsigned *quality)
{
    unsigned weight = QUALITY_MAX;

    if (text.len == 0 || text.len > 5 || text.base[0] < '0' || text.base[0] > '1' ||
        (text.len > 1 && text.base[1] != '.')) {
        return false;
    }
    *quality = text.base[0] == '1' ? QUALITY_MAX : 0;
    for (size_t i = 2; i < text.len; i++) {
        if (text.base[i] < '0' || text.base[i] > '9') {
            return false;
        }
        weight /= 10;
        *quality += weight * (unsigned)(text.base[i] - '0');
    }
    return *quality <= QUALITY_MAX;
}

struct member {
    struct slice name;
    bool has_parameters; /* other than q, before it */
    unsigned quality;
};

/* What stands behind q are extensions that nobody uses. False if malformed. */
static bool read_member(struct slice text, struct member *member)
{
    struct slice part;

    member->has_parameters = false;
    member->quality = QUALITY_MAX;
    (void)take_part(&text, &member->name);
    while (take_part(&text, &part)) {
        if (part.len >= 2 && (part.base[0] | 0x20) == 'q' && part.base[1] == '=') {
            return read_quality((struct slice){ part.base + 2, part.len - 2 },
                                &member->quality);
        }
        member->has_parameters = member->has_parameters || part.len > 0;
    }
    return true;
}

/* Walks the well-formed members of all fields of a name. */
struct walk {
    const struct request *request;
    enum field_id id;
    unsigned cursor;
    struct slice list;
};

static bool take_member(struct walk *walk, struct member *member)
{
    struct slice text;

    for (;;) {
        while (request_list_next(&walk->list, &text)) {
            if (read_member(text, member)) {
                return true;
            }
        }
        if (!request_field_next(walk->request, walk->id, &walk->cursor, &walk->list)) {
            return false;
        }
    }
}

/* ---- Accept-Encoding */

/* The place of a member: a coding, CODINGS for "*", more for one that is not known. */
static unsigned place_of(struct slice name)
{
    for (unsigned coding = 0; coding < CODINGS; coding++) {
        if (slice_equal_nocase(name, slice_of(codings[coding].name))) {
            return coding;
        }
    }
    if (slice_equal_nocase(name, SLICE("x-gzip"))) {
        return CODING_GZIP; /* RFC 9110 8.4.1.3 */
    }
    return slice_equal(name, SLICE("*")) ? CODINGS : CODINGS + 1;
}

void negotiate_read_codings(const struct request *request,
                            struct accepted_codings *accepted)
{
    struct walk walk = { .request = request, .id = FIELD_ACCEPT_ENCODING };
    unsigned found[CODINGS + 2];
    struct member member;

    *accepted = (struct accepted_codings){ { 0 } };
    if (!request_has(request, FIELD_ACCEPT_ENCODING)) {
        return;
    }
    for (unsigned i = 0; i < CODINGS + 2; i++) {
        found[i] = QUALITY_MAX + 1;
    }
    while (take_member(&walk, &member)) {
        unsigned place = place_of(member.name);

        if (!member.has_parameters && member.quality < found[place]) {
            found[place] = member.quality;
        }
    }
    for (unsigned coding = 0; coding < CODINGS; coding++) {
        unsigned quality = found[coding] <= QUALITY_MAX ? found[coding] : found[CODINGS];

        accepted->quality[coding] = (uint16_t)(quality <= QUALITY_MAX ? quality : 0);
    }
}

enum coding negotiate_coding(const struct accepted_codings *accepted, unsigned available)
{
    enum coding best = CODING_IDENTITY;

    /* From the least preferred on, so that the last of equals is the first in order. */
    for (unsigned i = CODINGS - 1; i > CODING_IDENTITY; i--) {
        if ((available >> i & 1) != 0 && accepted->quality[i] > 0 &&
            accepted->quality[i] >= accepted->quality[best]) {
            best = (enum coding)i;
        }
    }
    return best;
}

/* ---- Accept */

/* How closely a media range names a type. Its parameters do not keep it from matching: a
 * client that asks for JSON in some profile is better served by JSON than by HTML. */
enum closeness { CLOSE_NOT, CLOSE_ANY, CLOSE_TYPE, CLOSE_WITH_PARAMETERS, CLOSE_EXACT };

struct liking {
    enum closeness closeness;
    unsigned quality;
};

static void like(struct liking *liking, const struct member *member, struct slice type)
{
    struct slice range = member->name;
    size_t slash = (size_t)((const char *)memchr(type.base, '/', type.len) - type.base);
    enum closeness closeness = CLOSE_NOT;

    if (slice_equal_nocase(range, type)) {
        closeness = member->has_parameters ? CLOSE_WITH_PARAMETERS : CLOSE_EXACT;
    } else if (slice_equal(range, SLICE("*/*"))) {
        closeness = CLOSE_ANY;
    } else if (range.len == slash + 2 && range.base[slash + 1] == '*' &&
               strncasecmp(range.base, type.base, slash + 1) == 0) {
        closeness = CLOSE_TYPE;
    }
    if (closeness != CLOSE_NOT &&
        (closeness > liking->closeness ||
         (closeness == liking->closeness && member->quality < liking->quality))) {
        *liking = (struct liking){ closeness, member->quality };
    }
}

bool negotiate_prefers_json(const struct request *request)
{
    struct walk walk = { .request = request, .id = FIELD_ACCEPT };
    struct liking json = { CLOSE_NOT, 0 };
    struct liking html = { CLOSE_NOT, 0 };
    struct member member;

    while (take_member(&walk, &member)) {
        like(&json, &member, SLICE("application/json"));
        like(&html, &member, SLICE("text/html"));
    }
    if (json.quality != html.quality) {
        return json.quality > html.quality;
    }
    /* Who names JSON, and HTML only by a wildcard, wants JSON. */
    return json.quality > 0 && json.closeness >= CLOSE_WITH_PARAMETERS &&
           html.closeness < CLOSE_WITH_PARAMETERS;
}

enum negotiate_html negotiate_html(const struct request *request)
{
    struct walk walk = { .request = request, .id = FIELD_ACCEPT };
    struct liking html = { CLOSE_NOT, 0 };
    struct member member;

    if (!request_has(request, FIELD_ACCEPT)) {
        return NEGOTIATE_HTML_ANY;
    }
    while (take_member(&walk, &member)) {
        like(&html, &member, SLICE("text/html"));
    }
    if (html.quality == 0) {
        return NEGOTIATE_HTML_NOT;
    }
    return html.closeness >= CLOSE_WITH_PARAMETERS ? NEGOTIATE_HTML_NAMED
                                                   : NEGOTIATE_HTML_ANY;
}
