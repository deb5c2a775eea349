/* What the modes of floor share. A mode owns how connections are waited for and nothing
 * else; it must never know what the response says. */
#ifndef FLOOR_H
#define FLOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    FLOOR_BACKLOG = 4096,
    FLOOR_INPUT_MAX = 4096 /* a read of more is answered more than once */
};

/* Head and body, whole; set before anything is served. */
struct floor_response {
    const char *path; /* of the body */
    char *base;
    size_t head_len, len;
};
extern struct floor_response floor_response;

/* How the loops of our own send the last `owed` bytes of the response, or the first of
 * them; as send(2) returns. From memory, unless a mode says otherwise. */
extern ssize_t (*floor_send)(int fd, size_t owed);

/* Where the loops, which have one thread, read to: nobody looks at what arrived. */
extern char floor_input[FLOOR_INPUT_MAX];

/* Says errno and ends the program. */
_Noreturn void floor_die(const char *what);

/* Zeroed; never NULL. The caller owns it. */
void *floor_allocate(size_t size);

/* A connection of a loop of our own: how many of the response's bytes are still owed. */
struct floor_peer {
    int fd;
    size_t owed;
};

/* A new connection, not blocking; negative if there is none. */
int floor_accept(int listener);

/* Takes what can be read and sent without waiting; false when the connection is over. One
 * read, unless `again` says that more may have come without an event of its own. */
bool floor_step(struct floor_peer *peer, bool again);

/* The modes. They return only when a signal told them to end. */
void floor_serve_epoll(int listener);
void floor_serve_epoll_sendfile(int listener);
void floor_serve_epoll_memfd(int listener);
void floor_serve_uv(int listener);
void floor_serve_uv_tcp(int listener);
void floor_serve_threads(int listener);
void floor_serve_threads_batch(int listener);
void floor_serve_processes(int listener);

#endif
