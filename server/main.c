/* The program: the order of start-up, what is said about it, and the exit status. It must
 * never know how a model serves, or a word of HTTP. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "access_log.h"
#include "bind_address.h"
#include "http_conn.h"
#include "identity.h"
#include "listener.h"
#include "log.h"
#include "model.h"
#include "options.h"
#include "signals.h"
#include "site.h"
#include "site_setup.h"

enum {
    EXIT_USAGE = 2,
    DESCRIPTORS_MIN = 48,
    DESCRIPTORS_RESERVED = 64, /* not for connections: files, listeners, pollers */
    /* The limit is not raised further: a few systems allow 2^30 and more. */
    DESCRIPTORS_MOST = 1 << 20,
    ERROR_MAX = 512,
    /* Of the ready line; together a log line's length. */
    ROOT_TEXT_MAX = 512,
    URLS_MAX = 512
};

/* A closed standard stream would give its number to a socket, and then the log would be
 * written to a client. */
static int open_standard_streams(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd < 0) {
        return -errno;
    }
    close(fd);
    return 0;
}

/* What was printed reached its reader, or the exit status says that it did not. */
static int printed(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return EXIT_SUCCESS;
    }
    log_write(LOG_LEVEL_ERROR, "cannot write to standard output: %s", strerror(errno));
    return EXIT_FAILURE;
}

static int print_help(void)
{
    options_print_help(stdout);
    return printed();
}

static int print_version(void)
{
    printf("tetrad %s (llhttp %s, libuv %s)\n", PACKAGE_VERSION, LLHTTP_VERSION_TEXT,
           LIBUV_VERSION_TEXT);
    return printed();
}

static int print_models(void)
{
    for (const struct model *const *model = model_table; *model != NULL; model++) {
        printf("%s\t%s\n", (*model)->name, (*model)->summary);
    }
    return printed();
}

/* NULL after saying which models there are. */
static const struct model *find_model(const char *name)
{
    char names[ERROR_MAX] = "";
    size_t len = 0;

    for (const struct model *const *model = model_table; *model != NULL; model++) {
        if (strcmp((*model)->name, name) == 0) {
            return *model;
        }
        len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
                                len > 0 ? ", " : "", (*model)->name);
        if (len >= sizeof(names)) {
            len = sizeof(names) - 1;
        }
    }
    log_write(LOG_LEVEL_ERROR, "--model '%.100s': no such model; there are: %s", name,
              names);
    return NULL;
}

/* Raises the limit as far as it goes and returns it. The soft limit is commonly 1024, for
 * the sake of programs that use select(2); this one does not, and each connection needs a
 * descriptor. */
static rlim_t raise_descriptors(void)
{
    struct rlimit limit;
    struct rlimit raised;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
        return DESCRIPTORS_MIN;
    }
    raised = limit;
    raised.rlim_cur =
        limit.rlim_max < DESCRIPTORS_MOST ? limit.rlim_max : DESCRIPTORS_MOST;
    if (raised.rlim_cur <= limit.rlim_cur || setrlimit(RLIMIT_NOFILE, &raised) < 0) {
        return limit.rlim_cur;
    }
    return raised.rlim_cur;
}

/* Sets options->max_connections; false after saying why it cannot be. */
static bool settle_connections(struct options *options, const struct model *model)
{
    rlim_t descriptors = raise_descriptors();
    rlim_t reserved = DESCRIPTORS_RESERVED;
    rlim_t most;

    if (descriptors < DESCRIPTORS_MIN) {
        log_write(LOG_LEVEL_ERROR,
                  "the limit of %llu open descriptors is too low: at least %d are needed "
                  "(ulimit -n)",
                  (unsigned long long)descriptors, DESCRIPTORS_MIN);
        return false;
    }
    if (reserved > descriptors * 2 / 3) {
        reserved = descriptors * 2 / 3;
    }
    most = descriptors - reserved;
    if (most > INT_MAX) {
        most = INT_MAX;
    }
    if (options->max_connections > most) {
        log_write(LOG_LEVEL_ERROR,
                  "--max-connections %u: the limit of %llu open descriptors allows %llu "
                  "(ulimit -n)",
                  options->max_connections, (unsigned long long)descriptors,
                  (unsigned long long)most);
        return false;
    }
    if (options->max_connections > 0) {
        return true;
    }
    options->max_connections = (unsigned)most;
    if (model->connections_max > 0 && options->max_connections > model->connections_max) {
        options->max_connections = model->connections_max;
    }
    return true;
}

