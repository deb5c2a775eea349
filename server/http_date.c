/* HTTP dates (RFC 9110 5.6.7) to and from seconds since 1970, in the proleptic Gregorian
 * calendar. Pure 64-bit arithmetic, because the C library's functions depend on a time
 * zone, a locale and its own range: no clock, no locale, no time zone. */
#include "http_date.h"

#include <stddef.h>
#include <string.h>

enum {
    DAY_SECONDS = 86400,
    ERA_DAYS = 146097,  /* 400 years, after which the calendar repeats */
    EPOCH_DAYS = 719468 /* from 0000-03-01 to 1970-01-01 */
};

static const int64_t SECONDS_MIN = INT64_C(-62167219200); /* 0000-01-01 00:00:00 */
static const int64_t SECONDS_MAX = INT64_C(253402300799); /* 9999-12-31 23:59:59 */

static const char day_names[7][10] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday" };
static const char month_names[12][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };

struct date {
    int64_t year;
    int month;   /* 1..12 */
    int day;     /* 1..31 */
    int weekday; /* 0: Sunday */
    int second;  /* of the day; 86400 in a leap second */
};

/* Years begin in March here, so that the leap day is the last of its year; the months
 * from March on then have 153 days in every five. */
static int64_t days_from_date(const struct date *date)
{
    int64_t year = date->year - (date->month <= 2);
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t month = date->month > 2 ? date->month - 3 : date->month + 9;
    int64_t day_of_year = (153 * month + 2) / 5 + date->day - 1;
    int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * ERA_DAYS + day_of_era - EPOCH_DAYS;
}

static int weekday_from_days(int64_t days)
{
    int64_t weekday = (days + 4) % 7; /* 1970-01-01 was a Thursday */

    return (int)(weekday < 0 ? weekday + 7 : weekday);
}

/* seconds: between SECONDS_MIN and SECONDS_MAX. */
static void date_from_seconds(int64_t seconds, struct date *date)
{
    int64_t second = seconds % DAY_SECONDS;
    int64_t days = seconds / DAY_SECONDS;
    int64_t shifted, era, day_of_era, year_of_era, day_of_year, month;

    if (second < 0) {
        second += DAY_SECONDS;
        days--;
    }
    shifted = days + EPOCH_DAYS;
    era = (shifted >= 0 ? shifted : shifted - (ERA_DAYS - 1)) / ERA_DAYS;
    day_of_era = shifted - era * ERA_DAYS;
    year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
                   day_of_era / (ERA_DAYS - 1)) /
                  365;
    day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    month = (5 * day_of_year + 2) / 153;
    date->day = (int)(day_of_year - (153 * month + 2) / 5 + 1);
    date->month = (int)(month < 10 ? month + 3 : month - 9);
    date->year = year_of_era + era * 400 + (date->month <= 2);
    date->weekday = weekday_from_days(days);
    date->second = (int)second;
}

static int64_t seconds_clamp(int64_t seconds)
{
    if (seconds < SECONDS_MIN) {
        return SECONDS_MIN;
    }
    return seconds > SECONDS_MAX ? SECONDS_MAX : seconds;
}

static char *put_text(char *to, const char *text, size_t len)
{
    memcpy(to, text, len);
    return to + len;
}

static char *put_number(char *to, int64_t number, size_t width)
{
    for (size_t i = width; i > 0; i--) {
        to[i - 1] = (char)('0' + number % 10);
        number /= 10;
    }
    return to + width;
}

/* HH:MM:SS */
static char *put_time(char *to, int second)
{
    to = put_number(to, second / 3600, 2);
    to = put_text(to, ":", 1);
    to = put_number(to, second / 60 % 60, 2);
    to = put_text(to, ":", 1);
    return put_number(to, second % 60, 2);
}

void http_date_format(int64_t seconds, char *to)
{
    struct date date;

    date_from_seconds(seconds_clamp(seconds), &date);
    to = put_text(to, day_names[date.weekday], 3);
    to = put_text(to, ", ", 2);
    to = put_number(to, date.day, 2);
    to = put_text(to, " ", 1);
    to = put_text(to, month_names[date.month - 1], 3);
    to = put_text(to, " ", 1);
    to = put_number(to, date.year, 4);
    to = put_text(to, " ", 1);
    to = put_time(to, date.second);
    (void)put_text(to, " GMT", 4);
}

void http_date_format_iso(int64_t seconds, char *to)
{
    struct date date;

    date_from_seconds(seconds_clamp(seconds), &date);
    to = put_number(to, date.year, 4);
    to = put_text(to, "-", 1);
    to = put_number(to, date.month, 2);
    to = put_text(to, "-", 1);
    to = put_number(to, date.day, 2);
    to = put_text(to, "T", 1);
    to = put_time(to, date.second);
    (void)put_text(to, "Z", 1);
}

/* What follows takes a piece off the start of the text; false if it is not there. */

