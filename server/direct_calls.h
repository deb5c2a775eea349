/* The three system calls of a request, without the C library's wrapper, where each is a
 * cancellation point: in a process with threads that costs more instructions than the call
 * itself does outside the kernel, and no thread here is ever cancelled. The arguments, errno
 * and results are those of recv(2), send(2) and epoll_wait(2). A sanitizer watches the wrappers,
 * so its builds use them. It must never know what is received or sent. */
#ifndef TETRAD_DIRECT_CALLS_H
#define TETRAD_DIRECT_CALLS_H

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DIRECT_CALLS_WRAPPED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DIRECT_CALLS_WRAPPED 1
#endif

static inline ssize_t direct_recv(int fd, void *to, size_t room, int flags)
{
#ifdef DIRECT_CALLS_WRAPPED
    return recv(fd, to, room, flags);
#else
    return syscall(SYS_recvfrom, fd, to, room, flags, NULL, NULL);
#endif
}

static inline ssize_t direct_send(int fd, const void *from, size_t count, int flags)
{
#ifdef DIRECT_CALLS_WRAPPED
    return send(fd, from, count, flags);
#else
    return syscall(SYS_sendto, fd, from, count, flags, NULL, 0);
#endif
}

static inline int direct_epoll_wait(int fd, struct epoll_event *events, int count,
                                    int timeout_ms)
{
#ifdef DIRECT_CALLS_WRAPPED
    return epoll_wait(fd, events, count, timeout_ms);
#elif defined(SYS_epoll_wait)
    return (int)syscall(SYS_epoll_wait, fd, events, count, timeout_ms);
#else
    return (int)syscall(SYS_epoll_pwait, fd, events, count, timeout_ms, NULL, 0);
#endif
}

#endif
