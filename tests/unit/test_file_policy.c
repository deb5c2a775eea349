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

/* Under hide and show all is served; what a listing may name differs. */
static void test_dotfiles_hidden_and_shown(void **state)
{
    static const struct {
        int line;
        const char *path;
        bool deny, hide, show;
    } listed[] = {
        { __LINE__, "a.txt", true, true, true },
        { __LINE__, "a.", true, true, true },
        { __LINE__, ".git", false, false, true },
        { __LINE__, "..a", false, false, true },
        /* For programs that know its name. */
        { __LINE__, ".well-known", false, false, true },
    };
    static const struct file_policy hide = { .dotfiles = FILE_DOTFILES_HIDE };
    static const struct file_policy show = { .dotfiles = FILE_DOTFILES_SHOW };

    (void)state;
    for (size_t i = 0; i < sizeof listed / sizeof listed[0]; i++) {
        struct slice name = slice_of(listed[i].path);

        CHECK_CASE(listed[i].line, listed[i].path, file_policy_shows(&hide, name));
        CHECK_CASE(listed[i].line, listed[i].path, file_policy_shows(&show, name));
        CHECK_CASE(listed[i].line, listed[i].path,
                   file_policy_lists(&policy, name) == listed[i].deny);
        CHECK_CASE(listed[i].line, listed[i].path,
                   file_policy_lists(&hide, name) == listed[i].hide);
        CHECK_CASE(listed[i].line, listed[i].path,
                   file_policy_lists(&show, name) == listed[i].show);
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
        cmocka_unit_test(test_dotfiles_hidden_and_shown),
        cmocka_unit_test(test_index_names_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
