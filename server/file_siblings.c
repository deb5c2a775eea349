/* Precompressed siblings; see file_siblings.h. They are opened by the same way as every
 * file, so that a link which leads out of the root leads nowhere here too. */
#include "file_siblings.h"

#include <errno.h>
#include <string.h>

bool file_siblings_older(const struct file_identity *a, const struct file_identity *b)
{
    return a->mtime != b->mtime ? a->mtime < b->mtime : a->mtime_ns < b->mtime_ns;
}

bool file_siblings_spoilt(int error)
{
    return error != -EAGAIN && error != -EMFILE && error != -ENFILE && error != -ENOMEM;
}

int file_siblings_find(struct file_siblings *found, const struct file_root *root,
                       char *path, const struct stat *st, bool may_sleep)
{
    char *end = path + strlen(path);
    int error = 0;

    found->codings = 0;
    found->identity[CODING_IDENTITY] = file_identity_of(st);
    for (unsigned i = CODING_IDENTITY + 1; i < CODINGS && error == 0; i++) {
        struct stat sibling;
        int result;

        strcpy(end, negotiate_coding_suffix((enum coding)i));
        result = file_open_stat(root, path, may_sleep, &sibling);
        if (result != 0) {
            error = file_siblings_spoilt(result) ? 0 : result;
        } else if (S_ISREG(sibling.st_mode)) {
            found->identity[i] = file_identity_of(&sibling);
            if (!file_siblings_older(&found->identity[i],
                                     &found->identity[CODING_IDENTITY])) {
                found->codings |= 1U << i;
            }
        }
    }
    *end = '\0';
    return error;
}
