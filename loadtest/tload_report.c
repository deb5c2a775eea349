/* The report as text and as JSON. */
#include "tload_report.h"

#include <inttypes.h>
#include <string.h>

/* Beyond this part of a CPU the rate is that of tload. */
static const double CLIENT_BOUND = 0.9;

static const char *const error_names[TLOAD_ERROR_KINDS] = {
    [TLOAD_ERROR_CONNECT] = "connect",     [TLOAD_ERROR_RESET] = "reset",
    [TLOAD_ERROR_SHORT] = "short",         [TLOAD_ERROR_TIMEOUT] = "timeout",
    [TLOAD_ERROR_MALFORMED] = "malformed", [TLOAD_ERROR_STATUS] = "status",
    [TLOAD_ERROR_LENGTH] = "length",       [TLOAD_ERROR_BODY] = "body",
};

static const struct {
    const char *name;
    unsigned parts; /* of 1000 */
} percentiles[] = { { "p50", 500 }, { "p90", 900 }, { "p99", 990 }, { "p99.9", 999 } };

enum { PERCENTILES = sizeof(percentiles) / sizeof(*percentiles) };

/* How evenly the answers fell on the connections. */
struct shares {
    uint64_t slowest, fastest;
    double mean;
};

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static double seconds(const struct tload_tally *tally)
{
    return (double)tally->elapsed_ns / 1e9;
}

static double mean_of(const struct tload_moments *moments)
{
    return ratio((double)moments->sum, (double)moments->count);
}

static struct shares share_out(const struct tload_report *report)
{
    struct shares shares = { .slowest = UINT64_MAX };
    unsigned count = report->options->clients;
    double sum = 0;

    for (unsigned i = 0; i < count; i++) {
        uint64_t own = report->good[i];

        shares.slowest = own < shares.slowest ? own : shares.slowest;
        shares.fastest = own > shares.fastest ? own : shares.fastest;
        sum += (double)own;
    }
    shares.slowest = count > 0 ? shares.slowest : 0;
    shares.mean = ratio(sum, count);
    return shares;
}

static void write_latency(const struct tload_tally *tally, FILE *stream)
{
    fprintf(stream, "  latency us     min %.0f  mean %.0f",
            (double)tally->service.min / 1e3, mean_of(&tally->service) / 1e3);
    for (int i = 0; i < PERCENTILES; i++) {
        fprintf(stream, "  %s %.0f", percentiles[i].name,
                (double)spread_at(&tally->latency, percentiles[i].parts) / 1e3);
    }
    fprintf(stream, "  max %.0f\n", (double)tally->service.max / 1e3);
}

static void write_shares(const struct tload_report *report, FILE *stream)
{
    struct shares shares = share_out(report);

    fprintf(stream,
            "  by connection  slowest %ju, fastest %ju answers; slowest/mean %.2f, ",
            (uintmax_t)shares.slowest, (uintmax_t)shares.fastest,
            ratio((double)shares.slowest, shares.mean));
    if (shares.slowest > 0) {
        fprintf(stream, "fastest/slowest %.2f\n",
                (double)shares.fastest / (double)shares.slowest);
    } else {
        fprintf(stream, "a connection got none\n");
    }
}

static void write_errors(const struct tload_tally *tally, FILE *stream)
{
    fprintf(stream, "  errors         %ju", (uintmax_t)tload_errors(tally));
    for (int i = 0; i < TLOAD_ERROR_KINDS; i++) {
        if (tally->errors[i] > 0) {
            fprintf(stream, "  %s %ju", error_names[i], (uintmax_t)tally->errors[i]);
        }
    }
    fputc('\n', stream);
    if (tally->first_malformed) {
        fprintf(stream, "                 first malformed answer: %s\n",
                tally->first_malformed);
    }
    if (tally->first_errno) {
        fprintf(stream, "                 first failed call: %s\n",
                strerror(tally->first_errno));
    }
    fprintf(stream, "  unanswered     %ju in the end", (uintmax_t)tally->unanswered);
    if (tally->drained > 0) {
        fprintf(stream, "; answered after it %ju", (uintmax_t)tally->drained);
    }
    fputc('\n', stream);
}

static void write_title(const struct tload_report *report, FILE *stream)
{
    const struct tload_options *options = report->options;

    fprintf(stream, "tload: %s, HTTP/1.%d, %u connection%s%s, %.3f s%s\n",
            options->unix_path ? options->unix_path : options->url,
            options->old_http ? 0 : 1, options->clients, options->clients == 1 ? "" : "s",
            options->close ? " at a time, one for each request" : "",
            seconds(report->tally), report->tally->interrupted ? " (interrupted)" : "");
    if (options->rate > 0) {
        fprintf(stream,
                "  open loop      %.1f req/s asked for; late %ju, unsent %ju; latency "
                "from when a request was due\n",
                options->rate, (uintmax_t)report->tally->late,
                (uintmax_t)report->tally->unsent);
    }
}

