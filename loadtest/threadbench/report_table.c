/* The table for people. A row whose answer was wrong shows why and no number. It must
 * never measure. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report.h"

enum { CELL_MAX = 48 };

/* The first word of the table, then its parameters, then the answer. */
static void head_print(FILE *file, const struct measured *measured)
{
    const struct plan *plan = measured->plan;
    const char *answer = "none is right";
    char value[256];

    (void)fprintf(file, "bench %s", plan->bench->name);
    for (const struct argument *a = plan->bench->arguments; a->name != NULL; a++) {
        plan_value(&plan->params, a, value, sizeof(value));
        (void)fprintf(file, "  %s %s", a->name, value);
    }
    for (size_t rt = 0; rt < plan->rows_count; rt++) {
        const struct outcome *outcome =
            measure_outcome(measured, rt, measure_median(measured, rt));

        if (!outcome->answer.wrong && outcome->absent[0] == '\0') {
            answer = outcome->answer.text;
            break;
        }
    }
    (void)fprintf(file, "  answer %s\n", answer);
    if (plan->cpus == 0) {
        (void)fprintf(file, "all %u CPUs", measure_cpus());
    } else {
        (void)fprintf(file, "%" PRIu64 " of %u CPUs", plan->cpus, measure_cpus());
    }
    if (plan->runs > 1) {
        (void)fprintf(file, "; the run with the median of %" PRIu64, plan->runs);
    }
    (void)fprintf(file, "; each in a process of its own%s\n\n",
                  REPORT_FRAMES ? "; built with frame pointers" : "");
}

static void titles_print(FILE *file, const struct bench *bench)
{
    (void)fprintf(file, "%-8s %8s %9s %19s %8s %8s", "runtime", "kthreads", "real s",
                  bench->ranked > 0 ? bench->metrics[bench->ranked - 1].title
                                    : "(min..max)",
                  "user s", "sys s");
    for (const struct metric *metric = bench->metrics; metric->name != NULL; metric++) {
        (void)fprintf(file, "  %*s", (int)strlen(metric->title) < 9 ? 9 : 0,
                      metric->title);
    }
    (void)fprintf(file, " %9s %9s %9s  %s\n", "switches", "create s", "peak KiB",
                  "loaded");
}

static void range_write(const struct measured *measured, size_t rt, char *text,
                        size_t size)
{
    size_t ranked = measured->plan->bench->ranked;
    double least = INFINITY, most = 0;

    for (size_t run = 0; run < measured->plan->runs; run++) {
        const struct outcome *outcome = measure_outcome(measured, rt, run);
        double value = ranked > 0 ? outcome->metrics[ranked - 1] : outcome->real_s;

        least = fmin(least, value);
        most = fmax(most, value);
    }
    (void)snprintf(text, size, ranked > 0 ? "(%.0f..%.0f)" : "(%.4f..%.4f)", least, most);
}

static void metric_print(FILE *file, const struct metric *metric, double value)
{
    int width = (int)strlen(metric->title);
    char cell[CELL_MAX] = "-";

    if (!isnan(value)) {
        (void)snprintf(cell, sizeof(cell), "%.*f", metric->decimals, value);
    }
    (void)fprintf(file, "  %*s", width < 9 ? 9 : width, cell);
}

static void row_print(FILE *file, const struct measured *measured, size_t rt)
{
    const struct plan *plan = measured->plan;
    size_t run = measure_median(measured, rt);
    const struct outcome *outcome = measure_outcome(measured, rt, run);
    char range[CELL_MAX];

    (void)fprintf(file, "%-8s ", plan->rows[rt].name);
    if (outcome->absent[0] != '\0') {
        (void)fprintf(file, "%s\n", outcome->absent);
        return;
    }
    if (outcome->answer.wrong) {
        (void)fprintf(file, "FAILED in run %zu: %s\n", run + 1, outcome->answer.text);
        return;
    }
    range_write(measured, rt, range, sizeof(range));
    (void)fprintf(file, "%8" PRIu64 " %9.4f %19s %8.3f %8.3f", outcome->kernel_threads,
                  outcome->real_s, range, (double)outcome->used.user_us / 1e6,
                  (double)outcome->used.sys_us / 1e6);
    for (size_t i = 0; plan->bench->metrics[i].name != NULL; i++) {
        metric_print(file, &plan->bench->metrics[i], outcome->metrics[i]);
    }
    (void)fprintf(file, " %9" PRIu64 " %9.4f %9" PRIu64 "  %s\n",
                  outcome->used.voluntary + outcome->used.involuntary, outcome->create_s,
                  outcome->peak_kib, outcome->loaded);
}

void report_table(FILE *file, const struct measured *measured)
{
    head_print(file, measured);
    titles_print(file, measured->plan->bench);
    for (size_t rt = 0; rt < measured->plan->rows_count; rt++) {
        row_print(file, measured, rt);
    }
}

void report_layout(const struct measured *measured)
{
    const struct plan *plan = measured->plan;

    for (size_t rt = 0; rt < plan->rows_count; rt++) {
        size_t run = measure_median(measured, rt);
        const struct outcome *outcome = measure_outcome(measured, rt, run);

        if (outcome->absent[0] != '\0') {
            (void)printf("# %s: %s\n", plan->rows[rt].name, outcome->absent);
            continue;
        }
        if (outcome->answer.wrong) {
            (void)printf("# %s FAILED in run %zu: %s\n", plan->rows[rt].name, run + 1,
                         outcome->answer.text);
            continue;
        }
        (void)printf("# %s (%s), %" PRIu64 " kernel threads, %" PRIu64 " runs\n",
                     plan->rows[rt].name, outcome->loaded, outcome->kernel_threads,
                     plan->runs);
        plan->bench->layout(&plan->params, outcome);
    }
}
