/* Which form of a file a request prefers (RFC 9110 12.5): the content coding by
 * Accept-Encoding, HTML or JSON by Accept. Fields in, a choice out; it must never know
 * which forms there are, nor a file. */
#ifndef TETRAD_NEGOTIATE_H
#define TETRAD_NEGOTIATE_H

#include <stdbool.h>
#include <stdint.h>

struct request;

/* Behind the identity, which is the file as it is, in the order of preference among those
 * that a client likes equally well. */
enum coding { CODING_IDENTITY, CODING_ZSTD, CODING_BROTLI, CODING_GZIP };

enum { CODINGS = CODING_GZIP + 1 };

/* How well each coding is liked, in thousandths. 0: not acceptable, but for the identity,
 * which is sent where nothing else is. */
struct accepted_codings {
    uint16_t quality[CODINGS];
};

/* What the Accept-Encoding fields say: all 0 without any. */
void negotiate_read_codings(const struct request *request,
                            struct accepted_codings *accepted);

/* Of the codings that are available, a set of bits 1 << enum coding, the one to send. The
 * identity always is. */
enum coding negotiate_coding(const struct accepted_codings *accepted, unsigned available);

/* "gzip" in a field; ".gz" behind a file's name. "identity" and "" for the identity. */
const char *negotiate_coding_name(enum coding coding);
const char *negotiate_coding_suffix(enum coding coding);

/* True if the Accept fields prefer application/json to text/html. */
bool negotiate_prefers_json(const struct request *request);

enum negotiate_html {
    NEGOTIATE_HTML_NOT,
    NEGOTIATE_HTML_ANY,  /* there is no Accept field, or its wildcards cover text/html */
    NEGOTIATE_HTML_NAMED /* text/html itself, as browsers do when they navigate */
};

enum negotiate_html negotiate_html(const struct request *request);

#endif
