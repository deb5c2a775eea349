/* The command line: both spellings of an option, those of the published programs, and one
 * line for whatever is wrong. */
#include "unit.h"

#include <string.h>

#include "plan.h"

enum { WORDS_MAX = 8 };

static bool read_words(struct plan *plan, const char *const *words, char *error)
{
    char *argv[WORDS_MAX + 2] = { (char *)"threadbench" };
    int argc = 1;

    while (words[argc - 1] != NULL) {
        argv[argc] = (char *)words[argc - 1];
        argc++;
    }
    return plan_read(plan, argc, argv, error);
}

struct wrong_case {
    int line;
    const char *words[WORDS_MAX];
    const char *error;
};

static void test_wrong(void **state)
{
    static const struct wrong_case cases[] = {
        { __LINE__, { NULL }, "which benchmark? --help lists them" },
        { __LINE__, { "nope" }, "no benchmark is called \"nope\" (--help lists them)" },
        { __LINE__,
          { "--json" },
          "no benchmark is called \"--json\" (--help lists them)" },
        { __LINE__, { "message", "--rt=" }, "--rt: no runtime is called \"\"" },
        { __LINE__, { "message", "--rt=gree" }, "--rt: no runtime is called \"gree\"" },
        { __LINE__,
          { "message", "--rt=greens" },
          "--rt: no runtime is called \"greens\"" },
        { __LINE__, { "message", "--rt=green,green" }, "--rt names green twice" },
        { __LINE__, { "message", "--rt=green," }, "--rt: no runtime is called \"\"" },
        { __LINE__, { "message", "--threads" }, "--threads needs a value" },
        { __LINE__, { "message", "--threads=0" }, "threads cannot be \"0\"" },
        { __LINE__, { "message", "--threads=" }, "threads cannot be \"\"" },
        { __LINE__, { "message", "--threads=2x" }, "threads cannot be \"2x\"" },
        { __LINE__, { "message", "--threads=-2" }, "threads cannot be \"-2\"" },
        { __LINE__, { "message", "--runs= 2" }, "runs cannot be \" 2\"" },
        { __LINE__,
          { "message", "--messages=99999999999999999999" },
          "messages cannot be \"99999999999999999999\"" },
        { __LINE__, { "message", "--mailbox=box" }, "mailbox cannot be \"box\"" },
        { __LINE__, { "message", "--reps=2" }, "message has no option --reps=2" },
        { __LINE__, { "message", "-x", "2" }, "message has no option -x" },
        { __LINE__, { "message", "-" }, "message has no option -" },
        { __LINE__, { "message", "--" }, "message has no option --" },
        { __LINE__, { "message", "10", "20" }, "message takes no argument \"20\"" },
        { __LINE__, { "message", "--rt=busy" }, "--rt: no runtime is called \"busy\"" },
        { __LINE__,
          { "pipes", "--handles=3", "--active=4" },
          "pipes: active is more than handles" },
        { __LINE__, { "pipes", "-f" }, "pipes has no option -f" },
        { __LINE__, { "yield", "10" }, "yield takes no argument \"10\"" },
        { __LINE__, { "test1", "10", "2", "j" }, "disk cannot be \"j\"" },
        { __LINE__, { "crew", "node" }, "crew: needs STRING and DIR" },
        { __LINE__, { "crew", "", "/" }, "crew: STRING is empty or too long" },
        { __LINE__, { "mktree" }, "mktree: needs DIR, which it makes" },
        { __LINE__, { "aqueue", "--signal=1" }, "signal cannot be \"1\"" },
        { __LINE__,
          { "create", "--creators=1000", "--live=10000" },
          "create: more than 30000 would be alive" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char error[PLAN_ERROR_MAX] = "";
        struct plan plan;

        CHECK_CASE(cases[i].line, cases[i].error,
                   !read_words(&plan, cases[i].words, error));
        assert_string_equal(error, cases[i].error);
    }
}

static void test_defaults(void **state)
{
    static const char *const words[] = { "message", NULL };
    char error[PLAN_ERROR_MAX];
    struct plan plan;
    size_t runtimes;

    (void)state;
    assert_true(read_words(&plan, words, error));
    assert_string_equal(plan.bench->name, "message");
    assert_int_equal(plan.params.threads, 500);
    assert_int_equal(plan.params.messages, 3000);
    assert_int_equal(plan.params.mailbox, 1);
    /* Every runtime, and two ways that only this benchmark has. */
    for (runtimes = 0; rt_table[runtimes] != NULL; runtimes++) {
        assert_ptr_equal(plan.rows[runtimes].rt, rt_table[runtimes]);
    }
    assert_int_equal(plan.rows_count, runtimes + 2);
    assert_ptr_equal(plan.rows[0].rt, &rt_pthread);
    assert_int_equal(plan.runs, 5);
    assert_int_equal(plan.cpus, 1);
    assert_false(plan.json);
    assert_false(plan.layout);
}

static void test_spellings(void **state)
{
    static const char *const words[] = {
        "aqueue", "--cap",        "7", "--rt=process,green", "--cpus=all",
        "--json", "--alloc=ring", NULL
    };
    char error[PLAN_ERROR_MAX];
    struct plan plan;

    (void)state;
    assert_true(read_words(&plan, words, error));
    assert_int_equal(plan.params.cap, 7);
    assert_int_equal(plan.params.alloc, 1);
    assert_int_equal(plan.cpus, 0);
    assert_int_equal(plan.rows_count, 2);
    assert_ptr_equal(plan.rows[0].rt, &rt_process);
    assert_ptr_equal(plan.rows[1].rt, &rt_green);
    assert_true(plan.json);
    assert_false(plan.layout);
}

static void test_published(void **state)
{
    static const char *const test1[] = { "test1", "1000000", "10", "i", NULL };
    static const char *const message[] = { "message", "3000", NULL };
    static const char *const aqueue[] = { "aqueue", "-n", "10000000", NULL };
    char error[PLAN_ERROR_MAX];
    struct plan plan;

    (void)state;
    assert_true(read_words(&plan, test1, error));
    assert_int_equal(plan.params.reps, 1000000);
    assert_int_equal(plan.params.threads, 10);
    assert_int_equal(plan.params.disk, 1);
    assert_true(plan.layout);
    assert_true(read_words(&plan, message, error));
    assert_int_equal(plan.params.messages, 3000);
    assert_true(plan.layout);
    assert_true(read_words(&plan, aqueue, error));
    assert_int_equal(plan.params.items, 10000000);
    assert_true(plan.layout);
}

/* A letter that is a word by itself, and rows that only this benchmark has. */
static void test_flags(void **state)
{
    static const char *const words[] = {
        "pipes", "-n", "2000", "-i", "-t", "3", "--rt=busy,epoll-et", NULL
    };
    char error[PLAN_ERROR_MAX];
    struct plan plan;

    (void)state;
    assert_true(read_words(&plan, words, error));
    assert_int_equal(plan.params.handles, 2000);
    assert_int_equal(plan.params.over, 2);
    assert_int_equal(plan.params.seconds, 3);
    assert_int_equal(plan.rows_count, 2);
    assert_string_equal(plan.rows[0].name, "busy");
    assert_string_equal(plan.rows[1].name, "epoll-et");
    assert_false(plan.layout);
}

static void test_words_of_values(void **state)
{
    static const char *const words[] = { "message", "--mailbox=unbounded", NULL };
    const struct argument *mailbox;
    char error[PLAN_ERROR_MAX], text[32];
    struct plan plan;

    (void)state;
    assert_true(read_words(&plan, words, error));
    mailbox = plan.bench->arguments;
    while (strcmp(mailbox->name, "mailbox") != 0) {
        mailbox++;
    }
    plan_value(&plan.params, mailbox, text, sizeof(text));
    assert_string_equal(text, "unbounded");
    plan.params.mailbox = 12;
    plan_value(&plan.params, mailbox, text, sizeof(text));
    assert_string_equal(text, "12");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong),           cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_spellings),       cmocka_unit_test(test_published),
        cmocka_unit_test(test_words_of_values), cmocka_unit_test(test_flags),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
