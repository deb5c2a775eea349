/* See http_answer.h. An answer that is ready leaves as one span, any other as a head and
 * the spans of its body. It must never know the states of a connection. */
#include "http_answer.h"

#include <stdlib.h>

/* Heads up to this are rendered on the stack. */
enum { SMALL_HEAD_MAX = 2 * 1024 };

static bool queue_head(struct output *output, const struct response *response,
                       enum response_persistence persistence)
{
    char small[SMALL_HEAD_MAX];
    size_t bound = response_head_bound(response);
    struct span span = { .kind = SPAN_MEMORY, .release = free };
    char *text;

    if (bound <= sizeof small) {
        size_t len = response_head_render(response, persistence, small);

        return output_append_copy(output, (struct slice){ small, len });
    }
    text = malloc(bound);
    if (text == NULL) {
        return false;
    }
    span.base = text;
    span.owner = text;
    span.length = response_head_render(response, persistence, text);
    return output_append(output, span);
}

/* The last span carries the pin: the queue is in order, so all others are gone before it.
 */
static bool queue_body(struct output *output, const struct response *response)
{
    for (unsigned i = 0; i + 1 < response->body_count; i++) {
        struct span span = response->body[i];

        span.release = NULL;
        if (!output_append(output, span)) {
            return false;
        }
    }
    return true;
}

bool http_answer_queue(struct output *output, const struct response *response,
                       enum response_persistence persistence)
{
    struct span last = { .kind = SPAN_MEMORY }; /* empty: the pin is released at once */
    bool fine = true;

    if (response->ready.base != NULL && persistence == RESPONSE_KEEP) {
        last.base = response->ready.base;
        last.length = response->ready.len;
    } else {
        fine = queue_head(output, response, persistence) && queue_body(output, response);
        if (fine && response->body_count > 0) {
            last = response->body[response->body_count - 1];
        }
    }
    last.release = response->release;
    last.owner = response->owner;
    if (!fine) {
        /* What was queued may point into what the pin holds. */
        output_clear(output);
        last.length = 0;
    }
    return output_append(output, last) && fine;
}
