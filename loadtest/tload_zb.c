/* The report in the layout of ZeusBench 1.01, its spelling included: whoever reads the
 * results of 1998 by a program can read these. */
#include "tload_report.h"

#include <inttypes.h>

static void write_times(FILE *stream, const char *name, uint64_t min_ns, double mean_ns,
                        uint64_t max_ns)
{
    fprintf(stream, "%-8s %5ju %5.0f %5ju\n", name, (uintmax_t)(min_ns / 1000000),
            mean_ns >= 0 ? (double)(uint64_t)(mean_ns / 1e6) : 0,
            (uintmax_t)(max_ns / 1000000));
}

void tload_report_zb(const struct tload_report *report, FILE *stream)
{
    const struct tload_tally *tally = report->tally;
    const struct tload_moments *connect = &tally->connect, *total = &tally->total;
    uint64_t length = tally->errors[TLOAD_ERROR_LENGTH], ms = tally->elapsed_ns / 1000000;
    uint64_t failed = tload_errors(tally) - tally->errors[TLOAD_ERROR_STATUS];
    uint64_t done = tally->answers + length + tally->errors[TLOAD_ERROR_STATUS];
    double all = total->count > 0 ? (double)total->count : 1;

    fprintf(stream, "\n---\nServer:                 %s\n", tally->server);
    fprintf(stream, "Document Length:        %ju\n", (uintmax_t)tally->document_length);
    fprintf(stream, "Concurency Level:       %u\n", report->options->clients);
    fprintf(stream, "Time taken for tests:   %ju.%03ju seconds\n", (uintmax_t)(ms / 1000),
            (uintmax_t)(ms % 1000));
    fprintf(stream, "Complete requests:      %ju\n", (uintmax_t)done);
    fprintf(stream, "Failed requests:        %ju\n", (uintmax_t)failed);
    if (failed > 0) {
        uint64_t connecting = tally->errors[TLOAD_ERROR_CONNECT];

        fprintf(stream, "   (Connect: %ju, Length: %ju, Exceptions: %ju)\n",
                (uintmax_t)connecting, (uintmax_t)length,
                (uintmax_t)(failed - connecting - length));
    }
    if (!report->options->close) {
        fprintf(stream, "Keep-Alive requests:    %ju\n", (uintmax_t)tally->kept);
    }
    fprintf(stream, "Bytes transferred:      %ju\n", (uintmax_t)tally->bytes);
    fprintf(stream, "HTML transferred:       %ju\n", (uintmax_t)tally->body_bytes);
    if (ms > 0) {
        fprintf(stream, "Requests per seconds:   %.2f\n",
                1000 * (double)done / (double)ms);
        fprintf(stream, "Transfer rate:          %.2f kb/s\n",
                (double)tally->bytes / (double)ms);
    }
    fprintf(stream, "\nConnnection Times (ms)\n           min   avg   max\n");
    /* A request over a connection that stayed took no time to connect. */
    write_times(stream, "Connect:", connect->count < total->count ? 0 : connect->min,
                (double)connect->sum / all, connect->max);
    write_times(stream, "Total:", total->min, (double)total->sum / all, total->max);
    fprintf(stream, "---\n\n");
}
