/* Ranges, dates and lists of entity tags, each against a slow reading of its rules. The
 * first byte of an input chooses. */
#include "fuzz.h"

#include <string.h>

#include "http_date.h"
#include "precondition.h"
#include "range.h"

/* ---- ranges: what every answer must satisfy, and a bitmap of the bytes asked for */

enum { SMALL = 200 };

/* The specs of a well-formed set, on a file of at most SMALL bytes: marks every byte that
 * a satisfiable spec names. False: malformed. *any: at least one spec. */
static bool mark_spec(const char *spec, size_t len, unsigned size, uint8_t *marked)
{
    const char *dash = memchr(spec, '-', len);
    size_t first_len, last_len;
    unsigned long first = 0, last = 0;

    if (dash == NULL) {
        return false;
    }
    first_len = (size_t)(dash - spec);
    last_len = len - first_len - 1;
    for (size_t i = 0; i < len; i++) {
        bool digit = spec[i] >= '0' && spec[i] <= '9';

        if (!digit && spec + i != dash) {
            return false;
        }
        if (digit) {
            unsigned long *number = spec + i < dash ? &first : &last;

            *number = *number * 10 + (unsigned long)(spec[i] - '0');
            *number = *number > 1000000000 ? 1000000000 : *number;
        }
    }
    if (first_len == 0 && last_len == 0) {
        return false;
    }
    if (first_len == 0) {
        first = last >= size ? 0 : size - last;
        last = last == 0 ? 0 : size;
        first = last == 0 ? 1 : first;
    } else if (last_len == 0) {
        last = size;
    } else if (last < first) {
        /* Clamped numbers that are equal may hide which is larger: too long to matter. */
        return first == 1000000000;
    }
    for (unsigned long i = first; i <= last && i < size; i++) {
        marked[i] = 1;
    }
    return true;
}

static void check_ranges(const char *text, size_t len, uint64_t size)
{
    struct byte_range ranges[RANGES_MAX];
    size_t count = 0;

    switch (range_parse((struct slice){ text, len }, size, ranges, &count)) {
    case RANGE_SATISFIABLE:
        CHECK(count >= 1 && count <= RANGES_MAX);
        for (size_t i = 0; i < count; i++) {
            CHECK(ranges[i].first <= ranges[i].last && ranges[i].last < size);
            for (size_t j = 0; j < i; j++) {
                /* Neither overlapping nor touching. */
                CHECK(ranges[j].last + 1 < ranges[i].first ||
                      ranges[i].last + 1 < ranges[j].first);
            }
        }
        break;
    case RANGE_IGNORED:
    case RANGE_UNSATISFIABLE:
        break;
    }
}

/* So long that mark_spec does not tell which of two is larger. */
static bool has_long_number(const char *text, size_t len)
{
    unsigned digits = 0;

    for (size_t i = 0; i < len; i++) {
        digits = text[i] >= '0' && text[i] <= '9' ? digits + 1 : 0;
        if (digits > 9) {
            return true;
        }
    }
    return false;
}

/* One range without white space, where the reference is simple. */
static void compare_ranges(const char *text, size_t len, unsigned size)
{
    struct byte_range ranges[RANGES_MAX];
    uint8_t marked[SMALL + 1] = { 0 }, given[SMALL + 1] = { 0 };
    size_t count = 0, at = 0;
    unsigned specs = 0;
    bool fine =
        len > 0 && memchr(text, ' ', len) == NULL && memchr(text, '\t', len) == NULL;
    char value[64 + 6] = "bytes=";
    enum range_result result;

    if (!fine || len > 64 || size == 0) {
        return;
    }
    memcpy(value + 6, text, len);
    result = range_parse((struct slice){ value, len + 6 }, size, ranges, &count);
    while (fine && at < len) {
        const char *comma = memchr(text + at, ',', len - at);
        size_t part = comma == NULL ? len - at : (size_t)(comma - text) - at;

        fine = part == 0 || mark_spec(text + at, part, size, marked);
        specs += part > 0;
        at += part + 1;
    }
    if (!fine) {
        CHECK(result == RANGE_IGNORED);
    } else if (specs > 0 && specs <= RANGES_MAX && !has_long_number(text, len)) {
        /* Well-formed and not too many: never ignored. */
        CHECK(result == (memchr(marked, 1, size) != NULL ? RANGE_SATISFIABLE
                                                         : RANGE_UNSATISFIABLE));
    }
    if (result == RANGE_SATISFIABLE && fine) {
        for (size_t i = 0; i < count; i++) {
            memset(given + ranges[i].first, 1, ranges[i].last - ranges[i].first + 1);
        }
        CHECK(memcmp(given, marked, size) == 0);
    } else if (fine && result == RANGE_UNSATISFIABLE) {
        CHECK(memchr(marked, 1, size) == NULL);
    }
}

/* ---- dates: a calendar that is walked year by year and month by month */

enum { WALKED_ROOM = 80 }; /* for numbers of any length, as the compiler wants it */

static unsigned days_of_month(unsigned year, unsigned month)
{
    static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month] + (month == 1 && leap);
}

