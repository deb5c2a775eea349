/* Walks the table of options: once over the command line with getopt_long, then over what
 * it left open with the environment and the defaults. It must never know a single
 * option's meaning, a socket or a model's inside. */
#include "options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "options_table.h"

enum {
    LONG_BASE = 256,   /* above every letter: getopt_long's value of a row's long form */
    NAME_MAX_LEN = 64, /* "TETRAD_MAX_CONNECTIONS" */
    SHORTS_MAX = 1 + 2 * OPTIONS_ROWS_MAX + 1
};

/* What getopt_long wants to know, made from the table. */
struct getopt_tables {
    struct option longs[OPTIONS_ROWS_MAX];
    char shorts[SHORTS_MAX];
};

/* One parse under way. */
struct parsing {
    struct options *options;
    char *error;
    size_t error_room;
    bool
        given[OPTIONS_ROWS_MAX]; /* by the command line: the environment does not count */
};

static void build_getopt_tables(struct getopt_tables *tables)
{
    char *letter = tables->shorts;

    memset(tables, 0, sizeof(*tables));
    *letter++ = ':'; /* tell a missing value from an unknown option */
    for (size_t i = 0; options_table[i].name != NULL; i++) {
        const struct option_row *row = &options_table[i];
        bool takes_value = row->argument != NULL;
        int with_value = row->implied != NULL ? optional_argument : required_argument;

        tables->longs[i] = (struct option){
            .name = row->name,
            .has_arg = takes_value ? with_value : no_argument,
            .val = LONG_BASE + (int)i,
        };
        if (row->letter == 0) {
            continue;
        }
        *letter++ = row->letter;
        if (takes_value) {
            *letter++ = ':';
        }
    }
}

/* NULL: no such option. */
static const struct option_row *find_row(int value)
{
    for (size_t i = 0; options_table[i].name != NULL; i++) {
        const struct option_row *row = &options_table[i];

        if (value == LONG_BASE + (int)i || (value != 0 && value == row->letter)) {
            return row;
        }
    }
    return NULL;
}

