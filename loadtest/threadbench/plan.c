/* Options are --name=value or --name value, in any order; a published program's own
 * spelling is its letters and its positional arguments. It must never run anything. */
#include "plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct word cpus_words[] = { { .text = "all", .value = 0 },
                                          { .text = NULL } };

/* Offsets in struct plan. */
static const struct argument plan_arguments[] = {
    { .name = "rt",
      .offset = offsetof(struct plan, rt_list),
      .text = true,
      .help = "runtimes, separated by commas" },
    { .name = "runs",
      .offset = offsetof(struct plan, runs),
      .least = 1,
      .most = 1000,
      .help = "of each runtime, in turn; the row shows the one with the median time" },
    { .name = "cpus",
      .offset = offsetof(struct plan, cpus),
      .least = 1,
      .most = 4096,
      .words = cpus_words,
      .help = "that all threads of a run share" },
    { .name = "kthreads",
      .offset = offsetof(struct plan, kthreads),
      .least = 2,
      .most = 64,
      .help = "kernel threads that the user threads of hybrid share (2)" },
    { .name = "timeout",
      .offset = offsetof(struct plan, timeout_s),
      .least = 1,
      .most = 86400,
      .help = "seconds after which a run has failed" },
    { .name = NULL },
};

static bool refuse(char *error, const char *format, ...) PRINTF_LIKE(2, 3);

static bool refuse(char *error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(error, PLAN_ERROR_MAX, format, arguments);
    va_end(arguments);
    return false;
}

