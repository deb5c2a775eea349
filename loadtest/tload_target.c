/* Addresses, requests, and sockets that connect. */
#include "tload_target.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const size_t FILE_MOST = (size_t)1 << 30;

static int refuse(const char *what, const char *text)
{
    fprintf(stderr, "tload: %s: %s\n", what, text);
    return -1;
}

/* "http://host:port/path" in its parts. */
static int split_url(struct tload_target *target, const char *url)
{
    static const char scheme[] = "http://";
    const char *host, *end, *port;
    size_t host_size;

    if (strncmp(url, scheme, sizeof(scheme) - 1) != 0) {
        return refuse(url, "not a URL that begins with http://");
    }
    host = url + sizeof(scheme) - 1;
    end = host + strcspn(host, "/?#");
    if (*host == '[') {
        host++;
        host_size = strcspn(host, "]");
        port = host + host_size + 1;
        if (host + host_size >= end) {
            return refuse(url, "no host");
        }
    } else {
        host_size = strcspn(host, ":/?#");
        port = host + host_size;
    }
    if (host_size == 0 || (port < end && (*port != ':' || port + 1 == end))) {
        return refuse(url, "no host, or no port behind it");
    }
    target->host = strndup(host, host_size);
    target->port =
        port < end ? strndup(port + 1, (size_t)(end - port - 1)) : strdup("80");
    if (asprintf(&target->path, "%s%.*s", *end == '/' ? "" : "/", (int)strcspn(end, "#"),
                 end) < 0) {
        target->path = NULL;
    }
    return target->host && target->port && target->path ? 0 : refuse(url, "no memory");
}

static int resolve_unix(struct tload_target *target, const char *path)
{
    struct sockaddr_un *address = (struct sockaddr_un *)&target->address;

    if (strlen(path) >= sizeof(address->sun_path)) {
        return refuse(path, strerror(ENAMETOOLONG));
    }
    address->sun_family = AF_UNIX;
    strcpy(address->sun_path, path);
    target->address_size = sizeof(*address);
    return 0;
}

static int resolve(struct tload_target *target)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
    struct addrinfo *found;
    int error = getaddrinfo(target->host, target->port, &hints, &found);

    if (error) {
        return refuse(target->host, gai_strerror(error));
    }
    memcpy(&target->address, found->ai_addr, found->ai_addrlen);
    target->address_size = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    const struct sockaddr_in *inet = (const struct sockaddr_in *)address;

    return address->ss_family == AF_INET && ntohl(inet->sin_addr.s_addr) >> 24 == 127;
}

/* A whole file, in memory that the caller frees. */
static char *read_file(const char *path, size_t *size)
{
    struct stat status;
    char *bytes = NULL;
    size_t done = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &status) < 0) {
        goto out;
    }
    if (!S_ISREG(status.st_mode) || (size_t)status.st_size > FILE_MOST) {
        errno = EINVAL;
        goto out;
    }
    *size = (size_t)status.st_size;
    bytes = malloc(*size + 1);
    while (bytes && done < *size) {
        ssize_t count = read(fd, bytes + done, *size - done);

        if (count <= 0) {
            errno = count < 0 ? errno : EIO;
            free(bytes);
            bytes = NULL;
        } else {
            done += (size_t)count;
        }
    }