void tload_report_text(const struct tload_report *report, FILE *stream)
{
    const struct tload_options *options = report->options;
    const struct tload_tally *tally = report->tally;
    double time = seconds(tally),
           share = ratio((double)tally->cpu_ns, (double)tally->elapsed_ns);

    write_title(report, stream);
    if (options->clients > 0) {
        fprintf(stream,
                "  answers        %ju; %.1f req/s, %.2f MB/s, %ju bytes of body each\n",
                (uintmax_t)tally->answers, ratio((double)tally->answers, time),
                ratio((double)tally->bytes / 1e6, time),
                (uintmax_t)tally->document_length);
        write_latency(tally, stream);
        write_shares(report, stream);
    }
    write_errors(tally, stream);
    fprintf(stream,
            "  connections    %ju opened, %ju of them again; %.1f a second, connect us "
            "min %.0f  mean %.0f  max %.0f\n",
            (uintmax_t)tally->connections, (uintmax_t)tally->reconnections,
            ratio((double)tally->connections, time), (double)tally->connect.min / 1e3,
            mean_of(&tally->connect) / 1e3, (double)tally->connect.max / 1e3);
    if (options->idle > 0) {
        fprintf(stream, "  idle           %ju of %u opened, %ju open in the end\n",
                (uintmax_t)tally->idle_opened, options->idle,
                (uintmax_t)tally->idle_open);
    }
    fprintf(stream, "  tload itself   %.0f %% of a CPU", 100 * share);
    if (tally->answers > 0) {
        fprintf(stream, ", %.2f us an answer",
                (double)tally->cpu_ns / 1e3 / (double)tally->answers);
    }
    fprintf(stream, "%s\n",
            share > CLIENT_BOUND ? "; CLIENT-BOUND: the rate is tload's" : "");
}

static void json_string(FILE *stream, const char *name, const char *text)
{
    fprintf(stream, "  \"%s\": ", name);
    if (!text) {
        fputs("null,\n", stream);
        return;
    }
    fputc('"', stream);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c < ' ' || c > 126) {
            fprintf(stream, "\\u%04x", c);
        } else {
            fprintf(stream, c == '"' || c == '\\' ? "\\%c" : "%c", c);
        }
    }
    fputs("\",\n", stream);
}

static void json_moments(FILE *stream, const char *name,
                         const struct tload_moments *moments)
{
    fprintf(stream,
            "  \"%s\": {\"count\": %ju, \"min\": %ju, \"mean\": %.1f, \"max\": %ju},\n",
            name, (uintmax_t)moments->count, (uintmax_t)moments->min, mean_of(moments),
            (uintmax_t)moments->max);
}

static void json_latency(FILE *stream, const struct tload_tally *tally)
{
    const char *comma = "";

    json_moments(stream, "latency_ns", &tally->service);
    fputs("  \"percentiles_ns\": {", stream);
    for (int i = 0; i < PERCENTILES; i++) {
        fprintf(stream, "%s\"%s\": %ju", i > 0 ? ", " : "", percentiles[i].name,
                (uintmax_t)spread_at(&tally->latency, percentiles[i].parts));
    }
    fputs("},\n  \"histogram_ns\": [", stream);
    for (unsigned i = 0; i < SPREAD_STEPS; i++) {
        if (tally->latency.steps[i] > 0) {
            fprintf(stream, "%s[%ju, %u]", comma, (uintmax_t)spread_step_end(i),
                    tally->latency.steps[i]);
            comma = ", ";
        }
    }
    fputs("],\n", stream);
}

static void json_counts(FILE *stream, const struct tload_tally *tally)
{
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {
        { "answers", tally->answers },
        { "answers_after_end", tally->drained },
        { "bytes", tally->bytes },
        { "body_bytes", tally->body_bytes },
        { "document_length", tally->document_length },
        { "unanswered", tally->unanswered },
        { "late", tally->late },
        { "unsent", tally->unsent },
        { "connections", tally->connections },
        { "reconnections", tally->reconnections },
        { "idle_opened", tally->idle_opened },
        { "idle_open", tally->idle_open },
        { "elapsed_ns", tally->elapsed_ns },
        { "cpu_ns", tally->cpu_ns },
    };

    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        fprintf(stream, "  \"%s\": %ju,\n", counts[i].name, (uintmax_t)counts[i].value);
    }
    fprintf(stream, "  \"errors\": {");
    for (int i = 0; i < TLOAD_ERROR_KINDS; i++) {
        fprintf(stream, "%s\"%s\": %ju", i > 0 ? ", " : "", error_names[i],
                (uintmax_t)tally->errors[i]);
    }
    fputs("},\n", stream);
}

void tload_report_json(const struct tload_report *report, FILE *stream)
{
    const struct tload_options *options = report->options;
    const struct tload_tally *tally = report->tally;
    struct shares shares = share_out(report);

    fputs("{\n  \"schema\": {\"name\": \"tetrad-tload\", \"version\": 1},\n", stream);
    json_string(stream, "url", options->url);
    json_string(stream, "unix", options->unix_path);
    json_string(stream, "server", tally->server);
    json_string(stream, "first_malformed", tally->first_malformed);
    fprintf(stream,
            "  \"http\": \"1.%d\",\n  \"close\": %s,\n  \"clients\": %u,\n"
            "  \"idle\": %u,\n  \"rate\": %.3f,\n  \"interrupted\": %s,\n",
            options->old_http ? 0 : 1, options->close ? "true" : "false",
            options->clients, options->idle, options->rate,
            tally->interrupted ? "true" : "false");
    json_counts(stream, tally);
    json_latency(stream, tally);
    json_moments(stream, "connect_ns", &tally->connect);
    fprintf(stream,
            "  \"req_per_s\": %.3f,\n  \"cpu_share\": %.4f,\n"
            "  \"slowest\": %ju,\n  \"fastest\": %ju,\n  \"slowest_over_mean\": %.4f,\n",
            ratio((double)tally->answers, seconds(tally)),
            ratio((double)tally->cpu_ns, (double)tally->elapsed_ns),
            (uintmax_t)shares.slowest, (uintmax_t)shares.fastest,
            ratio((double)shares.slowest, shares.mean));
    fputs("  \"answers_by_connection\": [", stream);
    for (unsigned i = 0; i < options->clients; i++) {
        fprintf(stream, "%s%ju", i > 0 ? ", " : "", (uintmax_t)report->good[i]);
    }
    fputs("]\n}\n", stream);
}
