/* Unit tests of file_policy.c. */
#include "unit.h"

#include "file_policy.h"

static const struct file_policy policy = { .index = "index.html" };

static void test_dotfiles_are_not_shown(void **state)
{
    static const struct {
        int line;
        const char *path;
        bool shown;
    } cases[] = {
        { __LINE__, "", true },
        { __LINE__, "a.txt", true },
        { __LINE__, "dir/sub/a.b.c", true },
        { __LINE__, "a./b.", true },
        { __LINE__, ".git", false },
        { __LINE__, ".git/config", false },
        { __LINE__, "dir/.htaccess", false },
        { __LINE__, "dir/.hidden/a.txt", false },
        { __LINE__, "...", false },
        { __LINE__, ".well-known", true },
        { __LINE__, ".well-known/acme-challenge/x", true },
        { __LINE__, ".well-known/.git", false },
        { __LINE__, ".well-knowns", false },
        { __LINE__, ".well-know", false },
        { __LINE__, "dir/.well-known/x", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_CASE(cases[i].line, cases[i].path,
                   file_policy_shows(&policy, slice_of(cases[i].path)) == cases[i].shown);
    }
}

static void test_index_names_in_order(void **state)
{
    static const struct {
        int line;
        const char *list;
        const char *names[4];
    } cases[] = {
        { __LINE__, "", { NULL } },
        { __LINE__, ",, ,", { NULL } },
        { __LINE__, "index.html", { "index.html", NULL } },
        { __LINE__, "a,b,c", { "a", "b", "c", NULL } },
        { __LINE__, ", a , b,", { "a", "b", NULL } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *rest = cases[i].list;
        struct slice name;
        unsigned count = 0;

        while (file_policy_next_index(&rest, &name)) {
            CHECK_CASE(cases[i].line, cases[i].list,
                       cases[i].names[count] != NULL &&
                           slice_equal(name, slice_of(cases[i].names[count])));
            count++;
        }
        CHECK_CASE(cases[i].line, cases[i].list, cases[i].names[count] == NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dotfiles_are_not_shown),
        cmocka_unit_test(test_index_names_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
