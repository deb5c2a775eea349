/* A byte transport under a connection. The plain socket is one; TLS and io_uring can be
 * others. It must never know what the bytes mean. EINTR and SIGPIPE end here. */
#ifndef TETRAD_TRANSPORT_H
#define TETRAD_TRANSPORT_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Results below 0. */
enum {
    TRANSPORT_WAIT_READ =
        -1, /* nothing to read now (or the socket's time-out tick passed) */
    TRANSPORT_WAIT_WRITE = -2, /* nothing can be sent now (or the tick passed) */
    TRANSPORT_BROKEN = -3,     /* reset or any other error: only close is left */
    TRANSPORT_SHORT_FILE =
        -4 /* sendfile only: the file ended before the bytes that were announced */
};

/* Room for a peer's address as text, of any family. */
enum { TRANSPORT_PEER_MAX = 48 };

struct transport;

struct transport_ops {
    /* Bytes read, 0 at the end of the stream, or a result above. wait false: does not
     * sleep even on a blocking socket. */
    ssize_t (*recv)(struct transport *transport, void *to, size_t room, bool wait);
    /* Bytes taken. more: further bytes follow at once, so the last segment may be held
     * back. */
    ssize_t (*sendv)(struct transport *transport, const struct iovec *iov, int count,
                     bool more);
    /* Bytes taken from the file; NULL: the caller must copy instead. */
    ssize_t (*sendfile)(struct transport *transport, int fd, off_t offset, size_t count);
    /* False: a send would take little or nothing now, and the wait for room will end. NULL:
     * only a send tells. */
    bool (*has_room)(const struct transport *transport);
    /* True if received bytes are held back inside the transport (TLS); NULL: never. */
    bool (*pending)(const struct transport *transport);
    /* Bytes sent but not acknowledged by the peer; -1: unknown. */
    ssize_t (*unacked)(const struct transport *transport);
    /* Writes the peer's address, for the log; NULL: nobody knows it. */
    void (*peer)(const struct transport *transport, char text[TRANSPORT_PEER_MAX]);
    /* Shuts the sending side down: 0, or TRANSPORT_BROKEN. */
    int (*shutdown)(struct transport *transport);
    /* Closes and frees whatever the transport owns. */
    void (*close)(struct transport *transport);
};

struct transport {
    const struct transport_ops *ops;
    unsigned tick_ms; /* how long a send may sleep without a byte; 0: never */
};

#endif
