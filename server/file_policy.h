/* What of the document root may be shown, and what stands for a directory: one function
 * per decision. It must never know a file's content nor a request. */
#ifndef TETRAD_FILE_POLICY_H
#define TETRAD_FILE_POLICY_H

#include <stdbool.h>

#include "slice.h"

/* INSIDE: a symbolic link is followed if it is relative and stays below the root. FOLLOW:
 * wherever it leads. */
enum file_symlinks { FILE_SYMLINKS_INSIDE, FILE_SYMLINKS_NEVER, FILE_SYMLINKS_FOLLOW };

/* HIDE: served to those who know the name, but not listed. */
enum file_dotfiles { FILE_DOTFILES_DENY, FILE_DOTFILES_HIDE, FILE_DOTFILES_SHOW };

struct file_policy {
    const char *index; /* borrowed: file names separated by commas, in their order */
    enum file_dotfiles dotfiles;
};

/* False for a path below the root that is answered as if it did not exist: dotfiles are
 * denied, and any segment begins with a dot. The first may be ".well-known" (RFC 8615).
 */
bool file_policy_shows(const struct file_policy *policy, struct slice path);

/* True if a listing may name what is served under this name. */
bool file_policy_lists(const struct file_policy *policy, struct slice name);

/* Walks the index names: *rest starts as policy->index; false when there are no more. */
bool file_policy_next_index(const char **rest, struct slice *name);

#endif
