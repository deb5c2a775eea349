/* The list of runtimes, and what can be said with the table alone. It must never know how
 * one of them works. */
#include "rt.h"

#include <errno.h>

#include <fcntl.h>
#include <unistd.h>

unsigned rt_kthreads = 2;

const struct rt *const rt_table[] = {
    &rt_pthread, &rt_green, &rt_hybrid, &rt_process, &rt_pth, &rt_st, &rt_nspr, NULL,
};

int rt_read_all(const struct rt *rt, struct rt_descriptor *descriptor, void *bytes,
                size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t count = rt->read(descriptor, (char *)bytes + done, size - done);

        if (count <= 0) {
            return count < 0 ? (int)count : -EPIPE;
        }
        done += (size_t)count;
    }
    return 0;
}

int rt_write_all(const struct rt *rt, struct rt_descriptor *descriptor, const void *bytes,
                 size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t count = rt->write(descriptor, (const char *)bytes + done, size - done);

        if (count < 0) {
            return (int)count;
        }
        done += (size_t)count;
    }
    return 0;
}

int rt_pipe(const struct rt *rt, struct rt_descriptor ends[2])
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0) {
        return -errno;
    }
    rt->open(&ends[0], fds[0]);
    rt->open(&ends[1], fds[1]);
    return 0;
}
