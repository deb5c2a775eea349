/* The meaning of a complete head; see head_check.h. The order of the checks decides which
 * status a head with several faults gets: what makes the message's extent unsure comes
 * first. It must never know a file. */
#include "head_check.h"

#include "target.h"

/* IANA's registry of methods, those served aside. */
static const char *const registered_methods[] = {
    "ACL",
    "BASELINE-CONTROL",
    "BIND",
    "CHECKIN",
    "CHECKOUT",
    "COPY",
    "DELETE",
    "LABEL",
    "LINK",
    "LOCK",
    "MERGE",
    "MKACTIVITY",
    "MKCALENDAR",
    "MKCOL",
    "MKREDIRECTREF",
    "MKWORKSPACE",
    "MOVE",
    "ORDERPATCH",
    "PATCH",
    "POST",
    "PRI",
    "PROPFIND",
    "PROPPATCH",
    "PUT",
    "QUERY",
    "REBIND",
    "REPORT",
    "SEARCH",
    "TRACE",
    "UNBIND",
    "UNCHECKOUT",
    "UNLINK",
    "UNLOCK",
    "UPDATE",
    "UPDATEREDIRECTREF",
    "VERSION-CONTROL",
};

enum request_method head_check_method(struct slice token)
{
    if (slice_equal(token, SLICE("GET"))) {
        return METHOD_GET;
    }
    if (slice_equal(token, SLICE("HEAD"))) {
        return METHOD_HEAD;
    }
    if (slice_equal(token, SLICE("OPTIONS"))) {
        return METHOD_OPTIONS;
    }
    if (slice_equal(token, SLICE("CONNECT"))) {
        return METHOD_CONNECT;
    }
    for (size_t i = 0; i < sizeof registered_methods / sizeof *registered_methods; i++) {
        if (slice_equal(token, slice_of(registered_methods[i]))) {
            return METHOD_REGISTERED;
        }
    }
    return METHOD_UNKNOWN;
}

static struct slice from(struct slice text, size_t offset)
{
    return (struct slice){ text.base + offset, text.len - offset };
}

static void split_query(struct request *request, struct slice path)
{
    const char *mark = memchr(path.base, '?', path.len);

    request->path = path;
    if (mark != NULL) {
        request->path.len = (size_t)(mark - path.base);
        request->query = from(path, request->path.len + 1);
        request->has_query = true;
    }
    request->path_is_plain = memchr(request->path.base, '%', request->path.len) == NULL;
}

/* RFC 9112 3.2.2. The path may be empty: it is then that of the root. */
static bool read_absolute_form(struct request *request)
{
    struct slice rest;
    size_t len = 0;

    if (request->target.len > 7 && strncasecmp(request->target.base, "http://", 7) == 0) {
        rest = from(request->target, 7);
    } else if (request->target.len > 8 &&
               strncasecmp(request->target.base, "https://", 8) == 0) {
        rest = from(request->target, 8);
    } else {
        return false;
    }
    while (len < rest.len && rest.base[len] != '/' && rest.base[len] != '?') {
        len++;
    }
    request->authority = (struct slice){ rest.base, len };
    if (!target_authority_valid(request->authority)) {
        return false;
    }
    split_query(request, from(rest, len));
    if (request->path.len == 0) {
        request->path = SLICE("/");
    }
    return true;
}

/* RFC 9112 3.2. CONNECT is refused whatever its target. */
static bool read_target(struct request *request)
{
    if (request->method == METHOD_CONNECT) {
        request->path = request->target;
        return true;
    }
    if (request->target.base[0] == '/') {
        split_query(request, request->target);
        return true;
    }
    if (slice_equal(request->target, SLICE("*"))) {
        request->path = request->target;
        return request->method == METHOD_OPTIONS;
    }
    return read_absolute_form(request);
}

/* RFC 9112 3.2: exactly one valid Host on 1.1, at most one on 1.0. */
static bool check_host(struct request *request)
{
    unsigned count = request_field_count(request, FIELD_HOST);
    struct slice host;

    if (count == 0) {
        return request->version_minor == 0;
    }
    host = request_field(request, FIELD_HOST);
    if (count > 1 || !target_authority_valid(host)) {
        return false;
    }
    if (request->authority.base == NULL) {
        request->authority = host;
    }
    return true;
}

