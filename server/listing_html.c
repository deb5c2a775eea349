/* A listing as HTML; see listing_html.h. Every byte of a name passes through one of two
 * functions: shown text is escaped and made visible; a link is percent-encoded first, as
 * a path segment behind "./", so that it can be neither a scheme nor another directory. */
#include "listing_html.h"

#include "http_date.h"
#include "target.h"

/* ---- text and links */

static void add_escaped_byte(struct text *to, const char *byte)
{
    switch (*byte) {
    case '&':
        text_add(to, SLICE("&amp;"));
        break;
    case '<':
        text_add(to, SLICE("&lt;"));
        break;
    case '>':
        text_add(to, SLICE("&gt;"));
        break;
    case '"':
        text_add(to, SLICE("&quot;"));
        break;
    case '\'':
        text_add(to, SLICE("&#39;"));
        break;
    default:
        text_add(to, (struct slice){ byte, 1 });
        break;
    }
}

/* U+2400 and on are pictures of the control characters U+0000 to U+001F, U+2421 is one of
 * U+007F. */
static void add_picture(struct text *to, unsigned char control)
{
    unsigned char number = control == 0x7f ? 0x21 : control;
    char picture[] = { '\xe2', '\x90', (char)(0x80 + number) };

    text_add(to, (struct slice){ picture, sizeof picture });
}

/* U+0080 to U+009F: control characters too, without pictures. */
static bool is_late_control(struct slice character)
{
    return character.len == 2 && character.base[0] == '\xc2' &&
           (unsigned char)character.base[1] < 0xa0;
}

static void add_shown(struct text *to, struct slice name)
{
    struct slice character;
    bool valid;

    while (text_next_character(&name, &character, &valid)) {
        unsigned char byte = (unsigned char)*character.base;

        if (!valid || is_late_control(character)) {
            text_add(to, SLICE("\xef\xbf\xbd"));
        } else if (byte < 0x20 || byte == 0x7f) {
            add_picture(to, byte);
        } else if (character.len == 1) {
            add_escaped_byte(to, character.base);
        } else {
            text_add(to, character);
        }
    }
}

static void add_link(struct text *to, struct slice name)
{
    text_add(to, SLICE("./"));
    for (size_t i = 0; i < name.len; i++) {
        char encoded[3];
        size_t len =
            target_encode((struct slice){ name.base + i, 1 }, encoded, sizeof encoded);

        for (size_t j = 0; j < len; j++) {
            add_escaped_byte(to, encoded + j);
        }
    }
}

/* ---- columns */

/* In units of 1024, cut off to one decimal. */
static void add_size(struct text *to, uint64_t size)
{
    static const char units[] = "KMGTPE";
    unsigned unit = 0;

    if (size < 1024) {
        text_add_number(to, size);
        text_add(to, SLICE(" B"));
        return;
    }
    while (size >= UINT64_C(1024) * 1024) {
        size /= 1024;
        unit++;
    }
    text_add_number(to, size / 1024);
    text_add(to, SLICE("."));
    text_add_number(to, size % 1024 * 10 / 1024);
    text_add(to, SLICE(" "));
    text_add(to, (struct slice){ units + unit, 1 });
    text_add(to, SLICE("iB"));
}

/* "2024-05-06 07:08:09", and in the attribute with T and Z. */
static void add_time(struct text *to, int64_t seconds)
{
    char date[HTTP_DATE_ISO_LEN];

    http_date_format_iso(seconds, date);
    text_add(to, SLICE("<time datetime=\""));
    text_add(to, (struct slice){ date, sizeof date });
    text_add(to, SLICE("\">"));
    text_add(to, (struct slice){ date, 10 });
    text_add(to, SLICE(" "));
    text_add(to, (struct slice){ date + 11, 8 });
    text_add(to, SLICE("</time>"));
}

static void add_row(struct text *to, const struct listing_entry *entry)
{
    struct slice slash = entry->directory ? SLICE("/") : SLICE("");

    text_add(to, SLICE("<tr><td><a href=\""));
    add_link(to, entry->name);
    text_add(to, slash);
    text_add(to, SLICE("\">"));
    add_shown(to, entry->name);
    text_add(to, slash);
    text_add(to, SLICE("</a></td><td>"));
    if (!entry->directory) {
        add_size(to, (uint64_t)entry->size);
    }
    text_add(to, SLICE("</td><td>"));
    add_time(to, entry->mtime);
    text_add(to, SLICE("</td></tr>\n"));
}

