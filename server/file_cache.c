/* The cache of blocks and refusals: a hash table with chains, and a list in the order of
 * use for each kind of entry; see file_cache.h. What leaves is given back outside of the
 * lock, because that may close a file. */
#include "file_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum kind { KIND_BYTES, KIND_DESCRIPTOR, KIND_REFUSAL, KINDS };

enum {
    BUCKETS_MIN = 64,
    /* A refusal is not kept longer than this, whatever a file's check may be. */
    REFUSAL_AGE_MS = 1000,
    TRIMMED_MAX = 16 /* entries looked at in one call, so that none takes long */
};

struct entry {
    struct entry *chain;
    struct entry *newer, *older; /* in its kind's list */
    uint64_t hash;
    uint64_t used_ms;
    struct file_check check;
    struct file_block *block; /* owned reference; NULL: a refusal */
    int refusal;
    unsigned key_len;
    char key[];
};

struct list {
    struct entry *newest, *oldest;
    unsigned count;
};

struct file_cache {
    pthread_mutex_t lock; /* only taken where sharing is FILE_SHARED */
    enum file_sharing sharing;
    struct file_cache_limits limits;
    uint64_t seed; /* secret, so that nobody can choose keys of one bucket */
    struct entry **buckets;
    size_t mask; /* number of buckets - 1 */
    size_t entries;
    uint64_t bytes; /* of blocks and what keeps them */
    struct list lists[KINDS];
    struct entry *last; /* the one that was found last: most requests ask for it again */
};

/* ---- small parts */

static void lock(struct file_cache *cache)
{
    if (cache->sharing == FILE_SHARED) {
        pthread_mutex_lock(&cache->lock);
    }
}