out:
    if (!bytes) {
        refuse(path, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return bytes;
}

static void write_host(FILE *stream, const struct tload_target *target)
{
    bool six = strchr(target->host, ':');

    fprintf(stream, "Host: %s%s%s", six ? "[" : "", target->host, six ? "]" : "");
    if (strcmp(target->port, "80") != 0) {
        fprintf(stream, ":%s", target->port);
    }
    fputs("\r\n", stream);
}

static bool has_field(const struct tload_options *options, const char *name)
{
    for (unsigned i = 0; i < options->header_count; i++) {
        if (strncasecmp(options->headers[i], name, strlen(name)) == 0) {
            return true;
        }
    }
    return false;
}

static int write_request(struct tload_target *target, const struct tload_options *options)
{
    FILE *stream = open_memstream(&target->request, &target->request_size);

    if (!stream) {
        return refuse("the request", strerror(errno));
    }
    fprintf(stream, "GET %s HTTP/1.%d\r\n", target->path, options->old_http ? 0 : 1);
    if (options->zb) {
        /* The bytes of then, which had no port in the host. */
        fprintf(stream, "User-Agent: ZeusBench/1.0\r\n%sHost: %s\r\nAccept: */*\r\n",
                options->close ? "" : "Connection: Keep-Alive\r\n", target->host);
    } else {
        if (!has_field(options, "Host:")) {
            write_host(stream, target);
        }
        if (options->close && !options->old_http) {
            fputs("Connection: close\r\n", stream);
        } else if (options->old_http && !options->close) {
            fputs("Connection: Keep-Alive\r\n", stream);
        }
        for (unsigned i = 0; i < options->header_count; i++) {
            fprintf(stream, "%s\r\n", options->headers[i]);
        }
    }
    fputs("\r\n", stream);
    return fclose(stream) == 0 ? 0 : refuse("the request", strerror(errno));
}

static int make_request(struct tload_target *target, const struct tload_options *options)
{
    if (!options->request_file) {
        return write_request(target, options);
    }
    target->request = read_file(options->request_file, &target->request_size);
    if (!target->request) {
        return -1;
    }
    if (target->request_size == 0) {
        return refuse(options->request_file, "no request in it");
    }
    target->of_head =
        target->request_size > 5 && memcmp(target->request, "HEAD ", 5) == 0;
    return 0;
}

static int name_parts(struct tload_target *target, const struct tload_options *options)
{
    if (!options->zb) {
        return split_url(target, options->url);
    }
    target->host = strdup(options->host);
    target->port = strdup(options->port);
    target->path = strdup(options->path);
    return target->host && target->port && target->path ? 0 : refuse("zb", "no memory");
}

int tload_target_open(struct tload_target *target, const struct tload_options *options)
{
    *target = (struct tload_target){ .sources = options->sources };
    if (name_parts(target, options) < 0 || make_request(target, options) < 0) {
        return -1;
    }
    if ((options->unix_path ? resolve_unix(target, options->unix_path)
                            : resolve(target)) < 0) {
        return -1;
    }
    if (target->sources > 0 && !is_loopback(&target->address)) {
        return refuse("--sources", "only for a server at 127.0.0.1 or its like");
    }
    if (options->verify) {
        target->verify = read_file(options->verify, &target->verify_size);
        return target->verify ? 0 : -1;
    }
    return 0;
}

void tload_target_close(struct tload_target *target)
{
    free(target->host);
    free(target->port);
    free(target->path);
    free(target->request);
    free(target->verify);
}

/* The port is chosen when it connects, so that each source has all ports for each
 * server. */
static int bind_source(int fd, unsigned number)
{
    struct sockaddr_in source = { .sin_family = AF_INET };
    int on = 1;

    source.sin_addr.s_addr = htonl(INADDR_LOOPBACK + number);
    if (setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on)) < 0 ||
        bind(fd, (struct sockaddr *)&source, sizeof(source)) < 0) {
        return -errno;
    }
    return 0;
}

int tload_target_connect(const struct tload_target *target, unsigned number,
                         bool *connected)
{
    const struct sockaddr *address = (const struct sockaddr *)&target->address;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int error = fd < 0 ? -errno : 0, on = 1;

    if (fd >= 0 && address->sa_family != AF_UNIX) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    if (!error && target->sources > 0) {
        error = bind_source(fd, number % target->sources);
    }
    if (!error) {
        *connected = connect(fd, address, target->address_size) == 0;
        error = *connected || errno == EINPROGRESS ? 0 : -errno;
    }
    if (error) {
        if (fd >= 0) {
            close(fd);
        }
        return error;
    }
    return fd;
}
