/* Results, for a reader and for a program. It must never know a connection. */
#ifndef TLOAD_REPORT_H
#define TLOAD_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "tload_options.h"
#include "tload_tally.h"
#include "tload_target.h"

/* What is reported; all borrowed. */
struct tload_report {
    const struct tload_options *options;
    const struct tload_target *target;
    const struct tload_tally *tally;
    const uint64_t *good; /* answers of each client */
};

void tload_report_text(const struct tload_report *report, FILE *stream);
/* The layout of ZeusBench 1.01. */
void tload_report_zb(const struct tload_report *report, FILE *stream);
void tload_report_json(const struct tload_report *report, FILE *stream);

#endif
