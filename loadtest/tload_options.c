/* The command line of tload, and that of the program of 1998 as which it can be called.
 * It must never know a socket. */
#include "tload_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_WRONG_USAGE = 2 };

static const uint64_t SECOND_NS = 1000000000;

enum { MOST_CONNECTIONS = 1000000, MOST_SOURCES = 250 };

/* Options without a letter. */
enum option_key {
    KEY_HTTP = 256,
    KEY_CLOSE,
    KEY_IDLE,
    KEY_SOURCES,
    KEY_RATE,
    KEY_UNIX,
    KEY_HEADER,
    KEY_REQUEST,
    KEY_JSON,
    KEY_VERIFY,
    KEY_TIMEOUT
};

static const char help[] =
    "usage: tload [options] URL\n"
    "Loads an HTTP server from one process: each connection sends its next request when "
    "it\n"
    "has the whole answer (a closed loop), or requests are due at a rate (an open "
    "loop).\n"
    "  -c, --clients N       connections that ask all the time (10)\n"
    "  -t, --time TIME       for so long: 500ms, 10s, 1m (10s)\n"
    "  -n, --requests N      so many requests, without --time for as long as they take\n"
    "      --rate R          R requests a second, due at fixed times spread over the\n"
    "                        connections; latency is counted from when one was due\n"
    "      --http 1.0|1.1    (1.1); 1.0 asks for Connection: Keep-Alive\n"
    "      --close           a connection for each request\n"
    "      --idle N          N connections more, which ask once and then stay open, "
    "silent\n"
    "      --sources N       from 127.0.0.1 ... 127.0.0.N in turn; each has 28,000 "
    "ports\n"
    "      --unix PATH       to this socket, whatever address the URL has\n"
    "      --header 'N: V'   a field for each request; repeatable\n"
    "      --request FILE    send these bytes as each request\n"
    "      --verify FILE     each body must be these bytes; without it, as long as the "
    "first\n"
    "      --timeout TIME    to wait for an answer, and for the last ones at the end "
    "(2s)\n"
    "      --json FILE       write the result there, with its histogram\n"
    "  -h, --help\n"
    "exit status: 0, 1 there were errors or unanswered requests, 2 wrong usage or not "
    "started\n"
    "Called as zb: zb HOST PATH [-k] [-n N | -t SECONDS] [-c N] [-p PORT]\n";

static int wrong(const char *what, const char *text)
{
    fprintf(stderr, "tload: %s: '%s'; see --help\n", what, text);
    return EXIT_WRONG_USAGE;
}

static bool parse_whole(const char *text, uint64_t most, uint64_t *value)
{
    char *end;

    if (*text < '0' || *text > '9') {
        return false;
    }
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0' && *value <= most;
}

static bool parse_count(const char *text, unsigned least, unsigned most, unsigned *value)
{
    uint64_t wide;

    if (!parse_whole(text, most, &wide) || wide < least) {
        return false;
    }
    *value = (unsigned)wide;
    return true;
}

static bool parse_decimal(const char *text, const char **end, double *value)
{
    char *after;

    if (*text < '0' || *text > '9') {
        return false;
    }
    *value = strtod(text, &after);
    *end = after;
    return *value < 1e9;
}

static bool parse_time(const char *text, uint64_t *value_ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {
        { "", 1e9 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "m", 6e10 }
    };
    const char *unit;
    double value;

    if (!parse_decimal(text, &unit, &value)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strcmp(unit, units[i].name) == 0) {
            *value_ns = (uint64_t)(value * units[i].ns);
            return *value_ns > 0;
        }
    }
    return false;
}

static bool parse_rate(const char *text, double *rate)
{
    const char *end;

    return parse_decimal(text, &end, rate) && *end == '\0' && *rate > 0 && *rate <= 1e8;
}

static bool take_header(struct tload_options *options, const char *text)
{
    if (options->header_count == TLOAD_HEADERS || !strchr(text, ':') ||
        strpbrk(text, "\r\n")) {
        return false;
    }
    options->headers[options->header_count++] = text;
    return true;
}

static bool take_http(struct tload_options *options, const char *text)
{
    options->old_http = strcmp(text, "1.0") == 0;
    return options->old_http || strcmp(text, "1.1") == 0;
}

