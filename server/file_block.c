/* Versions of files and their blocks; see file_block.h. */
#include "file_block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "response.h"

/* ---- counts */

static void count_start(struct file_count *count, enum file_sharing sharing)
{
    atomic_init(&count->references, 1);
    count->sharing = sharing;
}

static void count_get(struct file_count *count)
{
    if (count->sharing == FILE_SHARED) {
        atomic_fetch_add_explicit(&count->references, 1, memory_order_relaxed);
    } else {
        atomic_store_explicit(
            &count->references,
            atomic_load_explicit(&count->references, memory_order_relaxed) + 1,
            memory_order_relaxed);
    }
}

/* True if that was the last reference. */
static bool count_put(struct file_count *count)
{
    unsigned left;

    if (count->sharing == FILE_SHARED) {
        return atomic_fetch_sub_explicit(&count->references, 1, memory_order_acq_rel) ==
               1;
    }
    left = atomic_load_explicit(&count->references, memory_order_relaxed) - 1;
    atomic_store_explicit(&count->references, left, memory_order_relaxed);
    return left == 0;
}

/* ---- versions */

/* Nanoseconds and size, without the inode, so that replicas of a site agree. The product
 * wraps for times far from now, which keeps it a function of the time. */
static void describe(struct file_version *version)
{
    const struct file_identity *identity = &version->identity;
    uint64_t mtime_ns = (uint64_t)identity->mtime * 1000000000 + identity->mtime_ns;
    bool coded = version->coding != CODING_IDENTITY;

    /* At or before one second: the time was never set. */
    version->has_validators =
        identity->mtime > 1 || (identity->mtime == 1 && identity->mtime_ns > 0);
    if (version->has_validators) {
        version->etag_len = (unsigned)snprintf(
            version->etag, sizeof version->etag, "\"%llx-%llx%s%s\"",
            (unsigned long long)mtime_ns, (unsigned long long)identity->size,
            coded ? "-" : "", coded ? negotiate_coding_name(version->coding) : "");
    }
}

struct file_version *file_version_new(enum file_sharing sharing,
                                      const struct file_identity *identity, char *content,
                                      int fd, const char *type)
{
    struct file_version *version = malloc(sizeof *version);

    if (version == NULL) {
        free(content);
        if (fd >= 0) {
            close(fd);
        }
        return NULL;
    }
    *version = (struct file_version){
        .identity = *identity, .content = content, .fd = fd, .type = type
    };
    count_start(&version->count, sharing);
    describe(version);
    return version;
}

void file_version_set_coding(struct file_version *version, enum coding coding,
                             unsigned codings)
{
    version->coding = coding;
    version->codings = codings;
    describe(version);
}

void file_version_put(struct file_version *version)
{
    if (version != NULL && count_put(&version->count)) {
        free(version->content);
        if (version->fd >= 0) {
            close(version->fd);
        }
        free(version);
    }
}

int64_t file_version_modified(const struct file_version *version, int64_t now)
{
    return version->identity.mtime < now ? version->identity.mtime : now;
}

/* ---- blocks */

static size_t render_head(const struct file_version *version,
                          const struct file_fields *fields, const char *date, char *to)
{
    struct response response;

    response_init(&response, 200, date);
    response.fields = (struct slice){ fields->text, fields->len };
    response.content_length = version->identity.size;
    return response_head_render(&response, RESPONSE_KEEP, to);
}

static void set_fields(struct file_block *block, const struct file_fields *fields)
{
    memcpy(block->text, fields->text, fields->len);
    block->unmodified = (struct slice){ block->text, fields->unmodified_len };
    block->untyped = (struct slice){ block->text, fields->untyped_len };
    block->fields = (struct slice){ block->text, fields->len };
}

/* The bytes join the head, or stay with the version. */
static void set_body(struct file_block *block, struct slice body, bool copied)
{
    char *behind = block->text + block->fields.len + block->head.len;

    block->body = body;
    if (copied && body.len > 0) {
        memcpy(behind, body.base, body.len);
        block->body.base = behind;
    }
    if (copied) {
        block->ready = (struct slice){ block->head.base, block->head.len + body.len };
    }
}

struct file_block *file_block_new(struct file_version *version,
                                  const struct file_block *before,
                                  const struct file_fields *fields, int64_t second,
                                  const char *date)
{
    size_t size = version->fd >= 0 ? 0 : (size_t)version->identity.size;
    bool copied = version->fd < 0 && size <= FILE_COPY_MAX;
    size_t room = 2 * fields->len + RESPONSE_LINE_MAX + (copied ? size : 0);
    struct file_block *block = malloc(sizeof *block + room);
    char *head;

    if (block == NULL) {
        return NULL;
    }
    *block = (struct file_block){ .version = version,
                                  .second = second,
                                  .modified = file_version_modified(version, second),
                                  .cost = sizeof *block + room + sizeof *version +
                                          (copied ? 0 : size) };
    count_start(&block->count, version->count.sharing);
    count_get(&version->count);
    set_fields(block, fields);
    head = block->text + fields->len;
    block->head = (struct slice){ head, render_head(version, fields, date, head) };
    if (version->fd < 0) {
        set_body(
            block,
            (struct slice){ before == NULL ? version->content : before->body.base, size },
            copied);
    }
    if (before == NULL && copied) {
        free(version->content);
        version->content = NULL;
    }
    return block;
}

struct file_block *file_block_get(struct file_block *block)
{
    count_get(&block->count);
    return block;
}

void file_block_put(struct file_block *block)
{
    if (block != NULL && count_put(&block->count)) {
        file_version_put(block->version);
        free(block);
    }
}

void file_block_release(void *block)
{
    file_block_put(block);
}
