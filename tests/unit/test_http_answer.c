/* An answer in the output queue: heads of any length, bodies of several spans, and what
 * becomes of the pin where there is no memory or no room. */
#include <stdlib.h>
#include <string.h>

#include "failing.h"
#include "http_answer.h"
#include "unit.h"

#define BODY "0123456789"

struct fixture {
    struct buffer_pool pool;
    struct output output;
    struct response response;
    char fields[8 * 1024];
    unsigned pins;
};

static void unpin(void *owner)
{
    ((struct fixture *)owner)->pins--;
}

/* An answer with so many bytes of fields and a body in so many pieces. */
static void open_fixture(struct fixture *fixture, size_t fields, unsigned pieces)
{
    static const char date[] = "Sun, 06 Nov 1994 08:49:37 GMT";

    buffer_pool_init(&fixture->pool, 0);
    output_init(&fixture->output, &fixture->pool);
    response_init(&fixture->response, 200, date);
    assert_true(fields == 0 || (fields > 5 && fields <= sizeof fixture->fields));
    if (fields > 0) {
        memset(fixture->fields, 'y', fields);
        memcpy(fixture->fields, "X: ", 3);
        memcpy(fixture->fields + fields - 2, "\r\n", 2);
    }
    fixture->response.fields = (struct slice){ fixture->fields, fields };
    fixture->response.content_length = (int64_t)(pieces * strlen(BODY));
    fixture->response.body_count = pieces;
    for (unsigned i = 0; i < pieces; i++) {
        fixture->response.body[i] =
            (struct span){ .kind = SPAN_MEMORY, .base = BODY, .length = strlen(BODY) };
    }
    fixture->response.release = unpin;
    fixture->response.owner = fixture;
    fixture->pins = 1;
}

static void close_fixture(struct fixture *fixture)
{
    output_clear(&fixture->output);
    assert_int_equal(fixture->pins, 0);
    buffer_pool_destroy(&fixture->pool);
}

/* What is queued, as one text. */
static size_t read_queue(const struct output *output, char *to, size_t room)
{
    struct iovec iov[OUTPUT_SPANS_MAX];
    int count = output_iovecs(output, iov, OUTPUT_SPANS_MAX);
    size_t len = 0;

    for (int i = 0; i < count; i++) {
        assert_true(iov[i].iov_len <= room - len);
        memcpy(to + len, iov[i].iov_base, iov[i].iov_len);
        len += iov[i].iov_len;
    }
    return len;
}

/* On the stack, in the queue's own text, and beyond both. */
static const size_t field_lengths[] = { 0, 100, 1500, 2000, 2100, 4096, 8 * 1024 };

static void heads_of_any_length_are_queued(void **state)
{
    static struct fixture fixture;
    static char rendered[16 * 1024], queued[16 * 1024];

    (void)state;
    for (size_t i = 0; i < sizeof field_lengths / sizeof *field_lengths; i++) {
        for (unsigned pieces = 0; pieces <= 3; pieces++) {
            size_t len;

            open_fixture(&fixture, field_lengths[i], pieces);
            len = response_head_render(&fixture.response, RESPONSE_CLOSE, rendered);
            for (unsigned piece = 0; piece < pieces; piece++) {
                memcpy(rendered + len, BODY, strlen(BODY));
                len += strlen(BODY);
            }
            assert_true(
                http_answer_queue(&fixture.output, &fixture.response, RESPONSE_CLOSE));
            /* The last piece holds the pin; without a body nothing needs it. */
            assert_int_equal(fixture.pins, pieces > 0);
            assert_int_equal(read_queue(&fixture.output, queued, sizeof queued), len);
            assert_memory_equal(queued, rendered, len);
            close_fixture(&fixture);
        }
    }
}

static void the_pin_is_released_without_memory(void **state)
{
    static struct fixture fixture;
    unsigned failures = 0;

    (void)state;
    for (size_t i = 0; i < sizeof field_lengths / sizeof *field_lengths; i++) {
        bool queued = false;

        for (unsigned long in = 0; !queued; in++) {
            open_fixture(&fixture, field_lengths[i], 2);
            failing_choose(in);
            failing_on();
            queued =
                http_answer_queue(&fixture.output, &fixture.response, RESPONSE_CLOSE);
            failing_off();
            assert_int_equal(queued, !failing.failed);
            assert_int_equal(fixture.pins, queued);
            failures += failing.failed;
            close_fixture(&fixture);
        }
    }
    assert_true(failures >= sizeof field_lengths / sizeof *field_lengths);
}

/* In front of it so much is queued that this does not fit. */
static void the_pin_is_released_without_room(void **state)
{
    static struct fixture fixture;
    static const struct span other = { .kind = SPAN_MEMORY, .base = "x", .length = 1 };

    (void)state;
    for (unsigned room = 0; room < 4; room++) {
        bool queued;

        open_fixture(&fixture, 0, 3);
        while (output_empty(&fixture.output) || output_room(&fixture.output) > room) {
            assert_true(output_append(&fixture.output, other));
        }
        queued = http_answer_queue(&fixture.output, &fixture.response, RESPONSE_KEEP);
        assert_false(queued);
        assert_int_equal(fixture.pins, 0);
        close_fixture(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_of_any_length_are_queued),
        cmocka_unit_test(the_pin_is_released_without_memory),
        cmocka_unit_test(the_pin_is_released_without_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
