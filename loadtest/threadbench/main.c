/* threadbench: benchmarks of threads, on every runtime. Decides the exit status, and must
 * never know a benchmark or a runtime. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "plan.h"
#include "report.h"

enum { STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_INTERRUPTED = 130 };

static int status_of(const struct measured *measured)
{
    for (size_t rt = 0; rt < measured->plan->rows_count; rt++) {
        size_t run = measure_median(measured, rt);

        if (measure_outcome(measured, rt, run)->answer.wrong) {
            return STATUS_FAILED;
        }
    }
    return 0;
}

static int report(const struct measured *measured)
{
    const struct plan *plan = measured->plan;

    if (plan->json) {
        report_json(stdout, measured);
    } else if (plan->layout) {
        report_layout(measured);
    } else {
        report_table(stdout, measured);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        (void)fprintf(stderr, "threadbench: standard output: %s\n", strerror(errno));
        return STATUS_FAILED;
    }
    return status_of(measured);
}

static int measure_and_report(const struct plan *plan)
{
    struct measured measured;
    int error = measure_all(&measured, plan);
    int status;

    if (error == -EINTR) {
        status = STATUS_INTERRUPTED;
    } else if (error < 0) {
        (void)fprintf(stderr, "threadbench: %s\n", strerror(-error));
        status = STATUS_FAILED;
    } else {
        status = report(&measured);
    }
    measure_free(&measured);
    return status;
}

int main(int argc, char **argv)
{
    char error[PLAN_ERROR_MAX];
    struct plan plan;

    if (!plan_read(&plan, argc, argv, error)) {
        (void)fprintf(stderr, "threadbench: %s\n", error);
        return STATUS_USAGE;
    }
    if (plan.help) {
        plan_help(stdout, plan.bench);
        return 0;
    }
    if (plan.bench->tool != NULL) {
        return plan.bench->tool(&plan.params);
    }
    if (plan.cpus > measure_cpus()) {
        (void)fprintf(stderr, "threadbench: --cpus: only %u may be used\n",
                      measure_cpus());
        return STATUS_USAGE;
    }
    return measure_and_report(&plan);
}
