/* The site: from a request to its answer, out of one document root. It must never know a
 * connection, a socket or a model. One struct site per process tree, opened before any
 * fork; one site_view per worker. */
#ifndef TETRAD_SITE_H
#define TETRAD_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "attributes.h"
#include "file_policy.h"
#include "mime.h"
#include "request.h"
#include "response.h"
#include "work.h"

enum site_server_header { SITE_SERVER_OFF, SITE_SERVER_NAME, SITE_SERVER_FULL };

struct site_rule_list {
    const char *const *values;
    unsigned count;
};

/* All borrowed for the life of the site. */
struct site_options {
    const char *root;  /* the document root's path */
    const char *index; /* file names separated by commas; "": none */
    bool listing;      /* a directory without an index file is listed */
    enum file_symlinks symlinks;
    enum file_dotfiles dotfiles;
    const struct mime_table *types; /* before those that are built in; NULL: none */
    const char *charset;            /* of text; "": not said; NULL: utf-8 */
    struct site_rule_list headers, cache_rules; /* as site_rules.h reads them */
    const char *spa; /* below the root: for a page that is missing; NULL: none */
    bool no_etag;
    uint64_t
        revalidate_ms; /* how old the check of a cached file may be; 0: every request */
    uint64_t cache_bytes; /* per cache */
    enum site_server_header server_header;
    const char *model; /* for SITE_SERVER_FULL: "tetrad/VERSION (MODEL)" */
};

struct site;
struct site_view;

/* 0, or -errno: ENOENT, ENOTDIR, EACCES of the root, ENOMEM. */
int site_open(struct site **site, const struct site_options *options) MUST_CHECK;
void site_close(struct site *site); /* NULL allowed */

/* Before the first view: what "404=FILE" says (see site_rules.h) is done for this status.
 * The file is read now, and never again. 0, -EINVAL: no such rule, or -errno of the file;
 * -EXDEV: links lead out of the root, -EFBIG: over 64 KiB. */
int site_set_error_page(struct site *site, const char *rule) MUST_CHECK;

/* True if the root holds an index file, so that "/" is served. */
bool site_has_index(const struct site *site);

/* True if there is the page that options.spa names. */
bool site_has_spa(const struct site *site);

/* A cache of its own for each view (one kernel thread), or one shared by all views of the
 * site (threads). */
enum site_sharing { SITE_PRIVATE_CACHE, SITE_SHARED_CACHE };

/* may_block: file work is done inside site_handle; else it never sleeps and answers
 * SITE_PENDING instead. Called in the process and for the thread that will use the view.
 * NULL without memory. */
struct site_view *site_view_open(struct site *site, enum site_sharing sharing,
                                 bool may_block);
void site_view_close(
    struct site_view *view); /* NULL allowed; every pin must have been released */

enum site_result { SITE_READY, SITE_PENDING };

/* Answers a request, its protocol error (request->status) included. *work is NULL at
 * first. SITE_PENDING: *work is work to be run, the caller's reference; after it ran,
 * call again with it: it is consumed (put, and set to NULL). The response borrows from
 * the view and from the request. Pins are released by the thread that uses the view. */
enum site_result site_handle(struct site_view *view, const struct request *request,
                             struct work **work, uint64_t now_ms,
                             struct response *response);

#endif
