/* Addresses from text and back, and which of them only this machine can reach. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/un.h>

#include <cmocka.h>

#include "bind_address.h"

static void test_good(void **state)
{
    static const struct {
        const char *text;
        unsigned port;
        const char *shown;
        bool loopback;
        const char *path;
    } cases[] = {
        { "127.0.0.1", 8080, "127.0.0.1:8080", true, NULL },
        { "127.255.0.3", 1, "127.255.0.3:1", true, NULL },
        { "0.0.0.0", 0, "0.0.0.0:0", false, NULL },
        { "192.0.2.7", 65535, "192.0.2.7:65535", false, NULL },
        { "::1", 80, "[::1]:80", true, NULL },
        { "0:0:0:0:0:0:0:1", 80, "[::1]:80", true, NULL },
        { "::", 80, "[::]:80", false, NULL },
        { "2001:db8::8", 443, "[2001:db8::8]:443", false, NULL },
        { "unix:a b/c.sock", 80, "unix:a b/c.sock", true, "a b/c.sock" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bind_address address;
        char shown[BIND_ADDRESS_TEXT_MAX];

        assert_int_equal(bind_address_parse(&address, cases[i].text, cases[i].port), 0);
        bind_address_text(&address, shown, sizeof(shown));
        assert_string_equal(shown, cases[i].shown);
        assert_int_equal(bind_address_is_loopback(&address), cases[i].loopback);
        if (cases[i].path != NULL) {
            assert_string_equal(bind_address_path(&address), cases[i].path);
            assert_int_equal(bind_address_port(&address), 0);
            continue;
        }
        assert_null(bind_address_path(&address));
        assert_int_equal(bind_address_port(&address), cases[i].port);
        bind_address_set_port(&address, 77);
        assert_int_equal(bind_address_port(&address), 77);
    }
}

static void test_bad(void **state)
{
    static const char *const cases[] = {
        "",          " 127.0.0.1", "127.0.0.1 ", "127.1",     "1",    "0x7f.0.0.1",
        "1.2.3.4.5", "1.2.3.256",  "localhost",  "[::1]",     "::1]", ":::",
        "1::2::3",   "::1:80:",    "unix:",      "UNIX:path", "*",    "127.0.0.1:80",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bind_address address;

        if (bind_address_parse(&address, cases[i], 80) == 0) {
            fail_msg("'%s' was taken", cases[i]);
        }
    }
}

/* The longest path fits, with the byte that ends it; one more does not. */
static void test_longest_path(void **state)
{
    size_t room = sizeof(((struct sockaddr_un *)0)->sun_path);
    char text[sizeof("unix:") + sizeof(struct sockaddr_un)] = "unix:";
    char shown[BIND_ADDRESS_TEXT_MAX];
    struct bind_address address;

    (void)state;
    memset(text + 5, 'p', room);
    assert_int_not_equal(bind_address_parse(&address, text, 0), 0);
    text[5 + room - 1] = '\0';
    assert_int_equal(bind_address_parse(&address, text, 0), 0);
    bind_address_text(&address, shown, sizeof(shown));
    assert_string_equal(shown, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_longest_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
