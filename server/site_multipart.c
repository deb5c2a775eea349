/* Several ranges of one file in one answer: multipart/byteranges (RFC 9110 14.6, 15.3.7.2;
 * RFC 2046 5.1). The part heads are made for this answer, and live as long as it. */
#include <stdio.h>
#include <stdlib.h>

#include "site_internal.h"

enum {
    BOUNDARY_LEN = 32, /* hexadecimal digits of 128 bits: no file contains it by chance */
    /* Around the Content-Type line: delimiter, Content-Range with three numbers. */
    PART_HEAD_MAX = BOUNDARY_LEN + 128
};

_Static_assert(2 * RANGES_MAX + 1 <= RESPONSE_SPANS_MAX, "each part is two spans");

/* Owns what the response points into. */
struct multipart {
    struct file_block *block;
    size_t len;
    char text[];
};

static void multipart_release(void *owner)
{
    struct multipart *multipart = owner;

    file_block_put(multipart->block);
    free(multipart);
}

/* The next number of a sequence that nobody can guess who does not know its start
 * (Steele, Lea, Flood: SplitMix). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z;

    *state += UINT64_C(0x9e3779b97f4a7c15);
    z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void add_text(struct response *response, const char *base, size_t len)
{
    response->body[response->body_count++] =
        (struct span){ .kind = SPAN_MEMORY, .base = base, .length = len, .fd = -1 };
}

/* Appends a part: its head, which begins with the delimiter, and its bytes. */
static void add_part(struct multipart *multipart, const char *boundary,
                     const struct byte_range *range, struct response *response)
{
    const struct file_block *block = multipart->block;
    char *to = multipart->text + multipart->len;
    bool first = response->body_count == 0;
    int n = sprintf(
        to, "%s--%s\r\n%.*sContent-Range: bytes %llu-%llu/%lld\r\n\r\n",
        first ? "" : "\r\n", boundary, (int)(block->fields.len - block->untyped.len),
        block->fields.base + block->untyped.len, (unsigned long long)range->first,
        (unsigned long long)range->last, (long long)block->version->identity.size);

    multipart->len += (size_t)n;
    add_text(response, to, (size_t)n);
    response->body[response->body_count++] = site_file_span(block, range);
}

/* False if the sum cannot be announced. */
static bool add_up(struct response *response)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < response->body_count; i++) {
        sum += response->body[i].length;
    }
    response->content_length = (int64_t)sum;
    return sum <= INT64_MAX;
}

bool site_multipart_answer(struct site_view *view, struct file_block *block,
                           const struct byte_range *ranges, size_t count,
                           struct response *response)
{
    char boundary[BOUNDARY_LEN + 1];
    size_t room = (count + 1) * (PART_HEAD_MAX + block->fields.len - block->untyped.len);
    struct multipart *multipart = malloc(sizeof *multipart + room);
    int n;

    if (multipart == NULL) {
        return false;
    }
    (void)sprintf(boundary, "%016llx%016llx",
                  (unsigned long long)next_random(&view->random[0]),
                  (unsigned long long)next_random(&view->random[1]));
    multipart->block = block;
    multipart->len = 0;
    response_init(response, 206, view->date);
    for (size_t i = 0; i < count; i++) {
        add_part(multipart, boundary, &ranges[i], response);
    }
    n = sprintf(multipart->text + multipart->len, "\r\n--%s--\r\n", boundary);
    add_text(response, multipart->text + multipart->len, (size_t)n);
    if (!add_up(response)) {
        free(multipart);
        return false;
    }
    n = snprintf(view->more, sizeof view->more,
                 "Content-Type: multipart/byteranges; boundary=%s\r\n", boundary);
    response->more = (struct slice){ view->more, (size_t)n };
    response->fields = block->untyped;
    response->release = multipart_release;
    response->owner = multipart;
    return true;
}