/* True if nobody but this machine can connect, and over TCP, where that may be news. */
static bool only_loopback(const struct options *options)
{
    bool over_tcp = false;

    for (unsigned i = 0; i < options->binds.count; i++) {
        struct bind_address address;

        if (bind_address_parse(&address, options->binds.values[i], 0) < 0 ||
            !bind_address_is_loopback(&address)) {
            return false;
        }
        if (bind_address_path(&address) == NULL) {
            over_tcp = true;
        }
    }
    return over_tcp;
}

/* The ready line, which scripts wait for, and what a newcomer may want to know. */
static void announce(const struct options *options, const struct server *server)
{
    char urls[URLS_MAX] = "";
    char *root = realpath(options->root, NULL);
    size_t len = 0;

    for (unsigned i = 0; listener_url(server->listener, i) != NULL; i++) {
        int added = snprintf(urls + len, sizeof(urls) - len, "%s%s", i > 0 ? " and " : "",
                             listener_url(server->listener, i));

        len = (size_t)added < sizeof(urls) - len ? len + (size_t)added : sizeof(urls) - 1;
    }
    if (options->spa != NULL && !site_has_spa(server->site)) {
        log_write(LOG_LEVEL_INFO,
                  "--spa=%.*s: no such file yet, so that missing pages are 404",
                  ROOT_TEXT_MAX, options->spa);
    }
    if (options->spa == NULL && !options->listing && !site_has_index(server->site)) {
        log_write(
            LOG_LEVEL_INFO,
            "%.*s has no index file (%s), so that / is not found; --index names one, "
            "--listing shows what is there",
            ROOT_TEXT_MAX, options->root,
            *options->index != '\0' ? options->index : "none is set");
    }
    if (geteuid() == 0) {
        log_write(LOG_LEVEL_WARN,
                  "running as root: a user with fewer rights is safer (--user)");
    }
    log_write(LOG_LEVEL_INFO, "%s, %u worker%s, serving %.*s at %s", options->model,
              options->workers, options->workers == 1 ? "" : "s", ROOT_TEXT_MAX,
              root != NULL ? root : options->root, urls);
    if (only_loopback(options)) {
        log_write(
            LOG_LEVEL_INFO,
            "reachable from this machine only; --bind 0.0.0.0 opens it to the network");
    }
    free(root);
}

/* False after saying why. */
static bool open_access_log(const struct options *options, struct server *server)
{
    int result;

    if (options->access_log == NULL) {
        return true;
    }
    result = access_log_open(&server->access_log, options->access_log);
    server->access_format = options->log_format;
    if (result == 0) {
        tzset(); /* which reads a file: not at the first line, nor in several threads */
        return true;
    }
    log_write(LOG_LEVEL_ERROR, "cannot open the access log %.500s: %s",
              options->access_log, strerror(-result));
    return false;
}

/* False after saying why. */
static bool become(const struct identity *identity, struct access_log *access_log)
{
    char error[ERROR_MAX];
    int result = 0;

    /* The user must be able to open it again. */
    if (access_log != NULL && geteuid() == 0) {
        result = access_log_give(access_log, identity->user, identity->group);
    }
    if (result < 0) {
        log_write(LOG_LEVEL_ERROR, "cannot give the access log to %.100s: %s",
                  identity->name, strerror(-result));
        return false;
    }
    if (identity_take(identity, error, sizeof(error)) == 0) {
        return true;
    }
    log_write(LOG_LEVEL_ERROR, "%s", error);
    return false;
}

/* The thread that writes the log comes last: it is to have the user's rights. False after
 * saying why there is none. */
