/* Authorities: which hosts and ports a request may name. */
#include <stdlib.h>
#include <string.h>

#include "target.h"
#include "unit.h"

static void authorities_are_checked(void **state)
{
    static const struct {
        int line;
        const char *authority;
        bool valid;
    } cases[] = {
        { __LINE__, "t.test", true },
        { __LINE__, "T.test:8080", true },
        { __LINE__, "t.test:", true },
        { __LINE__, "localhost:0", true },
        { __LINE__, "127.0.0.1", true },
        { __LINE__, "127.0.0.1:80", true },
        { __LINE__, "999.1.2.3", true }, /* a registered name */
        { __LINE__, "a_b-c.d", true },
        { __LINE__, "-a-.b_", true },
        { __LINE__, "xn--caf-dma.test", true },
        { __LINE__, "t.test.", true },
        { __LINE__, "t.test.:80", true },
        { __LINE__, ".t.test", true },
        /* what RFC 3986 allows and no name of a host holds */
        { __LINE__, "t..test", false },
        { __LINE__, "t.test..", false },
        { __LINE__, "..t.test", false },
        { __LINE__, "t.test..:80", false },
        { __LINE__, ".", false },
        { __LINE__, ".:80", false },
        { __LINE__, "..", false },
        { __LINE__, "a,b", false },
        { __LINE__, ",", false },
        { __LINE__, "a~b", false },
        { __LINE__, "a!b", false },
        { __LINE__, "a$b", false },
        { __LINE__, "a&b", false },
        { __LINE__, "a'b", false },
        { __LINE__, "a(b)", false },
        { __LINE__, "a*b", false },
        { __LINE__, "a+b", false },
        { __LINE__, "a;b", false },
        { __LINE__, "a=b", false },
        { __LINE__, "a%20b", false },
        { __LINE__, "a%2e%2eb", false },
        { __LINE__, "", false },
        { __LINE__, ":80", false },
        { __LINE__, "a b", false },
        { __LINE__, "a, b", false },
        { __LINE__, "t.test:x", false },
        { __LINE__, "t.test:80x", false },
        { __LINE__, "t.test:-1", false },
        { __LINE__, "t.test:80:80", false },
        { __LINE__, "a/b", false },
        { __LINE__, "u@h", false },
        { __LINE__, "u:p@h", false },
        { __LINE__, "h?x", false },
        { __LINE__, "h#x", false },
        { __LINE__, "a%2", false },
        { __LINE__, "a%", false },
        { __LINE__, "a%zz", false },
        { __LINE__, "a\\b", false },
        { __LINE__, "caf\xc3\xa9", false },
        { __LINE__, "a\tb", false },
        { __LINE__, "a\x7f", false },
        /* IPv6 */
        { __LINE__, "[::1]", true },
        { __LINE__, "[::]", true },
        { __LINE__, "[::1]:8080", true },
        { __LINE__, "[::1]:", true },
        { __LINE__, "[2001:db8::8a2e:370:7334]", true },
        { __LINE__, "[2001:DB8:0:0:0:0:0:1]", true },
        { __LINE__, "[1:2:3:4:5:6:7::]", true },
        { __LINE__, "[::2:3:4:5:6:7:8]", true },
        { __LINE__, "[::ffff:192.0.2.1]", true },
        { __LINE__, "[1:2:3:4:5:6:192.0.2.1]", true },
        { __LINE__, "[::1", false },
        { __LINE__, "::1", false },
        { __LINE__, "[]", false },
        { __LINE__, "[:]", false },
        { __LINE__, "[:::]", false },
        { __LINE__, "[1:2:3:4:5:6:7:8:9]", false },
        { __LINE__, "[1:2:3:4:5:6:7]", false },
        { __LINE__, "[1:2:3:4:5:6:7:8::]", false },
        { __LINE__, "[1::2::3]", false },
        { __LINE__, "[:1:2:3:4:5:6:7]", false },
        { __LINE__, "[1:2:3:4:5:6:7:]", false },
        { __LINE__, "[12345::]", false },
        { __LINE__, "[g::]", false },
        { __LINE__, "[::192.0.2.256]", false },
        { __LINE__, "[::192.0.2]", false },
        { __LINE__, "[::192.0.02.1]", false },
        { __LINE__, "[192.0.2.1::]", false },
        { __LINE__, "[192.0.2.1]", false },
        { __LINE__, "[1:2:3:4:5:6:7:192.0.2.1]", false },
        { __LINE__, "[fe80::1%25eth0]", false },
        { __LINE__, "[::1]x", false },
        { __LINE__, "[::1]:x", false },
        { __LINE__, "[::1]]", false },
        { __LINE__, "x[::1]", false },
        /* IPvFuture */
        { __LINE__, "[v1.a:b]", true },
        { __LINE__, "[VfF.x]:1", true },
        { __LINE__, "[v.a]", false },
        { __LINE__, "[v1.]", false },
        { __LINE__, "[v1]", false },
        { __LINE__, "[vg.a]", false },
        { __LINE__, "[v1.a/b]", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t len = strlen(cases[i].authority);
        char *bytes = malloc(len + 1);

        /* Exactly as long, so that the address sanitizer sees a byte read too far. */
        assert_non_null(bytes);
        memcpy(bytes + 1, cases[i].authority, len);
        CHECK_CASE(cases[i].line, cases[i].authority,
                   target_authority_valid((struct slice){ bytes + 1, len }) ==
                       cases[i].valid);
        free(bytes);
    }
    assert_false(target_authority_valid(SLICE("a\0b")));
    assert_false(target_authority_valid((struct slice){ NULL, 0 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(authorities_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