/* RFC 9112 6.1, 6.3 for Transfer-Encoding: 0 or the refusing status. An empty element
 * behind the last coding is refused though RFC 9110 5.6.1.2 would have it ignored: other
 * readers, the library among them, see a last coding that is not chunked. */
static unsigned check_transfer_encoding(const struct request *request)
{
    unsigned cursor = 0, codings = 0, chunked = 0;
    bool last_is_chunked = false, ends_empty = false;
    struct slice line, coding;

    if (request->version_minor == 0 || request_has(request, FIELD_CONTENT_LENGTH)) {
        return 400;
    }
    while (request_field_next(request, FIELD_TRANSFER_ENCODING, &cursor, &line)) {
        ends_empty = line.len == 0 || line.base[line.len - 1] == ',';
        while (request_list_next(&line, &coding)) {
            last_is_chunked = slice_equal_nocase(coding, SLICE("chunked"));
            chunked += last_is_chunked;
            codings++;
        }
    }
    if (!last_is_chunked || chunked > 1 || ends_empty) {
        return 400;
    }
    return codings > 1 ? 501 : 0;
}

/* RFC 9110 8.6: 0 or the refusing status; *length is clamped just above REQUEST_BODY_MAX.
 */
static unsigned check_content_length(const struct request *request, uint64_t *length)
{
    struct slice text = request_field(request, FIELD_CONTENT_LENGTH);

    *length = 0;
    if (text.len == 0 || request_field_count(request, FIELD_CONTENT_LENGTH) > 1) {
        return 400;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.base[i] < '0' || text.base[i] > '9') {
            return 400;
        }
        if (*length <= REQUEST_BODY_MAX) {
            *length = *length * 10 + (uint64_t)(text.base[i] - '0');
        }
    }
    return 0;
}

static unsigned check_framing(struct request *request, uint64_t *length)
{
    *length = 0;
    if (request_has(request, FIELD_TRANSFER_ENCODING)) {
        request->has_body = true;
        return check_transfer_encoding(request);
    }
    if (request_has(request, FIELD_CONTENT_LENGTH)) {
        unsigned status = check_content_length(request, length);

        request->has_body = *length > 0;
        return status;
    }
    return 0;
}

/* RFC 9112 9.3, 9.6. */
static void read_persistence(struct request *request)
{
    bool keep = request->version_minor == 1, close = false;
    unsigned cursor = 0;
    struct slice line, token;

    while (request_field_next(request, FIELD_CONNECTION, &cursor, &line)) {
        while (request_list_next(&line, &token)) {
            close = close || slice_equal_nocase(token, SLICE("close"));
            keep = keep || slice_equal_nocase(token, SLICE("keep-alive"));
        }
    }
    request->close = close || !keep;
}

/* RFC 9110 10.1.1: false for an expectation that is not known. */
static bool read_expectation(struct request *request)
{
    unsigned cursor = 0;
    struct slice line, expectation;

    while (request->version_minor == 1 &&
           request_field_next(request, FIELD_EXPECT, &cursor, &line)) {
        while (request_list_next(&line, &expectation)) {
            if (!slice_equal_nocase(expectation, SLICE("100-continue"))) {
                return false;
            }
            request->expects_continue = request->has_body;
        }
    }
    return true;
}

static void refuse(struct request *request, unsigned status, bool close)
{
    request->status = status;
    request->close = request->close || close;
    request->expects_continue = false;
}

void head_check(struct request *request)
{
    uint64_t length = 0;
    bool target_fine;
    unsigned status;

    request->method = head_check_method(request->method_text);
    read_persistence(request);
    target_fine = read_target(request);
    if (!check_host(request) || !target_fine) {
        refuse(request, 400, true);
        return;
    }
    status = check_framing(request, &length);
    if (status != 0) {
        refuse(request, status, true);
    } else if (request->method == METHOD_CONNECT) {
        refuse(request, 405, true);
    } else if (request->method == METHOD_UNKNOWN) {
        refuse(request, 501, true);
    } else if (length > REQUEST_BODY_MAX) {
        refuse(request, 413, true);
    } else if (!read_expectation(request)) {
        refuse(request, 417, request->has_body);
    }
}
