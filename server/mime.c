/* File name extension to media type: the search, and the reading of mime.types text. It
 * must never know a file system: the text and the names are given. */
#include "mime.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mime_builtin.h"

/* RFC 6838 4.2: each half of a type has at most this many bytes. */
enum { TYPE_NAME_MAX = 127 };

struct mime_table {
    char *text; /* owned: a copy of what was parsed, cut into strings the rows point to */
    size_t count;
    struct mime_row rows[]; /* sorted like the built-in ones, none twice */
};

static unsigned char lower(char byte)
{
    return (unsigned char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
}

/* Orders the extension of a file, in any case, before (< 0) or behind a row's. */
static int compare_to_row(const void *key, const void *member)
{
    const struct slice *extension = key;
    const struct mime_row *row = member;

    for (size_t i = 0; i < extension->len; i++) {
        int byte = lower(extension->base[i]);
        int other = (unsigned char)row->extension[i];

        if (other == '\0' || byte != other) {
            return other == '\0' ? 1 : byte - other;
        }
    }
    return row->extension[extension->len] == '\0' ? 0 : -1;
}

static const char *find(const struct mime_row *rows, size_t count, struct slice extension)
{
    const struct mime_row *row =
        bsearch(&extension, rows, count, sizeof(*rows), compare_to_row);

    return row == NULL ? NULL : row->type;
}

const char *mime_type(const struct mime_table *table, struct slice name)
{
    struct slice extension = { NULL, 0 };
    const char *type = NULL;

    for (size_t i = name.len; i > 0; i--) {
        if (name.base[i - 1] == '.') {
            extension = (struct slice){ name.base + i, name.len - i };
            break;
        }
    }
    if (extension.len > 0 && table != NULL) {
        type = find(table->rows, table->count, extension);
    }
    if (extension.len > 0 && type == NULL) {
        type = find(mime_builtin, mime_builtin_count, extension);
    }
    return type == NULL ? "application/octet-stream" : type;
}

static bool ends_with(struct slice text, struct slice end)
{
    return text.len >= end.len &&
           slice_equal_nocase((struct slice){ text.base + text.len - end.len, end.len },
                              end);
}

bool mime_has_charset(const char *type)
{
    static const char *const whole[] = { "application/javascript", "application/json",
                                         "application/xml" };
    struct slice text = slice_of(type);

    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        if (slice_equal_nocase(text, slice_of(whole[i]))) {
            return true;
        }
    }
    return strncasecmp(type, "text/", 5) == 0 || ends_with(text, SLICE("+json")) ||
           ends_with(text, SLICE("+xml"));
}

/* RFC 9110 5.6.2 */
static bool is_token(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.base[i];
        bool alphanumeric =
            (lower(byte) >= 'a' && lower(byte) <= 'z') || (byte >= '0' && byte <= '9');

        if (!alphanumeric && (byte == '\0' || strchr("!#$%&'*+-.^_`|~", byte) == NULL)) {
            return false;
        }
    }
    return text.len > 0;
}

static bool is_type(struct slice text)
{
    const char *slash = memchr(text.base, '/', text.len);
    struct slice main_type, subtype;

    if (slash == NULL) {
        return false;
    }
    main_type = (struct slice){ text.base, (size_t)(slash - text.base) };
    subtype = (struct slice){ slash + 1, text.len - main_type.len - 1 };
    return main_type.len <= TYPE_NAME_MAX && subtype.len <= TYPE_NAME_MAX &&
           is_token(main_type) && is_token(subtype);
}

