/* /proc/PID/stat names the group and the number of threads; smaps_rollup the memory. A
 * process that ends meanwhile is left out. It must never know what the threads do. */
#include "census.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <fcntl.h>
#include <unistd.h>

enum { CENSUS_FILE_MAX = 4096 };

/* Bytes read, ended by a zero; 0: none. */
static size_t file_read(int proc, const char *pid, const char *name, char *text)
{
    char path[288];
    ssize_t count;
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", pid, name);
    fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    count = read(fd, text, CENSUS_FILE_MAX - 1);
    (void)close(fd);
    if (count < 0) {
        return 0;
    }
    text[count] = '\0';
    return (size_t)count;
}

/* The name in parentheses may hold anything, so fields count from the last one. */
static uint64_t threads_in_group(const char *stat, pid_t group)
{
    const char *fields = strrchr(stat, ')');
    int pgrp = 0;
    long threads = 0;

    if (fields == NULL ||
        sscanf(fields + 1,
               " %*c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld",
               &pgrp, &threads) != 2) {
        return 0;
    }
    return pgrp == group && threads > 0 ? (uint64_t)threads : 0;
}

static uint64_t proportional_kib(const char *rollup)
{
    const char *line = strstr(rollup, "\nPss:");
    uint64_t kib = 0;

    if (line == NULL || sscanf(line + 5, "%" SCNu64, &kib) != 1) {
        return 0;
    }
    return kib;
}

int census_take(pid_t group, struct census *census)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    char text[CENSUS_FILE_MAX];

    *census = (struct census){ .kernel_threads = 0 };
    if (folder == NULL) {
        return -errno;
    }
    for (entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        uint64_t threads;

        if (!isdigit((unsigned char)entry->d_name[0]) ||
            file_read(dirfd(folder), entry->d_name, "stat", text) == 0) {
            continue;
        }
        threads = threads_in_group(text, group);
        census->kernel_threads += threads;
        if (threads > 0 &&
            file_read(dirfd(folder), entry->d_name, "smaps_rollup", text) > 0) {
            census->memory_kib += proportional_kib(text);
        }
    }
    (void)closedir(folder);
    return census->kernel_threads > 0 ? 0 : -ESRCH;
}
