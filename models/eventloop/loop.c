/* See loop.h. One timer serves all deadlines: it is armed for the earliest of the queue,
 * and a connection that stays busy moves in it at no cost. It must never know how
 * connections are accepted. */
#include "loop.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "loop_conn.h"
#include "server.h"
#include "wake_timer.h"

static void on_sweep(uv_poll_t *poll, int status, int events)
{
    struct loop *loop = poll->data;
    struct timeout_node *node;

    (void)status;
    (void)events;
    loop->armed_ms = UINT64_MAX;
    node = timeout_queue_expired(&loop->timeouts, clock_now_ms());
    while (node != NULL) {
        loop_conn_expired(node);
        node = timeout_queue_expired(&loop->timeouts, clock_now_ms());
    }
    loop_arm(loop);
    if (loop->armed_ms == UINT64_MAX) {
        wake_timer_stop(loop->sweep_fd);
    }
}

void loop_arm(struct loop *loop)
{
    uint64_t next_ms = timeout_queue_next(&loop->timeouts);

    if (next_ms < loop->armed_ms) {
        wake_timer_set(loop->sweep_fd, next_ms);
        loop->armed_ms = next_ms;
    }
}

static struct loop_conn *take_first(struct loop *loop)
{
    struct loop_conn *conn = loop->first;

    loop->first = conn->next;
    if (loop->first == NULL) {
        loop->last = NULL;
    }
    conn->next = NULL;
    conn->queued = false;
    return conn;
}

/* Steps what was queued at the start of the turn; what queues itself again has to wait
 * until sockets were looked at. */
static void on_again(uv_idle_t *idle)
{
    struct loop *loop = idle->data;
    const struct loop_conn *last = loop->last;
    bool more = loop->first != NULL;

    while (more) {
        struct loop_conn *conn = take_first(loop);

        more = conn != last;
        loop_conn_step(conn);
    }
    if (loop->first == NULL) {
        uv_idle_stop(&loop->again);
    }
}

void loop_step_later(struct loop *loop, struct loop_conn *conn)
{
    if (conn->queued) {
        return;
    }
    conn->queued = true;
    if (loop->last == NULL) {
        loop->first = conn;
        uv_idle_start(&loop->again, on_again);
    } else {
        loop->last->next = conn;
    }
    loop->last = conn;
}

int loop_open(struct loop *loop, const struct server *server)
{
    int result;

    memset(loop, 0, sizeof *loop);
    atomic_init(&loop->load, 0);
    loop->armed_ms = UINT64_MAX;
    timeout_queue_init(&loop->timeouts, TIMEOUT_SLACK_MS);
    loop->sweep_fd = wake_timer_open();
    if (loop->sweep_fd < 0) {
        return loop->sweep_fd;
    }
    loop->worker = worker_open(server, WORKER_COOPERATIVE, WORKER_OWN_CACHE);
    result = loop->worker == NULL ? -ENOMEM : uv_loop_init(&loop->uv);
    if (result != 0) {
        worker_close(loop->worker);
        close(loop->sweep_fd);
        return result;
    }
    result = uv_poll_init(&loop->uv, &loop->sweep, loop->sweep_fd);
    if (result != 0) {
        loop_close(loop);
        return result;
    }
    uv_poll_start(&loop->sweep, UV_READABLE, on_sweep);
    uv_timer_init(&loop->uv, &loop->grace);
    uv_idle_init(&loop->uv, &loop->again);
    loop->sweep.data = loop->grace.data = loop->again.data = loop;
    return 0;
}

static void on_grace_over(uv_timer_t *timer)
{
    struct loop *loop = timer->data;

    worker_abandon(loop->worker, loop_conn_wake);
}

void loop_drain(struct loop *loop, uint64_t grace_ms)
{
    loop->draining = true;
    worker_drain(loop->worker, loop_conn_wake);
    uv_update_time(&loop->uv);
    uv_timer_start(&loop->grace, on_grace_over, grace_ms, 0);
    loop_finish_if_empty(loop);
}

void loop_finish_if_empty(struct loop *loop)
{
    if (!loop->draining || atomic_load_explicit(&loop->load, memory_order_relaxed) > 0 ||
        uv_is_closing((uv_handle_t *)&loop->grace)) {
        return;
    }
    uv_close((uv_handle_t *)&loop->sweep, NULL);
    uv_close((uv_handle_t *)&loop->grace, NULL);
    uv_close((uv_handle_t *)&loop->again, NULL);
}

void loop_close(struct loop *loop)
{
    worker_close(loop->worker);
    uv_loop_close(&loop->uv);
    close(loop->sweep_fd);
}