static bool number_read(const char *text, uint64_t *number)
{
    char *end = NULL;

    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

/* Into the struct at base. */
static bool value_set(void *base, const struct argument *argument, const char *text)
{
    char *place = (char *)base + argument->offset;
    uint64_t number;

    if (argument->text) {
        memcpy(place, &text, sizeof(text));
        return true;
    }
    for (const struct word *word = argument->words; word != NULL && word->text != NULL;
         word++) {
        if (strcmp(word->text, text) == 0) {
            memcpy(place, &word->value, sizeof(word->value));
            return true;
        }
    }
    if (!number_read(text, &number) || number < argument->least ||
        number > argument->most) {
        return false;
    }
    memcpy(place, &number, sizeof(number));
    return true;
}

static const struct argument *argument_find(const struct argument *list, const char *name,
                                            size_t length)
{
    for (; list->name != NULL; list++) {
        if (strlen(list->name) == length && strncmp(list->name, name, length) == 0) {
            return list;
        }
    }
    return NULL;
}

static const struct argument *letter_find(const struct argument *list, char letter)
{
    for (; list->name != NULL; list++) {
        if (list->letter == letter) {
            return list;
        }
    }
    return NULL;
}

/* All rows that the benchmark can have: every runtime, then its own ways. */
static size_t rows_of(const struct bench *bench, struct way rows[PLAN_ROWS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; bench->run != NULL && rt_table[i] != NULL; i++) {
        rows[count++] = (struct way){
            .name = rt_table[i]->name,
            .rt = rt_table[i],
            .run = bench->run,
        };
    }
    for (const struct way *way = bench->ways; way != NULL && way->name != NULL; way++) {
        rows[count++] = *way;
    }
    return count;
}

static bool row_add(struct plan *plan, const char *name, size_t length, char *error)
{
    struct way rows[PLAN_ROWS_MAX];
    size_t count = rows_of(plan->bench, rows);

    for (size_t i = 0; i < count; i++) {
        if (strlen(rows[i].name) != length || strncmp(rows[i].name, name, length) != 0) {
            continue;
        }
        for (size_t j = 0; j < plan->rows_count; j++) {
            if (strcmp(plan->rows[j].name, rows[i].name) == 0) {
                return refuse(error, "--rt names %s twice", rows[i].name);
            }
        }
        plan->rows[plan->rows_count++] = rows[i];
        return true;
    }
    return refuse(error, "--rt: no runtime is called \"%.*s\"", (int)length, name);
}

static bool rows_read(struct plan *plan, char *error)
{
    const char *rest = plan->rt_list;

    if (strcmp(rest, "all") == 0) {
        plan->rows_count = rows_of(plan->bench, plan->rows);
        return true;
    }
    for (;;) {
        size_t length = strcspn(rest, ",");

        if (!row_add(plan, rest, length, error)) {
            return false;
        }
        if (rest[length] == '\0') {
            return true;
        }
        rest += length + 1;
    }
}

static bool bench_find(struct plan *plan, const char *name, char *error)
{
    for (size_t i = 0; bench_table[i] != NULL; i++) {
        if (strcmp(bench_table[i]->name, name) == 0) {
            plan->bench = bench_table[i];
            plan->params = plan->bench->defaults;
            plan->layout = plan->bench->always_layout;
            return true;
        }
    }
    return refuse(error, "no benchmark is called \"%s\" (--help lists them)", name);
}

/* A letter that means a word, and so needs no value. */
static bool flag_read(struct plan *plan, char letter)
{
    for (const struct argument *a = plan->bench->arguments; a->name != NULL; a++) {
        for (const struct word *word = a->words; word != NULL && word->text != NULL;
             word++) {
            if (word->letter == letter) {
                return value_set(&plan->params, a, word->text);
            }
        }
    }
    return false;
}

/* An option, and mostly its value; *at is left at the last word used. */
static bool option_read(struct plan *plan, char **argv, int *at, char *error)
{
    const char *option = argv[*at];
    const struct argument *argument;
    const char *value = NULL;
    void *base = plan;

    if (option[1] == '-') {
        size_t length = strcspn(option + 2, "=");

        value = option[2 + length] == '=' ? option + 3 + length : NULL;
        argument = argument_find(plan_arguments, option + 2, length);
        if (argument == NULL) {
            argument = argument_find(plan->bench->arguments, option + 2, length);
            base = &plan->params;
        }
    } else {
        base = &plan->params;
        plan->layout = plan->bench->layout != NULL;
        if (option[1] != '\0' && option[2] == '\0' && flag_read(plan, option[1])) {
            return true;
        }
        argument = option[1] != '\0' && option[2] == '\0'
                       ? letter_find(plan->bench->arguments, option[1])
                       : NULL;
    }
    if (argument == NULL) {
        return refuse(error, "%s has no option %s", plan->bench->name, option);
    }
    if (value == NULL) {
        value = argv[++*at];
    }
    if (value == NULL) {
        return refuse(error, "%s needs a value", option);
    }
    return value_set(base, argument, value) ||
           refuse(error, "%s cannot be \"%s\"", argument->name, value);
}

static bool positional_read(struct plan *plan, size_t number, const char *value,
                            char *error)
{
    const char *const *names = plan->bench->positionals;
    const struct argument *argument;

    for (size_t i = 0; i <= number; i++) {
        if (names[i] == NULL) {
            return refuse(error, "%s takes no argument \"%s\"", plan->bench->name, value);
        }
    }
    argument =
        argument_find(plan->bench->arguments, names[number], strlen(names[number]));
    plan->layout = true;
    return value_set(&plan->params, argument, value) ||
           refuse(error, "%s cannot be \"%s\"", argument->name, value);
}

static bool words_read(struct plan *plan, char **argv, int argc, char *error)
{
    size_t positionals = 0;

    for (int i = 2; i < argc; i++) {
        bool good;

        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            plan->help = true;
            return true;
        }
        if (strcmp(argv[i], "--json") == 0) {
            plan->json = true;
            continue;
        }
        good = argv[i][0] == '-' ? option_read(plan, argv, &i, error)
                                 : positional_read(plan, positionals++, argv[i], error);
        if (!good) {
            return false;
        }
    }
    return true;
}