static void environment_name(const struct option_row *row, char name[NAME_MAX_LEN])
{
    size_t len = (size_t)snprintf(name, NAME_MAX_LEN, "TETRAD_%s", row->name);

    assert(len < NAME_MAX_LEN);
    for (size_t i = 0; i < len; i++) {
        name[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
    }
}

/* Where a value came from, for the error line: "--port '70000'", "TETRAD_PORT='70000'".
 */
struct source {
    const char *name;
    char joint;
};

/* Writes "NAME 'VALUE': reason"; a long value is cut, so that the reason is seen. */
static void refuse(struct parsing *parsing, struct source source, const char *text,
                   const char *reason)
{
    snprintf(parsing->error, parsing->error_room, "%s%c'%.100s': %s", source.name,
             source.joint, text, reason);
}

/* Stores the text; false after writing the error line. */
static bool store(struct parsing *parsing, const struct option_row *row, const char *text,
                  struct source source)
{
    void *field = (char *)parsing->options + row->offset;
    int result = row->parse(row, field, text);
    char reason[128];

    if (result == 0) {
        return true;
    }
    if (result == -E2BIG) {
        snprintf(reason, sizeof(reason), "more than %" PRIu64 " values", row->most);
    } else if (result == -EMSGSIZE) {
        snprintf(reason, sizeof(reason), "too long together with those before it");
    } else if (result == -EPERM) {
        snprintf(reason, sizeof(reason), "the server itself decides on this");
    } else if (row->expected != NULL) {
        snprintf(reason, sizeof(reason), "expected %s", row->expected);
    } else {
        snprintf(reason, sizeof(reason), "expected a number from %" PRIu64 " to %" PRIu64,
                 row->least, row->most);
    }
    refuse(parsing, source, text, reason);
    return false;
}

/* What getopt_long could not take: `result` is its answer, argv[optind - 1] the culprit.
 */
static void refuse_unknown(struct parsing *parsing, int result, char **argv)
{
    const char *word = argv[optind - 1];
    const struct option_row *row = find_row(optopt);

    if (result == ':' && row != NULL) {
        snprintf(parsing->error, parsing->error_room, "--%s: a value is missing (%s)",
                 row->name, row->argument);
    } else if (row != NULL) {
        snprintf(parsing->error, parsing->error_room, "%.100s: --%s takes no value", word,
                 row->name);
    } else if (optopt == 0) {
        snprintf(parsing->error, parsing->error_room,
                 "%.100s: unknown or ambiguous option; see --help", word);
    } else {
        snprintf(parsing->error, parsing->error_room, "-%c: unknown option; see --help",
                 optopt);
    }
}

/* The option that asks for something else than serving; OPTIONS_RUN: none did. */
static enum options_result asked_for(const struct options *options)
{
    if (options->help) {
        return OPTIONS_HELP;
    }
    if (options->version) {
        return OPTIONS_VERSION;
    }
    if (options->list_models) {
        return OPTIONS_LIST_MODELS;
    }
    return OPTIONS_RUN;
}

/* What is left of the command line after its options: at most the document root. */
static enum options_result take_root(struct parsing *parsing, int argc, char **argv)
{
    parsing->options->root = ".";
    if (optind == argc) {
        return OPTIONS_RUN;
    }
    if (argc - optind > 1) {
        snprintf(parsing->error, parsing->error_room,
                 "'%.100s': one directory only, and '%.100s' is given already",
                 argv[optind + 1], argv[optind]);
        return OPTIONS_ERROR;
    }
    if (*argv[optind] == '\0') {
        snprintf(parsing->error, parsing->error_room, "'': expected a directory");
        return OPTIONS_ERROR;
    }
    parsing->options->root = argv[optind];
    return OPTIONS_RUN;
}

/* What the command line says for a row. */
static const char *value_of(const struct option_row *row)
{
    if (row->argument == NULL) {
        return "1";
    }
    return optarg != NULL ? optarg : row->implied;
}

/* Stops at the first option that asks for something else than serving. */
static enum options_result take_command_line(struct parsing *parsing, int argc,
                                             char **argv)
{
    struct getopt_tables tables;

    build_getopt_tables(&tables);
    opterr = 0; /* one line only, and ours */
    optind = 0; /* glibc and musl: forget any earlier parse */
    while (asked_for(parsing->options) == OPTIONS_RUN) {
        int result = getopt_long(argc, argv, tables.shorts, tables.longs, NULL);
        const struct option_row *row = find_row(result);
        char name[NAME_MAX_LEN];

        if (result == -1) {
            return take_root(parsing, argc, argv);
        }
        if (row == NULL) {
            refuse_unknown(parsing, result, argv);
            return OPTIONS_ERROR;
        }
        snprintf(name, sizeof(name), "--%s", row->name);
        if (!store(parsing, row, value_of(row), (struct source){ name, ' ' })) {
            return OPTIONS_ERROR;
        }
        parsing->given[row - options_table] = true;
    }
    return asked_for(parsing->options);
}

/* A repeatable option: one value a line. The list keeps the copy that its values are in.
 */
static bool store_lines(struct parsing *parsing, const struct option_row *row,
                        const char *text, struct source source)
{
    struct option_list *list =
        (struct option_list *)((char *)parsing->options + row->offset);
    char *rest = NULL;

    list->lines = strdup(text);
    if (list->lines == NULL) {
        refuse(parsing, source, text, strerror(ENOMEM));
        return false;
    }
    for (char *line = strtok_r(list->lines, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (!store(parsing, row, line, source)) {
            return false;
        }
    }
    return true;
}

/* From the environment, else the default. */
static bool take_elsewhere(struct parsing *parsing, const struct option_row *row)
{
    char name[NAME_MAX_LEN];
    const char *text;

    environment_name(row, name);
    text = getenv(name);
    if (text != NULL && !row->repeatable) {
        return store(parsing, row, text, (struct source){ name, '=' });
    }
    /* An empty list is as good as none: the default holds. */
    if (text != NULL && text[strspn(text, "\n")] != '\0') {
        return store_lines(parsing, row, text, (struct source){ name, '=' });
    }
    return row->initial == NULL ||
           store(parsing, row, row->initial, (struct source){ name, '=' });
}

/* The CPUs that this process may run on; a container's share shows here, not in the
 * number of CPUs online. */
static unsigned usable_cpus(void)
{
    cpu_set_t cpus[8]; /* 8192 CPUs, the most that Linux can be built for */
    int count;

    if (sched_getaffinity(0, sizeof(cpus), cpus) < 0) {
        return 1;
    }
    count = CPU_COUNT_S(sizeof(cpus), cpus);
    if (count > OPTIONS_WORKERS_MAX) {
        return OPTIONS_WORKERS_MAX;
    }
    return count < 1 ? 1 : (unsigned)count;
}

enum options_result options_parse(struct options *options, int argc, char **argv,
                                  char *error, size_t error_room)
{
    struct parsing parsing = { options, error, error_room, { false } };
    enum options_result result;

    memset(options, 0, sizeof(*options));
    result = take_command_line(&parsing, argc, argv);
    if (result != OPTIONS_RUN) {
        return result;
    }
    for (size_t i = 0; options_table[i].name != NULL; i++) {
        if (!parsing.given[i] && !take_elsewhere(&parsing, &options_table[i])) {
            return OPTIONS_ERROR;
        }
    }
    if (options->workers == 0) {
        options->workers = usable_cpus();
    }
    return asked_for(options);
}

void options_free(struct options *options)
{
    for (const struct option_row *row = options_table; row->name != NULL; row++) {
        struct option_list *list;

        if (!row->repeatable) {
            continue;
        }
        list = (struct option_list *)((char *)options + row->offset);
        free(list->lines);
        list->lines = NULL;
    }
}

enum { HELP_COLUMN = 30, HELP_WIDTH = 79 };

/* Prints one word at `column` or, where it does not fit, on a new line; the new column. */
static size_t print_word(FILE *to, const char *word, size_t len, size_t column)
{
    if (column > HELP_COLUMN && column + 1 + len > HELP_WIDTH) {
        fprintf(to, "\n%*s", HELP_COLUMN, "");
        column = HELP_COLUMN;
    }
    fprintf(to, "%s%.*s", column > HELP_COLUMN ? " " : "", (int)len, word);
    return column + (column > HELP_COLUMN) + len;
}

static void print_option(FILE *to, const struct option_row *row)
{
    char name[NAME_MAX_LEN];
    char initial[NAME_MAX_LEN];
    size_t column = HELP_COLUMN;
    int len = snprintf(
        name, sizeof(name), "%c%c%c --%s%s%s%s", row->letter != 0 ? '-' : ' ',
        row->letter != 0 ? row->letter : ' ', row->letter != 0 ? ',' : ' ', row->name,
        row->implied != NULL ? "[=" : " ", row->argument != NULL ? row->argument : "",
        row->implied != NULL ? "]" : "");

    fprintf(to, "  %-*s", HELP_COLUMN - 2, name);
    if (len >= HELP_COLUMN - 2) {
        fprintf(to, "\n%*s", HELP_COLUMN, "");
    }
    for (const char *word = row->help; *word != '\0';) {
        size_t word_len = strcspn(word, " ");

        column = print_word(to, word, word_len, column);
        word += word_len;
        word += strspn(word, " ");
    }
    if (row->initial != NULL) {
        snprintf(initial, sizeof(initial), "(default %s)", row->initial);
        print_word(to, initial, strlen(initial), column);
    }
    fputc('\n', to);
}

void options_print_help(FILE *to)
{
    fputs("Usage: tetrad [options] [DIR]\n"
          "Serves the files in DIR (default: the current directory) over HTTP.\n\n",
          to);
    for (const struct option_row *row = options_table; row->name != NULL; row++) {
        print_option(to, row);
    }
    fputs(
        "\nTIME is a number with ms, s, m or h; without a unit, seconds.\n"
        "Every option is also a variable of the environment: TETRAD_MAX_CONNECTIONS is\n"
        "--max-connections; a switch is 1 or 0; a repeatable option has one value a\n"
        "line. The command line wins.\n",
        to);
}
