/* The crew's judge: a hit that is missing, and one too much, are seen. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crew.h"

enum { PATHS = 4, PATH_ROOM = 128 };

static const char *const names[PATHS] = { "a.txt", "b.txt", "c.txt", ".hidden" };
static const char *const contents[PATHS] = { "x needle y", "nothing", "needle",
                                             "needle" };

struct scene {
    char folder[64];
    struct params params;
    struct crew_item *items[PATHS];
};

static int scene_make(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    assert_non_null(scene);
    (void)strcpy(scene->folder, "/tmp/threadbench-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    scene->params = (struct params){ .dir = scene->folder, .string = "needle" };
    for (size_t i = 0; i < PATHS; i++) {
        struct crew_item *item = calloc(1, sizeof(*item) + PATH_ROOM);
        FILE *file;

        assert_non_null(item);
        (void)snprintf(item->path, PATH_ROOM, "%s/%s", scene->folder, names[i]);
        file = fopen(item->path, "w");
        assert_non_null(file);
        assert_true(fputs(contents[i], file) >= 0);
        assert_int_equal(fclose(file), 0);
        scene->items[i] = item;
        if (i > 0) {
            scene->items[i - 1]->next = item;
        }
    }
    *state = scene;
    return 0;
}

static int scene_free(void **state)
{
    struct scene *scene = *state;

    for (size_t i = 0; i < PATHS; i++) {
        (void)unlink(scene->items[i]->path);
        free(scene->items[i]);
    }
    (void)rmdir(scene->folder);
    free(scene);
    return 0;
}

struct judge_case {
    int line;
    bool hits[PATHS];
    const char *wrong; /* a part of the reason; NULL: right */
};

/* A name that begins with a dot is not searched. */
static void test_judge(void **state)
{
    static const struct judge_case cases[] = {
        { __LINE__, { true, false, true, false }, NULL },
        { __LINE__, { true, false, false, false }, "no hit in " },
        { __LINE__, { false, false, true, false }, "no hit in " },
        { __LINE__, { false, false, false, false }, "no hit in " },
        { __LINE__, { true, true, true, false }, "a hit too much: " },
        { __LINE__, { true, false, true, true }, "a hit too much: " },
    };
    struct scene *scene = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answer answer = { .wrong = false };
        uint64_t hits = 0, expected = 0;

        for (size_t j = 0; j < PATHS; j++) {
            scene->items[j]->hit = cases[i].hits[j];
            expected += cases[i].hits[j];
        }
        crew_check(&answer, &scene->params, scene->items[0], &hits);
        CHECK_CASE(cases[i].line, answer.text, answer.wrong == (cases[i].wrong != NULL));
        CHECK_CASE(cases[i].line, answer.text, hits == expected);
        CHECK_CASE(cases[i].line, answer.text,
                   cases[i].wrong == NULL || strstr(answer.text, cases[i].wrong) != NULL);
    }
}

static void test_nothing_found(void **state)
{
    struct scene *scene = *state;
    struct answer answer = { .wrong = false };
    uint64_t hits = 1;

    scene->params.string = "nowhere";
    crew_check(&answer, &scene->params, NULL, &hits);
    assert_false(answer.wrong);
    assert_int_equal(hits, 0);
}

/* What has no room is left out whole. */
static void test_tell(void **state)
{
    struct scene *scene = *state;
    size_t room = 60;
    struct outcome *outcome = calloc(1, sizeof(*outcome) + 400);
    char expected[200];

    assert_non_null(outcome);
    scene->items[0]->hit = scene->items[2]->hit = true;
    scene->items[2]->worker = 3;
    outcome->text_max = 400;
    crew_tell(outcome, scene->items[0]);
    (void)snprintf(expected, sizeof(expected),
                   "Thread 0 found %s/a.txt\nThread 3 found %s/c.txt\n", scene->folder,
                   scene->folder);
    assert_string_equal(outcome_text(outcome), expected);
    outcome->text_max = room;
    crew_tell(outcome, scene->items[0]);
    *strstr(expected, "Thread 3") = '\0';
    assert_string_equal(outcome_text(outcome), expected);
    free(outcome);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_judge, scene_make, scene_free),
        cmocka_unit_test_setup_teardown(test_nothing_found, scene_make, scene_free),
        cmocka_unit_test_setup_teardown(test_tell, scene_make, scene_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
