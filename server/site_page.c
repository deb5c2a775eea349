/* Answers that need no look at a file: refusals, redirects and OPTIONS. Their texts are
 * made once, for every status that has a reason phrase; the operator's own are read once,
 * so that they are there when descriptors, memory or the disk are not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site_internal.h"
#include "target.h"

enum {
    STATUS_MIN = 200,
    STATUS_MAX = 599,
    /* Beside the field lines of every answer; more than half for the media type. */
    PAGE_FIELDS_MAX = 640,
    /* The longest reason phrase twice, and the text around it. */
    PAGE_BODY_MAX = 320
};

/* Field lines that belong to one status. */
static const char *fields_of(unsigned status)
{
    switch (status) {
    case 204:
    case 405:
        return "Allow: GET, HEAD, OPTIONS\r\n";
    case 503:
        return "Retry-After: 1\r\n";
    default:
        return "";
    }
}

/* A redirect may be kept, but asked for again: the directory may become a file. */
static const char *cache_rule_of(unsigned status)
{
    return status < 400 ? "no-cache" : "no-store";
}

static bool has_page(unsigned status)
{
    return *response_reason(status) != '\0' &&
           (status == 204 || status == 301 || status >= 400);
}

static size_t page_room(const struct site *site)
{
    return site->common.len + PAGE_FIELDS_MAX + PAGE_BODY_MAX;
}

/* The field lines of a page, its type in two parts; type is NULL where there is no body. */
static struct slice build_fields(const struct site *site, unsigned status,
                                 const char *type, const char *charset, char *to)
{
    int n = snprintf(to, site->common.len + PAGE_FIELDS_MAX,
                     "%.*sCache-Control: %s\r\nX-Content-Type-Options: nosniff\r\n%s",
                     (int)site->common.len, site->common.base, cache_rule_of(status),
                     fields_of(status));

    if (type != NULL) {
        n += snprintf(to + n, site->common.len + PAGE_FIELDS_MAX - (size_t)n,
                      "Content-Type: %s%s\r\n", type, charset);
    }
    return (struct slice){ to, (size_t)n };
}

/* One page; its texts go to `to`, page_room bytes. What is written here is UTF-8, whatever
 * the charset of the files is. */
static struct site_page build(const struct site *site, unsigned status, char *to)
{
    struct site_page page = { .status = status, .has_body = status != 204 };
    const char *reason = response_reason(status);
    int n;

    page.fields = build_fields(site, status, page.has_body ? "text/html" : NULL,
                               "; charset=utf-8", to);
    if (page.has_body) {
        to += page.fields.len;
        n = snprintf(to, PAGE_BODY_MAX,
                     "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">"
                     "<title>%u %s</title></head>\n<body><h1>%u %s</h1></body>\n"
                     "</html>\n",
                     status, reason, status, reason);
        page.body = (struct slice){ to, (size_t)n };
    }
    return page;
}

int site_pages_build(struct site *site)
{
    unsigned count = 0;
    char *text;

    for (unsigned status = STATUS_MIN; status <= STATUS_MAX; status++) {
        count += has_page(status);
    }
    site->pages = malloc(count * (sizeof(struct site_page) + page_room(site)));
    if (site->pages == NULL) {
        return -ENOMEM;
    }
    text = (char *)(site->pages + count);
    for (unsigned status = STATUS_MIN; status <= STATUS_MAX; status++) {
        if (has_page(status)) {
            site->pages[site->page_count++] = build(site, status, text);
            text += page_room(site);
        }
    }
    return 0;
}

void site_pages_free(struct site *site)
{
    for (unsigned i = 0; i < site->page_count; i++) {
        free(site->pages[i].text);
        free(site->pages[i].content);
    }
    free(site->pages);
}

/* NULL for a status that is never answered. */
static struct site_page *find_page(const struct site *site, unsigned status)
{
    for (unsigned i = 0; i < site->page_count; i++) {
        if (site->pages[i].status == status) {
            return &site->pages[i];
        }
    }
    return NULL;
}

/* Takes the bytes that were found for a page. */
static int replace(struct site *site, struct site_page *page,
                   struct file_resolution *resolution)
{
    const char *type = site_fields_type(site, file_resolution_path(resolution));
    char *text = malloc(site->common.len + PAGE_FIELDS_MAX);

    if (text == NULL) {
        return -ENOMEM;
    }
    free(page->text);
    free(page->content);
    page->text = text;
    page->content = file_resolution_take_content(resolution);
    page->body = (struct slice){ page->content, (size_t)resolution->identity.size };
    page->fields = build_fields(site, page->status, type, site_fields_charset(site, type),
                                page->text);
    return 0;
}

int site_set_error_page(struct site *site, const char *rule)
{
    struct file_resolution *resolution;
    struct site_page *page;
    struct slice path;
    unsigned status;
    int error = site_rules_error_page(rule, &status, &path);

    if (error != 0) {
        return error;
    }
    resolution = file_resolution_new(&site->place, file_root_get(site->root), SLICE("/"),
                                     path, false);
    if (resolution == NULL) {
        return -ENOMEM;
    }
    file_resolution_run(resolution);
    page = find_page(site, status);
    if (resolution->outcome == FILE_DIRECTORY) {
        error = -EISDIR;
    } else if (resolution->outcome != FILE_FOUND) {
        error = resolution->error;
    } else if (resolution->fd >= 0) {
        error = -EFBIG;
    } else if (page != NULL) {
        error = replace(site, page, resolution);
    }
    file_resolution_put(resolution);
    return error;
}

/* A status without a page is a fault of the server. */
static const struct site_page *page_of(const struct site *site, unsigned status)
{
    const struct site_page *page = find_page(site, status);

    return page != NULL ? page : find_page(site, 500);
}

void site_page_answer(struct site_view *view, const struct request *request,
                      unsigned status, struct response *response)
{
    const struct site_page *page = page_of(view->site, status);

    response_init(response, page->status, view->date);
    response->fields = page->fields;
    if (!page->has_body) {
        return;
    }
    response->content_length = (int64_t)page->body.len;
    if (request->method != METHOD_HEAD && page->body.len > 0) {
        response->body_count = 1;
        response->body[0] = (struct span){ .kind = SPAN_MEMORY,
                                           .base = page->body.base,
                                           .length = page->body.len,
                                           .fd = -1 };
    }
}

static char *put(char *to, struct slice text)
{
    memcpy(to, text.base, text.len);
    return to + text.len;
}

/* The key begins with one slash and no more, so Location can name no other host. */
void site_page_redirect(struct site_view *view, const struct request *request,
                        struct slice key, struct response *response)
{
    char *end = put(view->more, SLICE("Location: "));
    size_t len = target_encode(key, end, 3 * key.len);

    site_page_answer(view, request, 301, response);
    end = put(end + len, SLICE("/"));
    if (request->has_query) {
        end = put(end, SLICE("?"));
        if (request->query.len > 0) {
            end = put(end, request->query);
        }
    }
    end = put(end, SLICE("\r\n"));
    response->more = (struct slice){ view->more, (size_t)(end - view->more) };
}

void site_page_range(struct site_view *view, const struct request *request, uint64_t size,
                     struct response *response)
{
    int n = snprintf(view->more, sizeof view->more, "Content-Range: bytes */%llu\r\n",
                     (unsigned long long)size);

    site_page_answer(view, request, 416, response);
    response->more = (struct slice){ view->more, (size_t)n };
}
