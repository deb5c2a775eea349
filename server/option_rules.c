/* The values of options that are rules for the site: checked here, so that a wrong one is
 * an error at the start; the site reads them again where it uses them. It must never know
 * an answer. */
#include "options_table.h"

#include <errno.h>
#include <string.h>

#include "options.h"
#include "site_rules.h"

static int add(const struct option_row *row, struct option_list *list, const char *text)
{
    if (list->count == row->most) {
        return -E2BIG;
    }
    list->values[list->count++] = text;
    return 0;
}

/* The bound is of all lines together, which each answer carries. */
int option_parse_header(const struct option_row *row, void *field, const char *text)
{
    struct option_list *list = field;
    struct slice name, value;
    size_t sum = 0;
    int result;

    for (unsigned i = 0; i <= list->count; i++) {
        result =
            site_rules_header(i < list->count ? list->values[i] : text, &name, &value);
        if (result != 0) {
            return result;
        }
        sum += site_rules_header_len(name, value);
    }
    return sum > SITE_RULES_HEADERS_MAX ? -EMSGSIZE : add(row, list, text);
}

int option_parse_cache_rule(const struct option_row *row, void *field, const char *text)
{
    struct slice glob, value;
    int result = site_rules_cache(text, &glob, &value);

    return result != 0 ? result : add(row, field, text);
}

int option_parse_error_page(const struct option_row *row, void *field, const char *text)
{
    struct slice path;
    unsigned status;
    int result = site_rules_error_page(text, &status, &path);

    return result != 0 ? result : add(row, field, text);
}

/* A switch that may name a file: "1" is the default file, "0" and "" switch it off, which
 * is for the environment. */
int option_parse_spa(const struct option_row *row, void *field, const char *text)
{
    const char **path = field;
    struct slice slice;

    if (*text == '\0' || strcmp(text, "0") == 0) {
        *path = NULL;
        return 0;
    }
    *path = strcmp(text, "1") == 0 ? row->implied : text;
    return site_rules_path(*path, &slice);
}

/* "none" is kept as "". */
int option_parse_charset(const struct option_row *row, void *field, const char *text)
{
    (void)row;
    *(const char **)field = strcmp(text, "none") == 0 ? "" : text;
    return site_rules_charset(text);
}
