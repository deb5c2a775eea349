/* HTTP dates. Every day is compared with a calendar that is walked day by day. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_date.h"
#include "unit.h"

static const int64_t in_1994 = INT64_C(784111777);  /* Sun, 06 Nov 1994 08:49:37 GMT */
static const int64_t in_2025 = INT64_C(1735689600); /* Wed, 01 Jan 2025 00:00:00 GMT */

static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
static const char *const days[] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
                                    "Thursday", "Friday", "Saturday" };

/* Exactly as long on the heap, so that the address sanitizer sees a byte read too far. */
static bool parse(const char *text, int64_t now, int64_t *seconds)
{
    size_t len = strlen(text);
    char *bytes = malloc(len > 0 ? len : 1);
    bool valid;

    assert_non_null(bytes);
    memcpy(bytes, text, len);
    valid = http_date_parse((struct slice){ bytes, len }, now, seconds);
    free(bytes);
    return valid;
}

static void dates_are_formatted(void **state)
{
    static const struct {
        int line;
        int64_t seconds;
        const char *text;
    } cases[] = {
        { __LINE__, 0, "Thu, 01 Jan 1970 00:00:00 GMT" },
        { __LINE__, -1, "Wed, 31 Dec 1969 23:59:59 GMT" },
        { __LINE__, 784111777, "Sun, 06 Nov 1994 08:49:37 GMT" },
        { __LINE__, 951782400, "Tue, 29 Feb 2000 00:00:00 GMT" },
        { __LINE__, 2147483647, "Tue, 19 Jan 2038 03:14:07 GMT" },
        { __LINE__, INT64_C(2147483648), "Tue, 19 Jan 2038 03:14:08 GMT" },
        { __LINE__, INT64_C(4107542400), "Mon, 01 Mar 2100 00:00:00 GMT" },
        { __LINE__, INT64_C(253402300799), "Fri, 31 Dec 9999 23:59:59 GMT" },
        { __LINE__, INT64_C(253402300800), "Fri, 31 Dec 9999 23:59:59 GMT" },
        { __LINE__, INT64_MAX, "Fri, 31 Dec 9999 23:59:59 GMT" },
        { __LINE__, INT64_C(-62167219200), "Sat, 01 Jan 0000 00:00:00 GMT" },
        { __LINE__, INT64_C(-62167219201), "Sat, 01 Jan 0000 00:00:00 GMT" },
        { __LINE__, INT64_MIN, "Sat, 01 Jan 0000 00:00:00 GMT" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = malloc(HTTP_DATE_LEN);

        assert_non_null(text);
        http_date_format(cases[i].seconds, text);
        CHECK_CASE(cases[i].line, cases[i].text,
                   memcmp(text, cases[i].text, HTTP_DATE_LEN) == 0);
        free(text);
    }
}

static void good_dates_are_read(void **state)
{
    static const struct {
        int line;
        const char *text;
        int64_t seconds;
    } cases[] = {
        { __LINE__, "Sun, 06 Nov 1994 08:49:37 GMT", 784111777 },
        { __LINE__, "Sunday, 06-Nov-94 08:49:37 GMT", 784111777 },
        { __LINE__, "Sun Nov  6 08:49:37 1994", 784111777 },
        { __LINE__, "Sun Nov 06 08:49:37 1994", 784111777 },
        { __LINE__, "Wed Nov 16 08:49:37 1994", 784975777 },
        { __LINE__, "Thu, 01 Jan 1970 00:00:00 GMT", 0 },
        { __LINE__, "Wed, 31 Dec 1969 23:59:59 GMT", -1 },
        { __LINE__, "Tue, 29 Feb 2000 00:00:00 GMT", 951782400 },
        { __LINE__, "Thu, 29 Feb 2024 23:59:59 GMT", 1709251199 },
        { __LINE__, "Sat, 31 Dec 2016 23:59:60 GMT", 1483228800 },
        { __LINE__, "Fri, 31 Dec 9999 23:59:59 GMT", INT64_C(253402300799) },
        { __LINE__, "Sat, 01 Jan 0000 00:00:00 GMT", INT64_C(-62167219200) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t seconds = 77;

        CHECK_CASE(cases[i].line, cases[i].text, parse(cases[i].text, in_2025, &seconds));
        CHECK_CASE(cases[i].line, cases[i].text, seconds == cases[i].seconds);
    }
}

static void bad_dates_are_refused(void **state)
{
    static const struct {
        int line;
        const char *text;
    } cases[] = {
        { __LINE__, "" },
        { __LINE__, "2030" },
        { __LINE__, "0" },
        { __LINE__, "784111777" },
        { __LINE__, "now" },
        { __LINE__, "Sun" },
        { __LINE__, "Sun," },
        { __LINE__, "Sun, 06 Nov 1994 08:49:37" },
        { __LINE__, "Sun, 06 Nov 1994 08:49:37 " },
        { __LINE__, "Sun, 06 Nov 1994 08:49:37 GM" },
        { __LINE__, "Sun, 06 Nov 1994 08:49:37 GMT " },
        { __LINE__, " Sun, 06 Nov 1994 08:49:37 GMT" },
        { __LINE__, "Sun, 06 Nov 1994 08:49:37 GMT; length=5" },
        { __LINE__, "Sun, 06 Nov 1994 08:49:37 PST" },
        { __LINE__, "Sun, 06 Nov 1994 08:49:37 UTC" },
        { __LINE__, "Sun, 06 Nov 1994 08:49:37 +0000" },
        { __LINE__, "Sun, 06 Nov 1994 08:49:37 gmt" },
        { __LINE__, "sun, 06 Nov 1994 08:49:37 GMT" },
        { __LINE__, "Sun, 06 nov 1994 08:49:37 GMT" },
        { __LINE__, "Sun, 06 NOV 1994 08:49:37 GMT" },
        { __LINE__, "Sun, 6 Nov 1994 08:49:37 GMT" },
        { __LINE__, "Sun,  6 Nov 1994 08:49:37 GMT" },
        { __LINE__, "Sun, 006 Nov 1994 08:49:37 GMT" },
        { __LINE__, "Sun, 06 Nov 94 08:49:37 GMT" },
        { __LINE__, "Sun, 06 Nov 01994 08:49:37 GMT" },
        { __LINE__, "Sun, 06  Nov 1994 08:49:37 GMT" },
        { __LINE__, "Sun 06 Nov 1994 08:49:37 GMT" },
        { __LINE__, "Sun,06 Nov 1994 08:49:37 GMT" },
        { __LINE__, "Sun, 06-Nov-1994 08:49:37 GMT" },
        { __LINE__, "Sun, 06 Nov 1994 8:49:37 GMT" },
        { __LINE__, "Sun, 06 Nov 1994 08:49 GMT" },
        { __LINE__, "Sun, 06 Nov 1994 08-49-37 GMT" },
        { __LINE__, "Sun, +6 Nov 1994 08:49:37 GMT" },
        { __LINE__, "Sun, 06 Xxx 1994 08:49:37 GMT" },
        { __LINE__, "06 Nov 1994 08:49:37 GMT" },
        { __LINE__, "1994-11-06T08:49:37Z" },
        /* no such day or time */
        { __LINE__, "Sun, 30 Feb 2025 00:00:00 GMT" },
        { __LINE__, "Sat, 29 Feb 2025 00:00:00 GMT" },
        { __LINE__, "Sat, 01 Mar 2025 24:00:00 GMT" },
        { __LINE__, "Mon, 29 Feb 2100 00:00:00 GMT" },
        { __LINE__, "Mon, 31 Apr 2025 00:00:00 GMT" },
        { __LINE__, "Thu, 31 Nov 1994 08:49:37 GMT" },
        { __LINE__, "Thu, 32 Dec 1994 08:49:37 GMT" },
        { __LINE__, "Mon, 00 Nov 1994 08:49:37 GMT" },
        { __LINE__, "Sun, 06 Nov 1994 24:00:00 GMT" },
        { __LINE__, "Sun, 06 Nov 1994 08:60:00 GMT" },
        { __LINE__, "Sun, 06 Nov 1994 08:49:61 GMT" },
        /* another day's name */
        { __LINE__, "Mon, 06 Nov 1994 08:49:37 GMT" },
        { __LINE__, "Saturday, 06-Nov-94 08:49:37 GMT" },
        { __LINE__, "Tue Nov  6 08:49:37 1994" },
        { __LINE__, "Xyz, 06 Nov 1994 08:49:37 GMT" },
        /* RFC 850 */
        { __LINE__, "Sun, 06-Nov-94 08:49:37 GMT" },
        { __LINE__, "Sunday, 06 Nov 1994 08:49:37 GMT" },
        { __LINE__, "Sunday, 06-Nov-1994 08:49:37 GMT" },
        { __LINE__, "Sunday, 6-Nov-94 08:49:37 GMT" },
        { __LINE__, "Sunday, 06-Nov-94 08:49:37" },
        { __LINE__, "Sunday 06-Nov-94 08:49:37 GMT" },
        { __LINE__, "Sunday, 06-Nov-94 08:49:37 GMT+1" },
        { __LINE__, "Sund, 06-Nov-94 08:49:37 GMT" },
        /* asctime */
        { __LINE__, "Sun Nov 6 08:49:37 1994" },
        { __LINE__, "Sun Nov   6 08:49:37 1994" },
        { __LINE__, "Sun Nov  06 08:49:37 1994" },
        { __LINE__, "Sun Nov  6 08:49:37 94" },
        { __LINE__, "Sun Nov  6 08:49:37 19940" },
        { __LINE__, "Sun Nov  6 08:49:37 GMT 1994" },
        { __LINE__, "Sun Nov  6 08:49:37 1994 GMT" },
        { __LINE__, "Sun Nov  6 08:49:37 1994\n" },
        { __LINE__, "Sunday Nov  6 08:49:37 1994" },
        { __LINE__, "Sun Nov  0 08:49:37 1994" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t seconds = 77;

        CHECK_CASE(cases[i].line, cases[i].text,
                   !parse(cases[i].text, in_2025, &seconds));
        CHECK_CASE(cases[i].line, cases[i].text, seconds == 77);
    }
}

/* No more than 50 years ahead of now, to the second. */
static void two_digit_years_are_near_now(void **state)
{
    static const struct {
        int line;
        const char *now;
        const char *text;
        const char *meant;
    } cases[] = {
        { __LINE__, "Wed, 01 Jan 2025 00:00:00 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
          "Sun, 06 Nov 1994 08:49:37 GMT" },
        { __LINE__, "Wed, 01 Jan 2025 00:00:00 GMT", "Wednesday, 01-Jan-25 00:00:00 GMT",
          "Wed, 01 Jan 2025 00:00:00 GMT" },
        { __LINE__, "Wed, 01 Jan 2025 00:00:00 GMT", "Tuesday, 01-Jan-75 00:00:00 GMT",
          "Tue, 01 Jan 2075 00:00:00 GMT" },
        { __LINE__, "Wed, 01 Jan 2025 00:00:00 GMT", "Wednesday, 01-Jan-75 00:00:01 GMT",
          "Wed, 01 Jan 1975 00:00:01 GMT" },
        { __LINE__, "Wed, 01 Jan 2025 00:00:00 GMT", "Thursday, 02-Jan-75 00:00:00 GMT",
          "Thu, 02 Jan 1975 00:00:00 GMT" },
        { __LINE__, "Wed, 01 Jan 2025 00:00:00 GMT", "Monday, 31-Dec-74 23:59:59 GMT",
          "Mon, 31 Dec 2074 23:59:59 GMT" },
        { __LINE__, "Fri, 31 Dec 1999 23:59:59 GMT", "Saturday, 01-Jan-00 00:00:00 GMT",
          "Sat, 01 Jan 2000 00:00:00 GMT" },
        { __LINE__, "Fri, 31 Dec 1999 23:59:59 GMT", "Friday, 31-Dec-49 23:59:59 GMT",
          "Fri, 31 Dec 2049 23:59:59 GMT" },
        { __LINE__, "Fri, 31 Dec 1999 23:59:59 GMT", "Sunday, 01-Jan-50 00:00:00 GMT",
          "Sun, 01 Jan 1950 00:00:00 GMT" },
        { __LINE__, "Mon, 29 Feb 2016 12:00:00 GMT", "Sunday, 28-Feb-66 12:00:00 GMT",
          "Sun, 28 Feb 2066 12:00:00 GMT" },
        { __LINE__, "Mon, 29 Feb 2016 12:00:00 GMT", "Tuesday, 01-Mar-66 00:00:00 GMT",
          "Tue, 01 Mar 1966 00:00:00 GMT" },
        { __LINE__, "Thu, 01 Jan 1970 00:00:00 GMT", "Wednesday, 01-Jan-20 00:00:00 GMT",
          "Wed, 01 Jan 2020 00:00:00 GMT" },
        { __LINE__, "Sat, 01 Jan 2050 00:00:00 GMT", "Friday, 01-Jan-00 00:00:00 GMT",
          "Fri, 01 Jan 2100 00:00:00 GMT" },
        { __LINE__, "Sat, 01 Jan 2050 00:00:00 GMT", "Saturday, 01-Jan-00 00:00:01 GMT",
          "Sat, 01 Jan 2000 00:00:01 GMT" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t now, seconds, meant;
        char text[HTTP_DATE_LEN + 1] = "";

        CHECK_CASE(cases[i].line, cases[i].now, parse(cases[i].now, 0, &now));
        CHECK_CASE(cases[i].line, cases[i].meant, parse(cases[i].meant, 0, &meant));
        CHECK_CASE(cases[i].line, cases[i].text, parse(cases[i].text, now, &seconds));
        http_date_format(seconds, text);
        if (seconds != meant) {
            fail_msg("%s:%d: \"%s\" is %s, not %s", __FILE__, cases[i].line,
                     cases[i].text, text, cases[i].meant);
        }
    }
}

static void any_clock_is_borne(void **state)
{
    static const int64_t clocks[] = { INT64_MIN, -1, 0, INT64_C(253402300800),
                                      INT64_MAX };

    (void)state;
    for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
        int64_t seconds;
        unsigned accepted = 0;

        /* A year of a given number begins on one of seven days. */
        for (int day = 0; day < 7; day++) {
            char text[64];

            (void)snprintf(text, sizeof(text), "%s, 06-Nov-94 08:49:37 GMT", days[day]);
            accepted += parse(text, clocks[i], &seconds);
        }
        assert_int_equal(accepted, 1);
    }
}

struct calendar {
    int year, month, day, weekday; /* month and weekday from 0, day from 1 */
};

static int month_len(const struct calendar *date)
{
    if (date->month == 1) {
        return (date->year % 4 == 0 && date->year % 100 != 0) || date->year % 400 == 0
                   ? 29
                   : 28;
    }
    return date->month == 3 || date->month == 5 || date->month == 8 || date->month == 10
               ? 30
               : 31;
}

static void next_day(struct calendar *date)
{
    date->weekday = (date->weekday + 1) % 7;
    date->day++;
    if (date->day <= month_len(date)) {
        return;
    }
    date->day = 1;
    date->month++;
    if (date->month < 12) {
        return;
    }
    date->month = 0;
    date->year++;
}

/* One moment of the day in the forms that carry a whole year, there and back. */
static void check_moment(const struct calendar *date, int64_t day_start, int second)
{
    char text[64], formatted[HTTP_DATE_LEN];
    int64_t seconds = 0;
    int hour = second / 3600, minute = second / 60 % 60;

    (void)snprintf(text, sizeof(text), "%.3s, %02d %s %04d %02d:%02d:%02d GMT",
                   days[date->weekday], date->day, months[date->month], date->year, hour,
                   minute, second % 60);
    http_date_format(day_start + second, formatted);
    CHECK_CASE(__LINE__, text, memcmp(formatted, text, HTTP_DATE_LEN) == 0);
    CHECK_CASE(__LINE__, text, http_date_parse(slice_of(text), 0, &seconds));
    CHECK_CASE(__LINE__, text, seconds == day_start + second);
    (void)snprintf(text, sizeof(text), "%.3s %s %2d %02d:%02d:%02d %04d",
                   days[date->weekday], months[date->month], date->day, hour, minute,
                   second % 60, date->year);
    CHECK_CASE(__LINE__, text, http_date_parse(slice_of(text), 0, &seconds));
    CHECK_CASE(__LINE__, text, seconds == day_start + second);
    (void)snprintf(text, sizeof(text), "%s, %02d-%s-%02d %02d:%02d:%02d GMT",
                   days[date->weekday], date->day, months[date->month], date->year % 100,
                   hour, minute, second % 60);
    CHECK_CASE(__LINE__, text,
               http_date_parse(slice_of(text), day_start + second, &seconds));
    CHECK_CASE(__LINE__, text, seconds == day_start + second);
}

/* All days of years 1600 to 2400, and every 97th of the others. */
static void every_day_agrees_with_the_calendar(void **state)
{
    struct calendar date = { .year = 0, .month = 0, .day = 1, .weekday = 6 };
    uint64_t seed = 4;

    (void)state;
    for (int64_t day = -719528; date.year <= 9999; day++) {
        if (date.year == 1970 && date.month == 0 && date.day == 1) {
            assert_int_equal(day, 0);
        }
        if ((date.year >= 1600 && date.year <= 2400) || day % 97 == 0) {
            check_moment(&date, day * 86400, (int)random_below(&seed, 86400));
        }
        next_day(&date);
    }
}

/* What is accepted is the one text of its moment, whatever byte is changed. */
static void a_changed_byte_is_noticed(void **state)
{
    uint64_t seed = 5;
    unsigned accepted = 0;

    (void)state;
    for (unsigned i = 0; i < 300000; i++) {
        char text[HTTP_DATE_LEN + 1] = "", again[HTTP_DATE_LEN + 1] = "";
        int64_t start = (int64_t)random_below(&seed, 2000000000);
        unsigned at = random_below(&seed, HTTP_DATE_LEN);
        int64_t seconds;

        http_date_format(start, text);
        text[at] = (char)(random_below(&seed, 4) > 0 ? '0' + random_below(&seed, 10)
                                                     : 1 + random_below(&seed, 255));
        if (!http_date_parse(slice_of(text), in_1994, &seconds)) {
            continue;
        }
        accepted++;
        if (memcmp(text + 23, "60", 2) == 0) {
            seconds--;
        }
        http_date_format(seconds, again);
        if (memcmp(text + 23, "60", 2) == 0) {
            memcpy(again + 23, "60", 2);
        }
        CHECK_CASE(__LINE__, text, memcmp(text, again, HTTP_DATE_LEN) == 0);
    }
    assert_true(accepted > 1000);
}

static void dates_are_formatted_for_programs(void **state)
{
    static const struct {
        int line;
        int64_t seconds;
        const char *text;
    } cases[] = {
        { __LINE__, 0, "1970-01-01T00:00:00Z" },
        { __LINE__, -1, "1969-12-31T23:59:59Z" },
        { __LINE__, 784111777, "1994-11-06T08:49:37Z" },
        { __LINE__, 951782400, "2000-02-29T00:00:00Z" },
        { __LINE__, INT64_C(253402300799), "9999-12-31T23:59:59Z" },
        { __LINE__, INT64_MAX, "9999-12-31T23:59:59Z" },
        { __LINE__, INT64_C(-62167219200), "0000-01-01T00:00:00Z" },
        { __LINE__, INT64_MIN, "0000-01-01T00:00:00Z" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = malloc(HTTP_DATE_ISO_LEN);

        assert_non_null(text);
        http_date_format_iso(cases[i].seconds, text);
        CHECK_CASE(cases[i].line, cases[i].text,
                   memcmp(text, cases[i].text, HTTP_DATE_ISO_LEN) == 0);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_are_formatted),
        cmocka_unit_test(dates_are_formatted_for_programs),
        cmocka_unit_test(good_dates_are_read),
        cmocka_unit_test(bad_dates_are_refused),
        cmocka_unit_test(two_digit_years_are_near_now),
        cmocka_unit_test(any_clock_is_borne),
        cmocka_unit_test(every_day_agrees_with_the_calendar),
        cmocka_unit_test(a_changed_byte_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
