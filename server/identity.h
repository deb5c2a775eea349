/* The user that the server becomes, for good. It must never know what the server does. */
#ifndef TETRAD_IDENTITY_H
#define TETRAD_IDENTITY_H

#include <stddef.h>
#include <sys/types.h>

#include "attributes.h"

enum { IDENTITY_NAME_MAX = 256 };

struct identity {
    char name[IDENTITY_NAME_MAX]; /* of the user */
    uid_t user;
    gid_t group;
};

/* Looks "NAME" or "NAME:GROUP" up; without a group it is the user's own. 0 or -errno; then
 * `error` says why, in one line without a newline. */
int identity_find(struct identity *identity, const char *text, char *error,
                  size_t error_room) MUST_CHECK;

/* Becomes the user, with its groups, and makes sure that there is no way back. Nothing
 * changes where the process is that user already. 0 or -errno and `error`, after which the
 * process may be half changed and has to end. Before any thread is started. */
int identity_take(const struct identity *identity, char *error,
                  size_t error_room) MUST_CHECK;

#endif
