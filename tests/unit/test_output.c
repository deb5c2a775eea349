/* The queue of owed bytes: order, partial sends at every length, pins, room, copies that
 * do and do not fit into the borrowed buffer. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "unit.h"

struct fixture {
    struct buffer_pool pool;
    struct output output;
    char released[64]; /* the pins' letters in the order of their release */
};

/* A pin is one letter of a string that ends with the place to note its release. */
struct pin {
    struct fixture *fixture;
    char letter;
};

static void note_release(void *owner)
{
    struct pin *pin = owner;
    size_t len = strlen(pin->fixture->released);

    pin->fixture->released[len] = pin->letter;
}

static void open_fixture(struct fixture *fixture)
{
    memset(fixture, 0, sizeof(*fixture));
    buffer_pool_init(&fixture->pool, 2);
    output_init(&fixture->output, &fixture->pool);
}

static void close_fixture(struct fixture *fixture)
{
    output_clear(&fixture->output);
    assert_int_equal(fixture->pool.lent, 0);
    buffer_pool_destroy(&fixture->pool);
}

static struct span memory(const char *text, struct pin *pin)
{
    return (struct span){ .kind = SPAN_MEMORY,
                          .base = text,
                          .length = strlen(text),
                          .release = note_release,
                          .owner = pin };
}

static void spans_leave_in_order_at_every_length_of_send(void **state)
{
    (void)state;
    for (size_t piece = 1; piece <= 12; piece++) {
        struct fixture fixture;
        struct pin a = { &fixture, 'a' }, b = { &fixture, 'b' }, c = { &fixture, 'c' };
        char sent[32] = "";

        open_fixture(&fixture);
        assert_true(output_append(&fixture.output, memory("hello ", &a)));
        assert_true(output_append(&fixture.output, memory("", &c)));
        assert_string_equal(fixture.released, "c");
        assert_true(output_append_copy(&fixture.output, SLICE("wide ")));
        assert_true(output_append(&fixture.output, memory("world", &b)));
        while (!output_empty(&fixture.output)) {
            struct iovec iov[4];
            size_t left = piece, n = 0;
            int count = output_iovecs(&fixture.output, iov, 4);

            for (int i = 0; i < count && left > 0; i++) {
                size_t part = iov[i].iov_len < left ? iov[i].iov_len : left;

                strncat(sent, iov[i].iov_base, part);
                left -= part;
                n += part;
            }
            output_sent(&fixture.output, n);
        }
        assert_string_equal(sent, "hello wide world");
        assert_string_equal(fixture.released, "cab");
        close_fixture(&fixture);
    }
}

static void file_spans_stop_the_vectors_and_advance(void **state)
{
    struct fixture fixture;
    struct pin a = { &fixture, 'a' }, f = { &fixture, 'f' };
    struct span file = { .kind = SPAN_FILE,
                         .fd = 7,
                         .offset = 100,
                         .length = 50,
                         .release = note_release,
                         .owner = &f };
    struct iovec iov[4];

    (void)state;
    open_fixture(&fixture);
    assert_true(output_append(&fixture.output, memory("head", &a)));
    assert_true(output_append(&fixture.output, file));
    assert_int_equal(output_iovecs(&fixture.output, iov, 4), 1);
    assert_int_equal(fixture.output.bytes, 54);
    output_sent(&fixture.output, 4 + 20);
    assert_string_equal(fixture.released, "a");
    assert_int_equal(output_iovecs(&fixture.output, iov, 4), 0);
    assert_int_equal(output_front(&fixture.output)->offset, 120);
    assert_int_equal(output_front(&fixture.output)->length, 30);
    output_sent(&fixture.output, 30);
    assert_string_equal(fixture.released, "af");
    assert_true(output_empty(&fixture.output));
    assert_null(output_front(&fixture.output));
    close_fixture(&fixture);
}

static void a_full_queue_refuses_and_releases(void **state)
{
    struct fixture fixture;
    struct pin z = { &fixture, 'z' };

    (void)state;
    open_fixture(&fixture);
    assert_int_equal(output_room(&fixture.output), OUTPUT_SPANS_MAX);
    for (unsigned i = 0; i < OUTPUT_SPANS_MAX; i++) {
        assert_true(output_append_copy(&fixture.output, SLICE("x")));
    }
    assert_int_equal(output_room(&fixture.output), 0);
    assert_false(output_append(&fixture.output, memory("no", &z)));
    assert_string_equal(fixture.released, "z");
    assert_false(output_append_copy(&fixture.output, SLICE("no")));
    assert_int_equal(fixture.output.bytes, OUTPUT_SPANS_MAX);
    close_fixture(&fixture);
}

static void a_copy_larger_than_the_buffer_is_kept_whole(void **state)
{
    struct fixture fixture;
    size_t len = BUFFER_SIZE;
    char *text = malloc(len);
    struct iovec iov[2];

    (void)state;
    assert_non_null(text);
    memset(text, 'y', len);
    open_fixture(&fixture);
    assert_true(output_append_copy(&fixture.output, SLICE("small")));
    assert_true(output_append_copy(&fixture.output, (struct slice){ text, len }));
    assert_int_equal(output_iovecs(&fixture.output, iov, 2), 2);
    assert_int_equal(iov[1].iov_len, len);
    assert_memory_equal(iov[1].iov_base, text, len);
    assert_ptr_not_equal(iov[1].iov_base, text);
    free(text);
    close_fixture(&fixture);
}

static void clearing_releases_what_was_not_sent(void **state)
{
    struct fixture fixture;
    struct pin a = { &fixture, 'a' }, b = { &fixture, 'b' };

    (void)state;
    open_fixture(&fixture);
    assert_true(output_append(&fixture.output, memory("one", &a)));
    assert_true(output_append(&fixture.output, memory("two", &b)));
    output_sent(&fixture.output, 2);
    output_clear(&fixture.output);
    assert_string_equal(fixture.released, "ab");
    assert_int_equal(fixture.output.bytes, 0);
    output_clear(&fixture.output);
    close_fixture(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_leave_in_order_at_every_length_of_send),
        cmocka_unit_test(file_spans_stop_the_vectors_and_advance),
        cmocka_unit_test(a_full_queue_refuses_and_releases),
        cmocka_unit_test(a_copy_larger_than_the_buffer_is_kept_whole),
        cmocka_unit_test(clearing_releases_what_was_not_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
