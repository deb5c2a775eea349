/* Conditional requests (RFC 9110 13) for GET and HEAD. A list's member that is not an
 * entity tag matches nothing and does not spoil the others; a date that is malformed, or
 * came twice, is as if it had not come. It must never know a file. */
#include "precondition.h"

#include "http_date.h"

enum tag_comparison { TAG_STRONG, TAG_WEAK };

/* The length of the entity tag that text begins with; 0 if it does not. Not a quoted
 * string: a backslash is an ordinary byte (RFC 9110 8.8.3). */
static size_t tag_len(struct slice text)
{
    size_t i = text.len >= 2 && text.base[0] == 'W' && text.base[1] == '/' ? 2 : 0;

    if (i >= text.len || text.base[i] != '"') {
        return 0;
    }
    for (i++; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.base[i];

        if (byte == '"') {
            return i + 1;
        }
        if (byte <= 0x20 || byte == 0x7f) {
            return 0;
        }
    }
    return 0;
}

/* Takes the next member, up to a comma that is not inside of an entity tag. False at the
 * end. */
static bool take_member(struct slice *list, struct slice *member)
{
    size_t len;

    while (list->len > 0 &&
           (*list->base == ',' || *list->base == ' ' || *list->base == '\t')) {
        list->base++;
        list->len--;
    }
    if (list->len == 0) {
        return false;
    }
    len = tag_len(*list);
    while (len < list->len && list->base[len] != ',') {
        len++;
    }
    *member = (struct slice){ list->base, len };
    list->base += len;
    list->len -= len;
    while (member->base[member->len - 1] == ' ' ||
           member->base[member->len - 1] == '\t') {
        member->len--;
    }
    return true;
}

/* A member that is more or less than one tag cannot equal the validator, which is one. */
static bool tag_matches(struct slice member, struct slice etag,
                        enum tag_comparison comparison)
{
    if (comparison == TAG_WEAK && member.len >= 2 && member.base[0] == 'W' &&
        member.base[1] == '/') {
        member.base += 2;
        member.len -= 2;
    }
    return etag.len > 0 && slice_equal(member, etag);
}

/* "*" stands alone in its field, and matches because there is a representation. */
static bool any_tag_matches(const struct request *request, enum field_id id,
                            struct slice etag, enum tag_comparison comparison)
{
    unsigned cursor = 0;
    struct slice list, member;

    while (request_field_next(request, id, &cursor, &list)) {
        if (slice_equal(list, SLICE("*"))) {
            return true;
        }
        while (take_member(&list, &member)) {
            if (tag_matches(member, etag, comparison)) {
                return true;
            }
        }
    }
    return false;
}

/* False if the field is to be ignored. */
static bool date_of(const struct request *request, enum field_id id, int64_t now,
                    int64_t *date)
{
    return request_field_count(request, id) == 1 &&
           http_date_parse(request_field(request, id), now, date);
}

enum precondition_result precondition_evaluate(const struct request *request,
                                               const struct validators *validators,
                                               int64_t now)
{
    int64_t date;

    if (request_has(request, FIELD_IF_MATCH)) {
        if (!any_tag_matches(request, FIELD_IF_MATCH, validators->etag, TAG_STRONG)) {
            return PRECONDITION_FAILED;
        }
    } else if (validators->has_mtime &&
               date_of(request, FIELD_IF_UNMODIFIED_SINCE, now, &date) &&
               validators->mtime > date) {
        return PRECONDITION_FAILED;
    }
    if (request_has(request, FIELD_IF_NONE_MATCH)) {
        if (any_tag_matches(request, FIELD_IF_NONE_MATCH, validators->etag, TAG_WEAK)) {
            return PRECONDITION_NOT_MODIFIED;
        }
    } else if (validators->has_mtime &&
               date_of(request, FIELD_IF_MODIFIED_SINCE, now, &date) &&
               validators->mtime <= date) {
        return PRECONDITION_NOT_MODIFIED;
    }
    return PRECONDITION_PASS;
}

/* A repeated Range is ignored. A repeated If-Range takes the Range with it: without its
 * guard, the part could be glued to another version's. */
bool precondition_range_applies(const struct request *request,
                                const struct validators *validators, int64_t now)
{
    struct slice value;
    int64_t date;

    if (request_field_count(request, FIELD_RANGE) != 1) {
        return false;
    }
    if (!request_has(request, FIELD_IF_RANGE)) {
        return true;
    }
    if (request_field_count(request, FIELD_IF_RANGE) != 1) {
        return false;
    }
    value = request_field(request, FIELD_IF_RANGE);
    if (value.len > 0 && tag_len(value) == value.len) {
        return tag_matches(value, validators->etag, TAG_STRONG);
    }
    return validators->has_mtime && http_date_parse(value, now, &date) &&
           date == validators->mtime;
}
