/* Listings: what is asked for, the order, and both formats, down to the byte where names
 * could do harm. */
#include "listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

/* ---- the wish */

static void wishes(void **state)
{
    static const struct {
        int line;
        const char *query;
        struct listing_wish wish;
    } cases[] = {
        { __LINE__, "", { LISTING_HTML, LISTING_NAME, false } },
        { __LINE__, "sort=name", { LISTING_HTML, LISTING_NAME, false } },
        { __LINE__, "sort=size", { LISTING_HTML, LISTING_SIZE, false } },
        { __LINE__, "sort=time", { LISTING_HTML, LISTING_TIME, false } },
        { __LINE__, "order=desc", { LISTING_HTML, LISTING_NAME, true } },
        { __LINE__, "order=asc", { LISTING_HTML, LISTING_NAME, false } },
        { __LINE__, "sort=time&order=desc", { LISTING_HTML, LISTING_TIME, true } },
        { __LINE__, "order=desc&sort=time", { LISTING_HTML, LISTING_TIME, true } },
        { __LINE__, "format=json", { LISTING_JSON, LISTING_NAME, false } },
        { __LINE__, "format=html", { LISTING_HTML, LISTING_NAME, false } },
        { __LINE__, "a=b&&=&c&sort=size&", { LISTING_HTML, LISTING_SIZE, false } },
        { __LINE__, "sort=size&sort=time", { LISTING_HTML, LISTING_SIZE, false } },
        { __LINE__, "sort=date&sort=time", { LISTING_HTML, LISTING_NAME, false } },
        { __LINE__, "sort", { LISTING_HTML, LISTING_NAME, false } },
        { __LINE__, "sort=", { LISTING_HTML, LISTING_NAME, false } },
        { __LINE__, "sort=sizes", { LISTING_HTML, LISTING_NAME, false } },
        { __LINE__, "Sort=size&sort=SIZE", { LISTING_HTML, LISTING_NAME, false } },
        { __LINE__, "sort=size=x", { LISTING_HTML, LISTING_NAME, false } },
        { __LINE__, "xsort=size&order=descx", { LISTING_HTML, LISTING_NAME, false } },
        { __LINE__, "format=xml", { LISTING_HTML, LISTING_NAME, false } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct listing_wish wish = { LISTING_HTML, LISTING_NAME, false };

        listing_wish_read(&wish, slice_of(cases[i].query));
        CHECK_CASE(cases[i].line, cases[i].query, wish.format == cases[i].wish.format);
        CHECK_CASE(cases[i].line, cases[i].query, wish.key == cases[i].wish.key);
        CHECK_CASE(cases[i].line, cases[i].query,
                   wish.descending == cases[i].wish.descending);
    }
}

static void what_the_query_does_not_say_stays(void **state)
{
    struct listing_wish wish = { LISTING_JSON, LISTING_TIME, true };

    (void)state;
    listing_wish_read(&wish, SLICE("sort=x&order=&format&q"));
    assert_int_equal(wish.format, LISTING_JSON);
    assert_int_equal(wish.key, LISTING_TIME);
    assert_true(wish.descending);
    listing_wish_read(&wish, SLICE("format=html&order=asc&sort=name"));
    assert_int_equal(wish.format, LISTING_HTML);
    assert_int_equal(wish.key, LISTING_NAME);
    assert_false(wish.descending);
}

/* ---- the order */

/* Names in the order that the wish gives, separated by spaces. */
static void check_order(int line, struct listing_wish wish, const char *wanted)
{
    struct listing_entry entries[] = {
        { .name = SLICE("b"), .size = 5, .mtime = 100, .mtime_ns = 5 },
        { .name = SLICE("bb"), .size = 2, .mtime = 100, .mtime_ns = 4 },
        { .name = SLICE("z"), .directory = true, .size = 9, .mtime = 1 },
        { .name = SLICE("B"), .size = 5, .mtime = -7 },
        { .name = SLICE("\xff"), .size = INT64_MAX, .mtime = INT64_MIN },
        { .name = SLICE("a"), .directory = true, .size = 3, .mtime = 2 },
        { .name = SLICE("c"), .size = 0, .mtime = INT64_MAX },
    };
    struct listing listing = { .entries = entries,
                               .count = sizeof entries / sizeof entries[0] };
    char text[64] = "";

    listing_sort(&listing, &wish);
    for (size_t i = 0; i < listing.count; i++) {
        strncat(text, entries[i].name.base, entries[i].name.len);
        strcat(text, " ");
    }
    CHECK_CASE(line, text, strcmp(text, wanted) == 0);
}

static void orders(void **state)
{
    (void)state;
    check_order(__LINE__, (struct listing_wish){ .key = LISTING_NAME },
                "a z B b bb c \xff ");
    check_order(__LINE__,
                (struct listing_wish){ .key = LISTING_NAME, .descending = true },
                "z a \xff c bb b B ");
    check_order(__LINE__, (struct listing_wish){ .key = LISTING_SIZE },
                "a z c bb B b \xff ");
    check_order(__LINE__,
                (struct listing_wish){ .key = LISTING_SIZE, .descending = true },
                "a z \xff B b bb c ");
    check_order(__LINE__, (struct listing_wish){ .key = LISTING_TIME },
                "z a \xff B bb b c ");
    check_order(__LINE__,
                (struct listing_wish){ .key = LISTING_TIME, .descending = true },
                "a z c b bb B \xff ");
}

/* A slow sort, by exchanging neighbours, has the same order. */
static bool is_before(const struct listing_entry *a, const struct listing_entry *b,
                      const struct listing_wish *wish)
{
    char left[8] = "", right[8] = "";
    int64_t by = 0;

    if (a->directory != b->directory) {
        return a->directory;
    }
    memcpy(left, a->name.base, a->name.len);
    memcpy(right, b->name.base, b->name.len);
    if (wish->key == LISTING_SIZE && !a->directory) {
        by = a->size - b->size;
    } else if (wish->key == LISTING_TIME) {
        by = a->mtime != b->mtime ? a->mtime - b->mtime
                                  : (int64_t)a->mtime_ns - (int64_t)b->mtime_ns;
    } else if (wish->key == LISTING_NAME && wish->descending) {
        return strcmp(left, right) > 0;
    }
    if (by != 0) {
        return wish->descending ? by > 0 : by < 0;
    }
    return strcmp(left, right) < 0;
}

static void random_entries_are_in_the_order_of_a_slow_sort(void **state)
{
    enum { COUNT = 40 };
    static char names[COUNT][6];
    uint64_t seed = 11;

    (void)state;
    for (unsigned round = 0; round < 600; round++) {
        struct listing_entry entries[COUNT];
        struct listing listing = { .entries = entries, .count = COUNT };
        struct listing_wish wish = { LISTING_HTML, (enum listing_key)(round % 3),
                                     round % 2 == 1 };

        for (unsigned i = 0; i < COUNT; i++) {
            int len = sprintf(names[i], "%c%u", 'a' + (char)random_below(&seed, 3), i);

            entries[i] = (struct listing_entry){ .name = { names[i], (size_t)len },
                                                 .directory = random_below(&seed, 4) == 0,
                                                 .size = random_below(&seed, 5),
                                                 .mtime = random_below(&seed, 3),
                                                 .mtime_ns = random_below(&seed, 2) };
        }
        listing_sort(&listing, &wish);
        for (unsigned i = 0; i + 1 < COUNT; i++) {
            assert_true(is_before(&entries[i], &entries[i + 1], &wish));
        }
    }
}

/* ---- formats */

/* One entry's listing in a format; the caller frees it. */
static char *write_one(struct listing_entry entry, struct slice path,
                       enum listing_format format)
{
    struct listing listing = { .path = path, .entries = &entry, .count = 1 };
    struct listing_wish wish = { .format = format };
    struct text text;
    char *copy;

    text_init(&text, NULL);
    listing_write(&listing, &wish, &text);
    assert_false(text.failed);
    copy = malloc(text.len + 1);
    assert_non_null(copy);
    memcpy(copy, text.base, text.len);
    copy[text.len] = '\0';
    assert_int_equal(strlen(copy), text.len);
    text_free(&text);
    return copy;
}

static void rows_of_the_page(void **state)
{
    static const struct {
        int line;
        struct slice name;
        const char *link, *shown;
    } cases[] = {
        { __LINE__, SLICE("plain.txt"), "./plain.txt", "plain.txt" },
        { __LINE__, SLICE("a b"), "./a%20b", "a b" },
        { __LINE__, SLICE("a:b"), "./a:b", "a:b" },
        { __LINE__, SLICE("//"), ".///", "//" },
        { __LINE__, SLICE("<img src=x onerror=1>"), "./%3Cimg%20src=x%20onerror=1%3E",
          "&lt;img src=x onerror=1&gt;" },
        { __LINE__, SLICE("' onmouseover='x"), "./&#39;%20onmouseover=&#39;x",
          "&#39; onmouseover=&#39;x" },
        { __LINE__, SLICE("\" onfocus=\"x"), "./%22%20onfocus=%22x",
          "&quot; onfocus=&quot;x" },
        { __LINE__, SLICE("a&lt;b"), "./a&amp;lt;b", "a&amp;lt;b" },
        { __LINE__, SLICE("what?"), "./what%3F", "what?" },
        { __LINE__, SLICE("hash#tag"), "./hash%23tag", "hash#tag" },
        { __LINE__, SLICE("p%41"), "./p%2541", "p%41" },
        { __LINE__, SLICE("back\\slash"), "./back%5Cslash", "back\\slash" },
        { __LINE__, SLICE("caf\xc3\xa9"), "./caf%C3%A9", "caf\xc3\xa9" },
        { __LINE__, SLICE("\xf0\x9f\x90\xad"), "./%F0%9F%90%AD", "\xf0\x9f\x90\xad" },
        { __LINE__, SLICE("\xff.\xc3"), "./%FF.%C3", "\xef\xbf\xbd.\xef\xbf\xbd" },
        { __LINE__, SLICE("\xed\xa0\x80"), "./%ED%A0%80",
          "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { __LINE__,
          SLICE("\xc2\x9b"
                "31m"),
          "./%C2%9B31m",
          "\xef\xbf\xbd"
          "31m" },
        { __LINE__, SLICE("\xc2\xa0"), "./%C2%A0", "\xc2\xa0" },
        { __LINE__, SLICE("a\r\nb"), "./a%0D%0Ab",
          "a\xe2\x90\x8d\xe2\x90\x8a"
          "b" },
        { __LINE__, SLICE("\x1b[31m"), "./%1B%5B31m", "\xe2\x90\x9b[31m" },
        { __LINE__, SLICE("\x01\x7f"), "./%01%7F", "\xe2\x90\x81\xe2\x90\xa1" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int directory = 0; directory < 2; directory++) {
            struct listing_entry entry = { .name = cases[i].name,
                                           .directory = directory == 1,
                                           .size = 1,
                                           .mtime = 784111777 };
            char *page = write_one(entry, SLICE(""), LISTING_HTML);
            char wanted[512];

            (void)snprintf(wanted, sizeof wanted,
                           "<tr><td><a href=\"%s%s\">%s%s</a></td><td>%s</td><td><time "
                           "datetime=\"1994-11-06T08:49:37Z\">1994-11-06 08:49:37</time>"
                           "</td></tr>\n",
                           cases[i].link, directory == 1 ? "/" : "", cases[i].shown,
                           directory == 1 ? "/" : "", directory == 1 ? "" : "1 B");
            CHECK_CASE(cases[i].line, page, strstr(page, wanted) != NULL);
            free(page);
        }
    }
}

static void sizes_of_the_page(void **state)
{
    static const struct {
        int line;
        int64_t size;
        const char *shown;
    } cases[] = {
        { __LINE__, 0, "<td>0 B</td>" },
        { __LINE__, 1023, "<td>1023 B</td>" },
        { __LINE__, 1024, "<td>1.0 KiB</td>" },
        { __LINE__, 1536, "<td>1.5 KiB</td>" },
        { __LINE__, 1024 * 1024 - 1, "<td>1023.9 KiB</td>" },
        { __LINE__, 1024 * 1024, "<td>1.0 MiB</td>" },
        { __LINE__, INT64_C(5) << 30, "<td>5.0 GiB</td>" },
        { __LINE__, INT64_C(3) << 40, "<td>3.0 TiB</td>" },
        { __LINE__, INT64_C(1) << 50, "<td>1.0 PiB</td>" },
        { __LINE__, INT64_MAX, "<td>7.9 EiB</td>" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *page =
            write_one((struct listing_entry){ .name = SLICE("x"), .size = cases[i].size },
                      SLICE(""), LISTING_HTML);

        CHECK_CASE(cases[i].line, page, strstr(page, cases[i].shown) != NULL);
        free(page);
    }
}

static void the_page_around_the_rows(void **state)
{
    struct listing_entry entry = { .name = SLICE("x") };
    char *page = write_one(entry, SLICE("a<b/c&d\n"), LISTING_HTML);
    char *root = write_one(entry, SLICE(""), LISTING_HTML);

    (void)state;
    assert_non_null(strstr(page, "<title>Index of /a&lt;b/c&amp;d\xe2\x90\x8a/</title>"));
    assert_non_null(strstr(page, "<h1>Index of /a&lt;b/c&amp;d\xe2\x90\x8a/</h1>"));
    assert_non_null(strstr(page, "<a href=\"../\">../</a>"));
    assert_non_null(strstr(root, "<title>Index of /</title>"));
    assert_null(strstr(root, "../"));
    assert_null(strstr(page, "script"));
    assert_null(strstr(page, "There are more"));
    assert_int_equal(strncmp(page, "<!DOCTYPE html>\n", 16), 0);
    free(page);
    free(root);
}

static void columns_turn_the_order(void **state)
{
    static const struct {
        int line;
        struct listing_wish wish;
        const char *wanted;
    } cases[] = {
        { __LINE__,
          { LISTING_HTML, LISTING_NAME, false },
          "<th scope=\"col\" aria-sort=\"ascending\">"
          "<a href=\"?sort=name&amp;order=desc\">Name</a></th>"
          "<th scope=\"col\"><a href=\"?sort=size&amp;order=asc\">Size</a></th>"
          "<th scope=\"col\"><a href=\"?sort=time&amp;order=asc\">Modified "
          "(UTC)</a></th>" },
        { __LINE__,
          { LISTING_HTML, LISTING_SIZE, true },
          "<th scope=\"col\"><a href=\"?sort=name&amp;order=asc\">Name</a></th>"
          "<th scope=\"col\" aria-sort=\"descending\">"
          "<a href=\"?sort=size&amp;order=asc\">Size</a></th>"
          "<th scope=\"col\"><a href=\"?sort=time&amp;order=asc\">Modified "
          "(UTC)</a></th>" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct listing listing = { .count = 0, .cut_short = true };
        struct text text;

        text_init(&text, NULL);
        listing_write(&listing, &cases[i].wish, &text);
        text_add(&text, (struct slice){ "", 1 });
        CHECK_CASE(cases[i].line, text.base, strstr(text.base, cases[i].wanted) != NULL);
        assert_non_null(strstr(
            text.base, "<p>There are more entries: only 0 of them are shown.</p>"));
        text_free(&text);
    }
}

static void data(void **state)
{
    static const struct {
        int line;
        struct listing_entry entry;
        const char *wanted;
    } cases[] = {
        { __LINE__,
          { .name = SLICE("plain.txt"), .size = INT64_MAX, .mtime = 784111777 },
          "[\n{\"name\":\"plain.txt\",\"type\":\"file\",\"size\":9223372036854775807,"
          "\"mtime\":\"1994-11-06T08:49:37Z\"}\n]\n" },
        { __LINE__,
          { .name = SLICE("dir"), .directory = true, .size = 4096 },
          "[\n{\"name\":\"dir\",\"type\":\"directory\",\"size\":null,"
          "\"mtime\":\"1970-01-01T00:00:00Z\"}\n]\n" },
        { __LINE__,
          { .name = SLICE("\"\\/<&'\x01\n\x1f\x7f"), .mtime = INT64_MAX },
          "[\n{\"name\":\"\\\"\\\\/<&'\\u0001\\u000a\\u001f\\u007f\",\"type\":\"file\","
          "\"size\":0,\"mtime\":\"9999-12-31T23:59:59Z\"}\n]\n" },
        { __LINE__,
          { .name = SLICE("\xff\xc3\xa9\xc3"), .mtime = -1 },
          "[\n{\"name\":\"\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\",\"type\":\"file\","
          "\"size\":0,\"mtime\":\"1969-12-31T23:59:59Z\"}\n]\n" },
    };
    struct listing empty = { .count = 0 };
    struct text text;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *json = write_one(cases[i].entry, SLICE("path"), LISTING_JSON);

        CHECK_CASE(cases[i].line, json, strcmp(json, cases[i].wanted) == 0);
        free(json);
    }
    text_init(&text, NULL);
    listing_write(&empty, &(struct listing_wish){ .format = LISTING_JSON }, &text);
    assert_int_equal(text.len, 4);
    assert_memory_equal(text.base, "[\n]\n", 4);
    text_free(&text);
}

/* How many bytes of a page, from its table on, are HTML's own; all can be shown. */
static unsigned count_marks(struct slice name)
{
    char *page =
        write_one((struct listing_entry){ .name = name }, SLICE(""), LISTING_HTML);
    unsigned marks = 0;

    for (const char *at = strstr(page, "<table>"); *at != '\0'; at++) {
        marks += *at == '<' || *at == '>' || *at == '"' || *at == '\'';
        assert_true(*at == '\n' || ((unsigned char)*at >= 0x20 && *at != 0x7f));
    }
    free(page);
    return marks;
}

/* Whatever bytes names are of, they add no marks to the page and end no string. */
static void random_names_do_no_harm(void **state)
{
    unsigned marks = count_marks(SLICE("x"));
    uint64_t seed = 5;

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        char name[24];
        size_t len = 1 + random_below(&seed, sizeof name - 1);
        char *json;
        unsigned quotes = 0;

        for (size_t at = 0; at < len; at++) {
            name[at] = (char)(1 + random_below(&seed, 255));
        }
        assert_int_equal(count_marks((struct slice){ name, len }), marks);
        json = write_one((struct listing_entry){ .name = { name, len } }, SLICE(""),
                         LISTING_JSON);
        for (const char *at = json; *at != '\0'; at++) {
            assert_true(*at == '\n' || ((unsigned char)*at >= 0x20 && *at != 0x7f));
            quotes += *at == '"';
            at += *at == '\\';
        }
        assert_int_equal(quotes, 4 * 2 + 3 * 2);
        free(json);
    }
}

static void without_memory_it_fails(void **state)
{
    struct listing_entry entry = { .name = SLICE("x") };
    struct listing listing = { .entries = &entry, .count = 1 };

    (void)state;
    for (int format = LISTING_HTML; format <= LISTING_JSON; format++) {
        struct listing_wish wish = { .format = (enum listing_format)format };
        struct text_budget budget;
        struct text text;

        text_budget_init(&budget, 1000);
        text_init(&text, &budget);
        listing_write(&listing, &wish, &text);
        assert_true(text.failed);
        text_free(&text);
        assert_int_equal(atomic_load(&budget.used), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wishes),
        cmocka_unit_test(what_the_query_does_not_say_stays),
        cmocka_unit_test(orders),
        cmocka_unit_test(random_entries_are_in_the_order_of_a_slow_sort),
        cmocka_unit_test(rows_of_the_page),
        cmocka_unit_test(sizes_of_the_page),
        cmocka_unit_test(the_page_around_the_rows),
        cmocka_unit_test(columns_turn_the_order),
        cmocka_unit_test(data),
        cmocka_unit_test(random_names_do_no_harm),
        cmocka_unit_test(without_memory_it_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
