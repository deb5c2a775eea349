/* What is printed of runs that never were: the median's row, and of a wrong answer the
 * reason and no number. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

enum { RUNS = 3 };

struct fiction {
    struct plan plan;
    struct measured measured;
    struct outcome outcomes[2 * RUNS];
    struct outcome *pointers[2 * RUNS];
};

/* Times of 7.25, 3.25 and 5.25 s: the third run has the median. */
static void fiction_make(struct fiction *fiction)
{
    static const double times[RUNS] = { 7.25, 3.25, 5.25 };

    *fiction = (struct fiction){
        .plan = {
            .bench = &bench_aqueue,
            .params = bench_aqueue.defaults,
            .rows = { { .name = "pthread" }, { .name = "green" } },
            .rows_count = 2,
            .runs = RUNS,
            .cpus = 1,
        },
    };
    for (size_t i = 0; i < 2 * RUNS; i++) {
        struct outcome *outcome = &fiction->outcomes[i];

        outcome->complete = true;
        outcome->real_s = times[i % RUNS];
        outcome->kernel_threads = 4711;
        answer_say(&outcome->answer, "right \"so far\"");
        (void)snprintf(outcome->loaded, sizeof(outcome->loaded), "made up");
        fiction->pointers[i] = outcome;
    }
    fiction->measured.plan = &fiction->plan;
    fiction->measured.outcomes = fiction->pointers;
}

/* To be freed. */
static char *printed(void (*print)(FILE *, const struct measured *),
                     const struct measured *measured)
{
    /* Static: gcc 12 at -O3 takes a pointer into the text for one to a local of here. */
    static char *text;
    static size_t size;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    print(file, measured);
    assert_int_equal(fclose(file), 0);
    return text;
}

/* The line that begins with a runtime's name, ended there. To be freed. */
static char *row_of(const struct measured *measured, const char *name)
{
    char *text = printed(report_table, measured);
    const char *row = text;
    char *copy;

    while (strncmp(row, name, strlen(name)) != 0) {
        row = strchr(row, '\n');
        assert_non_null(row);
        row++;
    }
    copy = strndup(row, strcspn(row, "\n"));
    free(text);
    return copy;
}

static void test_median(void **state)
{
    struct fiction fiction;
    char *row;

    (void)state;
    fiction_make(&fiction);
    assert_int_equal(measure_median(&fiction.measured, 0), 2);
    row = row_of(&fiction.measured, "pthread");
    assert_non_null(strstr(row, " 5.2500 "));
    assert_non_null(strstr(row, "(3.2500..7.2500)"));
    assert_non_null(strstr(row, "made up"));
    free(row);
}

static void test_equal_times(void **state)
{
    struct fiction fiction;

    (void)state;
    fiction_make(&fiction);
    for (size_t i = 0; i < RUNS; i++) {
        fiction.outcomes[i].real_s = 1;
    }
    assert_int_equal(measure_median(&fiction.measured, 0), 1);
}

static void test_wrong_answer(void **state)
{
    struct fiction fiction;
    char *row;

    (void)state;
    fiction_make(&fiction);
    /* A single run of three, and not the median's. */
    answer_wrong(&fiction.outcomes[RUNS].answer, "the sum is off");
    row = row_of(&fiction.measured, "green");
    assert_string_equal(row, "green    FAILED in run 1: the sum is off");
    free(row);
    row = row_of(&fiction.measured, "pthread");
    assert_non_null(strstr(row, "4711"));
    free(row);
}

/* What cannot be had here is neither a number nor a failure. */
static void test_absent(void **state)
{
    struct fiction fiction;
    char *text;

    (void)state;
    fiction_make(&fiction);
    for (size_t i = RUNS; i < 2 * RUNS; i++) {
        (void)snprintf(fiction.outcomes[i].absent, sizeof(fiction.outcomes[i].absent),
                       "not installed");
    }
    text = row_of(&fiction.measured, "green");
    assert_string_equal(text, "green    not installed");
    free(text);
    text = printed(report_json, &fiction.measured);
    assert_non_null(
        strstr(text, "{\"runtime\": \"green\", \"absent\": \"not installed\"}"));
    free(text);
}

/* Where all runs take as long, more of a metric is better. */
static void test_ranked(void **state)
{
    static const double events[RUNS] = { 10, 30, 20 };
    struct fiction fiction;
    char *row;

    (void)state;
    fiction_make(&fiction);
    fiction.plan.bench = &bench_pipes;
    for (size_t i = 0; i < RUNS; i++) {
        fiction.outcomes[i].metrics[0] = events[i];
    }
    assert_int_equal(measure_median(&fiction.measured, 0), 2);
    row = row_of(&fiction.measured, "pthread");
    assert_non_null(strstr(row, "(10..30)"));
    free(row);
}

static void test_json(void **state)
{
    struct fiction fiction;
    char *text, *green;

    (void)state;
    fiction_make(&fiction);
    answer_wrong(&fiction.outcomes[2 * RUNS - 1].answer, "item 2 came where 1 belongs");
    text = printed(report_json, &fiction.measured);
    assert_non_null(strstr(text, "\"answer\": \"right \\\"so far\\\"\""));
    assert_non_null(
        strstr(text, "{\"items\": 1000000, \"cap\": 0, \"signal\": \"always\","));
    green = strstr(text, "\"runtime\": \"green\"");
    assert_non_null(green);
    assert_non_null(strstr(green, "\"failed\": \"item 2 came where 1 belongs\""));
    assert_null(strstr(green, "real_s"));
    assert_null(strstr(green, "4711"));
    free(text);
}

static void test_json_string(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    (void)state;
    assert_non_null(file);
    report_json_string(file, "a\"b\\c\n\x7f\xe9");
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, "\"a\\\"b\\\\c\\u000a\\u007f\\u00e9\"");
    free(text);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_median),       cmocka_unit_test(test_equal_times),
        cmocka_unit_test(test_wrong_answer), cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_string),  cmocka_unit_test(test_absent),
        cmocka_unit_test(test_ranked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
