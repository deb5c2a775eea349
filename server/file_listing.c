/* Reading a directory; see file_listing.h. What is not a link is looked at by its name in
 * the directory that is open; a link is resolved from the root, as a request would. */
#include "file_listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "request.h"
#include "target.h"

/* Of a directory full of what may not be shown no more is read either. */
enum { SCANNED_MAX = 10 * LISTING_ENTRIES_MAX };

/* One reading under way; too large for a small stack. */
struct reading {
    const struct file_root *root;
    const struct file_policy *policy;
    DIR *directory;
    size_t base_len;    /* of the directory's path, with a slash unless it is the root */
    size_t encoded_len; /* of that in a request's target */
    char path[PATH_MAX + NAME_MAX + 2]; /* the directory's, and an entry's name */
};

static size_t encoded_len(const char *text)
{
    size_t len = 0;

    for (; *text != '\0'; text++) {
        char encoded[3];

        len += target_encode((struct slice){ text, 1 }, encoded, sizeof encoded);
    }
    return len;
}

/* False if no request could name it, or the policy does not let it be seen. */
static bool may_name(struct reading *reading, const char *name)
{
    size_t len = strlen(name);

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        reading->base_len + len >= PATH_MAX ||
        reading->encoded_len + encoded_len(name) + 2 > REQUEST_TARGET_MAX) {
        return false;
    }
    memcpy(reading->path + reading->base_len, name, len + 1);
    return file_policy_lists(reading->policy, (struct slice){ name, len });
}

/* True if a request for the entry that `path` now ends in would be answered with it. A
 * directory must let itself be read, for its own listing. */
static bool may_open(const struct reading *reading, const char *name, struct stat *st)
{
    int at = dirfd(reading->directory);

    if (fstatat(at, name, st, AT_SYMLINK_NOFOLLOW) != 0 ||
        (S_ISLNK(st->st_mode) &&
         file_open_stat(reading->root, reading->path, true, st) != 0)) {
        return false;
    }
    if (S_ISDIR(st->st_mode)) {
        return faccessat(at, name, R_OK | X_OK, AT_EACCESS) == 0;
    }
    return S_ISREG(st->st_mode) && faccessat(at, name, R_OK, AT_EACCESS) == 0;
}

static int add(struct file_listing *found, const char *name, const struct stat *st)
{
    struct listing_entry *entry =
        (struct listing_entry *)(void *)text_reserve(&found->entries, sizeof *entry);

    text_add(&found->names, slice_of(name));
    if (entry == NULL || found->names.failed) {
        return -ENOMEM;
    }
    *entry = (struct listing_entry){ .name = { NULL, strlen(name) },
                                     .directory = S_ISDIR(st->st_mode),
                                     .size = st->st_size,
                                     .mtime = st->st_mtim.tv_sec,
                                     .mtime_ns = (uint32_t)st->st_mtim.tv_nsec };
    found->entries.len += sizeof *entry;
    found->listing.count++;
    return 0;
}

static int read_entries(struct reading *reading, struct file_listing *found)
{
    int error = 0;

    for (unsigned scanned = 0; error == 0; scanned++) {
        const struct dirent *entry;
        struct stat st;

        errno = 0;
        entry = readdir(reading->directory);
        if (entry == NULL) {
            return -errno;
        }
        if (scanned == SCANNED_MAX) {
            found->listing.cut_short = true;
            break;
        }
        if (!may_name(reading, entry->d_name) || !may_open(reading, entry->d_name, &st)) {
            continue;
        }
        if (found->listing.count == LISTING_ENTRIES_MAX) {
            found->listing.cut_short = true;
            break;
        }
        error = add(found, entry->d_name, &st);
    }
    return error;
}

/* Names moved while they were collected: only now do they have their places. */
static void settle(struct file_listing *found)
{
    const char *name = found->names.base;

    found->listing.entries = (struct listing_entry *)(void *)found->entries.base;
    for (size_t i = 0; i < found->listing.count; i++) {
        found->listing.entries[i].name.base = name;
        name += found->listing.entries[i].name.len;
    }
}

/* The descriptor that resolves the path is no good for reading. */
static DIR *open_directory(const struct file_root *root, const char *path, int *error)
{
    int look = file_open_directory(root, path, true);
    DIR *directory = NULL;
    int fd;

    *error = look < 0 ? look : 0;
    if (look < 0) {
        return NULL;
    }
    fd = openat(look, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
        directory = fdopendir(fd);
    }
    if (directory == NULL) {
        *error = -errno;
        if (fd >= 0) {
            close(fd);
        }
    }
    close(look);
    return directory;
}

static void start(struct reading *reading, const char *path)
{
    size_t len = strlen(path);

    memcpy(reading->path, path, len);
    if (len > 0) {
        reading->path[len++] = '/';
    }
    reading->path[len] = '\0';
    reading->base_len = len;
    reading->encoded_len = encoded_len(reading->path);
}

int file_listing_read(struct file_listing *found, const struct file_root *root,
                      const struct file_policy *policy, const char *path,
                      struct text_budget *budget)
{
    struct reading *reading = malloc(sizeof *reading);
    int error;

    found->listing = (struct listing){ .path = slice_of(path) };
    text_init(&found->entries, budget);
    text_init(&found->names, budget);
    if (reading == NULL || strlen(path) >= PATH_MAX) {
        free(reading);
        return reading == NULL ? -ENOMEM : -ENAMETOOLONG;
    }
    reading->root = root;
    reading->policy = policy;
    reading->directory = open_directory(root, path, &error);
    if (reading->directory != NULL) {
        start(reading, path);
        error = read_entries(reading, found);
        closedir(reading->directory);
        settle(found);
    }
    free(reading);
    return error;
}

void file_listing_free(struct file_listing *found)
{
    text_free(&found->entries);
    text_free(&found->names);
}
