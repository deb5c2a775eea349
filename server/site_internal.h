/* The inside of the site, for its own files: site.c (life and methods), site_find.c (from
 * a path to a file), site_file.c (from a file to an answer), site_multipart.c,
 * site_listing.c (from a directory to an answer), site_page.c (refusals and redirects),
 * site_fields.c (what options add to fields), site_spa.c (a page for what is missing). */
#ifndef TETRAD_SITE_INTERNAL_H
#define TETRAD_SITE_INTERNAL_H

#include <limits.h>

#include "file_cache.h"
#include "file_resolve.h"
#include "range.h"
#include "site.h"
#include "site_root.h"
#include "site_rules.h"

enum {
    SITE_SERVER_MAX = 128, /* the whole Server field line */
    SITE_COMMON_MAX = SITE_SERVER_MAX + SITE_RULES_HEADERS_MAX,
    /* Location: a path with each byte escaped, a query, and the name around them. */
    SITE_MORE_MAX = 3 * PATH_MAX + REQUEST_TARGET_MAX + 64,
    /* Listings that wait for slow clients must not add up without limit. */
    SITE_LISTINGS_MAX = 64 * 1024 * 1024
};

/* What one thread has for itself, or all share. */
struct site_store {
    struct file_cache *cache; /* owned */
    struct site_root root;
};

/* A whole answer that depends on the status only. */
struct site_page {
    unsigned status;
    bool has_body;
    struct slice fields, body;
    char *text, *content; /* owned: fields and body that come from a file; else NULL */
};

struct site {
    struct site_options options;
    struct file_policy policy;
    struct file_place place;
    struct file_cache_limits limits;
    struct file_watch *watch; /* owned; NULL: no hints */
    struct file_root *root;   /* owned reference: the first opening */
    struct text_budget listings;
    struct site_store shared; /* for the views that share */
    struct slice common;      /* field lines of every answer: Server, and those added */
    char common_text[SITE_COMMON_MAX];
    char charset[SITE_RULES_CHARSET_MAX + 16]; /* behind a type of text: "; charset=x" */
    struct site_cache_rule *cache_rules;       /* owned; the first that matches counts */
    unsigned cache_rule_count;
    struct slice spa;        /* the path of the page for what is missing; empty: none */
    struct site_page *pages; /* owned, with their texts behind them */
    unsigned page_count;
};

struct site_view {
    struct site *site; /* borrowed */
    enum file_sharing sharing;
    bool may_block;
    struct site_store *store; /* borrowed: &own, or the site's */
    struct site_store own;    /* without a cache where the site's is shared */
    uint64_t random[2];       /* see site_multipart.c */

    struct file_check check; /* of the request in hand: its time, its generation */
    int64_t second;          /* wall clock */
    char date[RESPONSE_DATE_LEN];

    /* Scratch, valid until the next request: it would be too much for a small stack. */
    struct file_fields fields;
    char key[PATH_MAX + 5]; /* a slash, a decoded path, a slash; which form of the file */
    char more[SITE_MORE_MAX];
};

/* site_find.c: answers GET and HEAD; *work as in site_handle. */
enum site_result site_find(struct site_view *view, const struct request *request,
                           struct work **work, struct response *response);

/* site_fields.c. */

/* 0, -ENOMEM, or what site_rules.h says of a rule that is none. */
int site_fields_build(struct site *site) MUST_CHECK;
void site_fields_free(struct site *site);

/* The value of Cache-Control for the file at this path below the root. */
struct slice site_fields_cache(const struct site *site, const char *path);

/* The media type of a file, by the end of its path. */
const char *site_fields_type(const struct site *site, struct slice path);

/* What Content-Type says behind the type: "; charset=x", or nothing. */
const char *site_fields_charset(const struct site *site, const char *type);

/* site_spa.c. */

/* True if a request for what is missing under this key gets the page instead. Never for
 * the page itself. */
bool site_spa_applies(const struct site *site, const struct request *request,
                      struct slice key);

/* The name of the page in the cache, which is that of no path: it says that it depends on
 * the request, and the same file asked for by its path does not. */
struct slice site_spa_key(void);
bool site_spa_is_key(struct slice key);

/* site_file.c. */

/* A block of the version for this second; `before` is an earlier one, or NULL. NULL
 * without memory. */
struct file_block *site_file_block(struct site_view *view, struct file_version *version,
                                   const struct file_block *before);

/* The answer out of a block, whose reference is taken. */
void site_file_answer(struct site_view *view, const struct request *request,
                      struct file_block *block, struct response *response);

/* site_multipart.c: several ranges of one file, as multipart/byteranges. Takes the
 * block's reference, unless it returns false (no memory, or too long to be announced). */
bool site_multipart_answer(struct site_view *view, struct file_block *block,
                           const struct byte_range *ranges, size_t count,
                           struct response *response);

/* The bytes of one range of a block, without a pin. */
struct span site_file_span(const struct file_block *block,
                           const struct byte_range *range);

/* site_page.c. */

/* 0 or -ENOMEM. */
int site_pages_build(struct site *site) MUST_CHECK;
void site_pages_free(struct site *site);

/* A refusal, or any answer that depends on the status only. */
void site_page_answer(struct site_view *view, const struct request *request,
                      unsigned status, struct response *response);

/* 301 to the directory's name with its slash; `key` is "/" and the decoded path. */
void site_page_redirect(struct site_view *view, const struct request *request,
                        struct slice key, struct response *response);

/* 416 for a representation of this size. */
void site_page_range(struct site_view *view, const struct request *request, uint64_t size,
                     struct response *response);

#endif
