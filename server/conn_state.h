/* What worker.c may know of a connection. */
#ifndef TETRAD_CONN_STATE_H
#define TETRAD_CONN_STATE_H

#include "conn.h"
#include "worker_state.h"

struct conn *conn_of_link(struct worker_link *link);
void *conn_context(const struct conn *conn);

#endif
