/* floor MODE FILE: what a connection model costs before it serves anything. A bare loop
 * that answers every read that brought data with the same bytes, a head as tetrad sends
 * for FILE and FILE's content, by one send or as the mode says. What it leaves out, on
 * purpose: it parses nothing (no method, no target, no end of a request), opens and checks
 * no file after its start, never renews its Date, has no time-out, no limit and no log, and
 * closes only when the client does. It must never learn any of that: the rest is measured
 * by it. */
#include "floor.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    EXIT_USAGE = 2,
    NOTSENT_LOWAT =
        128 * 1024, /* as tetrad sets it: how large a response leaves in parts */
    HEAD_MAX = 1024,
    FILE_MAX = 1 << 30, /* a send's length is an int in some modes */
    PORT_MAX = 65535
};

struct floor_response floor_response;

void floor_die(const char *what)
{
    fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

void *floor_allocate(size_t size)
{
    void *found = calloc(1, size);

    if (found == NULL) {
        floor_die("memory");
    }
    return found;
}

/* ---- The response */

static void format_date(time_t when, char *to, size_t room)
{
    struct tm parts;

    gmtime_r(&when, &parts);
    (void)strftime(to, room, "%a, %d %b %Y %H:%M:%S GMT", &parts);
}

/* The fields that tetrad sends, in number, order and length. */
static size_t put_head(char *to, const struct stat *status)
{
    uint64_t mtime_ns =
        (uint64_t)status->st_mtim.tv_sec * 1000000000 + (uint64_t)status->st_mtim.tv_nsec;
    char now[64], modified[64];
    int n;

    format_date(time(NULL), now, sizeof now);
    format_date(status->st_mtim.tv_sec, modified, sizeof modified);
    n = snprintf(to, HEAD_MAX,
                 "HTTP/1.1 200 OK\r\n"
                 "Date: %s\r\n"
                 "Cache-Control: no-cache\r\n"
                 "ETag: \"%llx-%llx\"\r\n"
                 "Last-Modified: %s\r\n"
                 "Accept-Ranges: bytes\r\n"
                 "X-Content-Type-Options: nosniff\r\n"
                 "Content-Type: application/octet-stream\r\n"
                 "Content-Length: %lld\r\n\r\n",
                 now, (unsigned long long)mtime_ns, (unsigned long long)status->st_size,
                 modified, (long long)status->st_size);
    return (size_t)n;
}

static void prepare_response(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    size_t end;

    if (fd < 0 || fstat(fd, &status) < 0) {
        floor_die(path);
    }
    if (status.st_size > FILE_MAX) {
        errno = EFBIG;
        floor_die(path);
    }
    floor_response.base = floor_allocate(HEAD_MAX + (size_t)status.st_size);
    floor_response.path = path;
    floor_response.head_len = put_head(floor_response.base, &status);
    floor_response.len = floor_response.head_len;
    end = floor_response.len + (size_t)status.st_size;
    while (floor_response.len < end) {
        ssize_t n =
            read(fd, floor_response.base + floor_response.len, end - floor_response.len);

        if (n <= 0) {
            errno = n == 0 ? EIO : errno;
            floor_die(path);
        }
        floor_response.len += (size_t)n;
    }
    close(fd);
}

/* ---- The program */

static const struct mode {
    const char *name;
    void (*serve)(int listener);
    bool blocks;
} modes[] = {
    { "epoll", floor_serve_epoll, false },
    { "epoll-sendfile", floor_serve_epoll_sendfile, false },
    { "epoll-memfd", floor_serve_epoll_memfd, false },
    { "uv", floor_serve_uv, false },
    { "uv-tcp", floor_serve_uv_tcp, false },
    { "threads", floor_serve_threads, true },
    { "threads-batch", floor_serve_threads_batch, true },
    { "processes", floor_serve_processes, true },
};

enum { MODES = sizeof modes / sizeof *modes };

static void refuse_usage(void)
{
    fprintf(stderr, "usage: floor MODE FILE [--port N]\nmodes:");
    for (size_t i = 0; i < MODES; i++) {
        fprintf(stderr, " %s", modes[i].name);
    }
    fprintf(stderr, "\n");
    exit(EXIT_USAGE);
}

static const struct mode *find_mode(const char *name)
{
    for (size_t i = 0; i < MODES; i++) {
        if (strcmp(modes[i].name, name) == 0) {
            return &modes[i];
        }
    }
    refuse_usage();
    return NULL;
}

static int parse_port(const char *text)
{
    char *end;
    long port = strtol(text, &end, 10);

    if (end == text || *end != '\0' || port < 0 || port > PORT_MAX) {
        refuse_usage();
    }
    return (int)port;
}

/* The options are those of tetrad's listener, and accepted sockets inherit them. */
static int listen_at(struct sockaddr_in *address, bool blocks)
{
    static const struct {
        int level, name, value;
    } options[] = { { SOL_SOCKET, SO_REUSEADDR, 1 },
                    { IPPROTO_TCP, TCP_NODELAY, 1 },
                    { IPPROTO_TCP, TCP_NOTSENT_LOWAT, NOTSENT_LOWAT } };
    int fd =
        socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (blocks ? 0 : SOCK_NONBLOCK), 0);
    socklen_t len = sizeof *address;

    if (fd < 0) {
        floor_die("socket");
    }
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                       sizeof options[i].value) < 0) {
            floor_die("setsockopt");
        }
    }
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) < 0 ||
        listen(fd, FLOOR_BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)address, &len) < 0) {
        floor_die("listen");
    }
    return fd;
}

static void leave(int number)
{
    (void)number;
    _exit(EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const struct mode *mode;
    int listener;

    if (argc != 3 && (argc != 5 || strcmp(argv[3], "--port") != 0)) {
        refuse_usage();
    }
    mode = find_mode(argv[1]);
    address.sin_port = htons((uint16_t)(argc == 5 ? parse_port(argv[4]) : 0));
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, leave);
    signal(SIGINT, leave);
    prepare_response(argv[2]);
    listener = listen_at(&address, mode->blocks);
    fprintf(stderr, "floor: %s, 1 worker, serving %s at http://127.0.0.1:%d\n",
            mode->name, argv[2], ntohs(address.sin_port));
    mode->serve(listener);
    return EXIT_SUCCESS;
}
