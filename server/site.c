/* The site's life, and the first look at a request: what needs no file. See site.h. */
#include "site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "http_date.h"
#include "site_internal.h"
#include "target.h"

enum {
    /* Files kept open by one cache: the most, and one of so many descriptors that the
     * process may have, so that connections get the rest. */
    KEPT_OPEN_MAX = 128,
    KEPT_OPEN_MIN = 4,
    KEPT_OPEN_SHARE = 64
};

/* ---- life */

/* A root that cannot be listed or searched is refused at start, not at each request. */
static int check_root(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = 0;

    if (fd < 0) {
        return -errno;
    }
    if (faccessat(fd, ".", X_OK, AT_EACCESS) != 0) {
        error = -errno;
    }
    close(fd);
    return error;
}

static unsigned kept_open_limit(void)
{
    struct rlimit limit;
    rlim_t share = KEPT_OPEN_MAX;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        share = limit.rlim_cur / KEPT_OPEN_SHARE;
    }
    if (share < KEPT_OPEN_MIN) {
        return KEPT_OPEN_MIN;
    }
    return share > KEPT_OPEN_MAX ? KEPT_OPEN_MAX : (unsigned)share;
}

static int open_store(struct site_store *store, struct site *site,
                      enum file_sharing sharing)
{
    store->cache = file_cache_open(sharing, &site->limits);
    if (store->cache == NULL) {
        return -ENOMEM;
    }
    site_root_init(&store->root, file_root_get(site->root));
    return 0;
}

static void close_store(struct site_store *store)
{
    if (store->cache != NULL) {
        file_cache_close(store->cache);
        site_root_destroy(&store->root);
    }
}

static int fill(struct site *site)
{
    int error = check_root(site->options.root);

    if (error == 0) {
        error = file_root_open(&site->root, site->options.root, site->options.symlinks);
    }
    if (error == 0 && site->options.spa != NULL) {
        error = site_rules_path(site->options.spa, &site->spa);
    }
    if (error == 0) {
        error = site_fields_build(site);
    }
    if (error == 0) {
        error = site_pages_build(site);
    }
    if (error == 0) {
        error = open_store(&site->shared, site, FILE_SHARED);
    }
    if (error == 0) {
        site->watch = file_watch_open();
        site->place.watch = site->watch;
    }
    return error;
}

int site_open(struct site **site, const struct site_options *options)
{
    struct site *opened = malloc(sizeof *opened);
    int error;

    if (opened == NULL) {
        return -ENOMEM;
    }
    *opened = (struct site){
        .options = *options,
        .policy = { .index = options->index, .dotfiles = options->dotfiles },
        .limits = { .bytes = options->cache_bytes, .descriptors = kept_open_limit() }
    };
    text_budget_init(&opened->listings, SITE_LISTINGS_MAX);
    opened->place = (struct file_place){ .policy = &opened->policy,
                                         .root_path = options->root,
                                         .listings = &opened->listings };
    error = fill(opened);
    if (error != 0) {
        site_close(opened);
        return error;
    }
    *site = opened;
    return 0;
}

void site_close(struct site *site)
{
    if (site == NULL) {
        return;
    }
    file_watch_close(site->watch);
    close_store(&site->shared);
    site_pages_free(site);
    site_fields_free(site);
    file_root_put(site->root);
    free(site);
}

static bool leads_to_file(const struct site *site, struct slice path, bool directory)
{
    struct file_resolution *resolution = file_resolution_new(
        &site->place, file_root_get(site->root), SLICE("/"), path, directory);
    bool found = false;

    if (resolution != NULL) {
        file_resolution_run(resolution);
        found = resolution->outcome == FILE_FOUND;
        file_resolution_put(resolution);
    }
    return found;
}

bool site_has_index(const struct site *site)
{
    return leads_to_file(site, SLICE(""), true);
}

bool site_has_spa(const struct site *site)
{
    return site->spa.len > 0 && leads_to_file(site, site->spa, false);
}

struct site_view *site_view_open(struct site *site, enum site_sharing sharing,
                                 bool may_block)
{
    struct site_view *view = malloc(sizeof *view);

    if (view == NULL) {
        return NULL;
    }
    view->site = site;
    view->may_block = may_block;
    view->own.cache = NULL;
    view->second = INT64_MIN;
    switch (sharing) {
    case SITE_PRIVATE_CACHE:
        view->sharing = FILE_PRIVATE;
        view->store = &view->own;
        break;
    case SITE_SHARED_CACHE:
        view->sharing = FILE_SHARED;
        view->store = &site->shared;
        break;
    }
    if (getrandom(view->random, sizeof view->random, GRND_NONBLOCK) < 0) {
        view->random[0] = (uint64_t)(uintptr_t)view;
        view->random[1] = clock_now_ms();
    }
    if (view->store == &view->own && open_store(&view->own, site, FILE_PRIVATE) != 0) {
        free(view);
        return NULL;
    }
    return view;
}

void site_view_close(struct site_view *view)
{
    if (view != NULL) {
        close_store(&view->own);
        free(view);
    }
}

/* ---- requests */

static void look_at_clocks(struct site_view *view, uint64_t now_ms)
{
    int64_t second = clock_wall_seconds();

    view->check.now_ms = now_ms;
    view->check.generation =
        file_watch_generation(view->site->watch) +
        atomic_load_explicit(&view->store->root.changes, memory_order_acquire);
    if (second != view->second) {
        view->second = second;
        http_date_format(second, view->date);
        file_cache_trim(view->store->cache, now_ms);
    }
}

/* Any valid target will do, there or not (RFC 9110 9.3.7). */
static void answer_options(struct site_view *view, const struct request *request,
                           struct response *response)
{
    struct target target;
    bool valid = slice_equal(request->path, SLICE("*")) ||
                 target_decode(request->path, view->key, sizeof view->key, &target) !=
                     TARGET_MALFORMED;

    site_page_answer(view, request, valid ? 204 : 400, response);
}

enum site_result site_handle(struct site_view *view, const struct request *request,
                             struct work **work, uint64_t now_ms,
                             struct response *response)
{
    look_at_clocks(view, now_ms);
    if (request->status != 0) {
        site_page_answer(view, request, request->status, response);
        return SITE_READY;
    }
    switch (request->method) {
    case METHOD_GET:
    case METHOD_HEAD:
        return site_find(view, request, work, response);
    case METHOD_OPTIONS:
        answer_options(view, request, response);
        break;
    case METHOD_CONNECT:
        /* What follows would be the tunnel's. */
        site_page_answer(view, request, 405, response);
        response->close = true;
        break;
    case METHOD_REGISTERED:
        site_page_answer(view, request, 405, response);
        break;
    case METHOD_UNKNOWN:
        site_page_answer(view, request, 501, response);
        response->close = true;
        break;
    }
    return SITE_READY;
}
