/* Unit tests of site_setup.c: what is read at the start, and every line that says why it
 * was not. */
#include "tree.h"

#include "options.h"
#include "site_setup.h"

enum { ERROR_MAX = 512, TOO_LARGE = 1024 * 1024 + 1 };

static int setup(void **state)
{
    struct tree *tree = calloc(1, sizeof *tree);

    tree_open(tree);
    tree_directory(tree, "www");
    tree_text(tree, "www/404.html", "lost");
    tree_bytes(tree, "www/large", 64 * 1024 + 1);
    tree_link(tree, "www/outside", "/etc/passwd");
    tree_text(tree, "types", "text/odd odd\n");
    tree_text(tree, "empty", "");
    tree_text(tree, "bad", "# fine\ntext/odd odd\n\nno-type odd\n");
    tree_bytes(tree, "large", TOO_LARGE);
    *state = tree;
    return 0;
}

static int teardown(void **state)
{
    tree_close(*state);
    free(*state);
    return 0;
}

/* Parses the words, opens, closes, and returns the result with the line. */
static int open_and_close(const struct tree *tree, char *const *words, char *error)
{
    char root[512];
    char *argv[8] = { "tetrad", root };
    struct site_setup setup_of_site;
    struct options options;
    int argc = 2, result;

    (void)snprintf(root, sizeof root, "%s", tree_path(tree, "www"));
    for (; words[argc - 2] != NULL; argc++) {
        argv[argc] = words[argc - 2];
    }
    assert_int_equal(options_parse(&options, argc, argv, error, ERROR_MAX), OPTIONS_RUN);
    *error = '\0';
    result = site_setup_open(&setup_of_site, &options, error, ERROR_MAX);
    assert_true(result != 0 || setup_of_site.site != NULL);
    site_setup_close(&setup_of_site);
    options_free(&options);
    return result;
}

static void test_fine(void **state)
{
    char *cases[][5] = {
        { NULL },
        { "--mime-types", "types", NULL },
        { "--mime-types", "empty", NULL },
        { "--mime-types", "types", "--error-page", "404=404.html", NULL },
        { "--mime-types", "/dev/null", "--spa=none.html", NULL },
    };
    unsigned before = tree_open_descriptors();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[512];
        char error[ERROR_MAX];

        if (cases[i][0] != NULL && *cases[i][1] != '/') {
            (void)snprintf(path, sizeof path, "%s", tree_path(*state, cases[i][1]));
            cases[i][1] = path;
        }
        assert_int_equal(open_and_close(*state, cases[i], error), 0);
        assert_string_equal(error, "");
    }
    assert_int_equal(tree_open_descriptors(), before);
}

static void test_errors(void **state)
{
    static const struct {
        int line;
        const char *option, *file; /* file: beside the root, or NULL */
        const char *value;
        int result;
        const char *reason;
    } cases[] = {
        { __LINE__, "--mime-types", "none", NULL, -ENOENT, "No such file or directory" },
        { __LINE__, "--mime-types", "www", NULL, -EISDIR, "Is a directory" },
        { __LINE__, "--mime-types", "large", NULL, -EFBIG, "it is larger than 1 MiB" },
        { __LINE__, "--mime-types", "bad", NULL, -EINVAL,
          "line 4 is not a media type with extensions behind it" },
        { __LINE__, "--error-page", NULL, "404=none", -ENOENT,
          "No such file or directory" },
        { __LINE__, "--error-page", NULL, "404=outside", -EXDEV,
          "it is not below the directory that is served" },
        { __LINE__, "--error-page", NULL, "500=large", -EFBIG,
          "it is larger than 64 KiB" },
    };
    unsigned before = tree_open_descriptors();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char value[512], expected[1024], error[ERROR_MAX];
        char *words[] = { (char *)cases[i].option, value, NULL };

        (void)snprintf(value, sizeof value, "%s",
                       cases[i].file != NULL ? tree_path(*state, cases[i].file)
                                             : cases[i].value);
        (void)snprintf(expected, sizeof expected, "%s '%s': %s", cases[i].option, value,
                       cases[i].reason);
        CHECK_CASE(cases[i].line, value,
                   open_and_close(*state, words, error) == cases[i].result);
        CHECK_CASE(cases[i].line, error, strcmp(error, expected) == 0);
    }
    assert_int_equal(tree_open_descriptors(), before);
}

static void test_bad_root(void **state)
{
    char *argv[] = { "tetrad", (char *)tree_path(*state, "www/404.html"), NULL };
    char error[ERROR_MAX], expected[1024];
    struct site_setup setup_of_site;
    struct options options;

    (void)snprintf(expected, sizeof expected, "cannot serve %s: Not a directory",
                   argv[1]);
    assert_int_equal(options_parse(&options, 2, argv, error, sizeof error), OPTIONS_RUN);
    assert_int_equal(site_setup_open(&setup_of_site, &options, error, sizeof error),
                     -ENOTDIR);
    assert_string_equal(error, expected);
    site_setup_close(&setup_of_site);
    options_free(&options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fine, setup, teardown),
        cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_root, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
