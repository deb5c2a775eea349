/* From a request's path to a file: the cache, by the bytes of the path as they came; else
 * by the decoded path; else a resolution, which may have to be run elsewhere. It must
 * never know what an answer contains. */
#include <errno.h>
#include <string.h>

#include "site_internal.h"
#include "site_listing.h"
#include "target.h"

/* Each round but the last was spoiled by another thread, or by descriptors running out, or
 * it found that the page for missing ones is to be looked for. */
enum { ROUNDS_MAX = 5 };

/* ---- out of the cache */

static void answer_refusal(struct site_view *view, const struct request *request,
                           struct slice key, unsigned status, struct response *response)
{
    if (status == 301) {
        site_page_redirect(view, request, key, response);
    } else {
        site_page_answer(view, request, status, response);
    }
}

/* Takes the block's reference. The first use in a new second puts a new block in its
 * place; one of the second to come is another thread's, whose clock was read later. */
static void answer_block(struct site_view *view, const struct request *request,
                         struct slice key, struct file_block *block,
                         struct response *response)
{
    if (block->second != view->second && block->second != view->second + 1) {
        struct file_block *renewed = site_file_block(view, block->version, block);

        if (renewed != NULL) {
            file_cache_renew(view->store->cache, key, block, renewed);
            file_block_put(block);
            block = renewed;
        }
    }
    site_file_answer(view, request, block, response);
}

enum step {
    STEP_ANSWERED,
    STEP_PENDING,
    STEP_RESOLVED,
    STEP_AGAIN,   /* the question is to be asked again */
    STEP_MISSING, /* the page for missing ones is to be asked for instead */
    STEP_NOTHING  /* nothing is known yet */
};

/* Answers with a refusal, unless there is a page for what is missing. */
static enum step refuse(struct site_view *view, const struct request *request,
                        struct slice key, unsigned status, struct response *response)
{
    if (status == 404 && site_spa_applies(view->site, request, key)) {
        return STEP_MISSING;
    }
    answer_refusal(view, request, key, status, response);
    return STEP_ANSWERED;
}

static enum file_cache_result look_up(struct site_view *view, struct slice key,
                                      struct file_cache_hit *hit)
{
    return file_cache_find(view->store->cache, key, view->check,
                           view->site->options.revalidate_ms, hit);
}

/* The first form of a file that was asked for is kept under its key, and says which other
 * forms there are; these are kept under longer keys. A NUL is in no path. */
static struct slice form_key(struct site_view *view, struct slice key, enum coding coding)
{
    if (key.base != view->key) {
        memcpy(view->key, key.base, key.len);
    }
    view->key[key.len] = '\0';
    view->key[key.len + 1] = (char)('0' + coding);
    return (struct slice){ view->key, key.len + 2 };
}

/* For a file with siblings, of which *hit is one form. Puts the form that is wanted, and
 * its key, in the place of it: FILE_CACHE_FRESH if it is kept and can be sent, _STALE if
 * it is kept. */
static enum file_cache_result choose_form(struct site_view *view,
                                          const struct request *request,
                                          enum file_cache_result result,
                                          struct slice *key, struct file_cache_hit *hit)
{
    struct accepted_codings accepted;
    enum coding coding;

    negotiate_read_codings(request, &accepted);
    coding = negotiate_coding(&accepted, hit->block->version->codings);
    if (coding == hit->block->version->coding) {
        return result;
    }
    file_block_put(hit->block);
    *key = form_key(view, *key, coding);
    result = look_up(view, *key, hit);
    if (result == FILE_CACHE_FRESH &&
        negotiate_coding(&accepted, hit->block->version->codings) != coding) {
        /* It knows its siblings as they were when it was looked at itself. */
        result = FILE_CACHE_STALE;
    }
    return result;
}

/* STEP_NOTHING: *stale is what is kept but too old to be trusted, with a reference, or
 * NULL. */
static enum step answer_kept(struct site_view *view, const struct request *request,
                             struct slice key, struct file_block **stale,
                             struct response *response)
{
    struct file_cache_hit hit;
    enum file_cache_result result = look_up(view, key, &hit);

    *stale = NULL;
    if (result != FILE_CACHE_MISS && hit.block == NULL) {
        return refuse(view, request, key, (unsigned)hit.refusal, response);
    }
    if (result != FILE_CACHE_MISS && hit.block->version->codings != 0) {
        result = choose_form(view, request, result, &key, &hit);
    }
    switch (result) {
    case FILE_CACHE_MISS:
        return STEP_NOTHING;
    case FILE_CACHE_STALE:
        *stale = hit.block;
        return STEP_NOTHING;
    case FILE_CACHE_FRESH:
        break;
    }
    answer_block(view, request, key, hit.block, response);
    return STEP_ANSWERED;
}

/* ---- the path */

