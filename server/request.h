/* One request as the protocol layer hands it on: slices into the connection's input
 * buffer, and what the head decided (method class, version, persistence, or the status
 * that refuses it). Valid from http_conn_request until the next call that changes that
 * connection. Pure data; it must never know a file or a socket. */
#ifndef TETRAD_REQUEST_H
#define TETRAD_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "slice.h"

enum {
    REQUEST_TARGET_MAX = 8 * 1024, /* above: 414 */
    REQUEST_HEAD_MAX = 16 * 1024,  /* request line and fields; above: 431 */
    REQUEST_FIELDS_MAX = 100,      /* above: 431 */
    REQUEST_BODY_MAX = 1024 * 1024 /* discarded up to this; above: 413 */
};

/* RFC 9110 9.1. REGISTERED: in IANA's registry but not served (405). UNKNOWN: any other
 * token (501). */
enum request_method {
    METHOD_GET,
    METHOD_HEAD,
    METHOD_OPTIONS,
    METHOD_CONNECT,
    METHOD_REGISTERED,
    METHOD_UNKNOWN
};

/* The fields that something here reads; all others are checked for syntax and skipped. */
enum field_id {
    FIELD_ACCEPT,
    FIELD_ACCEPT_ENCODING,
    FIELD_CONNECTION,
    FIELD_CONTENT_LENGTH,
    FIELD_EXPECT,
    FIELD_HOST,
    FIELD_IF_MATCH,
    FIELD_IF_MODIFIED_SINCE,
    FIELD_IF_NONE_MATCH,
    FIELD_IF_RANGE,
    FIELD_IF_UNMODIFIED_SINCE,
    FIELD_RANGE,
    FIELD_REFERER,
    FIELD_TRANSFER_ENCODING,
    FIELD_USER_AGENT,
    FIELD_OTHER
};

struct request_field {
    enum field_id id;
    struct slice value; /* without leading and trailing white space */
};

struct request {
    unsigned status; /* 0, or the 4xx/5xx that the protocol layer has decided on */
    enum request_method method;
    unsigned version_minor; /* 0 or 1; 1 where the head was refused before it was known */
    bool close; /* the connection ends after this answer, whatever the answer is */
    bool expects_continue; /* the body waits for 100; only where the message is not
                              complete */
    bool has_body;         /* Content-Length over 0, or chunked */
    struct slice line; /* the request line as received, or what came of one; for the log */
    struct slice method_text; /* the token as received */
    struct slice target;      /* the whole target as received */
    struct slice
        path; /* raw absolute path of the target, query cut off; "*" for OPTIONS * */
    struct slice query; /* behind the "?", without it */
    bool has_query;
    bool path_is_plain; /* nothing in the path is percent-encoded; false: not known */
    struct slice authority; /* of an absolute-form target, else the Host field's value */
    uint32_t present;       /* bit 1 << enum field_id: at least one such field came */
    unsigned field_count;
    struct request_field
        fields[REQUEST_FIELDS_MAX]; /* the known ones, in the order received */
};

static inline bool request_has(const struct request *request, enum field_id id)
{
    return (request->present & (UINT32_C(1) << id)) != 0;
}

/* How many fields of this name came. */
unsigned request_field_count(const struct request *request, enum field_id id);

/* The first field of this name; an empty slice with a NULL base if there is none. */
struct slice request_field(const struct request *request, enum field_id id);

/* Walks all fields of this name: *cursor starts at 0; false when there are no more. */
bool request_field_next(const struct request *request, enum field_id id, unsigned *cursor,
                        struct slice *value);

/* Walks the elements of a comma-separated list (RFC 9110 5.6.1): strips white space,
 * skips empty elements, honours quoted strings. Advances *list; false at the end. */
bool request_list_next(struct slice *list, struct slice *element);

/* FIELD_OTHER for a name that nothing reads. ASCII case is ignored. */
enum field_id request_field_id(struct slice name);

#endif
