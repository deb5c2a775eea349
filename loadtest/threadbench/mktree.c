/* Makes a tree of files for crew, the same for the same seed. It must never measure. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

enum { FILES_OF_FOLDER = 40, WORDS_OF_LINE = 9, LINES_MOST = 400, TREE_PATH_MAX = 4096 };

/* SplitMix64. */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Words of letters from a to h, so that a string with another letter is only where it was
 * put. */
static void word_print(FILE *file, uint64_t *state)
{
    uint64_t letters = random_next(state);

    for (uint64_t length = 2 + (letters >> 60) % 8; length > 0; length--) {
        (void)fputc('a' + (int)(letters & 7), file);
        letters >>= 3;
    }
    (void)fputc(' ', file);
}

/* One file of eight holds the string, somewhere. */
static int file_print(const char *path, const char *string, uint64_t *state)
{
    uint64_t lines = 1 + random_next(state) % LINES_MOST;
    bool holds = random_next(state) % 8 == 0;
    uint64_t where = random_next(state) % lines;
    FILE *file = fopen(path, "wx");
    int error = 0;

    if (file == NULL) {
        return -errno;
    }
    for (uint64_t line = 0; line < lines; line++) {
        for (int i = 0; i < WORDS_OF_LINE; i++) {
            word_print(file, state);
        }
        if (holds && line == where) {
            (void)fputs(string, file);
        }
        (void)fputc('\n', file);
    }
    if (ferror(file)) {
        error = -EIO;
    }
    if (fclose(file) != 0) {
        error = -errno;
    }
    return error;
}

/* Folders in folders: each lies in one made before. */
static void folder_name(char *path, const char *root, uint64_t number)
{
    uint64_t parents[64];
    size_t depth = 0;
    int length = snprintf(path, TREE_PATH_MAX - 64, "%s", root);

    for (; number > 0; number = (number - 1) / 4) {
        parents[depth++] = number;
    }
    while (depth > 0 && length > 0 && length < TREE_PATH_MAX - 64) {
        length += snprintf(path + length, (size_t)(TREE_PATH_MAX - length), "/d%" PRIu64,
                           parents[--depth]);
    }
}

static int tree_make(const struct params *params, char *path)
{
    uint64_t state = params->seed;

    for (uint64_t i = 0; i < params->count; i++) {
        size_t length;
        int error;

        folder_name(path, params->dir, i / FILES_OF_FOLDER);
        if (i % FILES_OF_FOLDER == 0 && mkdir(path, 0777) < 0) {
            return -errno;
        }
        length = strlen(path);
        (void)snprintf(path + length, TREE_PATH_MAX - length, "/f%" PRIu64 ".txt", i);
        error = file_print(path, params->string, &state);
        if (error < 0) {
            return error;
        }
    }
    return 0;
}

static int mktree(const struct params *params)
{
    char path[TREE_PATH_MAX];
    int error = tree_make(params, path);

    if (error < 0) {
        (void)fprintf(stderr, "threadbench: %s: %s\n", path, strerror(-error));
        return 1;
    }
    return 0;
}

static const char *mktree_refuse(const struct params *params)
{
    if (params->dir == NULL || params->dir[0] == '\0') {
        return "needs DIR, which it makes";
    }
    return strlen(params->dir) > TREE_PATH_MAX / 2 ? "DIR is too long" : NULL;
}

static const struct argument mktree_arguments[] = {
    { .name = "dir",
      .offset = offsetof(struct params, dir),
      .text = true,
      .help = "that is made" },
    { .name = "files",
      .offset = offsetof(struct params, count),
      .least = 1,
      .most = 10000000,
      .help = "in all" },
    { .name = "seed",
      .offset = offsetof(struct params, seed),
      .least = 0,
      .most = UINT64_MAX,
      .help = "another tree for another one" },
    { .name = "string",
      .offset = offsetof(struct params, string),
      .text = true,
      .help = "that one file of eight holds" },
    { .name = NULL },
};

static const char *const mktree_positionals[] = { "dir", NULL };

const struct bench bench_mktree = {
    .name = "mktree",
    .help = "no benchmark: makes a tree for crew: mktree DIR",
    .defaults = { .count = 2000, .seed = 1, .string = "node" },
    .arguments = mktree_arguments,
    .positionals = mktree_positionals,
    .refuse = mktree_refuse,
    .tool = mktree,
};
