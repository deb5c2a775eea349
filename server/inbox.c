/* A ring of descriptors under a mutex, and an eventfd that is readable exactly while the
 * ring holds something: both change under the lock, so no wake-up is lost or left over.
 * It must never know a model. */
#include "inbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { INBOX_FIRST_ROOM = 64 }; /* doubled when full; a power of two */

struct inbox {
    pthread_mutex_t lock;
    int wake_fd; /* owned */
    int *fds;    /* owned ring of `room` */
    size_t room, first, count;
};

struct inbox *inbox_open(void)
{
    struct inbox *inbox = calloc(1, sizeof(*inbox));

    if (inbox == NULL) {
        return NULL;
    }
    inbox->room = INBOX_FIRST_ROOM;
    inbox->fds = calloc(inbox->room, sizeof(*inbox->fds));
    inbox->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (inbox->fds == NULL || inbox->wake_fd < 0) {
        int saved_errno = inbox->fds == NULL ? ENOMEM : errno;

        if (inbox->wake_fd >= 0) {
            close(inbox->wake_fd);
        }
        free(inbox->fds);
        free(inbox);
        errno = saved_errno;
        return NULL;
    }
    pthread_mutex_init(&inbox->lock, NULL);
    return inbox;
}

int inbox_fd(const struct inbox *inbox)
{
    return inbox->wake_fd;
}

static int *slot(const struct inbox *inbox, size_t i)
{
    return &inbox->fds[(inbox->first + i) & (inbox->room - 1)];
}

static int grow(struct inbox *inbox)
{
    size_t room = inbox->room * 2;
    int *fds = calloc(room, sizeof(*fds));

    if (fds == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < inbox->count; i++) {
        fds[i] = *slot(inbox, i);
    }
    free(inbox->fds);
    inbox->fds = fds;
    inbox->room = room;
    inbox->first = 0;
    return 0;
}

static int put_locked(struct inbox *inbox, int fd)
{
    static const uint64_t one = 1;

    if (inbox->count == inbox->room) {
        int result = grow(inbox);

        if (result < 0) {
            return result;
        }
    }
    if (inbox->count == 0 && write(inbox->wake_fd, &one, sizeof(one)) < 0) {
        return -errno;
    }
    *slot(inbox, inbox->count) = fd;
    inbox->count++;
    return 0;
}

int inbox_put(struct inbox *inbox, int fd)
{
    int result;

    pthread_mutex_lock(&inbox->lock);
    result = put_locked(inbox, fd);
    pthread_mutex_unlock(&inbox->lock);
    return result;
}

size_t inbox_take(struct inbox *inbox, int *fds, size_t max)
{
    size_t taken = 0;

    pthread_mutex_lock(&inbox->lock);
    while (taken < max && taken < inbox->count) {
        fds[taken] = *slot(inbox, taken);
        taken++;
    }
    inbox->first = (inbox->first + taken) & (inbox->room - 1);
    inbox->count -= taken;
    if (taken > 0 && inbox->count == 0) {
        uint64_t wakes;
        ssize_t got = read(inbox->wake_fd, &wakes, sizeof(wakes));

        (void)got; /* it is readable: something was in */
    }
    pthread_mutex_unlock(&inbox->lock);
    return taken;
}

void inbox_close(struct inbox *inbox)
{
    if (inbox == NULL) {
        return;
    }
    for (size_t i = 0; i < inbox->count; i++) {
        close(*slot(inbox, i));
    }
    close(inbox->wake_fd);
    free(inbox->fds);
    pthread_mutex_destroy(&inbox->lock);
    free(inbox);
}
