/* Preloaded under a server by the tests: system calls that do less than they were asked
 * for, fail as real ones do, or tell another time. What they do, they really do: a short
 * send has sent those bytes. Each fault is switched on by a variable; see faults.py. It
 * must never know what the bytes mean, nor link with anything of the server's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { IOV_MOST = 64, INTERRUPTED_EACH = 8, FILES_MOST = 4096, MS = 1000000 };

static unsigned seed;        /* FAULT_SHORT: 0 is off */
static unsigned eof_each;    /* FAULT_EOF: each so manieth sendfile meets the end */
static unsigned accept_each; /* FAULT_ACCEPT: each so manieth accept fails */
static unsigned cold_ms;     /* FAULT_COLD: nothing is in memory, a read takes so long */
static atomic_uint *met; /* FAULT_MET: a file that is told of short receives, and sends */
static const int64_t *clock_jump; /* FAULT_CLOCK: the seconds in this file are added */
static atomic_uint calls, sendfiles, accepts;

/* Who polls which descriptor for what. */
static struct {
    int poller; /* 0: nobody */
    struct epoll_event event;
} polled[FILES_MOST];

/* The next function of that name: libc's, or a sanitizer's before it. */
#define REAL(name, result, ...)                                                          \
    static result (*real)(__VA_ARGS__);                                                  \
    if (real == NULL) {                                                                  \
        real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name);                           \
    }

static unsigned number(const char *name)
{
    const char *text = getenv(name);

    return text == NULL ? 0 : (unsigned)strtoul(text, NULL, 10);
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FAULT_CLOCK"), *told = getenv("FAULT_MET");

    seed = number("FAULT_SHORT");
    eof_each = number("FAULT_EOF");
    accept_each = number("FAULT_ACCEPT");
    cold_ms = number("FAULT_COLD");
    if (told != NULL) {
        int fd = open(told, O_RDWR | O_CLOEXEC);
        void *map =
            mmap(NULL, 2 * sizeof *met, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (map == MAP_FAILED) {
            _exit(99);
        }
        close(fd);
        met = map;
    }
    if (path != NULL) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        void *map = mmap(NULL, sizeof *clock_jump, PROT_READ, MAP_SHARED, fd, 0);

        if (map == MAP_FAILED) {
            _exit(99);
        }
        close(fd);
        clock_jump = map;
    }
}

/* The same in each run with one order of calls. */
static unsigned chance(void)
{
    uint64_t x = (uint64_t)seed << 32 | atomic_fetch_add(&calls, 1);

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (unsigned)(x ^ x >> 31);
}

/* How much of so many bytes is done: all of it, one byte, or something between. */
static size_t part(size_t count)
{
    unsigned kind;

    if (seed == 0 || count < 2) {
        return count;
    }
    kind = chance() % 4;
    return kind == 0 ? count : kind == 1 ? 1 : 1 + chance() % count;
}

int epoll_ctl(int poller, int operation, int fd, struct epoll_event *event)
{
    REAL("epoll_ctl", int, int, int, int, struct epoll_event *)

    if (fd >= 0 && fd < FILES_MOST) {
        polled[fd].poller = operation == EPOLL_CTL_DEL ? 0 : poller;
        if (event != NULL) {
            polled[fd].event = *event;
        }
    }
    return real(poller, operation, fd, event);
}

/* So much of what was asked for was done, because no more was there or fitted; and just
 * then more comes or fits, which who polls edges is told, as the kernel would. */
static ssize_t done(int fd, ssize_t n, size_t asked)
{
    int error = errno;

    if (seed != 0 && n > 0 && (size_t)n < asked && fd < FILES_MOST &&
        polled[fd].poller != 0) {
        struct epoll_event event = polled[fd].event;

        epoll_ctl(polled[fd].poller, EPOLL_CTL_MOD, fd, &event);
    }
    errno = error;
    return n;
}