struct name {
    struct slice key;  /* a slash, the decoded path, and a slash if it ended in one */
    struct slice path; /* the decoded path, within the key */
    bool directory;
};

/* 0, or the status that refuses the path. */
static unsigned decode(struct site_view *view, struct slice raw, struct name *name)
{
    struct target target;
    size_t len = 1;

    view->key[0] = '/';
    switch (target_decode(raw, view->key + 1, PATH_MAX, &target)) {
    case TARGET_MALFORMED:
        return 400;
    case TARGET_MISSING:
        return 404;
    case TARGET_OK:
        break;
    }
    len += target.len;
    if (target.directory && target.len > 0) {
        view->key[len++] = '/';
    }
    name->key = (struct slice){ view->key, len };
    name->path = (struct slice){ view->key + 1, target.len };
    name->directory = target.directory;
    return file_policy_shows(&view->site->policy, name->path) ? 0 : 404;
}

/* ---- out of the file system */

/* What errno says of a path, as a status (RFC 9110 15). */
static unsigned status_of(int error)
{
    switch (-error) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EXDEV: /* it leads out of the root */
        return 404;
    case EACCES:
    case EPERM:
        return 403;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EBUSY: /* written or renamed faster than it could be read */
        return 503;
    default:
        return 500;
    }
}

/* A question about the path. The reference to the stale block is taken. NULL without
 * memory. */
static struct file_resolution *ask(struct site_view *view, const struct request *request,
                                   const struct name *name, struct file_block *stale)
{
    const struct site *site = view->site;
    bool renew_root;
    struct file_root *root = site_root_borrow(&view->store->root, view->check.now_ms,
                                              site->options.revalidate_ms, &renew_root);
    struct file_resolution *resolution =
        file_resolution_new(&site->place, root, name->key, name->path, name->directory);

    if (resolution != NULL) {
        resolution->renew_root = renew_root;
        resolution->asked_ms = view->check.now_ms;
        resolution->generation = view->check.generation;
        negotiate_read_codings(request, &resolution->accepted);
        resolution->lists = site->options.listing && name->directory;
        if (resolution->lists) {
            resolution->wish = site_listing_wish(request);
        }
        if (stale != NULL && !stale->version->racy) {
            resolution->known_identity = stale->version->identity;
            resolution->known_form =
                (struct file_form){ stale->version->coding, stale->version->codings };
            resolution->known = &resolution->known_identity;
        }
    }
    file_block_put(stale);
    return resolution;
}

/* Refusals that a look at the file system gave; what the server lacked is no property of
 * the path, and is not remembered. */
static enum step answer_failed(struct site_view *view, const struct request *request,
                               const struct file_resolution *resolution, struct slice key,
                               struct response *response)
{
    struct file_check check = { resolution->asked_ms, resolution->generation };
    unsigned status =
        resolution->outcome == FILE_DIRECTORY ? 301 : status_of(resolution->error);

    if (status == 301 && site_spa_is_key(key)) {
        status = 404;
    }
    if (status < 500) {
        file_cache_refuse(view->store->cache, key, (int)status, check);
    }
    return refuse(view, request, key, status, response);
}

/* NULL without memory. */
static struct file_version *version_of(const struct site_view *view,
                                       struct file_resolution *resolution)
{
    const struct site *site = view->site;
    struct file_version *version = file_version_new(
        view->sharing, &resolution->identity, file_resolution_take_content(resolution),
        file_resolution_take_fd(resolution),
        site_fields_type(site, file_resolution_path(resolution)));

    if (version != NULL) {
        version->racy = resolution->racy;
        file_version_set_coding(version, resolution->form.coding,
                                resolution->form.codings);
        version->cache_control =
            site_fields_cache(site, file_resolution_path(resolution).base);
        version->by_accept = site_spa_is_key(file_resolution_key(resolution));
        if (site->options.no_etag) {
            version->etag_len = 0;
        }
    }
    return version;
}

/* Where this version is to be kept: not in the place of another form that goes on. */
static struct slice key_of(struct site_view *view, struct slice key,
                           const struct file_version *version)
{
    struct file_cache_hit hit;
    bool beside;

    if (version->codings == 0 || look_up(view, key, &hit) == FILE_CACHE_MISS ||
        hit.block == NULL) {
        return key;
    }
    beside = hit.block->version->codings == version->codings &&
             hit.block->version->coding != version->coding;
    file_block_put(hit.block);
    return beside ? form_key(view, key, version->coding) : key;
}

static void answer_found(struct site_view *view, const struct request *request,
                         struct file_resolution *resolution, struct slice key,
                         struct response *response)
{
    struct file_check check = { resolution->asked_ms, resolution->generation };
    struct file_version *version = version_of(view, resolution);
    struct file_block *block = NULL;

