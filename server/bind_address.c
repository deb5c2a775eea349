/* Addresses from text and back, without a look-up: a server must not start differently
 * because a name server answers differently. It must never know a socket. */
#include "bind_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

static const char unix_prefix[] = "unix:";

_Static_assert(sizeof(unix_prefix) + sizeof(((struct sockaddr_un *)0)->sun_path) <=
                   BIND_ADDRESS_TEXT_MAX,
               "the longest path must fit a text");

static int parse_unix(struct bind_address *address, const char *path)
{
    struct sockaddr_un *to = (struct sockaddr_un *)&address->storage;
    size_t len = strlen(path);

    if (len == 0 || len >= sizeof(to->sun_path)) {
        return -EINVAL;
    }
    to->sun_family = AF_UNIX;
    memcpy(to->sun_path, path, len + 1);
    address->len = sizeof(*to);
    return 0;
}

/* By getaddrinfo for the zone of a link-local address ("%eth0"). */
static int parse_ipv6(struct bind_address *address, const char *text)
{
    struct addrinfo hints = { .ai_family = AF_INET6,
                              .ai_socktype = SOCK_STREAM,
                              .ai_flags = AI_NUMERICHOST | AI_PASSIVE };
    struct addrinfo *found;

    if (getaddrinfo(text, NULL, &hints, &found) != 0) {
        return -EINVAL;
    }
    memcpy(&address->storage, found->ai_addr, found->ai_addrlen);
    address->len = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

/* inet_pton, because it takes four decimal numbers only: "1" is no address. */
static int parse_ipv4(struct bind_address *address, const char *text)
{
    struct sockaddr_in *to = (struct sockaddr_in *)&address->storage;

    to->sin_family = AF_INET;
    address->len = sizeof(*to);
    return inet_pton(AF_INET, text, &to->sin_addr) == 1 ? 0 : -EINVAL;
}

int bind_address_parse(struct bind_address *address, const char *text, unsigned port)
{
    int result;

    *address = (struct bind_address){ .len = 0 };
    if (strncmp(text, unix_prefix, sizeof(unix_prefix) - 1) == 0) {
        return parse_unix(address, text + sizeof(unix_prefix) - 1);
    }
    result =
        strchr(text, ':') != NULL ? parse_ipv6(address, text) : parse_ipv4(address, text);
    if (result == 0) {
        bind_address_set_port(address, port);
    }
    return result;
}

const char *bind_address_path(const struct bind_address *address)
{
    if (address->storage.ss_family != AF_UNIX) {
        return NULL;
    }
    return ((const struct sockaddr_un *)&address->storage)->sun_path;
}

unsigned bind_address_port(const struct bind_address *address)
{
    switch (address->storage.ss_family) {
    case AF_INET:
        return ntohs(((const struct sockaddr_in *)&address->storage)->sin_port);
    case AF_INET6:
        return ntohs(((const struct sockaddr_in6 *)&address->storage)->sin6_port);
    default:
        return 0;
    }
}

void bind_address_set_port(struct bind_address *address, unsigned port)
{
    if (address->storage.ss_family == AF_INET) {
        ((struct sockaddr_in *)&address->storage)->sin_port = htons((uint16_t)port);
    } else if (address->storage.ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)&address->storage)->sin6_port = htons((uint16_t)port);
    }
}

bool bind_address_is_loopback(const struct bind_address *address)
{
    if (address->storage.ss_family == AF_INET) {
        const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)&address->storage;

        return ntohl(ipv4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    if (address->storage.ss_family == AF_INET6) {
        const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)&address->storage;

        return IN6_IS_ADDR_LOOPBACK(&ipv6->sin6_addr);
    }
    return true;
}

void bind_address_text(const struct bind_address *address, char *to, size_t room)
{
    const char *path = bind_address_path(address);
    char host[INET6_ADDRSTRLEN + 1 + 16]; /* a zone is an interface's name */
    bool ipv6 = address->storage.ss_family == AF_INET6;

    if (path != NULL) {
        snprintf(to, room, "%s%s", unix_prefix, path);
        return;
    }
    if (getnameinfo((const struct sockaddr *)&address->storage, address->len, host,
                    sizeof(host), NULL, 0, NI_NUMERICHOST) != 0) {
        snprintf(host, sizeof(host), "?");
    }
    snprintf(to, room, ipv6 ? "[%s]:%u" : "%s:%u", host, bind_address_port(address));
}
