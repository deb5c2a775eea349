/* The table of all options: a row says how an option is written, explained, read and
 * stored. A new option is a row here and a member of struct options. */
#ifndef TETRAD_OPTIONS_TABLE_H
#define TETRAD_OPTIONS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attributes.h"

struct option_row {
    const char *name;     /* "max-connections" */
    char letter;          /* of the short form; 0: none */
    const char *argument; /* its name in the help; NULL: a flag */
    const char *implied;  /* the value of the long form without one; NULL: it needs one */
    const char *initial;  /* the default, as a user would write it; NULL: all zero */
    const char *help;     /* one sentence, wrapped when printed */
    const char *expected; /* what a good value is, for the error line; NULL: a number */

    /* Stores what the text says at the field: 0, -EINVAL (not what is expected), -E2BIG
     * (a list is full), -EMSGSIZE (its values are too long together) or -EPERM (not for
     * an option to say). */
    int (*parse)(const struct option_row *row, void *field, const char *text);
    bool repeatable;            /* the field is a struct option_list */
    size_t offset;              /* of the field in struct options */
    uint64_t least, most;       /* of a number, time or size; most: values of a list */
    const char *const *choices; /* of a choice, ended by NULL; the index is stored */
};

/* All rows, ended by one without a name. */
enum { OPTIONS_ROWS_MAX = 64 };
extern const struct option_row options_table[];

/* The parsers, by the type of their field. */
int option_parse_number(const struct option_row *row, void *field,
                        const char *text) MUST_CHECK; /* unsigned */
int option_parse_time(const struct option_row *row, void *field,
                      const char *text) MUST_CHECK; /* uint64_t, ms */
int option_parse_size(const struct option_row *row, void *field,
                      const char *text) MUST_CHECK; /* uint64_t, bytes */
int option_parse_flag(const struct option_row *row, void *field,
                      const char *text) MUST_CHECK; /* bool */
int option_parse_text(const struct option_row *row, void *field,
                      const char *text) MUST_CHECK; /* const char *, borrowed */
int option_parse_file_names(const struct option_row *row, void *field,
                            const char *text) MUST_CHECK; /* const char *, borrowed */
int option_parse_choice(const struct option_row *row, void *field,
                        const char *text) MUST_CHECK; /* an enum that counts from 0 */
int option_parse_bind(const struct option_row *row, void *field,
                      const char *text) MUST_CHECK; /* struct option_list, borrowed */

/* Rules for the site, in option_rules.c; see site_rules.h. */
int option_parse_header(const struct option_row *row, void *field,
                        const char *text) MUST_CHECK; /* struct option_list, borrowed */
int option_parse_cache_rule(const struct option_row *row, void *field,
                            const char *text) MUST_CHECK; /* likewise */
int option_parse_error_page(const struct option_row *row, void *field,
                            const char *text) MUST_CHECK; /* likewise */
int option_parse_spa(const struct option_row *row, void *field,
                     const char *text) MUST_CHECK; /* const char *, borrowed; NULL: off */
int option_parse_charset(const struct option_row *row, void *field,
                         const char *text) MUST_CHECK; /* const char *, borrowed */

#endif