    if (version != NULL) {
        block = site_file_block(view, version, NULL);
        file_version_put(version);
    }
    if (block == NULL) {
        site_page_answer(view, request, 503, response);
        return;
    }
    file_cache_store(view->store->cache, key_of(view, key, block->version), block, check);
    site_file_answer(view, request, block, response);
}

/* What was known may have left the cache meanwhile. */
static enum step answer_unchanged(struct site_view *view, const struct request *request,
                                  const struct file_resolution *resolution,
                                  struct slice key, struct response *response)
{
    struct file_check check = { resolution->asked_ms, resolution->generation };
    struct file_cache *cache = view->store->cache;
    struct file_block *block = file_cache_confirm(cache, key, resolution->known, check);

    if (block == NULL && resolution->form.codings != 0) {
        key = form_key(view, key, resolution->form.coding);
        block = file_cache_confirm(cache, key, resolution->known, check);
    }
    if (block == NULL) {
        return STEP_AGAIN;
    }
    answer_block(view, request, key, block, response);
    return STEP_ANSWERED;
}

static enum step settle(struct site_view *view, const struct request *request,
                        struct file_resolution *resolution, bool last,
                        struct response *response)
{
    struct slice key = file_resolution_key(resolution);

    if (resolution->root_renewed) {
        site_root_settle(&view->store->root, resolution->root, resolution->asked_ms);
    }
    switch (resolution->outcome) {
    case FILE_FAILED:
        if ((resolution->error == -EMFILE || resolution->error == -ENFILE) && !last &&
            file_cache_drop_descriptors(view->store->cache)) {
            return STEP_AGAIN;
        }
        return answer_failed(view, request, resolution, key, response);
    case FILE_DIRECTORY:
        return answer_failed(view, request, resolution, key, response);
    case FILE_UNCHANGED:
        return answer_unchanged(view, request, resolution, key, response);
    case FILE_LISTED:
        file_cache_forget(view->store->cache, key);
        site_listing_answer(view, request, resolution, response);
        break;
    case FILE_FOUND:
        answer_found(view, request, resolution, key, response);
        break;
    }
    return STEP_ANSWERED;
}

/* ---- all together */

/* By the request's own path: from the cache, or to a name to ask for. */
static enum step begin_path(struct site_view *view, const struct request *request,
                            struct name *name, struct file_block **stale,
                            struct response *response)
{
    enum step step = STEP_NOTHING;
    unsigned status;

    /* A key is a decoded path, so a path with an escape must not be looked up as it is. */
    if (request->path_is_plain) {
        step = answer_kept(view, request, request->path, stale, response);
    }
    if (step != STEP_NOTHING) {
        return step;
    }
    status = decode(view, request->path, name);
    if (status != 0) {
        file_block_put(*stale);
        site_page_answer(view, request, status, response);
        return STEP_ANSWERED;
    }
    return request->path_is_plain && slice_equal(name->key, request->path)
               ? STEP_NOTHING
               : answer_kept(view, request, name->key, stale, response);
}

/* Answers from the cache, or begins a resolution. */
static enum step begin(struct site_view *view, const struct request *request,
                       bool missing, struct file_resolution **resolution,
                       struct response *response)
{
    struct file_block *stale = NULL;
    struct name name;
    enum step step;

    if (missing) {
        name = (struct name){ .key = site_spa_key(), .path = view->site->spa };
        step = answer_kept(view, request, name.key, &stale, response);
    } else {
        step = begin_path(view, request, &name, &stale, response);
    }
    if (step != STEP_NOTHING) {
        return step;
    }
    *resolution = ask(view, request, &name, stale);
    if (*resolution == NULL) {
        site_page_answer(view, request, 503, response);
        return STEP_ANSWERED;
    }
    if (view->may_block) {
        file_resolution_run(*resolution);
    } else if (!file_resolution_try(*resolution)) {
        return STEP_PENDING;
    }
    return STEP_RESOLVED;
}

enum site_result site_find(struct site_view *view, const struct request *request,
                           struct work **work, struct response *response)
{
    struct file_resolution *resolution = (struct file_resolution *)*work;
    bool missing = resolution != NULL && site_spa_is_key(file_resolution_key(resolution));
    enum step step = resolution != NULL ? STEP_RESOLVED : STEP_AGAIN;

    *work = NULL;
    for (unsigned round = 1; round <= ROUNDS_MAX; round++) {
        if (step != STEP_RESOLVED) {
            step = begin(view, request, missing, &resolution, response);
        }
        if (step == STEP_RESOLVED) {
            step = settle(view, request, resolution, round == ROUNDS_MAX, response);
            file_resolution_put(resolution);
        }
        if (step == STEP_ANSWERED) {
            return SITE_READY;
        }
        if (step == STEP_PENDING) {
            *work = &resolution->work;
            return SITE_PENDING;
        }
        missing = missing || step == STEP_MISSING;
    }
    site_page_answer(view, request, 503, response);
    return SITE_READY;
}
