/* A hint that something below the document root may have changed: one inotify descriptor,
 * one small thread, and one counter that forked children see too. Without it nothing is
 * wrong, only later; so nothing here fails, and NULL is a valid watch. It must never know
 * what is cached. */
#ifndef TETRAD_FILE_WATCH_H
#define TETRAD_FILE_WATCH_H

#include <stdint.h>

struct file_watch;

/* NULL where the system does not allow it. */
struct file_watch *file_watch_open(void);

/* In the process that opened it the thread is stopped and joined; a forked child only
 * gives its copies back. */
void file_watch_close(struct file_watch *watch);

/* Watches the directory of this descriptor, from any thread and any forked child. Does
 * not sleep for a disk. */
void file_watch_directory(struct file_watch *watch, int directory_fd);

/* Grows soon after a change in a watched directory; 0 for NULL. */
uint64_t file_watch_generation(const struct file_watch *watch);

#endif