/* Takes the next line, without its end. False behind the last one. */
static bool take_line(struct slice *text, struct slice *line)
{
    const char *end;

    if (text->len == 0) {
        return false;
    }
    end = memchr(text->base, '\n', text->len);
    *line = *text;
    if (end != NULL) {
        line->len = (size_t)(end - text->base);
    }
    text->base += line->len + (end != NULL);
    text->len -= line->len + (end != NULL);
    return true;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* Takes the next word of a line. False at its end, and where a comment begins. */
static bool take_word(struct slice *line, struct slice *word)
{
    size_t len = 0;

    while (line->len > 0 && is_blank(*line->base)) {
        line->base++;
        line->len--;
    }
    if (line->len == 0 || *line->base == '#') {
        return false;
    }
    while (len < line->len && !is_blank(line->base[len])) {
        len++;
    }
    *word = (struct slice){ line->base, len };
    line->base += len;
    line->len -= len;
    return true;
}

/* Counts the rows that the text makes. False at a malformed line, whose number is left in
 * *line_number. */
static bool count_rows(struct slice text, size_t *count, unsigned *line_number)
{
    struct slice line, word;

    *count = 0;
    *line_number = 0;
    while (take_line(&text, &line)) {
        ++*line_number;
        if (!take_word(&line, &word)) {
            continue;
        }
        if (!is_type(word)) {
            return false;
        }
        while (take_word(&line, &word)) {
            if (!is_token(word)) {
                return false;
            }
            ++*count;
        }
    }
    return true;
}

/* Ends a word of the table's own text in place. The byte behind it is white space, an end
 * of line, or the spare byte behind the text. */
static char *end_word(char *text, struct slice whole, struct slice word)
{
    char *start = text + (word.base - whole.base);

    start[word.len] = '\0';
    return start;
}

/* The words are found in `source`, and cut out of the table's copy of it. */
static void fill_rows(struct mime_table *table, struct slice source)
{
    struct slice rest = source;
    struct slice line, word;

    while (take_line(&rest, &line)) {
        const char *type;

        if (!take_word(&line, &word)) {
            continue;
        }
        type = end_word(table->text, source, word);
        while (take_word(&line, &word)) {
            char *extension = end_word(table->text, source, word);

            for (char *byte = extension; *byte != '\0'; byte++) {
                *byte = (char)lower(*byte);
            }
            table->rows[table->count++] =
                (struct mime_row){ .extension = extension, .type = type };
        }
    }
}

/* Equal extensions stay in the order of the text, which their addresses tell. */
static int compare_rows(const void *left, const void *right)
{
    const struct mime_row *a = left;
    const struct mime_row *b = right;
    int order = strcmp(a->extension, b->extension);

    if (order != 0) {
        return order;
    }
    return a->extension < b->extension ? -1 : a->extension > b->extension;
}

/* Of equal extensions the last line counts. */
static void drop_overridden(struct mime_table *table)
{
    size_t kept = 0;

    for (size_t i = 0; i < table->count; i++) {
        if (i + 1 < table->count &&
            strcmp(table->rows[i].extension, table->rows[i + 1].extension) == 0) {
            continue;
        }
        table->rows[kept++] = table->rows[i];
    }
    table->count = kept;
}

struct mime_table *mime_table_parse(struct slice text, unsigned *bad_line)
{
    struct mime_table *table;
    size_t count;

    if (!count_rows(text, &count, bad_line)) {
        return NULL;
    }
    *bad_line = 0;
    if (count > (SIZE_MAX - sizeof(*table)) / sizeof(table->rows[0])) {
        return NULL;
    }
    table = malloc(sizeof(*table) + count * sizeof(table->rows[0]));
    if (table == NULL) {
        return NULL;
    }
    table->count = 0;
    table->text = malloc(text.len + 1);
    if (table->text == NULL) {
        free(table);
        return NULL;
    }
    if (text.len > 0) {
        memcpy(table->text, text.base, text.len);
    }
    fill_rows(table, text);
    qsort(table->rows, table->count, sizeof(table->rows[0]), compare_rows);
    drop_overridden(table);
    return table;
}

void mime_table_free(struct mime_table *table)
{
    if (table == NULL) {
        return;
    }
    free(table->text);
    free(table);
}
