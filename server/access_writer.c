/* See access_writer.h. The time of a line is when its request began, in local time; as
 * text it is made once a second. It must never know a connection or a file. */
#include "access_writer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "access_line.h"
#include "access_log.h"
#include "clock.h"
#include "server.h"

enum { TIME_MAX = 40 };

struct access_writer {
    struct access_log *log; /* borrowed */
    unsigned lane;
    enum access_format format;
    int64_t second; /* whose text `time` is; -1: none yet */
    char time[TIME_MAX];
    char line[ACCESS_LINE_MAX];
};

struct access_writer *access_writer_open(const struct server *server)
{
    struct access_writer *writer = malloc(sizeof(*writer));

    if (writer != NULL) {
        writer->log = server->access_log;
        writer->lane = access_log_claim(writer->log);
        writer->format = (enum access_format)server->access_format;
        writer->second = -1;
    }
    return writer;
}

void access_writer_close(struct access_writer *writer)
{
    free(writer);
}

/* RFC 3339 wants a colon in the offset, which strftime does not write. */
static void split_offset(char *time, size_t len)
{
    enum { MINUTES = 2 };

    memmove(time + len - MINUTES + 1, time + len - MINUTES, MINUTES + 1);
    time[len - MINUTES] = ':';
}

static void render_time(struct access_writer *writer, int64_t second)
{
    bool json = writer->format == ACCESS_JSON;
    const char *format = json ? "%Y-%m-%dT%H:%M:%S%z" : "%d/%b/%Y:%H:%M:%S %z";
    time_t time = (time_t)second;
    struct tm parts;
    size_t len = 0;

    if (localtime_r(&time, &parts) != NULL) {
        len = strftime(writer->time, TIME_MAX - 1, format, &parts);
    }
    if (len == 0) {
        strcpy(writer->time, "-");
    } else if (json) {
        split_offset(writer->time, len);
    }
    writer->second = second;
}

void access_writer_write(struct access_writer *writer, const struct exchange *exchange,
                         const char *remote)
{
    uint64_t now_ms = clock_now_ms();
    uint64_t duration_ms = now_ms > exchange->begun_ms ? now_ms - exchange->begun_ms : 0;
    int64_t begun_ms = clock_wall_ms() - (int64_t)duration_ms;
    struct access_context context = { .remote = remote,
                                      .time = writer->time,
                                      .duration_ms = duration_ms };
    size_t len;

    if (begun_ms / 1000 != writer->second) {
        render_time(writer, begun_ms / 1000);
    }
    len = access_line_render(writer->format, exchange, &context, writer->line);
    access_log_add(writer->log, writer->lane, writer->line, len);
}
