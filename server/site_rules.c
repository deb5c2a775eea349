/* Reading the operator's rules; see site_rules.h. Strict: what goes into a head must not
 * be able to end it, to begin another field, or to contradict one. */
#include "site_rules.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>

static bool is_token_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') ||
           (byte != '\0' && strchr("!#$%&'*+-.^_`|~", byte) != NULL);
}

/* RFC 9110 5.6.2 */
static bool is_token(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!is_token_byte(text.base[i])) {
            return false;
        }
    }
    return text.len > 0;
}

/* Visible ASCII and spaces: the other bytes that a field value may have (RFC 9110 5.5)
 * mean something else to some readers. */
static bool is_value(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.base[i] < 0x20 || text.base[i] > 0x7e) {
            return false;
        }
    }
    return text.len > 0;
}

static struct slice without_spaces(const char *text)
{
    struct slice slice = slice_of(text + strspn(text, " "));

    while (slice.len > 0 && slice.base[slice.len - 1] == ' ') {
        slice.len--;
    }
    return slice;
}

/* Framing and hop-by-hop fields (RFC 9110 7.6.1, RFC 9112 6), those that only the server
 * knows, and those that have an option of their own. */
static bool is_owned(struct slice name)
{
    static const char *const owned[] = {
        "Accept-Ranges",
        "Age",
        "Allow",
        "Cache-Control",
        "Connection",
        "Content-Encoding",
        "Content-Length",
        "Content-Range",
        "Content-Type",
        "Date",
        "ETag",
        "Keep-Alive",
        "Last-Modified",
        "Location",
        "Proxy-Authenticate",
        "Proxy-Authentication-Info",
        "Proxy-Authorization",
        "Proxy-Connection",
        "Retry-After",
        "Server",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
        "X-Content-Type-Options",
    };

    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        if (slice_equal_nocase(name, slice_of(owned[i]))) {
            return true;
        }
    }
    return false;
}

int site_rules_header(const char *text, struct slice *name, struct slice *value)
{
    const char *colon = strchr(text, ':');

    if (colon == NULL) {
        return -EINVAL;
    }
    *name = (struct slice){ text, (size_t)(colon - text) };
    *value = without_spaces(colon + 1);
    if (!is_token(*name) || !is_value(*value)) {
        return -EINVAL;
    }
    return is_owned(*name) ? -EPERM : 0;
}

size_t site_rules_header_len(struct slice name, struct slice value)
{
    return name.len + value.len + sizeof ": \r\n" - 1;
}

static const char *without_slash(const char *text)
{
    return *text == '/' ? text + 1 : text;
}

int site_rules_cache(const char *text, struct slice *glob, struct slice *value)
{
    const char *equals = strchr(text, '=');
    const char *start = without_slash(text);

    if (equals == NULL || start >= equals) {
        return -EINVAL;
    }
    *glob = (struct slice){ start, (size_t)(equals - start) };
    *value = without_spaces(equals + 1);
    return is_value(*value) && value->len <= SITE_RULES_CACHE_MAX ? 0 : -EINVAL;
}

int site_rules_path(const char *text, struct slice *path)
{
    const char *at = without_slash(text);

    *path = slice_of(at);
    if (path->len == 0 || path->len >= PATH_MAX) {
        return -EINVAL;
    }
    for (;;) {
        struct slice segment = { at, strcspn(at, "/") };

        if (segment.len == 0 || slice_equal(segment, SLICE(".")) ||
            slice_equal(segment, SLICE(".."))) {
            return -EINVAL;
        }
        if (at[segment.len] == '\0') {
            return 0;
        }
        at += segment.len + 1;
    }
}

int site_rules_error_page(const char *text, unsigned *status, struct slice *path)
{
    if ((text[0] != '4' && text[0] != '5') || strspn(text, "0123456789") != 3 ||
        text[3] != '=') {
        return -EINVAL;
    }
    *status = (unsigned)(100 * (text[0] - '0') + 10 * (text[1] - '0') + (text[2] - '0'));
    return site_rules_path(text + 4, path);
}

int site_rules_charset(const char *text)
{
    struct slice name = slice_of(text);

    return is_token(name) && name.len <= SITE_RULES_CHARSET_MAX ? 0 : -EINVAL;
}
