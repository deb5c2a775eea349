/* A crew of workers searches a tree of files for a string: one queue of paths, a count of
 * what is not done yet. It must never know the runtime, nor how the answer is checked. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crew.h"
#include "run.h"

/* Paths of the whole tree; touched as they come. */
static const size_t ARENA_BYTES = (size_t)1 << 30;
enum { BLOCK_BYTES = 32768 };

/* All under the mutex, but for what is said below. */
struct crew {
    struct rt_mutex mutex;
    struct rt_condition go, done;
    struct crew_item *first, *last; /* all there ever were */
    struct crew_item *next;         /* the first that nobody took; NULL: none */
    uint64_t waiting, most_waiting; /* not taken */
    uint64_t outstanding;           /* not done */
    bool over;
    uint64_t waits, notices, files, bytes;
    char *arena;
    size_t arena_used;
    char *blocks; /* one of each worker, its own */
};

static struct crew_item *item_make(struct run *run, const char *folder, const char *name)
{
    struct crew *crew = run->data;
    size_t length = strlen(folder);
    const char *joint = length > 0 && folder[length - 1] == '/' ? "" : "/";
    size_t size = sizeof(struct crew_item) + length + strlen(name) + 2;
    struct crew_item *item = (struct crew_item *)(void *)(crew->arena + crew->arena_used);

    size = (size + alignof(struct crew_item) - 1) & ~(alignof(struct crew_item) - 1);
    if (size > ARENA_BYTES - crew->arena_used) {
        run_stop(run, "the paths", -ENOMEM);
    }
    crew->arena_used += size;
    /* The memory is zeroed. */
    if (name[0] == '\0') {
        memcpy(item->path, folder, length + 1);
    } else {
        (void)sprintf(item->path, "%s%s%s", folder, joint, name);
    }
    return item;
}

/* name may be empty: the folder itself. */
static void crew_add(struct run *run, const char *folder, const char *name)
{
    struct crew *crew = run->data;
    struct crew_item *item;

    run->rt->lock(&crew->mutex);
    item = item_make(run, folder, name);
    if (crew->last == NULL) {
        crew->first = item;
    } else {
        crew->last->next = item;
    }
    crew->last = item;
    if (crew->next == NULL) {
        crew->next = item;
    }
    if (++crew->waiting > crew->most_waiting) {
        crew->most_waiting = crew->waiting;
    }
    crew->outstanding++;
    run->rt->signal(&crew->go);
    run->rt->unlock(&crew->mutex);
}

/* NULL: all is done. */
static struct crew_item *crew_take(struct run *run)
{
    struct crew *crew = run->data;
    struct crew_item *item;

    run->rt->lock(&crew->mutex);
    while (crew->next == NULL && !crew->over) {
        crew->waits++;
        run->rt->wait(&crew->go, &crew->mutex);
    }
    item = crew->next;
    if (item != NULL) {
        crew->next = item->next;
        crew->waiting--;
    }
    run->rt->unlock(&crew->mutex);
    return item;
}

/* Also after what could not be read: whoever forgets it waits for ever. */
static void crew_finish(struct run *run, uint64_t notices, uint64_t files, uint64_t bytes)
{
    struct crew *crew = run->data;

    run->rt->lock(&crew->mutex);
    crew->notices += notices;
    crew->files += files;
    crew->bytes += bytes;
    if (--crew->outstanding == 0) {
        crew->over = true;
        run->rt->broadcast(&crew->go);
        run->rt->signal(&crew->done);
    }
    run->rt->unlock(&crew->mutex);
}

/* false: it could not be read. */
static bool folder_search(struct run *run, const struct crew_item *item)
{
    DIR *folder = opendir(item->path);
    const struct dirent *entry;

    if (folder == NULL) {
        return false;
    }
    for (entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] != '.') {
            crew_add(run, item->path, entry->d_name);
        }
    }
    (void)closedir(folder);
    return true;
}

/* Ends at the first hit. What a block ends with is looked at again in front of the next,
 * so that no hit hides between two. Bytes read, or -errno. */
static int64_t file_search(struct run *run, struct crew_item *item, char *block)
{
    const char *string = run->params->string;
    size_t length = strlen(string), kept = 0;
    int64_t bytes = 0;
    ssize_t count;
    int fd = open(item->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0) {
        return -errno;
    }
    for (count = read(fd, block + kept, BLOCK_BYTES - kept); count > 0;
         count = read(fd, block + kept, BLOCK_BYTES - kept)) {
        size_t held = kept + (size_t)count;

        bytes += count;
        if (memmem(block, held, string, length) != NULL) {
            item->hit = true;
            break;
        }
        kept = held < length - 1 ? held : length - 1;
        memmove(block, block + held - kept, kept);
    }
    (void)close(fd);
    return count < 0 ? -EIO : bytes;
}

