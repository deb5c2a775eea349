/* Preloaded under a server whose patience with a disk is measured: no content is in memory.
 * A read that must not wait fails with EAGAIN, one that may takes COLD_MS milliseconds. What
 * is opened is as warm as it really is. It must never know which file is read. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>

/* The next function of that name. */
#define REAL(name, result, ...)                                                          \
    static result (*real)(__VA_ARGS__);                                                  \
    if (real == NULL) {                                                                  \
        real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name);                           \
    }

static void wait_for_disk(void)
{
    const char *text = getenv("COLD_MS");
    long ms = text == NULL ? 0 : strtol(text, NULL, 10);
    struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    (void)nanosleep(&time, NULL);
}

ssize_t pread(int fd, void *to, size_t room, off_t offset)
{
    REAL("pread", ssize_t, int, void *, size_t, off_t)

    wait_for_disk();
    return real(fd, to, room, offset);
}

ssize_t pread64(int fd, void *to, size_t room, off64_t offset)
    __attribute__((alias("pread")));

ssize_t preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
    REAL("preadv2", ssize_t, int, const struct iovec *, int, off_t, int)

    if ((flags & RWF_NOWAIT) != 0) {
        errno = EAGAIN;
        return -1;
    }
    wait_for_disk();
    return real(fd, iov, count, offset, flags);
}

ssize_t preadv64v2(int fd, const struct iovec *iov, int count, off64_t offset, int flags)
    __attribute__((alias("preadv2")));
