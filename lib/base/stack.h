/* How much room is left on the stack of the calling thread.
 *
 * Happy path: the system is asked once for each thread where its stack is.
 *
 * Failure modes: if the system does not say, or the program has made the stack itself (a fiber's),
 * there is no room. */
#ifndef RL_STACK_H
#define RL_STACK_H

#include <stdbool.h>
#include <stddef.h>

bool rl_stack_has_room(size_t bytes);

#endif