/* IMF-fixdate of a day since 0000-01-01, which was a Saturday, and a second of it. */
static void walk_to(unsigned day, unsigned second, char text[WALKED_ROOM])
{
    static const char names[] = "SatSunMonTueWedThuFri";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    unsigned weekday = day % 7, year = 0, month = 0;

    for (; day >= 365u + (days_of_month(year, 1) == 29); year++) {
        day -= 365u + (days_of_month(year, 1) == 29);
    }
    for (; day >= days_of_month(year, month); month++) {
        day -= days_of_month(year, month);
    }
    snprintf(text, WALKED_ROOM, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT",
             names + 3 * weekday, day + 1, months + 3 * month, year, second / 3600,
             second / 60 % 60, second % 60);
}

/* A moment of the years 0 to 9999, chosen by the input. */
static void compare_dates(struct fuzz_input *input, int64_t now)
{
    enum { DAYS = 3652425, DAY_S = 86400, DAYS_TO_1970 = 719528 };
    unsigned day = 0, second = 0;
    char walked[WALKED_ROOM], written[HTTP_DATE_LEN];
    int64_t seconds, read = 0;

    for (unsigned i = 0; i < 3; i++) {
        day = day << 8 | fuzz_byte(input);
        second = second << 8 | fuzz_byte(input);
    }
    day %= DAYS;
    second %= DAY_S;
    seconds = ((int64_t)day - DAYS_TO_1970) * DAY_S + second;
    walk_to(day, second, walked);
    http_date_format(seconds, written);
    CHECK(memcmp(walked, written, HTTP_DATE_LEN) == 0);
    CHECK(http_date_parse((struct slice){ walked, HTTP_DATE_LEN }, now, &read));
    CHECK(read == seconds);
}

static void check_dates(const char *text, size_t len, int64_t now)
{
    int64_t seconds = 0, again = 0;
    char date[HTTP_DATE_LEN];

    if (!http_date_parse((struct slice){ text, len }, now, &seconds)) {
        return;
    }
    CHECK(seconds >= INT64_C(-62167219200) && seconds <= INT64_C(253402300800));
    http_date_format(seconds, date);
    /* Second 60 and the last second of the year 9999 are written otherwise. */
    if (http_date_parse((struct slice){ date, sizeof date }, now, &again)) {
        CHECK(again == seconds || seconds == INT64_C(253402300800));
    }
    if (len == HTTP_DATE_LEN && memcmp(text + 17, date + 17, 8) == 0) {
        CHECK(memcmp(text, date, len) == 0);
    }
}

/* ---- tags: a field that lists one tag between others */

static bool is_tag_byte(uint8_t byte)
{
    return byte == 0x21 || (byte >= 0x23 && byte != 0x7f);
}

static void check_tags(struct fuzz_input *input)
{
    char value[256];
    size_t len = 0;
    bool present = false;
    struct request request = { .method = METHOD_GET, .field_count = 1 };
    struct validators validators = { .etag = SLICE("\"tag-1\"") };

    while (fuzz_left(input) > 0 && len < sizeof value - 40) {
        uint8_t kind = fuzz_byte(input);
        char tag[20] = "\"", *end = tag + 1;

        if (kind % 4 == 0) {
            end = stpcpy(tag, "\"tag-1\"");
            present = true;
        } else {
            for (unsigned i = 0; i < kind % 16u; i++) {
                uint8_t byte = fuzz_byte(input);

                *end++ = is_tag_byte(byte) ? (char)byte : 'x';
            }
            *end++ = '"';
            present = present || slice_equal((struct slice){ tag, (size_t)(end - tag) },
                                             validators.etag);
        }
        len += (size_t)snprintf(value + len, sizeof value - len, "%s%s%s%.*s",
                                len > 0 ? "," : "", (kind & 64) != 0 ? " \t" : "",
                                (kind & 32) != 0 ? "W/" : "", (int)(end - tag), tag);
    }
    request.fields[0] = (struct request_field){ FIELD_IF_NONE_MATCH, { value, len } };
    request.present = UINT32_C(1) << FIELD_IF_NONE_MATCH;
    CHECK((precondition_evaluate(&request, &validators, 0) ==
           PRECONDITION_NOT_MODIFIED) == present);
}

/* Arbitrary bytes as a list: no verdict is wrong here, but nothing may be read beyond. */
static void read_tags(const char *text, size_t len)
{
    struct request request = { .method = METHOD_GET, .field_count = 1 };
    struct validators validators = { .etag = SLICE("\"a\"") };

    request.fields[0] = (struct request_field){ FIELD_IF_MATCH, { text, len } };
    request.present = UINT32_C(1) << FIELD_IF_MATCH;
    CHECK(precondition_evaluate(&request, &validators, 0) != PRECONDITION_NOT_MODIFIED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = { data, data + size };
    uint8_t kind = fuzz_byte(&input);
    uint8_t number = fuzz_byte(&input);
    size_t len = fuzz_left(&input);
    char *text = fuzz_exact(input.at, len);

    switch (kind % 4) {
    case 0:
        check_ranges(text, len, number < 128 ? number : UINT64_MAX >> (number % 64));
        compare_ranges(text, len, number % SMALL);
        break;
    case 1:
        check_dates(text, len, (int64_t)number * 31557600);
        compare_dates(&input, (int64_t)number * 31557600);
        break;
    case 2:
        check_tags(&input);
        break;
    default:
        read_tags(text, len);
        break;
    }
    free(text);
    return 0;
}
