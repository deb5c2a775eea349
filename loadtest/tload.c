/* tload: a load generator for HTTP/1, one process and one loop. Called as zb it takes the
 * command line of ZeusBench, and prints what that printed. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tload_load.h"
#include "tload_options.h"
#include "tload_report.h"
#include "tload_target.h"

enum {
    EXIT_ERRORS = 1,
    EXIT_NOT_STARTED = 2,
    SPARE_DESCRIPTORS = 16 /* beside one per connection */
};

static volatile sig_atomic_t stop_asked;

static void ask_to_stop(int number)
{
    (void)number;
    stop_asked = stop_asked + 1;
}

static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = ask_to_stop };

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Whether there may be so many descriptors, after all that can be done. */
static bool raise_limit(uint64_t connections)
{
    struct rlimit limit, raised;
    rlim_t needed = connections + SPARE_DESCRIPTORS;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= needed) {
        return true;
    }
    raised.rlim_cur = needed;
    raised.rlim_max = needed > limit.rlim_max ? needed : limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) {
        return true;
    }
    fprintf(stderr, "tload: %ju connections need %ju descriptors, and the limit is %ju\n",
            (uintmax_t)connections, (uintmax_t)needed, (uintmax_t)limit.rlim_max);
    return false;
}

static bool write_json(const struct tload_report *report, FILE *file)
{
    tload_report_json(report, file);
    if (ferror(file) | fclose(file)) {
        fprintf(stderr, "tload: %s: %s\n", report->options->json, strerror(errno));
        return false;
    }
    return true;
}

static int show(const struct tload_report *report, FILE *json)
{
    const struct tload_tally *tally = report->tally;
    bool fine = tload_errors(tally) == 0 && tally->unanswered == 0 &&
                tally->idle_open == report->options->idle;

    if (report->options->zb) {
        tload_report_zb(report, stdout);
    } else {
        tload_report_text(report, stdout);
    }
    if (json && !write_json(report, json)) {
        fine = false;
    }
    if (fflush(stdout) != 0) {
        fine = false;
    }
    return fine ? EXIT_SUCCESS : EXIT_ERRORS;
}

static int load(const struct tload_options *options, const struct tload_target *target)
{
    static struct tload_tally tally;
    uint64_t *good = calloc(options->clients + 1u, sizeof(*good));
    struct tload_report report = { options, target, &tally, good };
    FILE *json = NULL;
    int status = EXIT_NOT_STARTED, error;

    if (!good || !raise_limit((uint64_t)options->clients + options->idle)) {
        goto out;
    }
    /* A result that cannot be written is better refused before the run than after it. */
    if (options->json && !(json = fopen(options->json, "we"))) {
        fprintf(stderr, "tload: %s: %s\n", options->json, strerror(errno));
        goto out;
    }
    error = tload_load_run(options, target, &stop_asked, &tally, good);
    if (error) {
        fprintf(stderr, "tload: %s\n", strerror(-error));
        goto out;
    }
    status = show(&report, json);
    json = NULL;
out:
    if (json) {
        fclose(json);
    }
    free(good);
    return status;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    bool zb = strcmp(slash ? slash + 1 : argv[0], "zb") == 0;
    struct tload_options options;
    struct tload_target target;
    int status = zb ? tload_options_parse_zb(&options, argc, argv)
                    : tload_options_parse(&options, argc, argv);

    if (status >= 0) {
        return status;
    }
    catch_signals();
    status = tload_target_open(&target, &options) < 0 ? EXIT_NOT_STARTED
                                                      : load(&options, &target);
    tload_target_close(&target);
    return status;
}
