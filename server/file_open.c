/* Confined opening; see file_open.h. The kernel's own resolution is the wall: text checks
 * of the path stand before it, never instead of it. */
#include "file_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    /* A rename elsewhere in the tree can make a resolution through ".." uncertain; the
     * kernel then wants the call repeated. */
    OPEN_TRIES_MAX = 16,
    OPEN_LOOK = O_PATH | O_CLOEXEC,
    OPEN_LOOK_DIRECTORY = OPEN_LOOK | O_DIRECTORY,
    OPEN_READ = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
};

static int open_by_kernel(int directory, const char *path, int flags, uint64_t resolve,
                          bool may_sleep)
{
    struct open_how how = { .flags = (uint64_t)flags,
                            .resolve = resolve | (may_sleep ? 0 : RESOLVE_CACHED) };

    for (unsigned tries = 0; tries < OPEN_TRIES_MAX; tries++) {
        long fd = syscall(SYS_openat2, directory, path, &how, sizeof how);

        if (fd >= 0) {
            return (int)fd;
        }
        if (!may_sleep && (errno == EAGAIN || errno == EINVAL)) {
            return -EAGAIN; /* EINVAL: the kernel is older than RESOLVE_CACHED */
        }
        if (errno != EAGAIN && errno != EINTR) {
            return -errno;
        }
    }
    return may_sleep ? -EBUSY : -EAGAIN;
}

/* One component; the path behind it, or NULL, is put into *rest. */
static int take_name(const char *path, char *name, const char **rest)
{
    const char *end = strchrnul(path, '/');
    size_t len = (size_t)(end - path);

    if (len > NAME_MAX) {
        return -ENAMETOOLONG;
    }
    memcpy(name, path, len);
    name[len] = '\0';
    if (strcmp(name, "..") == 0) {
        return -EXDEV;
    }
    *rest = *end == '\0' ? NULL : end + 1;
    return 0;
}

static int open_by_walk(int directory, const char *path, int flags)
{
    int at = directory;

    for (;;) {
        char name[NAME_MAX + 1];
        const char *rest = NULL;
        int fd = take_name(path, name, &rest);

        if (fd == 0) {
            fd = openat(at, name, O_NOFOLLOW | (rest ? OPEN_LOOK_DIRECTORY : flags));
            fd = fd < 0 ? -errno : fd;
        }
        if (at != directory) {
            close(at);
        }
        if (fd < 0 || rest == NULL) {
            return fd;
        }
        at = fd;
        path = rest;
    }
}

/* Where links may lead anywhere the kernel confines nothing: then it is the text that must
 * not climb. */
static bool has_parent(const char *path)
{
    while (*path != '\0') {
        size_t len = strcspn(path, "/");

        if (len == 2 && path[0] == '.' && path[1] == '.') {
            return true;
        }
        path += len;
        path += strspn(path, "/");
    }
    return false;
}

static int open_anywhere(int directory, const char *path, int flags)
{
    int fd;

    do {
        fd = openat(directory, path, flags);
    } while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : fd;
}

/* Without sleeping. A file system in memory does not keep the names that are not there, so
 * that asking the kernel for what it remembers would never give "no such file"; there its
 * own look-up is as quick, as far as the path stays within it. */
static int open_awake(const struct file_root *root, const char *path, int flags,
                      uint64_t resolve)
{
    int fd;

    if (!root->in_memory) {
        return open_by_kernel(root->fd, path, flags, resolve, false);
    }
    fd = open_by_kernel(root->fd, path, flags, resolve | RESOLVE_NO_XDEV, true);
    return fd == -EXDEV || fd == -EBUSY ? -EAGAIN : fd;
}

static int open_below(const struct file_root *root, const char *path, int flags,
                      bool may_sleep)
{
    static const uint64_t resolve[] = {
        [FILE_SYMLINKS_INSIDE] = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
        [FILE_SYMLINKS_NEVER] = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
        [FILE_SYMLINKS_FOLLOW] = RESOLVE_NO_MAGICLINKS,
    };

    if (*path == '\0') {
        path = ".";
    }
    if (*path == '/' || has_parent(path)) {
        return -EXDEV;
    }
    switch (root->way) {
    case FILE_BENEATH:
        return may_sleep
                   ? open_by_kernel(root->fd, path, flags, resolve[root->symlinks], true)
                   : open_awake(root, path, flags, resolve[root->symlinks]);
    case FILE_WALK:
        break;
    }
    if (!may_sleep) {
        return -EAGAIN;
    }
    return root->symlinks == FILE_SYMLINKS_FOLLOW ? open_anywhere(root->fd, path, flags)
                                                  : open_by_walk(root->fd, path, flags);
}