/* False: its value is wrong. */
static bool take(struct tload_options *options, int key, const char *text)
{
    switch (key) {
    case 'c':
        return parse_count(text, 0, MOST_CONNECTIONS, &options->clients);
    case 't':
        return parse_time(text, &options->duration_ns);
    case 'n':
        return parse_whole(text, UINT64_MAX, &options->requests) && options->requests > 0;
    case KEY_HTTP:
        return take_http(options, text);
    case KEY_CLOSE:
        options->close = true;
        return true;
    case KEY_IDLE:
        return parse_count(text, 0, MOST_CONNECTIONS, &options->idle);
    case KEY_SOURCES:
        return parse_count(text, 1, MOST_SOURCES, &options->sources);
    case KEY_RATE:
        return parse_rate(text, &options->rate);
    case KEY_UNIX:
        options->unix_path = text;
        return true;
    case KEY_HEADER:
        return take_header(options, text);
    case KEY_REQUEST:
        options->request_file = text;
        return true;
    case KEY_JSON:
        options->json = text;
        return true;
    case KEY_VERIFY:
        options->verify = text;
        return true;
    case KEY_TIMEOUT:
        return parse_time(text, &options->timeout_ns);
    }
    return false;
}

static int complete(struct tload_options *options)
{
    if (options->clients == 0 &&
        (options->idle == 0 || options->requests || options->rate > 0)) {
        return wrong("only idle connections may do without clients", "--clients 0");
    }
    if (options->request_file && options->header_count > 0) {
        return wrong("--header cannot be put into it", "--request");
    }
    if (options->rate > 0 && options->close) {
        return wrong("not with --close", "--rate");
    }
    if (options->duration_ns == 0 && options->requests == 0) {
        options->duration_ns = 10 * SECOND_NS;
    }
    return -1;
}

int tload_options_parse(struct tload_options *options, int argc, char **argv)
{
    static const struct option table[] = {
        { "clients", required_argument, NULL, 'c' },
        { "time", required_argument, NULL, 't' },
        { "requests", required_argument, NULL, 'n' },
        { "http", required_argument, NULL, KEY_HTTP },
        { "close", no_argument, NULL, KEY_CLOSE },
        { "idle", required_argument, NULL, KEY_IDLE },
        { "sources", required_argument, NULL, KEY_SOURCES },
        { "rate", required_argument, NULL, KEY_RATE },
        { "unix", required_argument, NULL, KEY_UNIX },
        { "header", required_argument, NULL, KEY_HEADER },
        { "request", required_argument, NULL, KEY_REQUEST },
        { "json", required_argument, NULL, KEY_JSON },
        { "verify", required_argument, NULL, KEY_VERIFY },
        { "timeout", required_argument, NULL, KEY_TIMEOUT },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int key, index = 0;

    *options = (struct tload_options){ .clients = 10, .timeout_ns = 2 * SECOND_NS };
    while ((key = getopt_long(argc, argv, "c:t:n:h", table, &index)) != -1) {
        if (key == 'h') {
            fputs(help, stdout);
            return EXIT_SUCCESS;
        }
        if (key == '?') {
            return EXIT_WRONG_USAGE;
        }
        if (!take(options, key, optarg)) {
            return wrong("wrong value", optarg);
        }
    }
    if (argc - optind != 1) {
        return wrong("it takes one URL", argc == optind ? "" : argv[argc - 1]);
    }
    options->url = argv[optind];
    return complete(options);
}

static int zb_usage(void)
{
    fputs("usage: zb HOST PATH [-k] [-n N | -t SECONDS] [-c N] [-p PORT]\n", stderr);
    return EXIT_WRONG_USAGE;
}

int tload_options_parse_zb(struct tload_options *options, int argc, char **argv)
{
    uint64_t seconds = 0;
    unsigned port = 80;
    bool fine = true;
    int key;

    *options = (struct tload_options){ .zb = true,
                                       .clients = 1,
                                       .port = "80",
                                       .old_http = true,
                                       .close = true,
                                       .timeout_ns = 30 * SECOND_NS };
    if (argc < 3 || *argv[2] != '/') {
        return zb_usage();
    }
    options->host = argv[1];
    options->path = argv[2];
    optind = 3;
    while (fine && (key = getopt(argc, argv, "p:n:c:d:t:k")) != -1) {
        switch (key) {
        case 'k':
            options->close = false;
            break;
        case 'n':
            fine = parse_whole(optarg, UINT64_MAX, &options->requests);
            break;
        case 'c':
            fine = parse_count(optarg, 1, MOST_CONNECTIONS, &options->clients);
            break;
        case 'p':
            fine = parse_count(optarg, 1, 65535, &port);
            options->port = optarg;
            break;
        case 't':
            fine = parse_whole(optarg, 1000000, &seconds) && seconds > 0;
            break;
        case 'd': /* It did nothing then, either. */
            break;
        default:
            fine = false;
        }
    }
    if (!fine || optind != argc) {
        return zb_usage();
    }
    options->duration_ns = seconds * SECOND_NS;
    if (seconds == 0 && options->requests == 0) {
        options->requests = 1;
    }
    return -1;
}