static void item_search(struct run *run, struct crew_item *item, size_t number)
{
    struct crew *crew = run->data;
    struct stat status;
    int64_t bytes;

    item->worker = number;
    if (lstat(item->path, &status) < 0) {
        crew_finish(run, 1, 0, 0);
    } else if (S_ISDIR(status.st_mode)) {
        crew_finish(run, !folder_search(run, item), 0, 0);
    } else if (S_ISREG(status.st_mode)) {
        bytes = file_search(run, item, crew->blocks + number * BLOCK_BYTES);
        crew_finish(run, bytes < 0, bytes >= 0, bytes >= 0 ? (uint64_t)bytes : 0);
    } else {
        crew_finish(run, 1, 0,
                    0); /* links, devices and the like are told, not followed */
    }
}

static void crew_body(struct run *run, size_t number)
{
    struct crew_item *item = crew_take(run);

    while (item != NULL) {
        item_search(run, item, number);
        item = crew_take(run);
    }
}

/* Gives the root to the crew and waits until all is done. */
static void crew_lead(struct run *run)
{
    struct crew *crew = run->data;

    crew_add(run, run->params->dir, "");
    run->rt->lock(&crew->mutex);
    while (crew->outstanding > 0) {
        run->rt->wait(&crew->done, &crew->mutex);
    }
    run->rt->unlock(&crew->mutex);
}

static void crew_make(struct run *run)
{
    struct crew *crew = run_share(run, sizeof(*crew));

    run_must(run, "a mutex", run->rt->mutex_init(&crew->mutex));
    run_must(run, "a condition", run->rt->condition_init(&crew->go));
    run_must(run, "a condition", run->rt->condition_init(&crew->done));
    crew->arena = run_share(run, ARENA_BYTES);
    crew->blocks = run_share(run, run->params->threads * BLOCK_BYTES);
    run->data = crew;
}

static void crew_run(struct run *run)
{
    struct race race = {
        .threads = run->params->threads,
        .body = crew_body,
        .lead = crew_lead,
    };
    struct outcome *outcome = run->outcome;
    const struct crew *crew;
    uint64_t hits = 0;

    crew_make(run);
    crew_warm(run->params);
    run_race(run, &race);
    crew = run->data;
    crew_check(&outcome->answer, run->params, crew->first, &hits);
    answer_say(&outcome->answer, "%" PRIu64 " hits", hits);
    crew_tell(outcome, crew->first);
    outcome->metrics[0] = run_ratio((double)crew->files, outcome->real_s);
    outcome->metrics[1] = run_ratio((double)crew->bytes / 1e6, outcome->real_s);
    outcome->metrics[2] = (double)crew->files;
    outcome->metrics[3] = (double)hits;
    outcome->metrics[4] = (double)crew->notices;
    outcome->metrics[5] = (double)crew->most_waiting;
    outcome->metrics[6] = (double)crew->waits;
}

static const struct way crew_ways[] = {
    { .name = "hybrid-system", .rt = &rt_hybrid_system, .run = crew_run },
    { .name = NULL },
};

static const char *crew_refuse(const struct params *params)
{
    if (params->string == NULL || params->dir == NULL) {
        return "needs STRING and DIR";
    }
    if (params->string[0] == '\0' || strlen(params->string) > BLOCK_BYTES / 2) {
        return "STRING is empty or too long";
    }
    return NULL;
}

static void crew_layout(const struct params *params, const struct outcome *outcome)
{
    (void)params;
    (void)fputs(outcome_text(outcome), stdout);
    (void)printf("%12.2f real %12.2f user %12.2f sys\n", outcome->real_s,
                 (double)outcome->used.user_us / 1e6, (double)outcome->used.sys_us / 1e6);
}

static const struct argument crew_arguments[] = {
    { .name = "string",
      .offset = offsetof(struct params, string),
      .text = true,
      .help = "that is searched for" },
    { .name = "dir",
      .offset = offsetof(struct params, dir),
      .text = true,
      .help = "that is searched; mktree makes one" },
    { .name = "workers",
      .offset = offsetof(struct params, threads),
      .least = 1,
      .most = 1000,
      .help = "of the crew" },
    { .name = NULL },
};

static const struct metric crew_metrics[] = {
    { "files_per_s", "files/s", 0 }, { "MB_per_s", "MB/s", 1 },
    { "files", "files", 0 },         { "hits", "hits", 0 },
    { "notices", "notices", 0 },     { "deepest", "deepest", 0 },
    { "waits", "waits", 0 },         { NULL, NULL, 0 },
};

static const char *const crew_positionals[] = { "string", "dir", NULL };

const struct bench bench_crew = {
    .name = "crew",
    .help = "workers that search a tree: crew STRING DIR",
    .defaults = { .threads = 4 },
    .arguments = crew_arguments,
    .positionals = crew_positionals,
    .metrics = crew_metrics,
    .text_max = 1 << 20,
    .refuse = crew_refuse,
    .run = crew_run,
    .ways = crew_ways,
    .layout = crew_layout,
};