/* ---- the page */

struct column {
    enum listing_key key;
    const char *word, *title;
};

/* A click on the column in use turns its order around. */
static void add_column(struct text *to, const struct column *column,
                       const struct listing_wish *wish)
{
    bool used = column->key == wish->key;

    text_add(to, SLICE("<th scope=\"col\""));
    if (used) {
        text_add(to, wish->descending ? SLICE(" aria-sort=\"descending\"")
                                      : SLICE(" aria-sort=\"ascending\""));
    }
    text_add(to, SLICE("><a href=\"?sort="));
    text_add(to, slice_of(column->word));
    text_add(to, used && !wish->descending ? SLICE("&amp;order=desc\">")
                                           : SLICE("&amp;order=asc\">"));
    text_add(to, slice_of(column->title));
    text_add(to, SLICE("</a></th>"));
}

static void add_title(struct text *to, struct slice path)
{
    text_add(to, SLICE("Index of /"));
    if (path.len > 0) {
        add_shown(to, path);
        text_add(to, SLICE("/"));
    }
}

static void add_head(struct text *to, struct slice path)
{
    text_add(to, SLICE("<!DOCTYPE html>\n"
                       "<html lang=\"en\">\n"
                       "<head>\n"
                       "<meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width\">\n"
                       "<meta name=\"color-scheme\" content=\"light dark\">\n"
                       "<link rel=\"alternate\" type=\"application/json\" "
                       "href=\"?format=json\">\n"
                       "<title>"));
    add_title(to, path);
    text_add(to, SLICE("</title>\n"
                       "<style>\n"
                       "body { font-family: system-ui, sans-serif; margin: 2em auto; "
                       "max-width: 60em; padding: 0 1em; }\n"
                       "h1 { font-size: 1.3em; overflow-wrap: anywhere; }\n"
                       "table { border-collapse: collapse; width: 100%; }\n"
                       "th, td { border-bottom: 1px solid #8884; padding: .3em .6em; "
                       "text-align: left; }\n"
                       "td { font-variant-numeric: tabular-nums; white-space: nowrap; }\n"
                       "th:nth-child(2), td:nth-child(2) { text-align: right; }\n"
                       "td:first-child { overflow-wrap: anywhere; "
                       "white-space: pre-wrap; width: 100%; }\n"
                       "td a { unicode-bidi: isolate; }\n"
                       "</style>\n"
                       "</head>\n"
                       "<body>\n"
                       "<h1>"));
    add_title(to, path);
    text_add(to, SLICE("</h1>\n"));
}

static void add_table(struct text *to, const struct listing *listing,
                      const struct listing_wish *wish)
{
    static const struct column columns[] = { { LISTING_NAME, "name", "Name" },
                                             { LISTING_SIZE, "size", "Size" },
                                             { LISTING_TIME, "time", "Modified (UTC)" } };

    text_add(to, SLICE("<table>\n<thead><tr>"));
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        add_column(to, &columns[i], wish);
    }
    text_add(to, SLICE("</tr></thead>\n<tbody>\n"));
    if (listing->path.len > 0) {
        text_add(to, SLICE("<tr><td><a href=\"../\">../</a></td><td></td><td></td>"
                           "</tr>\n"));
    }
    for (size_t i = 0; i < listing->count && !to->failed; i++) {
        add_row(to, &listing->entries[i]);
    }
    text_add(to, SLICE("</tbody>\n</table>\n"));
}

void listing_html(const struct listing *listing, const struct listing_wish *wish,
                  struct text *to)
{
    add_head(to, listing->path);
    add_table(to, listing, wish);
    if (listing->cut_short) {
        text_add(to, SLICE("<p>There are more entries: only "));
        text_add_number(to, listing->count);
        text_add(to, SLICE(" of them are shown.</p>\n"));
    }
    text_add(to, SLICE("</body>\n</html>\n"));
}
