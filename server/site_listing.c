/* From a directory's listing to an answer: the choice between HTML and JSON, the fields,
 * preconditions. A listing has no validators, because no time stamp of a directory tells
 * that a file in it has grown. It must never know how the entries were found. */
#include "site_listing.h"

#include <stdio.h>

#include "negotiate.h"
#include "precondition.h"

struct listing_wish site_listing_wish(const struct request *request)
{
    struct listing_wish wish = { .format = negotiate_prefers_json(request)
                                               ? LISTING_JSON
                                               : LISTING_HTML };

    if (request->has_query) {
        listing_wish_read(&wish, request->query);
    }
    return wish;
}

/* The page has no script, and the browser is told to run none. */
static const char *typed_fields(enum listing_format format)
{
    switch (format) {
    case LISTING_HTML:
        break;
    case LISTING_JSON:
        return "Content-Type: application/json; charset=utf-8\r\n";
    }
    return "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
           "Content-Type: text/html; charset=utf-8\r\n";
}

/* Its path ends in a slash, so that a rule for all that is below it matches it too. */
static struct slice cache_control_of(struct site_view *view,
                                     const struct file_resolution *resolution)
{
    struct slice path = file_resolution_path(resolution);

    (void)snprintf(view->key, sizeof view->key, "%s%s", path.base,
                   path.len > 0 ? "/" : "");
    return site_fields_cache(view->site, view->key);
}

/* Puts field lines into view->more. Those of a 304 are the first. */
static struct slice render_fields(struct site_view *view,
                                  const struct file_resolution *resolution, bool modified)
{
    const struct site *site = view->site;
    struct slice cache_control = cache_control_of(view, resolution);
    int n = snprintf(view->more, sizeof view->more,
                     "%.*sCache-Control: %.*s\r\nVary: Accept\r\n", (int)site->common.len,
                     site->common.base, (int)cache_control.len, cache_control.base);

    if (modified && resolution->cut_short) {
        n += sprintf(view->more + n, "Listing-Limit: %d\r\n", (int)LISTING_ENTRIES_MAX);
    }
    if (modified) {
        n += sprintf(view->more + n, "X-Content-Type-Options: nosniff\r\n%s",
                     typed_fields(resolution->wish.format));
    }
    return (struct slice){ view->more, (size_t)n };
}

static void release(void *owner)
{
    file_resolution_put(owner);
}

/* The resolution owns the text, so it lives as long as the answer. */
static void answer_whole(struct site_view *view, const struct request *request,
                         struct file_resolution *resolution, struct response *response)
{
    const struct text *text = &resolution->listing;

    response_init(response, 200, view->date);
    response->fields = render_fields(view, resolution, true);
    response->content_length = (int64_t)text->len;
    if (request->method != METHOD_HEAD) {
        (void)work_get(&resolution->work);
        response->release = release;
        response->owner = resolution;
        response->body_count = 1;
        response->body[0] = (struct span){
            .kind = SPAN_MEMORY, .base = text->base, .length = text->len, .fd = -1
        };
    }
}

void site_listing_answer(struct site_view *view, const struct request *request,
                         struct file_resolution *resolution, struct response *response)
{
    static const struct validators none;

    switch (precondition_evaluate(request, &none, view->second)) {
    case PRECONDITION_PASS:
        answer_whole(view, request, resolution, response);
        break;
    case PRECONDITION_NOT_MODIFIED:
        response_init(response, 304, view->date);
        response->fields = render_fields(view, resolution, false);
        break;
    case PRECONDITION_FAILED:
        site_page_answer(view, request, 412, response);
        response->more = SLICE("Vary: Accept\r\n");
        break;
    }
}
