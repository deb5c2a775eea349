/* The command line and its twin in the environment, parsed once. It must never know a
 * socket or a model's inside. */
#ifndef TETRAD_OPTIONS_H
#define TETRAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "attributes.h"
#include "site.h"

enum { OPTIONS_BINDS_MAX = 16 };

/* Strings are borrowed from argv, the environment or constants. Times in ms, sizes in
 * bytes. */
struct options {
    const char *model;
    unsigned port;
    const char *binds[OPTIONS_BINDS_MAX]; /* "127.0.0.1", "::", "unix:PATH" */
    unsigned bind_count;
    unsigned workers;         /* 1 or more after options_parse */
    unsigned max_connections; /* 0: the model's and the descriptors' default, resolved by
                                 main */
    uint64_t header_timeout_ms, keepalive_timeout_ms, send_timeout_ms, body_timeout_ms;
    unsigned max_requests; /* 0: no limit */
    uint64_t revalidate_ms;
    uint64_t cache_bytes;
    const char *index;
    enum site_server_header server_header;
    uint64_t grace_ms;
    const char *root;
};

enum options_result {
    OPTIONS_RUN,
    OPTIONS_LIST_MODELS, /* print the models and exit 0 */
    OPTIONS_VERSION,
    OPTIONS_HELP,
    OPTIONS_ERROR /* one line says what is wrong, naming it: exit 2 */
};

/* Reads the environment (TETRAD_NAME), then the command line, which wins. On
 * OPTIONS_ERROR `error` holds the line without a newline. */
enum options_result options_parse(struct options *options, int argc, char **argv,
                                  char *error, size_t error_room) MUST_CHECK;

/* The text of --help, from the same table that is parsed. */
void options_print_help(FILE *to);

#endif
