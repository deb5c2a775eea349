/* A site where files have precompressed siblings, and questions about them. It must never
 * know what a test expects. */
#ifndef TETRAD_SITE_FORMS_H
#define TETRAD_SITE_FORMS_H

#include "site_driver.h"

#define GZIP "Accept-Encoding: gzip"
#define BROWSER "Accept-Encoding: gzip, deflate, br, zstd"
#define STAMP INT64_C(1714979289)

static inline struct site_fixture *open_site(uint64_t revalidate_ms)
{
    struct site_fixture *fixture = site_deployed(revalidate_ms);
    const struct tree *tree = &fixture->tree;
    static const struct {
        const char *name, *text;
    } files[] = { { "root/x.js", "the file as it is, of 36 bytes in all" },
                  { "root/x.js.zst", "zstd: 11 by" },
                  { "root/x.js.br", "brotli: 14 byt" },
                  { "root/x.js.gz", "gzip: this is 23 bytes." },
                  { "root/dir/index.htm.gz", "packed index" },
                  { "root/one.txt", "one" },
                  { "root/one.txt.gz", "packed one" } };

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        tree_text(tree, files[i].name, files[i].text);
        tree_mtime(tree, files[i].name, STAMP, 0);
    }
    tree_mtime(tree, "root/dir/index.htm", STAMP, 0);
    return fixture;
}

/* The set-ups of its tests, for cmocka. */
static inline int setup(void **state)
{
    *state = open_site(1000);
    return 0;
}

static inline int setup_each_request(void **state)
{
    *state = open_site(0);
    return 0;
}

static inline int teardown(void **state)
{
    site_undeployed(*state);
    return 0;
}

/* True if a GET gives this text in this coding (NULL: as it is), with Vary. */
static inline bool gives_form(struct site_fixture *fixture, const char *target,
                              const char *lines, const char *coding, const char *text)
{
    struct answer answer = ask(fixture, METHOD_GET, target, lines);
    bool same = answer.status == 200 && strcmp(answer.body, text) == 0 &&
                has_field(&answer, "Content-Encoding", coding) &&
                has_field(&answer, "Vary", "Accept-Encoding");

    answer_free(&answer);
    return same;
}

#endif
