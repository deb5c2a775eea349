/* The chain of messages in another language. */
#ifndef THREADBENCH_MESSAGE_H
#define THREADBENCH_MESSAGE_H

#include "run.h"

/* Runs the chain as a program of Erlang, fills the outcome and gives the sum. Ends the run
 * as absent without an Erlang. */
uint64_t message_erlang(struct run *run);

#endif
