/* Prints what was measured: a table, JSON, or as the published programs did. It must
 * never measure. */
#ifndef THREADBENCH_REPORT_H
#define THREADBENCH_REPORT_H

#include <stdio.h>

#include "measure.h"

/* The build says so: one of the two keeps a frame pointer in every function. */
#ifdef THREADBENCH_FRAMES
enum { REPORT_FRAMES = 1 };
#else
enum { REPORT_FRAMES = 0 };
#endif

void report_table(FILE *file, const struct measured *measured);

void report_json(FILE *file, const struct measured *measured);

/* On standard output: each runtime in turn, named in a line that begins with "#". */
void report_layout(const struct measured *measured);

/* A string of JSON, with its quotes. */
void report_json_string(FILE *file, const char *text);

#endif
