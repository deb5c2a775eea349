/* The command line and its twin in the environment, parsed once. It must never know a
 * socket or a model's inside. */
#ifndef TETRAD_OPTIONS_H
#define TETRAD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "access_line.h"
#include "attributes.h"
#include "site.h"

enum {
    OPTIONS_LIST_MAX = 64,
    OPTIONS_BINDS_MAX = 16,
    OPTIONS_WORKERS_MAX = 1024
};

/* The values of a repeatable option, in the order given. */
struct option_list {
    const char *values[OPTIONS_LIST_MAX];
    unsigned count;
    char *lines; /* owned: the environment's value, cut into lines; else NULL */
};

/* See sched(7). */
enum scheduler_class { SCHEDULER_BATCH, SCHEDULER_OTHER };

/* Strings are borrowed from argv, the environment or constants. Times in ms, sizes in
 * bytes. */
struct options {
    const char *model;
    unsigned port;
    struct option_list binds; /* "127.0.0.1", "::", "unix:PATH"; one or more */
    unsigned workers;         /* 1 or more after options_parse */
    unsigned max_connections; /* 0: the model's and the descriptors' default, resolved by
                                 main */
    enum scheduler_class scheduler; /* of the threads of model threads */
    uint64_t header_timeout_ms, keepalive_timeout_ms, send_timeout_ms, body_timeout_ms;
    unsigned max_requests; /* 0: no limit */
    uint64_t revalidate_ms;
    uint64_t cache_bytes;
    const char *index;
    bool listing;
    enum file_symlinks symlinks;
    enum file_dotfiles dotfiles;
    const char *mime_types; /* the path of a file; NULL: none */
    const char *charset;    /* "": none */
    struct option_list headers, cache_rules, error_pages;
    const char *spa; /* NULL: off */
    bool no_etag;
    enum site_server_header server_header;
    const char *user;       /* NAME or NAME:GROUP; NULL: stay who we are */
    const char *access_log; /* a path, or "-"; NULL: none */
    enum access_format log_format;
    uint64_t grace_ms;
    bool list_models, version, help; /* as the result of options_parse says */
    const char *root;
};

enum options_result {
    OPTIONS_RUN,
    OPTIONS_LIST_MODELS, /* print the models and exit 0 */
    OPTIONS_VERSION,
    OPTIONS_HELP,
    OPTIONS_ERROR /* one line says what is wrong, naming it: exit 2 */
};

/* Reads the command line, then the environment (TETRAD_NAME) for what the command line
 * leaves open. May reorder argv. On OPTIONS_ERROR `error` holds the line without a
 * newline. Whatever the result, options_free is to be called. */
enum options_result options_parse(struct options *options, int argc, char **argv,
                                  char *error, size_t error_room) MUST_CHECK;

void options_free(struct options *options);

/* The text of --help, from the same table that is parsed. */
void options_print_help(FILE *to);

#endif
