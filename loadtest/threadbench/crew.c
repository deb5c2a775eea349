/* The serial search: fts for the tree, a mapping for each file. A tree that changes while
 * it is searched makes a wrong answer, and should. It must never know a thread. */
#include "crew.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <fts.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Paths that hold the string, owned. */
struct found {
    char **paths;
    size_t count, room;
};

static bool file_holds(const char *path, off_t size, const char *string)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool holds = false;
    void *bytes;

    if (fd < 0 || size <= 0) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return false;
    }
    bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes != MAP_FAILED) {
        holds = memmem(bytes, (size_t)size, string, strlen(string)) != NULL;
        (void)munmap(bytes, (size_t)size);
    }
    (void)close(fd);
    return holds;
}

/* false without memory. */
static bool found_add(struct found *found, const char *path)
{
    if (found->count == found->room) {
        size_t room = found->room > 0 ? 2 * found->room : 64;
        char **paths = reallocarray(found->paths, room, sizeof(*paths));

        if (paths == NULL) {
            return false;
        }
        found->paths = paths;
        found->room = room;
    }
    found->paths[found->count] = strdup(path);
    return found->paths[found->count++] != NULL;
}

static void found_free(struct found *found)
{
    for (size_t i = 0; i < found->count; i++) {
        free(found->paths[i]);
    }
    free(found->paths);
}

static bool search(const struct params *params, struct found *found)
{
    char *roots[] = { (char *)params->dir, NULL };
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    bool good = tree != NULL;
    FTSENT *entry;

    while (good) {
        entry = fts_read(tree);
        if (entry == NULL) {
            break;
        }
        if (entry->fts_level > 0 && entry->fts_name[0] == '.') {
            (void)fts_set(tree, entry, FTS_SKIP);
        } else if (entry->fts_info == FTS_F &&
                   file_holds(entry->fts_path, entry->fts_statp->st_size,
                              params->string)) {
            good = found_add(found, entry->fts_path);
        }
    }
    if (tree != NULL) {
        (void)fts_close(tree);
    }
    return good;
}

static int compare(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

void crew_warm(const struct params *params)
{
    struct found found = { .count = 0 };

    (void)search(params, &found);
    found_free(&found);
}

static void lists_compare(struct answer *answer, const struct found *expected,
                          const struct found *got)
{
    size_t i = 0;

    while (i < expected->count && i < got->count &&
           strcmp(expected->paths[i], got->paths[i]) == 0) {
        i++;
    }
    if (i < expected->count &&
        (i == got->count || strcmp(expected->paths[i], got->paths[i]) < 0)) {
        answer_wrong(answer, "no hit in %s", expected->paths[i]);
    } else if (i < got->count) {
        answer_wrong(answer, "a hit too much: %s", got->paths[i]);
    }
}

void crew_check(struct answer *answer, const struct params *params,
                const struct crew_item *items, uint64_t *hits)
{
    struct found expected = { .count = 0 }, got = { .count = 0 };
    bool good = search(params, &expected);

    for (const struct crew_item *item = items; item != NULL && good; item = item->next) {
        good = !item->hit || found_add(&got, item->path);
    }
    if (good) {
        if (expected.count > 0) {
            qsort(expected.paths, expected.count, sizeof(char *), compare);
        }
        if (got.count > 0) {
            qsort(got.paths, got.count, sizeof(char *), compare);
        }
        lists_compare(answer, &expected, &got);
    } else {
        answer_wrong(answer, "the tree could not be searched again");
    }
    *hits = got.count;
    found_free(&expected);
    found_free(&got);
}

void crew_tell(struct outcome *outcome, const struct crew_item *items)
{
    char *text = outcome_text(outcome);
    size_t used = 0;

    for (const struct crew_item *item = items; item != NULL; item = item->next) {
        int length;

        if (!item->hit) {
            continue;
        }
        length = snprintf(text + used, outcome->text_max - used, "Thread %zu found %s\n",
                          item->worker, item->path);
        if (length < 0 || (size_t)length >= outcome->text_max - used) {
            text[used] = '\0';
            return;
        }
        used += (size_t)length;
    }
}
