/* Asks a site and collects the whole answer, as a connection would send it; checks on the
 * way what holds for every answer. It must never know what a test expects. */
#ifndef TETRAD_SITE_DRIVER_H
#define TETRAD_SITE_DRIVER_H

#include "tree.h"

#include "request_of.h"
#include "site.h"
#include "site_internal.h"

struct answer {
    unsigned status;
    bool close;
    int64_t content_length;
    bool one_send; /* it was ready as one run of bytes */
    char *head;    /* NUL-terminated, kept connection */
    size_t head_len;
    char *body;
    size_t len;
};

/* A site on a tree, and the views that the tests use. */
struct site_fixture {
    struct tree tree;
    struct site_options options;
    struct site *site;
    struct site_view *view;
    struct request request;
    uint64_t now_ms;
};

static inline void site_fixture_open(struct site_fixture *fixture)
{
    tree_open(&fixture->tree);
    fixture->options = (struct site_options){ .root = fixture->tree.path,
                                              .index = "index.html",
                                              .revalidate_ms = 1000,
                                              .cache_bytes = 64 * 1024 * 1024,
                                              .server_header = SITE_SERVER_OFF,
                                              .model = "driver" };
    fixture->now_ms = 1000;
}

/* After the tree and the options are as the test wants them. */
static inline void site_fixture_start(struct site_fixture *fixture)
{
    assert_int_equal(site_open(&fixture->site, &fixture->options), 0);
    fixture->view = site_view_open(fixture->site, SITE_PRIVATE_CACHE, true);
    assert_non_null(fixture->view);
}

/* The tree stays: it can be started again. */
static inline void site_fixture_stop(struct site_fixture *fixture)
{
    site_view_close(fixture->view);
    site_close(fixture->site);
    fixture->view = NULL;
    fixture->site = NULL;
}

static inline void site_fixture_close(struct site_fixture *fixture)
{
    site_fixture_stop(fixture);
    tree_close(&fixture->tree);
}

/* A tree with a link to the root, which a deployment swaps, and a site on it. */
static inline struct site_fixture *site_deployed(uint64_t revalidate_ms)
{
    struct site_fixture *fixture = calloc(1, sizeof *fixture);
    const struct tree *tree = &fixture->tree;

    site_fixture_open(fixture);
    tree_directory(tree, "root");
    tree_text(tree, "root/a.txt", "first");
    tree_directory(tree, "root/dir");
    tree_text(tree, "root/dir/index.htm", "second choice");
    tree_bytes(tree, "root/large", FILE_MEMORY_MAX + 1);
    tree_link(tree, "current", "root");
    fixture->options.root = strdup(tree_path(tree, "current"));
    fixture->options.index = "index.html,index.htm";
    fixture->options.revalidate_ms = revalidate_ms;
    site_fixture_start(fixture);
    return fixture;
}

static inline void site_undeployed(struct site_fixture *fixture)
{
    char *root = (char *)fixture->options.root;

    site_fixture_close(fixture);
    free(root);
    free(fixture);
}

/* From now on only the interval tells: changes are no longer hinted at. */
static inline void stop_watching(struct site_fixture *fixture)
{
    file_watch_close(fixture->site->watch);
    fixture->site->watch = NULL;
    fixture->site->place.watch = NULL;
}

/* lines: as in request_of.h. */
static inline void make_request(struct request *request, enum request_method method,
                                const char *target, const char *lines)
{
    const char *query = strchr(target, '?');

    request_of(request, lines);
    request->method = method;
    request->version_minor = 1;
    request->target = slice_of(target);
    request->path = request->target;
    if (query != NULL) {
        request->path.len = (size_t)(query - target);
        request->query = slice_of(query + 1);
        request->has_query = true;
    }
}

static inline void collect_span(struct answer *answer, const struct span *span)
{
    assert_true(span->length > 0);
    assert_null(span->release);
    answer->body = realloc(answer->body, answer->len + span->length + 1);
    assert_non_null(answer->body);
    if (span->kind == SPAN_MEMORY) {
        memcpy(answer->body + answer->len, span->base, span->length);
    } else {
        assert_int_equal(
            pread(span->fd, answer->body + answer->len, span->length, span->offset),
            (ssize_t)span->length);
    }
    answer->len += span->length;
    answer->body[answer->len] = '\0';
}

