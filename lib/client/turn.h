/* One turn of a client, which the world asks for (base/world.h): see turn.c. */
#ifndef RL_CLIENT_TURN_H
#define RL_CLIENT_TURN_H

#include "client/state.h"

/* The world's `turn` and `before_wait`; the owner is the client. */
bool rl_turn_run(void *owner);
bool rl_turn_before_wait(void *owner);

/* The last callback: on_close. */
void rl_turn_closed(redlock_client *client);

#endif
