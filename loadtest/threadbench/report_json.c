/* One JSON object with every single run. A row with a wrong answer has "failed" and no
 * number. It must never measure. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>

#include "report.h"

void report_json_string(FILE *file, const char *text)
{
    (void)fputc('"', file);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte == '"' || byte == '\\') {
            (void)fprintf(file, "\\%c", byte);
        } else if (byte < 0x20 || byte >= 0x7f) {
            /* Whatever a path holds: Latin-1 is always valid, and says the byte. */
            (void)fprintf(file, "\\u%04x", byte);
        } else {
            (void)fputc(byte, file);
        }
    }
    (void)fputc('"', file);
}

static void text_field(FILE *file, const char *name, const char *text)
{
    (void)fprintf(file, "\"%s\": ", name);
    report_json_string(file, text);
}

static void parameters_print(FILE *file, const struct plan *plan)
{
    char value[4096];

    (void)fputs("\"parameters\": {", file);
    for (const struct argument *a = plan->bench->arguments; a->name != NULL; a++) {
        plan_value(&plan->params, a, value, sizeof(value));
        (void)fputs(a == plan->bench->arguments ? "" : ", ", file);
        if (a->text || !isdigit((unsigned char)value[0])) {
            text_field(file, a->name, value);
        } else {
            (void)fprintf(file, "\"%s\": %s", a->name, value);
        }
    }
    (void)fputs("}", file);
}

static void thread_rows_print(FILE *file, const struct outcome *outcome)
{
    if (outcome->rows_count == 0) {
        return;
    }
    (void)fputs(", \"threads\": [", file);
    for (size_t i = 0; i < outcome->rows_count; i++) {
        const struct thread_row *row = &outcome->rows[i];

        (void)fprintf(file,
                      "%s{\"count\": %" PRIu64 ", \"start_s\": %.9f, \"end_s\": %.9f, "
                      "\"reverses\": %" PRIu64 "}",
                      i == 0 ? "" : ", ", row->count, (double)row->start_ns / 1e9,
                      (double)row->end_ns / 1e9, row->reverses);
    }
    (void)fputs("]", file);
}

static void run_print(FILE *file, const struct bench *bench,
                      const struct outcome *outcome)
{
    const struct rt_usage *used = &outcome->used;

    (void)fprintf(
        file,
        "        {\"kernel_threads\": %" PRIu64 ", \"real_s\": %.9f, "
        "\"user_s\": %.6f, \"sys_s\": %.6f, \"create_s\": %.9f, \"end_s\": %.9f, "
        "\"switches_voluntary\": %" PRIu64 ", \"switches_involuntary\": %" PRIu64
        ", \"peak_kib\": %" PRIu64,
        outcome->kernel_threads, outcome->real_s, (double)used->user_us / 1e6,
        (double)used->sys_us / 1e6, outcome->create_s, outcome->end_s, used->voluntary,
        used->involuntary, outcome->peak_kib);
    for (size_t i = 0; bench->metrics[i].name != NULL; i++) {
        if (isfinite(outcome->metrics[i])) {
            (void)fprintf(file, ", \"%s\": %.6g", bench->metrics[i].name,
                          outcome->metrics[i]);
        } else {
            (void)fprintf(file, ", \"%s\": null", bench->metrics[i].name);
        }
    }
    thread_rows_print(file, outcome);
    (void)fputs("}", file);
}

static void row_print(FILE *file, const struct measured *measured, size_t rt)
{
    const struct plan *plan = measured->plan;
    size_t median = measure_median(measured, rt);
    const struct outcome *outcome = measure_outcome(measured, rt, median);

    (void)fputs("    {", file);
    text_field(file, "runtime", plan->rows[rt].name);
    (void)fputs(", ", file);
    if (outcome->absent[0] != '\0') {
        text_field(file, "absent", outcome->absent);
        (void)fputs("}", file);
        return;
    }
    text_field(file, "loaded", outcome->loaded);
    if (outcome->answer.wrong) {
        (void)fputs(", ", file);
        text_field(file, "failed", outcome->answer.text);
        (void)fputs("}", file);
        return;
    }
    (void)fputs(", ", file);
    text_field(file, "answer", outcome->answer.text);
    (void)fprintf(file, ", \"median\": %zu, \"runs\": [\n", median);
    for (size_t run = 0; run < plan->runs; run++) {
        run_print(file, plan->bench, measure_outcome(measured, rt, run));
        (void)fputs(run + 1 < plan->runs ? ",\n" : "\n", file);
    }
    (void)fputs("    ]}", file);
}

void report_json(FILE *file, const struct measured *measured)
{
    const struct plan *plan = measured->plan;

    (void)fputs("{\n  ", file);
    text_field(file, "bench", plan->bench->name);
    (void)fputs(",\n  ", file);
    parameters_print(file, plan);
    (void)fprintf(
        file, ",\n  \"cpus\": %" PRIu64 ", \"cpus_usable\": %u, \"runs\": %" PRIu64,
        plan->cpus == 0 ? measure_cpus() : plan->cpus, measure_cpus(), plan->runs);
    (void)fprintf(file, ",\n  \"frame_pointers\": %s", REPORT_FRAMES ? "true" : "false");
    (void)fputs(",\n  \"rows\": [\n", file);
    for (size_t rt = 0; rt < plan->rows_count; rt++) {
        row_print(file, measured, rt);
        (void)fputs(rt + 1 < plan->rows_count ? ",\n" : "\n", file);
    }
    (void)fputs("  ]\n}\n", file);
}
