/* What the operator's options add to the fields of answers, as text that is made once. It
 * must never know a request nor an answer. */
#include "config.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site_internal.h"

/* Borrows the value from the options; owns the pattern, which fnmatch wants ended. */
struct site_cache_rule {
    char *glob;
    struct slice value;
};

/* A rule that is none, or one too many, was not checked by the caller. */
static int add_headers(struct site *site)
{
    const struct site_rule_list *list = &site->options.headers;
    size_t sum = 0;

    for (unsigned i = 0; i < list->count; i++) {
        char *end = site->common_text + site->common.len;
        struct slice name, value;
        int result = site_rules_header(list->values[i], &name, &value);

        if (result != 0) {
            return result;
        }
        sum += site_rules_header_len(name, value);
        if (sum > SITE_RULES_HEADERS_MAX) {
            return -EMSGSIZE;
        }
        site->common.len += (size_t)sprintf(end, "%.*s: %.*s\r\n", (int)name.len,
                                            name.base, (int)value.len, value.base);
    }
    return 0;
}

static void set_server(struct site *site)
{
    int n = 0;

    switch (site->options.server_header) {
    case SITE_SERVER_OFF:
        break;
    case SITE_SERVER_NAME:
        n = snprintf(site->common_text, SITE_SERVER_MAX, "Server: tetrad\r\n");
        break;
    case SITE_SERVER_FULL:
        n = snprintf(site->common_text, SITE_SERVER_MAX,
                     "Server: tetrad/" PACKAGE_VERSION " (%.64s)\r\n",
                     site->options.model);
        break;
    }
    site->common = (struct slice){ site->common_text, (size_t)n };
}

static int set_charset(struct site *site)
{
    const char *name = site->options.charset == NULL ? "utf-8" : site->options.charset;

    site->charset[0] = '\0';
    if (*name != '\0') {
        if (site_rules_charset(name) != 0) {
            return -EINVAL;
        }
        (void)snprintf(site->charset, sizeof site->charset, "; charset=%s", name);
    }
    return 0;
}

static int set_cache_rules(struct site *site)
{
    const struct site_rule_list *list = &site->options.cache_rules;

    if (list->count == 0) {
        return 0;
    }
    site->cache_rules = calloc(list->count, sizeof *site->cache_rules);
    if (site->cache_rules == NULL) {
        return -ENOMEM;
    }
    for (; site->cache_rule_count < list->count; site->cache_rule_count++) {
        struct site_cache_rule *rule = &site->cache_rules[site->cache_rule_count];
        struct slice glob;
        int result =
            site_rules_cache(list->values[site->cache_rule_count], &glob, &rule->value);

        if (result != 0) {
            return result;
        }
        rule->glob = strndup(glob.base, glob.len);
        if (rule->glob == NULL) {
            return -ENOMEM;
        }
    }
    return 0;
}

int site_fields_build(struct site *site)
{
    int result;

    set_server(site);
    result = add_headers(site);
    if (result == 0) {
        result = set_charset(site);
    }
    return result == 0 ? set_cache_rules(site) : result;
}

void site_fields_free(struct site *site)
{
    for (unsigned i = 0; i < site->cache_rule_count; i++) {
        free(site->cache_rules[i].glob);
    }
    free(site->cache_rules);
}

/* May be kept, but is asked for again each time, unless a rule says else. */
struct slice site_fields_cache(const struct site *site, const char *path)
{
    for (unsigned i = 0; i < site->cache_rule_count; i++) {
        if (fnmatch(site->cache_rules[i].glob, path, 0) == 0) {
            return site->cache_rules[i].value;
        }
    }
    return SLICE("no-cache");
}

const char *site_fields_type(const struct site *site, struct slice path)
{
    const char *slash = memrchr(path.base, '/', path.len);
    const char *name = slash == NULL ? path.base : slash + 1;

    return mime_type(site->options.types,
                     (struct slice){ name, (size_t)(path.base + path.len - name) });
}

const char *site_fields_charset(const struct site *site, const char *type)
{
    return mime_has_charset(type) ? site->charset : "";
}