/* A signal came before anything was done. Only who blocks meets that. */
static int interrupted(int fd, int flags)
{
    if (seed == 0 || (flags & MSG_DONTWAIT) != 0 || chance() % INTERRUPTED_EACH != 0 ||
        (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0) {
        return 0;
    }
    errno = EINTR;
    return 1;
}

/* So much of what could have been done was not. */
static size_t note(int kind, size_t wanted, size_t asked)
{
    if (met != NULL && asked < wanted) {
        atomic_fetch_add(&met[kind], 1);
    }
    return asked;
}

ssize_t recv(int fd, void *to, size_t room, int flags)
{
    REAL("recv", ssize_t, int, void *, size_t, int)

    return interrupted(fd, flags)
               ? -1
               : done(fd, real(fd, to, note(0, room, part(room)), flags), room);
}

ssize_t send(int fd, const void *from, size_t count, int flags)
{
    REAL("send", ssize_t, int, const void *, size_t, int)

    return interrupted(fd, flags)
               ? -1
               : done(fd, real(fd, from, note(1, count, part(count)), flags), count);
}

/* A server may go around the wrappers of the two. */
long syscall(long number, ...)
{
    long a[6];
    va_list list;
    REAL("syscall", long, long, ...)

    va_start(list, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(list, long);
    }
    va_end(list);
    switch (number) {
    case SYS_recvfrom:
        return recv((int)a[0], (void *)a[1], (size_t)a[2], (int)a[3]);
    case SYS_sendto:
        return send((int)a[0], (const void *)a[1], (size_t)a[2], (int)a[3]);
    default:
        return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    }
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct msghdr less = *message;
    struct iovec iov[IOV_MOST];
    size_t total = 0, left;
    REAL("sendmsg", ssize_t, int, const struct msghdr *, int)

    if (interrupted(fd, flags)) {
        return -1;
    }
    if (message->msg_iovlen > IOV_MOST || message->msg_controllen > 0) {
        return real(fd, message, flags);
    }
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        total += message->msg_iov[i].iov_len;
    }
    left = part(total);
    for (less.msg_iovlen = 0; left > 0; less.msg_iovlen++) {
        iov[less.msg_iovlen] = message->msg_iov[less.msg_iovlen];
        if (iov[less.msg_iovlen].iov_len > left) {
            iov[less.msg_iovlen].iov_len = left;
        }
        left -= iov[less.msg_iovlen].iov_len;
    }
    less.msg_iov = iov;
    return done(fd, real(fd, &less, flags), total);
}

ssize_t sendfile(int to, int from, off_t *offset, size_t count)
{
    REAL("sendfile", ssize_t, int, int, off_t *, size_t)

    if (eof_each > 0 && (atomic_fetch_add(&sendfiles, 1) + 1) % eof_each == 0) {
        return 0;
    }
    return interrupted(to, 0) ? -1 : done(to, real(to, from, offset, part(count)), count);
}

ssize_t sendfile64(int to, int from, off64_t *offset, size_t count)
    __attribute__((alias("sendfile")));

/* The slow disk that a cold page is read from. */
static void wait_for_disk(void)
{
    struct timespec wait = { cold_ms / 1000, cold_ms % 1000 * MS };

    if (cold_ms > 0) {
        nanosleep(&wait, NULL);
    }
}

ssize_t pread(int fd, void *to, size_t room, off_t offset)
{
    REAL("pread", ssize_t, int, void *, size_t, off_t)

    wait_for_disk();
    return real(fd, to, part(room), offset);
}

ssize_t pread64(int fd, void *to, size_t room, off64_t offset)
    __attribute__((alias("pread")));

ssize_t preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
    REAL("preadv2", ssize_t, int, const struct iovec *, int, off_t, int)

    if (cold_ms > 0 && (flags & RWF_NOWAIT) != 0) {
        errno = EAGAIN;
        return -1;
    }
    wait_for_disk();
    return real(fd, iov, count, offset, flags);
}

ssize_t preadv64v2(int fd, const struct iovec *iov, int count, off64_t offset, int flags)
    __attribute__((alias("preadv2")));

/* The connection stays in the queue, as it does where memory or descriptors are short. */
int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    static const int errors[] = { ECONNABORTED, EINTR,    ENOBUFS, EPROTO, ENOMEM,
                                  EMFILE,       ENETDOWN, ENFILE,  EPERM,  EHOSTUNREACH };
    unsigned turn = atomic_fetch_add(&accepts, 1);
    REAL("accept4", int, int, struct sockaddr *, socklen_t *, int)

    if (accept_each > 0 && turn % accept_each == 0) {
        errno = errors[turn / accept_each % (sizeof errors / sizeof *errors)];
        return -1;
    }
    return real(fd, address, length, flags);
}

static int64_t jump_of(clockid_t id)
{
    int wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_TAI;

    return clock_jump != NULL && wall ? *(const volatile int64_t *)clock_jump : 0;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    int error;
    REAL("clock_gettime", int, clockid_t, struct timespec *)

    error = real(id, now);
    now->tv_sec += jump_of(id);
    return error;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *to)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (to != NULL) {
        *to = now.tv_sec;
    }
    return now.tv_sec;
}
