/* What a worker keeps for the access log: its lane, room for a line, and the time as text.
 * It turns an exchange into a line. One owner thread. */
#ifndef TETRAD_ACCESS_WRITER_H
#define TETRAD_ACCESS_WRITER_H

#include "exchange.h"

struct access_writer;
struct server;

/* NULL without memory. Only if server->access_log is not NULL. */
struct access_writer *access_writer_open(const struct server *server);

/* NULL is allowed. */
void access_writer_close(struct access_writer *writer);

/* Logs an exchange that has just ended. remote: the peer's address. Never waits. */
void access_writer_write(struct access_writer *writer, const struct exchange *exchange,
                         const char *remote);

#endif
