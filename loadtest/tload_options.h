/* What tload is asked to do. Strings are the command line's own, and live as long. */
#ifndef TLOAD_OPTIONS_H
#define TLOAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { TLOAD_HEADERS = 32 };

struct tload_options {
    const char *url;
    const char *unix_path, *json, *verify, *request_file; /* NULL: not given */
    const char *headers[TLOAD_HEADERS];
    unsigned header_count;
    unsigned clients, idle, sources;
    uint64_t duration_ns; /* 0: until `requests` are done */
    uint64_t requests;    /* 0: no limit */
    uint64_t timeout_ns;
    double rate;   /* requests per second; 0: a closed loop */
    bool old_http; /* HTTP/1.0 */
    bool close;    /* a connection for each request */

    /* The line of 1998 has these instead of a URL. */
    bool zb;
    const char *host, *path, *port;
};

/* Both print what is wrong, or the help that was asked for. Returns -1 to go on, or the
 * exit status. */
int tload_options_parse(struct tload_options *options, int argc, char **argv);
int tload_options_parse_zb(struct tload_options *options, int argc, char **argv);

#endif