/* What is ready is what would else be put together; only its Date may be a second on. */
static inline void check_ready(const struct answer *answer, struct slice ready)
{
    static const size_t date_at = sizeof "HTTP/1.1 200 OK\r\nDate: " - 1;
    size_t behind = date_at + RESPONSE_DATE_LEN;

    assert_int_equal(ready.len, answer->head_len + answer->len);
    assert_memory_equal(ready.base, answer->head, date_at);
    assert_memory_equal(ready.base + behind, answer->head + behind,
                        answer->head_len - behind);
    if (answer->len > 0) {
        assert_memory_equal(ready.base + answer->head_len, answer->body, answer->len);
    }
}

/* Copies all of the response and releases it. */
static inline struct answer collect(const struct request *request,
                                    const struct response *response)
{
    struct answer answer = { .status = response->status,
                             .close = response->close,
                             .content_length = response->content_length,
                             .one_send = response->ready.base != NULL };

    assert_true(response->body_count <= RESPONSE_SPANS_MAX);
    answer.head = malloc(response_head_bound(response) + 1);
    answer.body = calloc(1, 1);
    answer.head_len = response_head_render(response, RESPONSE_KEEP, answer.head);
    answer.head[answer.head_len] = '\0';
    for (unsigned i = 0; i < response->body_count; i++) {
        collect_span(&answer, &response->body[i]);
    }
    if (answer.one_send) {
        check_ready(&answer, response->ready);
    }
    if (answer.content_length >= 0 && request->method != METHOD_HEAD &&
        answer.status != 304) {
        assert_int_equal(answer.content_length, answer.len);
    } else {
        assert_int_equal(answer.len, 0);
    }
    if (response->release != NULL) {
        response->release(response->owner);
    }
    return answer;
}

static inline void answer_free(struct answer *answer)
{
    free(answer->head);
    free(answer->body);
}

/* Asks and runs the work that the answer needs, if any. */
static inline struct answer ask_view(struct site_fixture *fixture, struct site_view *view,
                                     enum request_method method, const char *target,
                                     const char *lines)
{
    struct response response;
    struct work *work = NULL;

    make_request(&fixture->request, method, target, lines);
    while (site_handle(view, &fixture->request, &work, fixture->now_ms, &response) ==
           SITE_PENDING) {
        assert_non_null(work);
        work_run(work);
    }
    assert_null(work);
    return collect(&fixture->request, &response);
}

static inline struct answer ask(struct site_fixture *fixture, enum request_method method,
                                const char *target, const char *lines)
{
    return ask_view(fixture, fixture->view, method, target, lines);
}

static inline struct answer get(struct site_fixture *fixture, const char *target)
{
    return ask(fixture, METHOD_GET, target, "");
}

/* The value of a field; NULL if there is none. Valid until the fourth next call. */
static inline const char *field(const struct answer *answer, const char *name)
{
    static char values[4][32 * 1024];
    static unsigned next;
    char *value = values[next++ % 4];
    char start[64];
    const char *at;

    (void)snprintf(start, sizeof start, "\r\n%s: ", name);
    at = strstr(answer->head, start);
    if (at == NULL) {
        return NULL;
    }
    at += strlen(start);
    (void)snprintf(value, sizeof values[0], "%.*s", (int)strcspn(at, "\r"), at);
    return value;
}

static inline bool has_field(const struct answer *answer, const char *name,
                             const char *value)
{
    const char *found = field(answer, name);

    return value == NULL ? found == NULL : found != NULL && strcmp(found, value) == 0;
}

/* The same head, but for the value of Date: a second may end between two answers. */
static inline bool same_head(const struct answer *one, const struct answer *other)
{
    enum { DATE_LEN = 29 };
    const char *one_date = strstr(one->head, "\r\nDate: ");
    const char *other_date = strstr(other->head, "\r\nDate: ");
    size_t before, start = sizeof "\r\nDate: " - 1;

    if (one_date == NULL || other_date == NULL) {
        return false;
    }
    before = (size_t)(one_date - one->head) + start;
    return (size_t)(other_date - other->head) + start == before &&
           memcmp(one->head, other->head, before) == 0 &&
           strcmp(one_date + start + DATE_LEN, other_date + start + DATE_LEN) == 0;
}

/* The status alone; the whole answer is checked and dropped. */
static inline unsigned status_of(struct site_fixture *fixture, enum request_method method,
                                 const char *target, const char *lines)
{
    struct answer answer = ask(fixture, method, target, lines);

    answer_free(&answer);
    return answer.status;
}

/* True if a GET gives 200 and this text. */
static inline bool gives(struct site_fixture *fixture, const char *target,
                         const char *text)
{
    struct answer answer = get(fixture, target);
    bool same = answer.status == 200 && answer.len == strlen(text) &&
                memcmp(answer.body, text, answer.len) == 0;

    answer_free(&answer);
    return same;
}

#endif
