/* Path resolution as data; see file_resolve.h. Size, validators and bytes of a file come
 * from one descriptor, so that they belong to one version of it. */
#include "file_resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "file_listing.h"

enum {
    /* How often a file that is written just now is read again. */
    READ_TRIES_MAX = 4,
    /* Older kernels stamp times with the clock of the last tick, up to 10 ms apart. */
    RACY_NS = 20 * 1000 * 1000
};

/* ---- content */

static bool is_racy(const struct file_identity *identity)
{
    struct timespec now;
    int64_t seconds, age;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    seconds = (int64_t)now.tv_sec - identity->ctime;
    if (seconds < -1 || seconds > 1) {
        return false;
    }
    age = seconds * 1000000000 + now.tv_nsec - (int64_t)identity->ctime_ns;
    return age > -RACY_NS && age < RACY_NS;
}

/* Reads `size` bytes from the start. Returns how many there were, or -errno; -EAGAIN if
 * the rest is not in memory and may_sleep is false. */
static ssize_t read_content(int fd, char *to, size_t size, bool may_sleep)
{
    size_t done = 0;

    while (done < size) {
        struct iovec iov = { to + done, size - done };
        ssize_t n = preadv2(fd, &iov, 1, (off_t)done, may_sleep ? 0 : RWF_NOWAIT);

        if (n > 0) {
            done += (size_t)n;
        } else if (n < 0 && !may_sleep && errno != EINTR) {
            return -EAGAIN; /* the file system may also not know how */
        } else if (n < 0 && errno != EINTR) {
            return -errno;
        } else if (n == 0) {
            break;
        }
    }
    return (ssize_t)done;
}

/* One attempt; -EBUSY if the file was written meanwhile. */
static int read_version(struct file_resolution *resolution, int fd, size_t size,
                        bool may_sleep)
{
    struct file_identity after;
    struct stat st;
    ssize_t n = read_content(fd, resolution->content, size, may_sleep);

    if (n < 0) {
        return (int)n;
    }
    if (fstat(fd, &st) != 0) {
        return -errno;
    }
    after = file_identity_of(&st);
    return (size_t)n == size && file_identity_equal(&after, &resolution->identity)
               ? 0
               : -EBUSY;
}

/* 1: too large to be kept as bytes. */
static int load_content(struct file_resolution *resolution, int fd, bool may_sleep)
{
    int error = -EBUSY;

    for (unsigned tries = 0; error == -EBUSY && tries < READ_TRIES_MAX; tries++) {
        struct stat st;
        size_t size;

        if (fstat(fd, &st) != 0) {
            return -errno;
        }
        resolution->identity = file_identity_of(&st);
        if (st.st_size > FILE_MEMORY_MAX) {
            return 1;
        }
        size = (size_t)st.st_size;
        resolution->racy = is_racy(&resolution->identity);
        free(resolution->content);
        resolution->content = size > 0 ? malloc(size) : NULL;
        if (size > 0 && resolution->content == NULL) {
            return -ENOMEM;
        }
        error = read_version(resolution, fd, size, may_sleep);
    }
    return error;
}

/* ---- the file */

/* The directory that holds the path's last component: before anything in it is looked at,
 * or a change in between would be missed. The path is cut and mended. */
static void watch_directory_of(const struct file_resolution *resolution, char *path,
                               bool may_sleep)
{
    char *slash = strrchr(path, '/');
    char *end = slash == NULL ? path : slash;
    char saved = *end;
    int fd;

    if (resolution->place->watch == NULL) {
        return;
    }
    *end = '\0';
    fd = file_open_directory(resolution->root, path, may_sleep);
    *end = saved;
    if (fd >= 0) {
        file_watch_directory(resolution->place->watch, fd);
        close(fd);
    }
}

static int load(struct file_resolution *resolution, char *path, bool may_sleep)
{
    struct stat st;
    int fd = file_open_read(resolution->root, path, may_sleep, &st);
    int result;

    if (fd < 0) {
        return fd;
    }
    result = load_content(resolution, fd, may_sleep);
    if (result > 0) {
        free(resolution->content);
        resolution->content = NULL;
        resolution->fd = fd;
    } else {
        close(fd);
    }
    if (result >= 0) {
        resolution->outcome = FILE_FOUND;
    }
    return result < 0 ? result : 0;
}

