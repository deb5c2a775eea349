/* Opening the site; see site_setup.h. */
#include "site_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mime.h"
#include "site.h"

enum {
    /* Twenty times what systems come with; what is larger is another file. */
    TYPES_MAX = 1024 * 1024
};

/* What an errno means where a file below the root is opened. */
static const char *reason_of(int error)
{
    switch (-error) {
    case EXDEV:
        return "it is not below the directory that is served";
    case EFBIG:
        return "it is larger than 64 KiB";
    default:
        return strerror(-error);
    }
}

/* Reads up to the room that there is. Returns how much it was, or -errno. */
static ssize_t read_all(int fd, char *to, size_t room)
{
    size_t len = 0;

    while (len < room) {
        ssize_t n = read(fd, to + len, room - len);

        if (n == 0) {
            break;
        }
        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        len += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)len;
}

/* The text of the file, or -errno; -EFBIG: it is too large. */
static ssize_t read_types(const char *path, char *to)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len;

    if (fd < 0) {
        return -errno;
    }
    len = read_all(fd, to, TYPES_MAX + 1);
    close(fd);
    return len > TYPES_MAX ? -EFBIG : len;
}

static int open_types(struct site_setup *setup, const char *path, char *error,
                      size_t error_room)
{
    char *text = malloc(TYPES_MAX + 1);
    unsigned bad_line = 0;
    ssize_t len = text == NULL ? -ENOMEM : read_types(path, text);
    int result = len < 0 ? (int)len : 0;

    if (result == 0) {
        setup->types = mime_table_parse((struct slice){ text, (size_t)len }, &bad_line);
        if (setup->types == NULL) {
            result = bad_line > 0 ? -EINVAL : -ENOMEM;
        }
    }
    free(text);
    if (bad_line > 0) {
        (void)snprintf(error, error_room,
                       "--mime-types '%.200s': line %u is not a media type with "
                       "extensions behind it",
                       path, bad_line);
    } else if (result != 0) {
        (void)snprintf(error, error_room, "--mime-types '%.200s': %s", path,
                       result == -EFBIG ? "it is larger than 1 MiB" : strerror(-result));
    }
    return result;
}

static int set_error_pages(struct site_setup *setup, const struct option_list *rules,
                           char *error, size_t error_room)
{
    for (unsigned i = 0; i < rules->count; i++) {
        int result = site_set_error_page(setup->site, rules->values[i]);

        if (result != 0) {
            (void)snprintf(error, error_room, "--error-page '%.200s': %s",
                           rules->values[i], reason_of(result));
            return result;
        }
    }
    return 0;
}

int site_setup_open(struct site_setup *setup, const struct options *options, char *error,
                    size_t error_room)
{
    struct site_options site_options = {
        .root = options->root,
        .index = options->index,
        .listing = options->listing,
        .symlinks = options->symlinks,
        .dotfiles = options->dotfiles,
        .charset = options->charset,
        .headers = { options->headers.values, options->headers.count },
        .cache_rules = { options->cache_rules.values, options->cache_rules.count },
        .spa = options->spa,
        .no_etag = options->no_etag,
        .revalidate_ms = options->revalidate_ms,
        .cache_bytes = options->cache_bytes,
        .server_header = options->server_header,
        .model = options->model,
    };
    int result = 0;

    *setup = (struct site_setup){ NULL, NULL };
    if (options->mime_types != NULL) {
        result = open_types(setup, options->mime_types, error, error_room);
    }
    if (result != 0) {
        return result;
    }
    site_options.types = setup->types;
    result = site_open(&setup->site, &site_options);
    if (result != 0) {
        (void)snprintf(error, error_room, "cannot serve %.400s: %s", options->root,
                       strerror(-result));
        return result;
    }
    return set_error_pages(setup, &options->error_pages, error, error_room);
}

void site_setup_close(struct site_setup *setup)
{
    site_close(setup->site);
    mime_table_free(setup->types);
}
