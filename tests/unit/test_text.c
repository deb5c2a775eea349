/* Growing text: what is added, the budget, and the characters of UTF-8. */
#include "text.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static void adds_up(void **state)
{
    struct text text;
    char wanted[30000];
    size_t len = 0;

    (void)state;
    text_init(&text, NULL);
    assert_null(text.base);
    for (unsigned i = 0; i < 3000; i++) {
        char bytes[10];

        for (size_t at = 0; at < i % 10; at++) {
            bytes[at] = (char)(i + at);
        }
        memcpy(wanted + len, bytes, i % 10);
        len += i % 10;
        text_add(&text, (struct slice){ bytes, i % 10 });
    }
    assert_int_equal(text.len, len);
    assert_memory_equal(text.base, wanted, len);
    assert_false(text.failed);
    text_free(&text);
    assert_int_equal(text.len, 0);
    assert_null(text.base);
}

static void numbers(void **state)
{
    static const struct {
        uint64_t number;
        const char *text;
    } cases[] = { { 0, "0" },
                  { 9, "9" },
                  { 10, "10" },
                  { 1234567890, "1234567890" },
                  { UINT64_MAX, "18446744073709551615" } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text text;

        text_init(&text, NULL);
        text_add_number(&text, cases[i].number);
        assert_int_equal(text.len, strlen(cases[i].text));
        assert_memory_equal(text.base, cases[i].text, text.len);
        text_free(&text);
    }
}

static void reserved_room_is_used_as_it_is(void **state)
{
    struct text text;
    char *room;

    (void)state;
    text_init(&text, NULL);
    text_add(&text, SLICE("ab"));
    room = text_reserve(&text, 5000);
    assert_non_null(room);
    assert_ptr_equal(room, text.base + 2);
    memset(room, 'x', 5000);
    text.len += 3;
    text_add(&text, SLICE("c"));
    assert_int_equal(text.len, 6);
    assert_memory_equal(text.base, "abxxxc", 6);
    text_free(&text);
}

static void a_budget_is_shared_and_given_back(void **state)
{
    static const char kilobyte[1024];
    struct text_budget budget;
    struct text first, second;

    (void)state;
    text_budget_init(&budget, 8 * 1024);
    text_init(&first, &budget);
    text_init(&second, &budget);
    for (unsigned i = 0; i < 4; i++) {
        text_add(&first, (struct slice){ kilobyte, sizeof kilobyte });
        text_add(&second, (struct slice){ kilobyte, sizeof kilobyte });
    }
    assert_false(first.failed);
    assert_false(second.failed);
    assert_int_equal(atomic_load(&budget.used), 8 * 1024);

    text_add(&first, SLICE("x"));
    assert_true(first.failed);
    assert_null(text_reserve(&first, 1));
    text_add(&first, SLICE("y"));
    assert_int_equal(first.len, 4 * 1024);
    assert_int_equal(atomic_load(&budget.used), 8 * 1024);

    text_free(&second);
    assert_int_equal(atomic_load(&budget.used), 4 * 1024);
    assert_true(first.failed);
    text_free(&first);
    assert_int_equal(atomic_load(&budget.used), 0);
    assert_false(first.failed);
    text_add(&first, SLICE("again"));
    assert_int_equal(first.len, 5);
    text_free(&first);
}

static void what_cannot_be_had_fails(void **state)
{
    struct text_budget budget;
    struct text text;

    (void)state;
    text_budget_init(&budget, 100);
    text_init(&text, &budget);
    assert_null(text_reserve(&text, 1));
    assert_true(text.failed);
    text_free(&text);
    assert_int_equal(atomic_load(&budget.used), 0);
}

/* ---- UTF-8 */

/* By arithmetic: what a decoder would make of the bytes, encoded again, is the bytes. */
static size_t slow_character_len(const unsigned char *bytes, size_t len)
{
    for (size_t n = 1; n <= 4 && n <= len; n++) {
        static const unsigned char leads[] = { 0x00, 0xc0, 0xe0, 0xf0 };
        static const unsigned char masks[] = { 0x80, 0xe0, 0xf0, 0xf8 };
        static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
        uint32_t code;
        size_t i;

        if ((bytes[0] & masks[n - 1]) != leads[n - 1]) {
            continue;
        }
        code = bytes[0] & (unsigned char)~masks[n - 1];
        for (i = 1; i < n && (bytes[i] & 0xc0) == 0x80; i++) {
            code = code << 6 | (bytes[i] & 0x3f);
        }
        if (i == n && code >= least[n - 1] && code <= 0x10ffff &&
            (code < 0xd800 || code > 0xdfff)) {
            return n;
        }
    }
    return 0;
}

static void check_character(const unsigned char *bytes, size_t len)
{
    struct slice rest = { (const char *)bytes, len };
    struct slice character;
    bool valid;
    size_t wanted = slow_character_len(bytes, len);

    assert_true(text_next_character(&rest, &character, &valid));
    assert_int_equal(valid, wanted > 0);
    assert_ptr_equal(character.base, bytes);
    assert_int_equal(character.len, wanted > 0 ? wanted : 1);
    assert_int_equal(rest.len, len - character.len);
}

static void all_short_sequences_agree_with_the_slow_reading(void **state)
{
    unsigned char bytes[3];

    (void)state;
    for (unsigned code = 0; code < 1U << 24; code++) {
        bytes[0] = (unsigned char)(code >> 16);
        bytes[1] = (unsigned char)(code >> 8);
        bytes[2] = (unsigned char)code;
        check_character(bytes, 3);
    }
}

static void longer_and_cut_sequences_agree(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (unsigned i = 0; i < 1000000; i++) {
        unsigned char bytes[4] = { (unsigned char)(0xf0 + random_below(&seed, 16)) };
        size_t len = 1 + random_below(&seed, 4);

        for (size_t at = 1; at < 4; at++) {
            bytes[at] = (unsigned char)(random_below(&seed, 8) == 0
                                            ? random_below(&seed, 256)
                                            : 0x80 + random_below(&seed, 64));
        }
        check_character(bytes, len);
    }
}

static void the_end(void **state)
{
    struct slice rest = { NULL, 0 };
    struct slice character;
    bool valid;

    (void)state;
    assert_false(text_next_character(&rest, &character, &valid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_up),
        cmocka_unit_test(numbers),
        cmocka_unit_test(reserved_room_is_used_as_it_is),
        cmocka_unit_test(a_budget_is_shared_and_given_back),
        cmocka_unit_test(what_cannot_be_had_fails),
        cmocka_unit_test(all_short_sequences_agree_with_the_slow_reading),
        cmocka_unit_test(longer_and_cut_sequences_agree),
        cmocka_unit_test(the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