static void drop_content(struct file_resolution *resolution)
{
    free(resolution->content);
    resolution->content = NULL;
    if (resolution->fd >= 0) {
        close(resolution->fd);
        resolution->fd = -1;
    }
}

static bool is_known(const struct file_resolution *resolution,
                     const struct file_identity *found)
{
    const struct file_form *known = &resolution->known_form;

    return resolution->known != NULL && known->coding == resolution->form.coding &&
           known->codings == resolution->form.codings &&
           file_identity_equal(resolution->known, found);
}

/* The form in hand. The path is lengthened for it and cut again. */
static int take_form(struct file_resolution *resolution, char *path,
                     const struct file_siblings *siblings, bool may_sleep)
{
    enum coding coding = resolution->form.coding;
    char *end = path + strlen(path);
    int error;

    if (is_known(resolution, &siblings->identity[coding])) {
        resolution->identity = siblings->identity[coding];
        resolution->outcome = FILE_UNCHANGED;
        return 0;
    }
    if (resolution->known != NULL) {
        watch_directory_of(resolution, path, may_sleep);
    }
    strcpy(end, negotiate_coding_suffix(coding));
    error = load(resolution, path, may_sleep);
    *end = '\0';
    if (error == 0 && coding != CODING_IDENTITY &&
        file_siblings_older(&resolution->identity,
                            &siblings->identity[CODING_IDENTITY])) {
        drop_content(resolution); /* replaced since it was looked at */
        return -ESTALE;
    }
    return error;
}

/* A sibling that cannot be read is as good as none. */
static int take_file(struct file_resolution *resolution, char *path,
                     const struct stat *st, bool may_sleep)
{
    struct file_siblings siblings;
    int error;

    if (!S_ISREG(st->st_mode)) {
        return -EACCES;
    }
    if (resolution->known == NULL) {
        watch_directory_of(resolution, path, may_sleep);
    }
    error = file_siblings_find(&siblings, resolution->root, path, st, may_sleep);
    resolution->form.codings = siblings.codings;
    while (error == 0) {
        resolution->form.coding =
            negotiate_coding(&resolution->accepted, resolution->form.codings);
        error = take_form(resolution, path, &siblings, may_sleep);
        if (error == 0 || resolution->form.coding == CODING_IDENTITY ||
            !file_siblings_spoilt(error)) {
            break;
        }
        resolution->form.codings &= ~(1U << resolution->form.coding);
        error = 0;
    }
    return error;
}

static int take_listing(struct file_resolution *resolution, char *path, bool may_sleep)
{
    struct text_budget *budget = resolution->place->listings;
    struct file_listing found;
    int error;

    if (!may_sleep) {
        return -EAGAIN;
    }
    error = file_listing_read(&found, resolution->root, resolution->place->policy, path,
                              budget);
    text_init(&resolution->listing, budget);
    if (error == 0) {
        listing_write(&found.listing, &resolution->wish, &resolution->listing);
        error = resolution->listing.failed ? -ENOMEM : 0;
    }
    if (error == 0) {
        resolution->cut_short = found.listing.cut_short;
        resolution->outcome = FILE_LISTED;
    }
    file_listing_free(&found);
    return error;
}

/* ---- the path */

static char *path_of(struct file_resolution *resolution)
{
    return resolution->text + resolution->key_len;
}

/* Appends an index name to the directory's path; false if it may not be shown. */
static bool append_index(struct file_resolution *resolution, struct slice name)
{
    char *path = path_of(resolution);
    size_t len = resolution->path_len;

    if (len > 0) {
        path[len++] = '/';
    }
    memcpy(path + len, name.base, name.len);
    path[len + name.len] = '\0';
    return file_policy_shows(resolution->place->policy,
                             (struct slice){ path, len + name.len });
}

