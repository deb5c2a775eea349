/* A request made of field lines, as the parser would hand it on. For tests of what reads
 * fields; it must never know a connection. */
#ifndef TETRAD_REQUEST_OF_H
#define TETRAD_REQUEST_OF_H

#include <string.h>

#include "request.h"

/* lines: "Name: value" each, separated by "\n"; the request borrows from it. */
static inline void request_of(struct request *request, const char *lines)
{
    memset(request, 0, sizeof(*request));
    while (*lines != '\0') {
        size_t len = strcspn(lines, "\n");
        size_t name_len = strcspn(lines, ":");
        struct request_field *field = &request->fields[request->field_count++];
        struct slice value = { lines + name_len + 1, len - name_len - 1 };

        while (value.len > 0 && *value.base == ' ') {
            value.base++;
            value.len--;
        }
        field->id = request_field_id((struct slice){ lines, name_len });
        field->value = value;
        request->present |= UINT32_C(1) << field->id;
        lines += len + (lines[len] == '\n');
    }
}

#endif
