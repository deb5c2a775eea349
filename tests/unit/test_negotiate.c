/* Negotiation: codings and JSON, by tables, and random fields against a slow reading that
 * is written from the rules of RFC 9110 12.5 alone. */
#include "negotiate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request_of.h"
#include "unit.h"

enum { ALL = 1 << CODING_ZSTD | 1 << CODING_BROTLI | 1 << CODING_GZIP };

static enum coding choose(const char *fields, unsigned available)
{
    static struct request request;
    struct accepted_codings accepted;

    request_of(&request, fields);
    negotiate_read_codings(&request, &accepted);
    return negotiate_coding(&accepted, available);
}

struct coding_case {
    int line;
    const char *fields;
    unsigned available;
    enum coding coding;
};

static void check_codings(const struct coding_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CHECK_CASE(cases[i].line, cases[i].fields,
                   choose(cases[i].fields, cases[i].available) == cases[i].coding);
    }
}

#define CHECK_CODINGS(cases) check_codings(cases, sizeof(cases) / sizeof((cases)[0]))

static void codings_that_are_listed(void **state)
{
    static const struct coding_case cases[] = {
        { __LINE__, "Host: a", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding:", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: ,", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip", ALL, CODING_GZIP },
        { __LINE__, "Accept-Encoding: br", ALL, CODING_BROTLI },
        { __LINE__, "Accept-Encoding: zstd", ALL, CODING_ZSTD },
        { __LINE__, "Accept-Encoding: zstd", 1 << CODING_GZIP, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip", 0, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: GZip", ALL, CODING_GZIP },
        { __LINE__, "Accept-Encoding: x-gzip", ALL, CODING_GZIP },
        { __LINE__, "Accept-Encoding: X-GZIP", ALL, CODING_GZIP },
        { __LINE__, "Accept-Encoding: gzip, br, zstd", ALL, CODING_ZSTD },
        { __LINE__, "Accept-Encoding: gzip, br", ALL, CODING_BROTLI },
        { __LINE__, "Accept-Encoding: gzip, deflate, br, zstd",
          1 << CODING_GZIP | 1 << CODING_BROTLI, CODING_BROTLI },
        { __LINE__, "Accept-Encoding: gzip\nAccept-Encoding: br", ALL, CODING_BROTLI },
        { __LINE__, "Accept-Encoding: identity", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: xgzip, brx, gzi, zst, gz", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: deflate, compress", ALL, CODING_IDENTITY },
        { __LINE__, "Accept: gzip", ALL, CODING_IDENTITY },
    };

    (void)state;
    CHECK_CODINGS(cases);
}

static void weights(void **state)
{
    static const struct coding_case cases[] = {
        { __LINE__, "Accept-Encoding: gzip;q=0", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=0.000", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=0.", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=0.001", ALL, CODING_GZIP },
        { __LINE__, "Accept-Encoding: gzip;q=1, br;q=0.999", ALL, CODING_GZIP },
        { __LINE__, "Accept-Encoding: gzip;q=1.000, br;q=1.", ALL, CODING_BROTLI },
        { __LINE__, "Accept-Encoding: gzip ; Q=0.5 ,\tbr\t;\tq=0.4", ALL, CODING_GZIP },
        { __LINE__, "Accept-Encoding: zstd;q=0.2, gzip;q=0.3", ALL, CODING_GZIP },
        { __LINE__, "Accept-Encoding: zstd;q=0.2, gzip;q=0.3", 1 << CODING_ZSTD,
          CODING_ZSTD },
        { __LINE__, "Accept-Encoding: br;q=0.29, gzip;q=0.3", ALL, CODING_GZIP },
        { __LINE__, "Accept-Encoding: gzip;q=0.5, identity", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=0.5, identity;q=0.6", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=0.5, identity;q=0.5", ALL, CODING_GZIP },
        { __LINE__, "Accept-Encoding: gzip;q=0.1, identity;q=0", ALL, CODING_GZIP },
        /* Nothing is acceptable: the file as it is, rather than 406. */
        { __LINE__, "Accept-Encoding: identity;q=0", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=0, identity;q=0", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: *;q=0", ALL, CODING_IDENTITY },
    };

    (void)state;
    CHECK_CODINGS(cases);
}

static void wildcards(void **state)
{
    static const struct coding_case cases[] = {
        { __LINE__, "Accept-Encoding: *", ALL, CODING_ZSTD },
        { __LINE__, "Accept-Encoding: *", 1 << CODING_GZIP, CODING_GZIP },
        { __LINE__, "Accept-Encoding: *, zstd;q=0", ALL, CODING_BROTLI },
        { __LINE__, "Accept-Encoding: *;q=0.5, gzip", ALL, CODING_GZIP },
        { __LINE__, "Accept-Encoding: gzip;q=0.4, *;q=0.5", ALL, CODING_ZSTD },
        { __LINE__, "Accept-Encoding: gzip;q=0.4, *;q=0.5", 1 << CODING_GZIP,
          CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip, *;q=0", ALL, CODING_GZIP },
        { __LINE__, "Accept-Encoding: gzip, *;q=0", 1 << CODING_BROTLI, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: *;q=0.1, identity;q=0.2", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: **, *x", ALL, CODING_IDENTITY },
    };

    (void)state;
    CHECK_CODINGS(cases);
}

static void malformed_members_are_as_if_they_had_not_come(void **state)
{
    static const struct coding_case cases[] = {
        { __LINE__, "Accept-Encoding: gzip;q=", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=2", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=1.001", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=0.1234", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=-1", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=.5", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=0,5", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=0x1", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=1e0", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=01", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q =1", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q= 1", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=\"1\"", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;x=1", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip q=1", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: \"gzip\"", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=7, br", ALL, CODING_BROTLI },
        { __LINE__, "Accept-Encoding: identity;q=x, gzip;q=0.1", ALL, CODING_GZIP },
        { __LINE__, "Accept-Encoding: \"unended, gzip", ALL, CODING_IDENTITY },
        /* Empty parameters are allowed (RFC 9110 5.6.6). */
        { __LINE__, "Accept-Encoding: gzip;", ALL, CODING_GZIP },
        { __LINE__, "Accept-Encoding: gzip; ;q=0.5", ALL, CODING_GZIP },
        /* Said twice: the least counts. */
        { __LINE__, "Accept-Encoding: gzip, gzip;q=0", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=0, gzip", ALL, CODING_IDENTITY },
        { __LINE__, "Accept-Encoding: gzip;q=0\nAccept-Encoding: x-gzip", ALL,
          CODING_IDENTITY },
    };

    (void)state;
    CHECK_CODINGS(cases);
}

/* ---- random fields */

/* A member as a client means it, and as it writes it. */
struct wish {
    const char *name;
    unsigned quality;
    bool good;
};

static const char *const names[] = { "gzip",     "x-gzip", "br",     "zstd",
                                     "identity", "*",      "deflate" };
enum { NAMES = sizeof names / sizeof names[0], WISHES_MAX = 6 };

static const char *const space[] = { "", " ", "\t", "  " };

static size_t write_quality(uint64_t *seed, char *to, struct wish *wish)
{
    static const char *const bad[] = { "q=", "q=1.1", "q=0.0000", "q=00", "p=1", "q=x" };
    unsigned kind = random_below(seed, 8);

    wish->quality = 1000;
    if (kind == 0) {
        return 0;
    }
    if (kind == 1) {
        wish->good = false;
        return (size_t)sprintf(to, "; %s", bad[random_below(seed, 6)]);
    }
    wish->quality =
        random_below(seed, 2) == 0 ? random_below(seed, 4) : random_below(seed, 1001);
    if (wish->quality % 100 == 0 && wish->quality < 1000) {
        return (size_t)sprintf(to, "%s;%sq=0.%u", space[random_below(seed, 4)],
                               space[random_below(seed, 4)], wish->quality / 100);
    }
    return (size_t)sprintf(to, ";%sQ=%u.%03u", space[random_below(seed, 4)],
                           wish->quality / 1000, wish->quality % 1000);
}

static size_t make_wishes(uint64_t *seed, struct wish *wishes, char *text)
{
    size_t count = random_below(seed, WISHES_MAX + 1);
    size_t len = (size_t)sprintf(text, "Accept-Encoding:");

    for (size_t i = 0; i < count; i++) {
        static const char *const between[] = { ",", " , ", ",,\t",
                                               "\nAccept-Encoding: " };

        wishes[i] =
            (struct wish){ .name = names[random_below(seed, NAMES)], .good = true };
        len +=
            (size_t)sprintf(text + len, "%s%s",
                            i > 0 ? between[random_below(seed, 4)] : " ", wishes[i].name);
        len += write_quality(seed, text + len, &wishes[i]);
    }
    return count;
}

/* The least quality that a good wish for exactly this name gives; -1: none does. */
static int least(const struct wish *wishes, size_t count, const char *name)
{
    int found = -1;

    for (size_t i = 0; i < count; i++) {
        const char *wished = wishes[i].name;

        if (wishes[i].good &&
            strcmp(strncmp(wished, "x-", 2) == 0 ? wished + 2 : wished, name) == 0) {
            int quality = (int)wishes[i].quality;

            found = found < 0 || quality < found ? quality : found;
        }
    }
    return found;
}

static enum coding slow_choice(const struct wish *wishes, size_t count,
                               unsigned available)
{
    static const enum coding order[] = { CODING_ZSTD, CODING_BROTLI, CODING_GZIP,
                                         CODING_IDENTITY };
    enum coding best = CODING_IDENTITY;
    int best_quality = 0;

    for (size_t i = 0; i < CODINGS; i++) {
        int quality = least(wishes, count, negotiate_coding_name(order[i]));

        quality = quality < 0 ? least(wishes, count, "*") : quality;
        if ((order[i] == CODING_IDENTITY || (available & 1U << order[i]) != 0) &&
            quality > best_quality) {
            best = order[i];
            best_quality = quality;
        }
    }
    return best;
}

static void random_fields_agree_with_the_slow_reading(void **state)
{
    uint64_t seed = 20260101;

    (void)state;
    for (unsigned i = 0; i < 200000; i++) {
        struct wish wishes[WISHES_MAX];
        char text[1024];
        size_t count = make_wishes(&seed, wishes, text);
        unsigned available = random_below(&seed, 8) << 1;

        CHECK_CASE(i, text,
                   choose(text, available) == slow_choice(wishes, count, available));
    }
}

/* Whatever comes, only what is available is chosen, and nothing is read beyond the end. */
static void random_bytes_are_survived(void **state)
{
    static const char alphabet[] = "gzipbrstd*x-;q=01.9, \t\"\\/jsonhtml";
    uint64_t seed = 7;

    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        size_t len = random_below(&seed, 40);
        char *value = malloc(len + 1);
        struct request request = { .field_count = 2 };
        struct accepted_codings accepted;
        unsigned available = random_below(&seed, 8) << 1;
        enum coding coding;

        assert_non_null(value);
        for (size_t at = 0; at < len; at++) {
            value[at] = alphabet[random_below(&seed, sizeof alphabet - 1)];
        }
        request.fields[0] =
            (struct request_field){ FIELD_ACCEPT_ENCODING, { value, len } };
        request.fields[1] = (struct request_field){ FIELD_ACCEPT, { value, len } };
        request.present = 1U << FIELD_ACCEPT_ENCODING | 1U << FIELD_ACCEPT;
        negotiate_read_codings(&request, &accepted);
        coding = negotiate_coding(&accepted, available);
        assert_true(coding == CODING_IDENTITY || (available & 1U << coding) != 0);
        (void)negotiate_prefers_json(&request);
        free(value);
    }
}

/* ---- JSON */

struct json_case {
    int line;
    const char *fields;
    bool json;
};

static void json_by_accept(void **state)
{
    static const struct json_case cases[] = {
        { __LINE__, "Host: a", false },
        { __LINE__, "Accept:", false },
        { __LINE__, "Accept: */*", false },
        { __LINE__, "Accept: application/json", true },
        { __LINE__, "Accept: Application/JSON", true },
        { __LINE__, "Accept: application/json;q=0.1", true },
        { __LINE__, "Accept: application/json;q=0", false },
        { __LINE__, "Accept: application/json, text/html", false },
        { __LINE__, "Accept: application/json, text/html;q=0.9", true },
        { __LINE__, "Accept: application/json;q=0.9, text/html", false },
        { __LINE__, "Accept: text/html\nAccept: application/json;q=1.0", false },
        { __LINE__, "Accept: application/*", true },
        { __LINE__, "Accept: application/*, text/*;q=0.5", true },
        { __LINE__, "Accept: text/*, application/json;q=0.8", false },
        { __LINE__, "Accept: text/html;q=0, */*", true },
        { __LINE__, "Accept: application/json;q=0, */*", false },
        /* Alike, but named only by a wildcard. */
        { __LINE__, "Accept: application/json, text/plain, */*", true },
        { __LINE__, "Accept: */*, application/json", true },
        { __LINE__, "Accept: application/json;q=0.5, */*;q=0.5", true },
        { __LINE__, "Accept: application/json;q=0.5, */*", false },
        { __LINE__, "Accept: application/*, */*", false },
        { __LINE__,
          "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
          false },
        { __LINE__, "Accept: image/png", false },
        { __LINE__, "Accept: json", false },
        { __LINE__, "Accept: application/jsonp", false },
        { __LINE__, "Accept: application/json-patch+json", false },
        { __LINE__, "Accept: application", false },
        { __LINE__, "Accept: */json", false },
        { __LINE__, "Accept: application/json;charset=utf-8", true },
        { __LINE__, "Accept: application/json;profile=\"a;q=0,b\";q=0.7, text/html;q=0.6",
          true },
        { __LINE__,
          "Accept: application/json;v=1;q=0.3, application/json;q=0.9, "
          "text/html;q=0.5",
          true },
        { __LINE__, "Accept: application/json;q=0.5;ext=1, text/html;q=0.4", true },
        { __LINE__, "Accept: application/json;q=nonsense", false },
        { __LINE__, "Accept: application/json, application/json;q=0.1, text/html;q=0.5",
          false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static struct request request;

        request_of(&request, cases[i].fields);
        CHECK_CASE(cases[i].line, cases[i].fields,
                   negotiate_prefers_json(&request) == cases[i].json);
    }
}

static void names_and_suffixes(void **state)
{
    (void)state;
    assert_string_equal(negotiate_coding_name(CODING_ZSTD), "zstd");
    assert_string_equal(negotiate_coding_suffix(CODING_ZSTD), ".zst");
    assert_string_equal(negotiate_coding_name(CODING_BROTLI), "br");
    assert_string_equal(negotiate_coding_suffix(CODING_BROTLI), ".br");
    assert_string_equal(negotiate_coding_name(CODING_GZIP), "gzip");
    assert_string_equal(negotiate_coding_suffix(CODING_GZIP), ".gz");
    assert_string_equal(negotiate_coding_name(CODING_IDENTITY), "identity");
    assert_string_equal(negotiate_coding_suffix(CODING_IDENTITY), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codings_that_are_listed),
        cmocka_unit_test(weights),
        cmocka_unit_test(wildcards),
        cmocka_unit_test(malformed_members_are_as_if_they_had_not_come),
        cmocka_unit_test(random_fields_agree_with_the_slow_reading),
        cmocka_unit_test(random_bytes_are_survived),
        cmocka_unit_test(json_by_accept),
        cmocka_unit_test(names_and_suffixes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