bool plan_read(struct plan *plan, int argc, char **argv, char error[PLAN_ERROR_MAX])
{
    const char *reason = NULL;

    *plan = (struct plan){
        .rt_list = "all", .runs = 5, .cpus = 1, .kthreads = 2, .timeout_s = 600
    };
    if (argc < 2) {
        return refuse(error, "which benchmark? --help lists them");
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        plan->help = true;
        return true;
    }
    if (!bench_find(plan, argv[1], error) || !words_read(plan, argv, argc, error)) {
        return false;
    }
    if (plan->help) {
        return true;
    }
    if (plan->bench->refuse != NULL) {
        reason = plan->bench->refuse(&plan->params);
    }
    if (reason != NULL) {
        return refuse(error, "%s: %s", plan->bench->name, reason);
    }
    return rows_read(plan, error);
}

void plan_value(const struct params *params, const struct argument *argument, char *text,
                size_t size)
{
    const char *place = (const char *)params + argument->offset;
    const char *string = NULL;
    uint64_t number;

    if (argument->text) {
        memcpy(&string, place, sizeof(string));
        (void)snprintf(text, size, "%s", string != NULL ? string : "");
        return;
    }
    memcpy(&number, place, sizeof(number));
    for (const struct word *word = argument->words; word != NULL && word->text != NULL;
         word++) {
        if (word->value == number) {
            (void)snprintf(text, size, "%s", word->text);
            return;
        }
    }
    (void)snprintf(text, size, "%" PRIu64, number);
}

static void argument_help(FILE *file, const struct argument *argument,
                          const struct params *defaults)
{
    char value[64] = "";

    if (defaults != NULL) {
        plan_value(defaults, argument, value, sizeof(value));
    }
    (void)fprintf(file, "  --%-10s %s", argument->name, argument->help);
    if (argument->words != NULL && argument->words->text != NULL) {
        (void)fputs("; ", file);
        for (const struct word *word = argument->words; word->text != NULL; word++) {
            (void)fprintf(file, "%s%s", word == argument->words ? "" : "|", word->text);
            if (word->letter != '\0') {
                (void)fprintf(file, " (-%c)", word->letter);
            }
        }
        (void)fputs(argument->least <= argument->most ? "|N" : "", file);
    }
    if (value[0] != '\0') {
        (void)fprintf(file, " (%s)", value);
    }
    if (argument->letter != '\0') {
        (void)fprintf(file, "; also -%c", argument->letter);
    }
    (void)fputc('\n', file);
}

void plan_help(FILE *file, const struct bench *bench)
{
    (void)fprintf(file, "usage: threadbench %s [options]\n",
                  bench == NULL ? "BENCH" : bench->name);
    if (bench == NULL) {
        (void)fputs("Benchmarks (BENCH --help says more):\n", file);
        for (size_t i = 0; bench_table[i] != NULL; i++) {
            (void)fprintf(file, "  %-9s %s\n", bench_table[i]->name,
                          bench_table[i]->help);
        }
    } else {
        (void)fprintf(file, "%s\n", bench->help);
        for (const struct argument *a = bench->arguments; a->name != NULL; a++) {
            argument_help(file, a, &bench->defaults);
        }
    }
    if (bench != NULL && bench->tool != NULL) {
        return;
    }
    (void)fputs("Of every benchmark:\n", file);
    for (const struct argument *a = plan_arguments; a->name != NULL; a++) {
        argument_help(file, a, NULL);
    }
    (void)fputs("  --json       rows and single runs as JSON\nRuntimes:", file);
    for (size_t i = 0; rt_table[i] != NULL; i++) {
        (void)fprintf(file, " %s", rt_table[i]->name);
    }
    if (bench != NULL && bench->ways != NULL) {
        (void)fputs("\nOther rows:", file);
        for (const struct way *way = bench->ways; way->name != NULL; way++) {
            (void)fprintf(file, " %s", way->name);
        }
    }
    (void)fputs("\nStatus: 0, 1 if a row failed, 2 for a wrong command line.\n", file);
}
