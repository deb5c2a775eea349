/* An answer on its way into the output: its head is rendered, its body's spans are queued,
 * its pin is handed on. It must never know the states of a connection. */
#ifndef TETRAD_HTTP_ANSWER_H
#define TETRAD_HTTP_ANSWER_H

#include "attributes.h"
#include "output.h"
#include "response.h"

/* Queues head and body and takes the pin. False (no room, no memory): the pin is released
 * all the same, and the output is of no use any more. */
bool http_answer_queue(struct output *output, const struct response *response,
                       enum response_persistence persistence) MUST_CHECK;

#endif
