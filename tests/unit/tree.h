/* A directory tree for tests of files: made below TMPDIR, removed with all that is in it.
 * It must never know what is tested. */
#ifndef TETRAD_TREE_H
#define TETRAD_TREE_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"

/* Who the tests are for what only root may read; any user without rights would do. */
enum { TREE_NOBODY = 65534 };

struct tree {
    char path[256];
};

static inline void tree_open(struct tree *tree)
{
    const char *base = getenv("TMPDIR");

    (void)snprintf(tree->path, sizeof tree->path, "%s/tetrad-unit-XXXXXX",
                   base == NULL || *base == '\0' ? "/tmp" : base);
    assert_non_null(mkdtemp(tree->path));
    assert_int_equal(chmod(tree->path, 0755), 0);
}

static inline int tree_remove_one(const char *path, const struct stat *st, int flag,
                                  struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static inline void tree_close(struct tree *tree)
{
    assert_int_equal(nftw(tree->path, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* The path of a name below the tree; valid until the fourth next call. */
static inline const char *tree_path(const struct tree *tree, const char *name)
{
    static char paths[4][8192];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, sizeof paths[0], "%s/%s", tree->path, name);
    return path;
}

static inline void tree_directory(const struct tree *tree, const char *name)
{
    assert_int_equal(mkdir(tree_path(tree, name), 0755), 0);
}

static inline void tree_write(const struct tree *tree, const char *name,
                              const void *bytes, size_t len)
{
    int fd = open(tree_path(tree, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    assert_int_equal(close(fd), 0);
}

static inline void tree_text(const struct tree *tree, const char *name, const char *text)
{
    tree_write(tree, name, text, strlen(text));
}

/* The bytes of a large test file, of which no two near pieces are alike. */
static inline char tree_byte(size_t at)
{
    return (char)(at * 31 + at / 251);
}

static inline void tree_bytes(const struct tree *tree, const char *name, size_t len)
{
    char *bytes = malloc(len + 1);

    assert_non_null(bytes);
    for (size_t i = 0; i < len; i++) {
        bytes[i] = tree_byte(i);
    }
    tree_write(tree, name, bytes, len);
    free(bytes);
}

static inline void tree_link(const struct tree *tree, const char *name, const char *to)
{
    assert_int_equal(symlink(to, tree_path(tree, name)), 0);
}

static inline void tree_rename(const struct tree *tree, const char *from, const char *to)
{
    assert_int_equal(rename(tree_path(tree, from), tree_path(tree, to)), 0);
}

static inline void tree_mtime(const struct tree *tree, const char *name, int64_t seconds,
                              long ns)
{
    struct timespec times[2] = { { .tv_sec = (time_t)seconds, .tv_nsec = ns },
                                 { .tv_sec = (time_t)seconds, .tv_nsec = ns } };

    assert_int_equal(
        utimensat(AT_FDCWD, tree_path(tree, name), times, AT_SYMLINK_NOFOLLOW), 0);
}

static inline void tree_socket(const struct tree *tree, const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_true(strlen(tree_path(tree, name)) < sizeof address.sun_path);
    strcpy(address.sun_path, tree_path(tree, name));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(close(fd), 0);
}

/* From here to tree_rights_again modes count, even if the tests run as root. */
static inline void tree_drop_rights(void)
{
    if (geteuid() == 0) {
        assert_int_equal(seteuid(TREE_NOBODY), 0);
    }
}

static inline void tree_rights_again(void)
{
    assert_int_equal(seteuid(getuid()), 0);
}

/* Between two looks at a condition. */
static inline void wait_a_moment(void)
{
    usleep(1000);
}

/* Descriptors that are open in this process. */
static inline unsigned tree_open_descriptors(void)
{
    unsigned count = 0;

    for (int fd = 0; fd < 1024; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

#endif
