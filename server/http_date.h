/* HTTP dates (RFC 9110 5.6.7). Pure arithmetic: no clock, no locale, no time zone. */
#ifndef TETRAD_HTTP_DATE_H
#define TETRAD_HTTP_DATE_H

#include <stdbool.h>
#include <stdint.h>

#include "slice.h"

enum {
    HTTP_DATE_LEN = 29,
    HTTP_DATE_ISO_LEN = 20 /* "1994-11-06T08:49:37Z" */
};

/* Writes IMF-fixdate, HTTP_DATE_LEN bytes, no NUL. Years outside 0..9999 are clamped. */
void http_date_format(int64_t seconds, char *to);

/* The same moment as RFC 3339 writes it, HTTP_DATE_ISO_LEN bytes, no NUL. */
void http_date_format_iso(int64_t seconds, char *to);

/* Reads all three forms strictly (IMF-fixdate, RFC 850, asctime), the day name included;
 * false if malformed or no such day. A two-digit year over 50 years ahead of `now` is in
 * the past century. Second 60 is accepted. */
bool http_date_parse(struct slice text, int64_t now, int64_t *seconds);

#endif