static void unlock(struct file_cache *cache)
{
    if (cache->sharing == FILE_SHARED) {
        pthread_mutex_unlock(&cache->lock);
    }
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static uint64_t hash_of(const struct file_cache *cache, struct slice key)
{
    uint64_t hash = mix(cache->seed, key.len);
    uint64_t word = 0;

    while (key.len >= sizeof word) {
        memcpy(&word, key.base, sizeof word);
        hash = mix(hash, word);
        key.base += sizeof word;
        key.len -= sizeof word;
    }
    word = 0;
    memcpy(&word, key.base, key.len);
    return mix(mix(hash, word), cache->seed);
}

static enum kind kind_of(const struct entry *entry)
{
    if (entry->block == NULL) {
        return KIND_REFUSAL;
    }
    return entry->block->version->fd >= 0 ? KIND_DESCRIPTOR : KIND_BYTES;
}

static uint64_t cost_of(size_t key_len, const struct file_block *block)
{
    return block == NULL ? 0 : sizeof(struct entry) + key_len + block->cost;
}

static struct entry *find(const struct file_cache *cache, struct slice key, uint64_t hash)
{
    struct entry *entry = cache->buckets[hash & cache->mask];

    while (entry != NULL && (entry->hash != hash || entry->key_len != key.len ||
                             memcmp(entry->key, key.base, key.len) != 0)) {
        entry = entry->chain;
    }
    return entry;
}

/* ---- lists */

static void list_add(struct list *list, struct entry *entry)
{
    entry->newer = NULL;
    entry->older = list->newest;
    if (list->newest != NULL) {
        list->newest->newer = entry;
    } else {
        list->oldest = entry;
    }
    list->newest = entry;
    list->count++;
}

static void list_remove(struct list *list, struct entry *entry)
{
    if (entry->newer != NULL) {
        entry->newer->older = entry->older;
    } else {
        list->newest = entry->older;
    }
    if (entry->older != NULL) {
        entry->older->newer = entry->newer;
    } else {
        list->oldest = entry->newer;
    }
    list->count--;
}

static void touch(struct file_cache *cache, struct entry *entry, uint64_t now_ms)
{
    struct list *list = &cache->lists[kind_of(entry)];

    entry->used_ms = now_ms;
    if (list->newest != entry) {
        list_remove(list, entry);
        list_add(list, entry);
    }
}

/* ---- coming and going */

/* Without memory the chains get longer, and nothing else changes. */
static void grow(struct file_cache *cache)
{
    size_t old_count = cache->mask + 1;
    struct entry **buckets = calloc(2 * old_count, sizeof(struct entry *));

    if (buckets == NULL) {
        return;
    }
    cache->mask = 2 * old_count - 1;
    for (size_t i = 0; i < old_count; i++) {
        struct entry *entry = cache->buckets[i];

        while (entry != NULL) {
            struct entry *next = entry->chain;
            struct entry **bucket = &buckets[entry->hash & cache->mask];

            entry->chain = *bucket;
            *bucket = entry;
            entry = next;
        }
    }
    free(cache->buckets);
    cache->buckets = buckets;
}

static void add(struct file_cache *cache, struct entry *entry)
{
    struct entry **bucket;

    if (cache->entries > cache->mask) {
        grow(cache);
    }
    bucket = &cache->buckets[entry->hash & cache->mask];
    entry->chain = *bucket;
    *bucket = entry;
    cache->entries++;
    cache->bytes += cost_of(entry->key_len, entry->block);
    list_add(&cache->lists[kind_of(entry)], entry);
}

/* Takes the entry out and puts it in front of *gone. */
static void take_out(struct file_cache *cache, struct entry *entry, struct entry **gone)
{
    struct entry **link = &cache->buckets[entry->hash & cache->mask];

    while (*link != entry) {
        link = &(*link)->chain;
    }
    *link = entry->chain;
    if (cache->last == entry) {
        cache->last = NULL;
    }
    cache->entries--;
    cache->bytes -= cost_of(entry->key_len, entry->block);
    list_remove(&cache->lists[kind_of(entry)], entry);
    entry->chain = *gone;
    *gone = entry;
}

static void give_back(struct entry *gone)
{
    while (gone != NULL) {
        struct entry *next = gone->chain;

        file_block_put(gone->block);
        free(gone);
        gone = next;
    }
}

/* Of two lists' oldest entries the one that was used longer ago. */
static struct entry *older_of(struct entry *a, struct entry *b)
{
    if (a == NULL || b == NULL) {
        return a == NULL ? b : a;
    }
    return b->used_ms <= a->used_ms ? b : a;
}

/* Makes the cache fit into its limits again. The entry of each kind that was used last is
 * the one just added, so it leaves last. */
static void shrink(struct file_cache *cache, struct entry **gone)
{
    const struct list *bytes = &cache->lists[KIND_BYTES];
    const struct list *descriptors = &cache->lists[KIND_DESCRIPTOR];
    const struct list *refusals = &cache->lists[KIND_REFUSAL];

    while (refusals->count > FILE_CACHE_REFUSALS_MAX) {
        take_out(cache, refusals->oldest, gone);
    }
    while (descriptors->count > cache->limits.descriptors) {
        take_out(cache, descriptors->oldest, gone);
    }
    while (cache->bytes > cache->limits.bytes) {
        take_out(cache, older_of(bytes->oldest, descriptors->oldest), gone);
    }
}

/* Puts the new entry, or nothing if it is NULL, in the place of what the key has. */
static void replace(struct file_cache *cache, struct slice key, uint64_t hash,
                    struct entry *entry)
{
    struct entry *gone = NULL;
    struct entry *old;

    lock(cache);
    old = find(cache, key, hash);
    if (old != NULL) {
        take_out(cache, old, &gone);
    }
    if (entry != NULL) {
        add(cache, entry);
        shrink(cache, &gone);
    }
    unlock(cache);
    give_back(gone);
}

static void put_in(struct file_cache *cache, struct slice key, struct file_block *block,
                   int refusal, struct file_check check)
{
    uint64_t hash = hash_of(cache, key);
    bool fits =
        key.len <= FILE_CACHE_KEY_MAX && cost_of(key.len, block) <= cache->limits.bytes;
    struct entry *entry = fits ? malloc(sizeof *entry + key.len) : NULL;

    if (entry != NULL) {
        *entry = (struct entry){ .hash = hash,
                                 .used_ms = check.now_ms,
                                 .check = check,
                                 .block = block == NULL ? NULL : file_block_get(block),
                                 .refusal = refusal,
                                 .key_len = (unsigned)key.len };
        memcpy(entry->key, key.base, key.len);
    }
    replace(cache, key, hash, entry);
}

/* ---- the interface */

struct file_cache *file_cache_open(enum file_sharing sharing,
                                   const struct file_cache_limits *limits)
{
    struct file_cache *cache = malloc(sizeof *cache);

    if (cache == NULL) {
        return NULL;
    }
    *cache = (struct file_cache){ .sharing = sharing,
                                  .limits = *limits,
                                  .mask = BUCKETS_MIN - 1 };
    cache->buckets = calloc(BUCKETS_MIN, sizeof(struct entry *));
    if (cache->buckets == NULL) {
        free(cache);
        return NULL;
    }
    /* Early in the boot of a machine there may be none yet: any seed will do then. */
    if (getrandom(&cache->seed, sizeof cache->seed, GRND_NONBLOCK) < 0) {
        cache->seed = (uint64_t)(uintptr_t)cache;
    }
    pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

void file_cache_close(struct file_cache *cache)
{
    struct entry *gone = NULL;

    if (cache == NULL) {
        return;
    }
    for (unsigned kind = 0; kind < KINDS; kind++) {
        while (cache->lists[kind].oldest != NULL) {
            take_out(cache, cache->lists[kind].oldest, &gone);
        }
    }
    give_back(gone);
    pthread_mutex_destroy(&cache->lock);
    free(cache->buckets);
    free(cache);
}

static bool is_fresh(const struct entry *entry, struct file_check check,
                     uint64_t max_age_ms)
{
    /* Another thread's reading of the clock may be ahead of this one's. */
    uint64_t age =
        check.now_ms > entry->check.now_ms ? check.now_ms - entry->check.now_ms : 0;

    if (entry->block == NULL && max_age_ms > REFUSAL_AGE_MS) {
        max_age_ms = REFUSAL_AGE_MS;
    }
    return age < max_age_ms && entry->check.generation == check.generation;
}

static struct entry *find_again(struct file_cache *cache, struct slice key)
{
    struct entry *last = cache->last;

    if (last == NULL || last->key_len != key.len ||
        memcmp(last->key, key.base, key.len) != 0) {
        last = find(cache, key, hash_of(cache, key));
        cache->last = last;
    }
    return last;
}

enum file_cache_result file_cache_find(struct file_cache *cache, struct slice key,
                                       struct file_check check, uint64_t max_age_ms,
                                       struct file_cache_hit *hit)
{
    enum file_cache_result result = FILE_CACHE_MISS;
    struct entry *entry;

    hit->block = NULL;
    lock(cache);
    entry = find_again(cache, key);
    if (entry != NULL) {
        bool fresh = is_fresh(entry, check, max_age_ms);

        if (fresh || entry->block != NULL) {
            result = fresh ? FILE_CACHE_FRESH : FILE_CACHE_STALE;
            hit->block = entry->block == NULL ? NULL : file_block_get(entry->block);
            hit->refusal = entry->refusal;
            touch(cache, entry, check.now_ms);
        }
    }
    unlock(cache);
    return result;
}

void file_cache_store(struct file_cache *cache, struct slice key,
                      struct file_block *block, struct file_check check)
{
    put_in(cache, key, block, 0, check);
}

void file_cache_refuse(struct file_cache *cache, struct slice key, int refusal,
                       struct file_check check)
{
    put_in(cache, key, NULL, refusal, check);
}

struct file_block *file_cache_confirm(struct file_cache *cache, struct slice key,
                                      const struct file_identity *identity,
                                      struct file_check check)
{
    uint64_t hash = hash_of(cache, key);
    struct file_block *block = NULL;
    struct entry *entry;

    lock(cache);
    entry = find(cache, key, hash);
    if (entry != NULL && entry->block != NULL &&
        file_identity_equal(&entry->block->version->identity, identity)) {
        entry->check = check;
        block = file_block_get(entry->block);
    }
    unlock(cache);
    return block;
}

void file_cache_renew(struct file_cache *cache, struct slice key,
                      const struct file_block *from, struct file_block *to)
{
    uint64_t hash = hash_of(cache, key);
    struct file_block *old = NULL;
    struct entry *entry;

    lock(cache);
    entry = find(cache, key, hash);
    if (entry != NULL && entry->block == from) {
        old = entry->block;
        entry->block = file_block_get(to);
        cache->bytes += to->cost;
        cache->bytes -= old->cost;
    }
    unlock(cache);
    file_block_put(old);
}

void file_cache_forget(struct file_cache *cache, struct slice key)
{
    replace(cache, key, hash_of(cache, key), NULL);
}

void file_cache_trim(struct file_cache *cache, uint64_t now_ms)
{
    struct entry *gone = NULL;

    lock(cache);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        const struct list *list = &cache->lists[kind];

        for (unsigned i = 0; i < TRIMMED_MAX && list->oldest != NULL &&
                             list->oldest->used_ms + FILE_CACHE_IDLE_MS < now_ms;
             i++) {
            take_out(cache, list->oldest, &gone);
        }
    }
    unlock(cache);
    give_back(gone);
}

bool file_cache_drop_descriptors(struct file_cache *cache)
{
    struct entry *gone = NULL;
    bool any;

    lock(cache);
    while (cache->lists[KIND_DESCRIPTOR].oldest != NULL) {
        take_out(cache, cache->lists[KIND_DESCRIPTOR].oldest, &gone);
    }
    unlock(cache);
    any = gone != NULL;
    give_back(gone);
    return any;
}

struct file_cache_use file_cache_use(struct file_cache *cache)
{
    struct file_cache_use use;

    lock(cache);
    use = (struct file_cache_use){ .bytes = cache->bytes,
                                   .blocks = cache->lists[KIND_BYTES].count +
                                             cache->lists[KIND_DESCRIPTOR].count,
                                   .descriptors = cache->lists[KIND_DESCRIPTOR].count,
                                   .refusals = cache->lists[KIND_REFUSAL].count };
    unlock(cache);
    return use;
}
