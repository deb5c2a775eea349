/* Per-context state and the list of live connections; see worker.h. It must never know
 * how the context waits. */
#include "worker.h"

#include <assert.h>
#include <stdlib.h>

#include "conn_state.h"
#include "server.h"
#include "worker_state.h"

/* Buffers kept for reuse: a blocking context lends an input, an output and what the log
 * will show at a time, a cooperative one as many as there are connections in the middle of
 * something. What is above that goes back to the allocator. */
enum { BUFFERS_KEPT_BLOCKING = 3, BUFFERS_KEPT_COOPERATIVE = 64 };

struct worker *worker_open(const struct server *server, enum worker_kind kind,
                           enum worker_cache cache)
{
    bool may_block = kind == WORKER_BLOCKING;
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return NULL;
    }
    worker->view = site_view_open(
        server->site,
        cache == WORKER_SHARED_CACHE ? SITE_SHARED_CACHE : SITE_PRIVATE_CACHE, may_block);
    if (worker->view == NULL) {
        free(worker);
        return NULL;
    }
    if (server->access_log != NULL) {
        worker->access = access_writer_open(server);
        if (worker->access == NULL) {
            site_view_close(worker->view);
            free(worker);
            return NULL;
        }
    }
    worker->limits = server->limits;
    worker->cooperative = !may_block;
    buffer_pool_init(&worker->buffers,
                     may_block ? BUFFERS_KEPT_BLOCKING : BUFFERS_KEPT_COOPERATIVE);
    head_memo_init(&worker->memo);
    worker->live.next = worker->live.previous = &worker->live;
    worker->refused.next = worker->refused.previous = &worker->refused;
    return worker;
}

void worker_close(struct worker *worker)
{
    if (worker == NULL) {
        return;
    }
    assert(worker->connections == 0);
    site_view_close(worker->view);
    access_writer_close(worker->access);
    buffer_pool_destroy(&worker->buffers);
    free(worker);
}

void worker_ask_stopping(struct worker *worker, bool (*stopping)(void *context),
                         void *context)
{
    worker->stopping = stopping;
    worker->stopping_context = context;
}

static void insert(struct worker_link *list, struct worker_link *link)
{
    link->next = list->next;
    link->previous = list;
    link->next->previous = link;
    list->next = link;
}

static void take_out(struct worker_link *link)
{
    link->next->previous = link->previous;
    link->previous->next = link->next;
}

void worker_add(struct worker *worker, struct worker_link *link)
{
    insert(&worker->live, link);
    worker->connections++;
}

void worker_remove(struct worker *worker, struct worker_link *link)
{
    take_out(link);
    worker->connections--;
}

void worker_refuse(struct worker *worker, struct worker_link *link)
{
    take_out(link);
    insert(&worker->refused, link);
}

unsigned worker_connections(const struct worker *worker)
{
    return worker->connections;
}

static void change_one(struct worker_link *link, void (*change)(struct conn *),
                       void (*wake)(void *context))
{
    struct conn *conn = conn_of_link(link);

    change(conn);
    if (wake != NULL) {
        wake(conn_context(conn));
    }
}

static void for_each(struct worker *worker, void (*change)(struct conn *),
                     void (*wake)(void *context))
{
    struct worker_link *lists[] = { &worker->live, &worker->refused };

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct worker_link *link = lists[i]->next;

        while (link != lists[i]) {
            struct worker_link *next = link->next;

            change_one(link, change, wake);
            link = next;
        }
    }
}

void worker_drain(struct worker *worker, void (*wake)(void *context))
{
    worker->draining = true;
    for_each(worker, conn_drain, wake);
}

void worker_abandon(struct worker *worker, void (*wake)(void *context))
{
    worker->draining = true;
    worker->abandoning = true;
    for_each(worker, conn_abandon, wake);
}

void worker_end_refused(struct worker *worker, void (*wake)(void *context))
{
    struct worker_link *oldest = worker->refused.previous;

    if (oldest != &worker->refused) {
        take_out(oldest); /* or it would be ended again before it is closed */
        insert(&worker->live, oldest);
        change_one(oldest, conn_abandon, wake);
    }
}
