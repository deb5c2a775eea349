/* An address to listen on, as users write it: "127.0.0.1", "::", "fe80::1%eth0",
 * "unix:PATH". No name is ever looked up. It must never know a socket. */
#ifndef TETRAD_BIND_ADDRESS_H
#define TETRAD_BIND_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "attributes.h"

struct bind_address {
    struct sockaddr_storage storage;
    socklen_t len;
};

/* 0, or -EINVAL. The port is ignored by a unix address. */
int bind_address_parse(struct bind_address *address, const char *text,
                       unsigned port) MUST_CHECK;

/* The path of a unix address; NULL: another family. Borrowed from the address. */
const char *bind_address_path(const struct bind_address *address);

unsigned bind_address_port(const struct bind_address *address); /* 0 for unix */
void bind_address_set_port(struct bind_address *address, unsigned port);
bool bind_address_is_loopback(const struct bind_address *address); /* unix: true */

/* "127.0.0.1:8080", "[::1]:8080" or "unix:PATH", for messages and URLs. */
enum { BIND_ADDRESS_TEXT_MAX = 128 };
void bind_address_text(const struct bind_address *address, char *to, size_t room);

#endif
