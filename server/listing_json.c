/* A listing as JSON; see listing_json.h. Valid whatever the names are: what is no UTF-8
 * in them becomes U+FFFD. */
#include "listing_json.h"

#include "http_date.h"

static void add_byte(struct text *to, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";
    char escape[] = { '\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15] };

    text_add(to, (struct slice){ escape, sizeof escape });
}

static void add_string(struct text *to, struct slice string)
{
    struct slice character;
    bool valid;

    text_add(to, SLICE("\""));
    while (text_next_character(&string, &character, &valid)) {
        unsigned char byte = (unsigned char)*character.base;

        if (!valid) {
            text_add(to, SLICE("\xef\xbf\xbd"));
        } else if (byte < 0x20 || byte == 0x7f) {
            add_byte(to, byte);
        } else {
            if (byte == '"' || byte == '\\') {
                text_add(to, SLICE("\\"));
            }
            text_add(to, character);
        }
    }
    text_add(to, SLICE("\""));
}

static void add_entry(struct text *to, const struct listing_entry *entry)
{
    char date[HTTP_DATE_ISO_LEN];

    text_add(to, SLICE("{\"name\":"));
    add_string(to, entry->name);
    if (entry->directory) {
        text_add(to, SLICE(",\"type\":\"directory\",\"size\":null"));
    } else {
        text_add(to, SLICE(",\"type\":\"file\",\"size\":"));
        text_add_number(to, (uint64_t)entry->size);
    }
    http_date_format_iso(entry->mtime, date);
    text_add(to, SLICE(",\"mtime\":\""));
    text_add(to, (struct slice){ date, sizeof date });
    text_add(to, SLICE("\"}"));
}

void listing_json(const struct listing *listing, struct text *to)
{
    text_add(to, SLICE("["));
    for (size_t i = 0; i < listing->count && !to->failed; i++) {
        text_add(to, i > 0 ? SLICE(",\n") : SLICE("\n"));
        add_entry(to, &listing->entries[i]);
    }
    text_add(to, SLICE("\n]\n"));
}