static bool start_access_log(struct access_log *access_log, int *reopen_fd)
{
    int result = 0;

    if (access_log != NULL) {
        *reopen_fd = signals_user1_open();
        result = *reopen_fd;
    }
    if (result > 0) {
        result = access_log_start(access_log, *reopen_fd);
    }
    if (result < 0) {
        log_write(LOG_LEVEL_ERROR, "cannot write an access log: %s", strerror(-result));
    }
    return result == 0;
}

/* Opens what a server stands on, and runs the model on it; the exit status. What may need
 * root's rights comes first, the files that are served after they are dropped. */
static int serve(const struct options *options, const struct model *model,
                 const struct identity *identity, int stop_fd)
{
    const struct http_limits limits = {
        .header_timeout_ms = options->header_timeout_ms,
        .keepalive_timeout_ms = options->keepalive_timeout_ms,
        .body_timeout_ms = options->body_timeout_ms,
        .send_timeout_ms = options->send_timeout_ms,
        .max_requests = options->max_requests,
    };
    struct server server = { .options = options, .limits = &limits, .stop_fd = stop_fd };
    struct site_setup setup = { NULL, NULL };
    char error[ERROR_MAX];
    int status = EXIT_FAILURE, reopen_fd = -1;

    if (listener_open(&server.listener, options, error, sizeof(error)) < 0) {
        log_write(LOG_LEVEL_ERROR, "%s", error);
        return EXIT_FAILURE;
    }
    if (!open_access_log(options, &server) ||
        (options->user != NULL && !become(identity, server.access_log))) {
        goto out;
    }
    if (site_setup_open(&setup, options, error, sizeof(error)) != 0) {
        log_write(LOG_LEVEL_ERROR, "%s", error);
        goto out;
    }
    server.site = setup.site;
    if (!start_access_log(server.access_log, &reopen_fd)) {
        goto out;
    }
    announce(options, &server);
    status = model->run(&server);
out:
    listener_close(server.listener, true);
    access_log_close(server.access_log);
    if (reopen_fd >= 0) {
        close(reopen_fd);
    }
    site_setup_close(&setup);
    return status;
}

/* How long after the stop the process may live: the time to finish, and some to end. */
static unsigned patience_s(const struct options *options)
{
    enum { TO_END_S = 2 };
    uint64_t grace_s = (options->grace_ms + 999) / 1000;

    return grace_s < UINT_MAX - TO_END_S ? (unsigned)grace_s + TO_END_S : UINT_MAX;
}

/* The order matters: signals before anything that a signal must be able to end in good
 * order, limits before anything that is sized by them. The stop descriptor lives as long
 * as the process, whose handler may use it at any time. */
static int start(struct options *options)
{
    const struct model *model = find_model(options->model);
    struct identity identity;
    char error[ERROR_MAX];
    int stop_fd;

    if (model == NULL) {
        return EXIT_USAGE;
    }
    if (options->user != NULL &&
        identity_find(&identity, options->user, error, sizeof(error)) < 0) {
        log_write(LOG_LEVEL_ERROR, "%s", error);
        return EXIT_USAGE;
    }
    stop_fd = signals_open(patience_s(options));
    if (stop_fd < 0) {
        log_write(LOG_LEVEL_ERROR, "cannot watch for signals: %s", strerror(-stop_fd));
        return EXIT_FAILURE;
    }
    if (!settle_connections(options, model)) {
        return EXIT_FAILURE;
    }
    return serve(options, model, &identity, stop_fd);
}

/* Never calls setlocale: protocol and log are in the C locale. */
int main(int argc, char **argv)
{
    struct options options;
    char error[ERROR_MAX];
    int status = EXIT_FAILURE;

    if (open_standard_streams() < 0) {
        return EXIT_FAILURE;
    }
    switch (options_parse(&options, argc, argv, error, sizeof(error))) {
    case OPTIONS_RUN:
        status = start(&options);
        break;
    case OPTIONS_LIST_MODELS:
        status = print_models();
        break;
    case OPTIONS_VERSION:
        status = print_version();
        break;
    case OPTIONS_HELP:
        status = print_help();
        break;
    case OPTIONS_ERROR:
        log_write(LOG_LEVEL_ERROR, "%s", error);
        status = EXIT_USAGE;
        break;
    }
    options_free(&options);
    return status;
}
