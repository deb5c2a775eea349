/* The user to become. What changes the process happens in a forked child, whose exit status
 * says at which line it failed. Only root can become somebody else: who runs this as
 * another user sees the refusals. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>

#include "identity.h"
#include "unit.h"

enum { ERROR_ROOM = 256 };

static const char nobody[] = "nobody";

/* In a child, where cmocka's assertions do not reach. */
#define EXPECT(truth)                                                                    \
    do {                                                                                 \
        if (!(truth)) {                                                                  \
            _exit(1 + __LINE__ % 250);                                                   \
        }                                                                                \
    } while (0)

static void run_in_child(void (*function)(void))
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        function();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_find(void **state)
{
    const struct passwd *user = getpwnam(nobody);
    struct identity identity;
    char error[ERROR_ROOM];
    uid_t uid;
    gid_t gid;

    (void)state;
    assert_non_null(user);
    uid = user->pw_uid;
    gid = user->pw_gid;
    assert_int_equal(identity_find(&identity, nobody, error, sizeof error), 0);
    assert_string_equal(identity.name, nobody);
    assert_int_equal(identity.user, uid);
    assert_int_equal(identity.group, gid);
    assert_int_equal(identity_find(&identity, "nobody:daemon", error, sizeof error), 0);
    assert_int_equal(identity.user, uid);
    assert_int_equal(identity.group, getgrnam("daemon")->gr_gid);
}

static void test_cannot_find(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "no-such-user", "--user 'no-such-user': no such user" },
        { "no-such-user:daemon", "--user 'no-such-user:daemon': no such user" },
        { "nobody:no-such-group", "--user 'nobody:no-such-group': no such group" },
        { "nobody:daemon:daemon", "--user 'nobody:daemon:daemon': no such group" },
        { "nobody:", "--user 'nobody:': expected NAME or NAME:GROUP" },
        { ":daemon", "--user ':daemon': expected NAME or NAME:GROUP" },
        { "", "--user '': expected NAME or NAME:GROUP" },
    };
    struct identity identity;
    char error[ERROR_ROOM], name[1000];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(identity_find(&identity, cases[i].text, error, sizeof error) < 0);
        assert_string_equal(error, cases[i].error);
    }
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_true(identity_find(&identity, name, error, sizeof error) < 0);
    assert_true(strstr(error, "expected NAME or NAME:GROUP") != NULL);
}

static bool has_capabilities(void)
{
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct data[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

    EXPECT(syscall(SYS_capget, &header, data) == 0);
    return (data[0].effective | data[0].permitted | data[1].effective |
            data[1].permitted) != 0;
}

static void become_nobody(void)
{
    struct identity identity;
    char error[ERROR_ROOM];
    uid_t user, effective, saved;
    gid_t group, effective_group, saved_group, groups[64];
    int count;

    EXPECT(identity_find(&identity, "nobody:daemon", error, sizeof error) == 0);
    EXPECT(identity_take(&identity, error, sizeof error) == 0);
    EXPECT(getresuid(&user, &effective, &saved) == 0);
    EXPECT(user == identity.user && effective == user && saved == user);
    EXPECT(getresgid(&group, &effective_group, &saved_group) == 0);
    EXPECT(group == identity.group && effective_group == group && saved_group == group);
    count = getgroups(64, groups);
    EXPECT(count >= 0);
    for (int i = 0; i < count; i++) {
        EXPECT(groups[i] != 0);
    }
    EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    EXPECT(!has_capabilities());
    EXPECT(setuid(0) < 0 && seteuid(0) < 0 && setgid(0) < 0 && setegid(0) < 0);
    /* Once more is nothing. */
    EXPECT(identity_take(&identity, error, sizeof error) == 0);
}

/* Keeps what would be dropped with root's number, as a program that started us could
 * leave it. */
static void become_with_a_way_back(void)
{
    struct identity identity;
    char error[ERROR_ROOM];

    /* SECBIT_NO_SETUID_FIXUP: a change of the user keeps all capabilities. */
    EXPECT(prctl(PR_SET_SECUREBITS, 1 << 2, 0, 0, 0) == 0);
    EXPECT(identity_find(&identity, nobody, error, sizeof error) == 0);
    EXPECT(identity_take(&identity, error, sizeof error) == -EPERM);
    EXPECT(strcmp(error, "--user 'nobody': the rights of root could be taken back") == 0);
}

static void stay_root(void)
{
    struct identity identity;
    char error[ERROR_ROOM];

    EXPECT(identity_find(&identity, "root", error, sizeof error) == 0);
    EXPECT(identity_take(&identity, error, sizeof error) == 0);
    EXPECT(getuid() == 0 && has_capabilities());
}

static void be_nobody_already(void)
{
    const struct passwd *user = getpwnam(nobody);
    struct identity identity;
    char error[ERROR_ROOM];

    EXPECT(user != NULL);
    EXPECT(geteuid() != 0 || setgroups(0, NULL) == 0);
    EXPECT(setresgid(user->pw_gid, user->pw_gid, user->pw_gid) == 0);
    EXPECT(setresuid(user->pw_uid, user->pw_uid, user->pw_uid) == 0);
    EXPECT(identity_find(&identity, nobody, error, sizeof error) == 0);
    EXPECT(identity_take(&identity, error, sizeof error) == 0);
    EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    EXPECT(identity_find(&identity, "daemon", error, sizeof error) == 0);
    EXPECT(identity_take(&identity, error, sizeof error) == -EPERM);
    EXPECT(strcmp(error, "--user 'daemon': only root can become another user") == 0);
    EXPECT(identity_find(&identity, "root", error, sizeof error) == 0);
    EXPECT(identity_take(&identity, error, sizeof error) == -EPERM);
}

static void be_refused(void)
{
    struct identity identity;
    char error[ERROR_ROOM];

    EXPECT(identity_find(&identity, geteuid() == 0 ? "daemon" : "root", error,
                         sizeof error) == 0);
    if (geteuid() == 0) {
        EXPECT(setuid(65534) == 0);
    }
    EXPECT(identity_take(&identity, error, sizeof error) == -EPERM);
    EXPECT(strstr(error, "only root can become another user") != NULL);
}

static void test_take(void **state)
{
    (void)state;
    run_in_child(be_refused);
    if (geteuid() == 0) {
        run_in_child(become_nobody);
        /* Securebits are a thread's own, and the thread sanitizer runs a thread: then the
         * C library finds that threads differ, and ends the process. */
#ifndef __SANITIZE_THREAD__
        run_in_child(become_with_a_way_back);
#else
        (void)become_with_a_way_back;
#endif
        run_in_child(stay_root);
        run_in_child(be_nobody_already);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_cannot_find),
        cmocka_unit_test(test_take),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