static bool take_text(struct slice *text, const char *wanted)
{
    size_t len = strlen(wanted);

    if (text->len < len || memcmp(text->base, wanted, len) != 0) {
        return false;
    }
    text->base += len;
    text->len -= len;
    return true;
}

static bool take_number(struct slice *text, size_t width, int *number)
{
    *number = 0;
    if (text->len < width) {
        return false;
    }
    for (size_t i = 0; i < width; i++) {
        char byte = text->base[i];

        if (byte < '0' || byte > '9') {
            return false;
        }
        *number = *number * 10 + (byte - '0');
    }
    text->base += width;
    text->len -= width;
    return true;
}

static bool take_month(struct slice *text, struct date *date)
{
    for (int i = 0; i < 12; i++) {
        if (take_text(text, month_names[i])) {
            date->month = i + 1;
            return true;
        }
    }
    return false;
}

/* HH:MM:SS */
static bool take_time(struct slice *text, struct date *date)
{
    int hour, minute, second;

    if (!take_number(text, 2, &hour) || !take_text(text, ":") ||
        !take_number(text, 2, &minute) || !take_text(text, ":") ||
        !take_number(text, 2, &second)) {
        return false;
    }
    date->second = hour * 3600 + minute * 60 + second;
    return hour <= 23 && minute <= 59 && second <= 60;
}

/* " 06 Nov 1994 08:49:37 GMT" behind the comma. */
static bool take_imf_fixdate(struct slice *text, struct date *date)
{
    int year;

    if (!take_text(text, " ") || !take_number(text, 2, &date->day) ||
        !take_text(text, " ") || !take_month(text, date) || !take_text(text, " ") ||
        !take_number(text, 4, &year)) {
        return false;
    }
    date->year = year;
    return take_text(text, " ") && take_time(text, date) && take_text(text, " GMT");
}

/* Dates as numbers that compare as they do; a month has room for 31 days and a leap
 * second. */
static int64_t date_rank(const struct date *date)
{
    return ((date->year * 12 + date->month) * 32 + date->day) * (DAY_SECONDS + 1) +
           date->second;
}

/* RFC 9110 5.6.7: the latest year with these two digits that is not over 50 years ahead.
 */
static void resolve_year(struct date *date, int two_digits, int64_t now)
{
    struct date limit;

    date_from_seconds(seconds_clamp(now), &limit);
    limit.year += 50;
    date->year = limit.year - limit.year % 100 + two_digits;
    if (date_rank(date) > date_rank(&limit)) {
        date->year -= 100;
    }
}

/* " 06-Nov-94 08:49:37 GMT" behind the comma. */
static bool take_rfc850(struct slice *text, struct date *date, int64_t now)
{
    int year;

    if (!take_text(text, " ") || !take_number(text, 2, &date->day) ||
        !take_text(text, "-") || !take_month(text, date) || !take_text(text, "-") ||
        !take_number(text, 2, &year) || !take_text(text, " ") || !take_time(text, date) ||
        !take_text(text, " GMT")) {
        return false;
    }
    resolve_year(date, year, now);
    return true;
}

/* " Nov  6 08:49:37 1994" behind the day's name; the day is two digits, or a space and
 * one. */
static bool take_asctime(struct slice *text, struct date *date)
{
    int year;
    size_t width;

    if (!take_text(text, " ") || !take_month(text, date) || !take_text(text, " ")) {
        return false;
    }
    width = take_text(text, " ") ? 1 : 2;
    if (!take_number(text, width, &date->day) || !take_text(text, " ") ||
        !take_time(text, date) || !take_text(text, " ") || !take_number(text, 4, &year)) {
        return false;
    }
    date->year = year;
    return true;
}

static bool day_exists(const struct date *date)
{
    static const int lengths[12] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = date->year % 4 == 0 && (date->year % 100 != 0 || date->year % 400 == 0);
    int length = lengths[date->month - 1] + (leap && date->month == 2);

    return date->day >= 1 && date->day <= length;
}

/* The form shows behind the day's name: in full for RFC 850, else three letters. */
static bool take_date(struct slice *text, struct date *date, int64_t now)
{
    struct slice rest = { text->base, text->len };

    for (int i = 0; i < 7; i++) {
        char short_name[4] = { day_names[i][0], day_names[i][1], day_names[i][2], '\0' };

        date->weekday = i;
        if (take_text(&rest, day_names[i])) {
            *text = rest;
            return take_text(text, ",") && take_rfc850(text, date, now);
        }
        if (take_text(&rest, short_name)) {
            *text = rest;
            if (take_text(text, ",")) {
                return take_imf_fixdate(text, date);
            }
            return take_asctime(text, date);
        }
    }
    return false;
}

bool http_date_parse(struct slice text, int64_t now, int64_t *seconds)
{
    struct date date = { 0 };
    int64_t days;

    if (!take_date(&text, &date, now) || text.len > 0 || !day_exists(&date)) {
        return false;
    }
    days = days_from_date(&date);
    if (weekday_from_days(days) != date.weekday) {
        return false;
    }
    *seconds = days * DAY_SECONDS + date.second;
    return true;
}
