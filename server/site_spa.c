/* The page that stands for what is missing, where a program in the browser reads the path
 * (--spa): which requests get it, and the name under which the cache has it. It must never
 * know how a file is found. */
#include <string.h>

#include "negotiate.h"
#include "site_internal.h"

/* Every other key begins with a slash. */
struct slice site_spa_key(void)
{
    return SLICE("spa");
}

bool site_spa_is_key(struct slice key)
{
    return slice_equal(key, site_spa_key());
}

/* A name with a dot is that of a file, which is missing for whoever does not say that it
 * wants a page. */
static bool names_file(struct slice path)
{
    const char *slash = memrchr(path.base, '/', path.len);
    const char *last = slash == NULL ? path.base : slash + 1;

    return memchr(last, '.', (size_t)(path.base + path.len - last)) != NULL;
}

bool site_spa_applies(const struct site *site, const struct request *request,
                      struct slice key)
{
    if (site->spa.len == 0 || site_spa_is_key(key)) {
        return false;
    }
    switch (negotiate_html(request)) {
    case NEGOTIATE_HTML_NOT:
        return false;
    case NEGOTIATE_HTML_ANY:
        return !names_file(key);
    case NEGOTIATE_HTML_NAMED:
        return true;
    }
    return false;
}
