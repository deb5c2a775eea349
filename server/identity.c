/* See identity.h. It must never know what the server does. */
#include "identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int refuse(int result, const char *what, const char *name, char *error,
                  size_t error_room)
{
    snprintf(error, error_room, "--user '%.100s': %s", name, what);
    return result;
}

int identity_find(struct identity *identity, const char *text, char *error,
                  size_t error_room)
{
    size_t len = strcspn(text, ":");
    const char *group_name = text[len] == ':' ? text + len + 1 : NULL;
    const struct passwd *user;
    const struct group *group;

    if (len == 0 || len >= IDENTITY_NAME_MAX || (group_name != NULL && !*group_name)) {
        return refuse(-EINVAL, "expected NAME or NAME:GROUP", text, error, error_room);
    }
    memcpy(identity->name, text, len);
    identity->name[len] = '\0';
    user = getpwnam(identity->name);
    if (user == NULL) {
        return refuse(-ENOENT, "no such user", text, error, error_room);
    }
    identity->user = user->pw_uid;
    identity->group = user->pw_gid;
    if (group_name != NULL) {
        group = getgrnam(group_name);
        if (group == NULL) {
            return refuse(-ENOENT, "no such group", text, error, error_room);
        }
        identity->group = group->gr_gid;
    }
    return 0;
}

/* True if all three user and group numbers are those of the identity. */
static bool is_taken(const struct identity *identity)
{
    uid_t real, effective, saved;
    gid_t real_group, effective_group, saved_group;

    return getresuid(&real, &effective, &saved) == 0 &&
           getresgid(&real_group, &effective_group, &saved_group) == 0 &&
           real == identity->user && effective == identity->user &&
           saved == identity->user && real_group == identity->group &&
           effective_group == identity->group && saved_group == identity->group;
}

/* Tries what must not work any more. */
static bool can_go_back(const struct identity *identity)
{
    gid_t root_group = 0;

    if (setresuid((uid_t)-1, 0, (uid_t)-1) == 0 || setuid(0) == 0) {
        return true;
    }
    if (identity->group != 0 && setresgid((gid_t)-1, 0, (gid_t)-1) == 0) {
        return true;
    }
    return setgroups(1, &root_group) == 0;
}

int identity_take(const struct identity *identity, char *error, size_t error_room)
{
    bool taken = is_taken(identity);
    int result = 0;

    /* The groups first: they cannot be changed any more by the user. */
    if (!taken && (initgroups(identity->name, identity->group) < 0 ||
                   setresgid(identity->group, identity->group, identity->group) < 0 ||
                   setresuid(identity->user, identity->user, identity->user) < 0)) {
        result = -errno;
        return refuse(result,
                      result == -EPERM ? "only root can become another user"
                                       : strerror(-result),
                      identity->name, error, error_room);
    }
    if (identity->user != 0 && (!is_taken(identity) || can_go_back(identity))) {
        return refuse(-EPERM, "the rights of root could be taken back", identity->name,
                      error, error_room);
    }
    /* No program that this process could be made to run gives rights back, either. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        result = -errno;
        return refuse(result, strerror(-result), identity->name, error, error_room);
    }
    return 0;
}