static int take_index(struct file_resolution *resolution, bool may_sleep)
{
    char *path = path_of(resolution);
    const char *rest = resolution->place->policy->index;
    struct slice name;

    while (file_policy_next_index(&rest, &name)) {
        struct stat st;
        int error = append_index(resolution, name)
                        ? file_open_stat(resolution->root, path, may_sleep, &st)
                        : -ENOENT;

        if (error == 0 && !S_ISDIR(st.st_mode)) {
            return take_file(resolution, path, &st, may_sleep);
        }
        if (error != 0 && error != -ENOENT) {
            return error;
        }
    }
    path[resolution->path_len] = '\0';
    return resolution->lists ? take_listing(resolution, path, may_sleep) : -ENOENT;
}

static int take_path(struct file_resolution *resolution, bool may_sleep)
{
    char *path = path_of(resolution);
    struct stat st;
    int error = file_open_stat(resolution->root, path, may_sleep, &st);

    if (error != 0) {
        return error;
    }
    if (!S_ISDIR(st.st_mode)) {
        return resolution->directory ? -ENOTDIR
                                     : take_file(resolution, path, &st, may_sleep);
    }
    if (resolution->directory) {
        return take_index(resolution, may_sleep);
    }
    resolution->outcome = FILE_DIRECTORY;
    return 0;
}

/* While the root's path leads nowhere (it is being swapped), the old one goes on. */
static int renew_root(struct file_resolution *resolution, bool may_sleep)
{
    struct file_root *fresh;
    int error = file_root_renew(resolution->root, &fresh, resolution->place->root_path,
                                may_sleep);

    if (error == -EAGAIN) {
        return error;
    }
    if (fresh != NULL) {
        file_root_put(resolution->root);
        resolution->root = fresh;
    }
    resolution->renew_root = false;
    resolution->root_renewed = true;
    return 0;
}

static int resolve(struct file_resolution *resolution, bool may_sleep)
{
    int error = resolution->renew_root ? renew_root(resolution, may_sleep) : 0;

    path_of(resolution)[resolution->path_len] = '\0';
    if (error == 0) {
        error = take_path(resolution, may_sleep);
    }
    if (error != 0) {
        drop_content(resolution);
        resolution->outcome = FILE_FAILED;
    }
    resolution->error = error;
    return error;
}

/* ---- as data */

static void work_runs(struct work *work)
{
    file_resolution_run((struct file_resolution *)work);
}

static void work_ends(struct work *work)
{
    struct file_resolution *resolution = (struct file_resolution *)work;

    file_root_put(resolution->root);
    drop_content(resolution);
    text_free(&resolution->listing);
    free(resolution);
}

struct file_resolution *file_resolution_new(const struct file_place *place,
                                            struct file_root *root, struct slice key,
                                            struct slice path, bool directory)
{
    /* Behind the path: a slash, the longest index name, a sibling's suffix, NUL. */
    size_t room = key.len + path.len + strlen(place->policy->index) + 2 +
                  (size_t)FILE_SIBLINGS_ROOM;
    struct file_resolution *resolution = malloc(sizeof *resolution + room);

    if (resolution == NULL) {
        file_root_put(root);
        return NULL;
    }
    *resolution = (struct file_resolution){ .place = place,
                                            .root = root,
                                            .directory = directory,
                                            .key_len = key.len,
                                            .path_len = path.len,
                                            .fd = -1 };
    work_init(&resolution->work, work_runs, work_ends);
    memcpy(resolution->text, key.base, key.len);
    memcpy(path_of(resolution), path.base, path.len);
    return resolution;
}

void file_resolution_put(struct file_resolution *resolution)
{
    if (resolution != NULL) {
        work_put(&resolution->work);
    }
}

bool file_resolution_try(struct file_resolution *resolution)
{
    return resolve(resolution, false) != -EAGAIN;
}

void file_resolution_run(struct file_resolution *resolution)
{
    (void)resolve(resolution, true);
}

struct slice file_resolution_key(const struct file_resolution *resolution)
{
    return (struct slice){ resolution->text, resolution->key_len };
}

struct slice file_resolution_path(const struct file_resolution *resolution)
{
    return slice_of(resolution->text + resolution->key_len);
}

char *file_resolution_take_content(struct file_resolution *resolution)
{
    char *content = resolution->content;

    resolution->content = NULL;
    return content;
}

int file_resolution_take_fd(struct file_resolution *resolution)
{
    int fd = resolution->fd;

    resolution->fd = -1;
    return fd;
}
