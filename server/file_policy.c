/* What may be shown; see file_policy.h. Text only: what a path leads to is decided where
 * it is opened. */
#include "file_policy.h"

#include <stddef.h>
#include <string.h>

static bool is_well_known(struct slice segment)
{
    return slice_equal(segment, SLICE(".well-known"));
}

bool file_policy_shows(const struct file_policy *policy, struct slice path)
{
    const char *end = path.base + path.len;
    const char *at = path.base;

    if (policy->dotfiles != FILE_DOTFILES_DENY) {
        return true;
    }
    while (at < end) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        const char *stop = slash == NULL ? end : slash;
        struct slice segment = { at, (size_t)(stop - at) };

        if (*at == '.' && !(at == path.base && is_well_known(segment))) {
            return false;
        }
        at = slash == NULL ? end : slash + 1;
    }
    return true;
}

bool file_policy_lists(const struct file_policy *policy, struct slice name)
{
    return policy->dotfiles == FILE_DOTFILES_SHOW || name.len == 0 || *name.base != '.';
}

bool file_policy_next_index(const char **rest, struct slice *name)
{
    const char *at = *rest + strspn(*rest, ", ");

    *name = (struct slice){ at, strcspn(at, ", ") };
    *rest = at + name->len;
    return name->len > 0;
}
