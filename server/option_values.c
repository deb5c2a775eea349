/* The values of options, from text: strict, so that a slip of the pen is an error and
 * never another value. No sign, no space, no overflow, nothing left over. It must never
 * know which option it reads. */
#include "options_table.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "bind_address.h"
#include "options.h"

/* A unit's name and how many of the stored unit it is. */
struct unit {
    const char *name;
    uint64_t factor;
};

/* Digits from *text on, at least one; false if there is none or the value overflows. */
static bool read_digits(const char **text, uint64_t *value)
{
    const char *at = *text;

    *value = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');

        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, digit, value)) {
            return false;
        }
    }
    if (at == *text) {
        return false;
    }
    *text = at;
    return true;
}

/* The digits after a decimal point as numerator / denominator; none is allowed. */
static bool read_fraction(const char **text, uint64_t *numerator, uint64_t *denominator)
{
    enum { DIGITS_MOST = 9 }; /* so that numerator * factor cannot overflow */
    const char *start;

    *numerator = 0;
    *denominator = 1;
    if (**text != '.') {
        return true;
    }
    start = ++*text;
    if (!read_digits(text, numerator) || *text - start > DIGITS_MOST) {
        return false;
    }
    for (; start < *text; start++) {
        *denominator *= 10;
    }
    return true;
}

/* NULL: no such unit. */
static const struct unit *find_unit(const struct unit *units, const char *name)
{
    for (; units->name != NULL; units++) {
        if (strcmp(units->name, name) == 0) {
            return units;
        }
    }
    return NULL;
}

/* "1.5h": a number with a unit; the result must be whole in the unit that is stored. */
static int parse_scaled(const struct unit *units, const char *text, uint64_t *value)
{
    const struct unit *unit;
    uint64_t whole, numerator, denominator;

    if (!read_digits(&text, &whole) || !read_fraction(&text, &numerator, &denominator)) {
        return -EINVAL;
    }
    unit = find_unit(units, text);
    if (unit == NULL || numerator * unit->factor % denominator != 0) {
        return -EINVAL;
    }
    if (__builtin_mul_overflow(whole, unit->factor, value) ||
        __builtin_add_overflow(*value, numerator * unit->factor / denominator, value)) {
        return -EINVAL;
    }
    return 0;
}

static bool in_range(const struct option_row *row, uint64_t value)
{
    return value >= row->least && value <= row->most;
}

int option_parse_number(const struct option_row *row, void *field, const char *text)
{
    uint64_t value;

    if (!read_digits(&text, &value) || *text != '\0' || !in_range(row, value)) {
        return -EINVAL;
    }
    *(unsigned *)field = (unsigned)value;
    return 0;
}

int option_parse_time(const struct option_row *row, void *field, const char *text)
{
    static const struct unit units[] = { { "ms", 1 },          { "s", 1000 },
                                         { "", 1000 },         { "m", 60 * 1000 },
                                         { "h", 3600 * 1000 }, { NULL, 0 } };
    uint64_t value;

    if (parse_scaled(units, text, &value) < 0 || !in_range(row, value)) {
        return -EINVAL;
    }
    *(uint64_t *)field = value;
    return 0;
}

int option_parse_size(const struct option_row *row, void *field, const char *text)
{
    static const struct unit units[] = { { "", 1 },        { "K", 1 << 10 },
                                         { "k", 1 << 10 }, { "M", 1 << 20 },
                                         { "m", 1 << 20 }, { "G", 1 << 30 },
                                         { "g", 1 << 30 }, { NULL, 0 } };
    uint64_t value;

    if (parse_scaled(units, text, &value) < 0 || !in_range(row, value)) {
        return -EINVAL;
    }
    *(uint64_t *)field = value;
    return 0;
}

int option_parse_flag(const struct option_row *row, void *field, const char *text)
{
    (void)row;
    if (strcmp(text, "1") != 0 && strcmp(text, "0") != 0 && *text != '\0') {
        return -EINVAL;
    }
    *(bool *)field = *text == '1';
    return 0;
}

int option_parse_text(const struct option_row *row, void *field, const char *text)
{
    (void)row;
    if (*text == '\0') {
        return -EINVAL;
    }
    *(const char **)field = text;
    return 0;
}

/* Names only, no paths: what they name lies in the directory that is asked for. */
int option_parse_file_names(const struct option_row *row, void *field, const char *text)
{
    size_t len = strlen(text);

    (void)row;
    if (strchr(text, '/') != NULL || strstr(text, ",,") != NULL) {
        return -EINVAL;
    }
    if (len > 0 && (text[0] == ',' || text[len - 1] == ',')) {
        return -EINVAL;
    }
    *(const char **)field = text;
    return 0;
}

int option_parse_choice(const struct option_row *row, void *field, const char *text)
{
    for (unsigned i = 0; row->choices[i] != NULL; i++) {
        if (strcmp(row->choices[i], text) != 0) {
            continue;
        }
        *(unsigned *)field = i;
        return 0;
    }
    return -EINVAL;
}

int option_parse_bind(const struct option_row *row, void *field, const char *text)
{
    struct option_list *list = field;
    struct bind_address address;

    if (bind_address_parse(&address, text, 0) < 0) {
        return -EINVAL;
    }
    if (list->count == row->most) {
        return -E2BIG;
    }
    list->values[list->count++] = text;
    return 0;
}