static int open_root(const char *path, bool may_sleep)
{
    int fd;

    if (!may_sleep) {
        fd = open_by_kernel(AT_FDCWD, path, OPEN_LOOK_DIRECTORY, 0, false);
        /* Without openat2 nothing can be asked of memory alone. */
        return fd == -ENOSYS || fd == -EPERM ? -EAGAIN : fd;
    }
    do {
        fd = open(path, OPEN_LOOK_DIRECTORY);
    } while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : fd;
}

/* Sandboxes that do not know the call answer EPERM. */
static enum file_way way_of(int directory)
{
    int fd = open_by_kernel(directory, ".", OPEN_LOOK, RESOLVE_BENEATH, true);

    if (fd >= 0) {
        close(fd);
    }
    return fd == -ENOSYS || fd == -EPERM ? FILE_WALK : FILE_BENEATH;
}

static bool is_in_memory(int fd)
{
    struct statfs system;

    return fstatfs(fd, &system) == 0 &&
           (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

/* Takes the descriptor. */
static int make_root(struct file_root **root, int fd, const struct stat *st,
                     enum file_way way, enum file_symlinks symlinks)
{
    struct file_root *made = malloc(sizeof *made);

    if (made == NULL) {
        close(fd);
        return -ENOMEM;
    }
    *made = (struct file_root){ .fd = fd,
                                .dev = st->st_dev,
                                .ino = st->st_ino,
                                .way = way,
                                .symlinks = symlinks,
                                .in_memory = is_in_memory(fd) };
    atomic_init(&made->references, 1);
    *root = made;
    return 0;
}

int file_root_open(struct file_root **root, const char *path, enum file_symlinks symlinks)
{
    struct stat st;
    int fd = open_root(path, true);

    if (fd < 0) {
        return fd;
    }
    if (fstat(fd, &st) != 0) {
        int error = -errno;

        close(fd);
        return error;
    }
    return make_root(root, fd, &st, way_of(fd), symlinks);
}

int file_root_renew(const struct file_root *root, struct file_root **fresh,
                    const char *path, bool may_sleep)
{
    struct stat st;
    int fd = open_root(path, may_sleep);
    int error;

    *fresh = NULL;
    if (fd < 0) {
        return fd;
    }
    error = fstat(fd, &st) != 0 ? -errno : 0;
    if (error != 0 || (st.st_dev == root->dev && st.st_ino == root->ino)) {
        close(fd);
        return error;
    }
    return make_root(fresh, fd, &st, root->way, root->symlinks);
}

struct file_root *file_root_get(struct file_root *root)
{
    atomic_fetch_add_explicit(&root->references, 1, memory_order_relaxed);
    return root;
}

void file_root_put(struct file_root *root)
{
    if (root != NULL &&
        atomic_fetch_sub_explicit(&root->references, 1, memory_order_acq_rel) == 1) {
        close(root->fd);
        free(root);
    }
}

struct file_identity file_identity_of(const struct stat *st)
{
    return (struct file_identity){ .dev = st->st_dev,
                                   .ino = st->st_ino,
                                   .size = st->st_size,
                                   .mtime = st->st_mtim.tv_sec,
                                   .ctime = st->st_ctim.tv_sec,
                                   .mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
                                   .ctime_ns = (uint32_t)st->st_ctim.tv_nsec };
}

bool file_identity_equal(const struct file_identity *a, const struct file_identity *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->mtime == b->mtime && a->mtime_ns == b->mtime_ns && a->ctime == b->ctime &&
           a->ctime_ns == b->ctime_ns;
}

int file_open_stat(const struct file_root *root, const char *path, bool may_sleep,
                   struct stat *st)
{
    int fd = open_below(root, path, OPEN_LOOK, may_sleep);
    int result;

    if (fd < 0) {
        return fd;
    }
    result = fstat(fd, st) != 0 ? -errno : 0;
    close(fd);
    /* The walk's last component was not followed. */
    return result == 0 && S_ISLNK(st->st_mode) ? -ELOOP : result;
}

int file_open_read(const struct file_root *root, const char *path, bool may_sleep,
                   struct stat *st)
{
    int fd = open_below(root, path, OPEN_READ, may_sleep);
    int error = 0;

    if (fd < 0) {
        return fd == -ENXIO || fd == -ENODEV ? -EACCES : fd;
    }
    if (fstat(fd, st) != 0) {
        error = -errno;
    } else if (!S_ISREG(st->st_mode)) {
        error = -EACCES;
    }
    if (error != 0) {
        close(fd);
        return error;
    }
    return fd;
}

int file_open_directory(const struct file_root *root, const char *path, bool may_sleep)
{
    return open_below(root, path, OPEN_LOOK_DIRECTORY, may_sleep);
}
