/* Opening and closing. Nothing in lib/client calls this: see client.c, and open.c, which does. */
#ifndef RL_CLIENT_CLIENT_H
#define RL_CLIENT_CLIENT_H

#include "base/world.h"
#include "redlock/redlock.h"

/* redlock_client_open() on a world; o is from rl_options_client(). After a failure the caller still
 * owns the world, of which only the time and random numbers were used; after 0 the client closes
 * it. */
int rl_client_open(redlock_client **out, struct rl_world *world, const redlock_client_options *o,
                   redlock_client_cb on_open, void *data);

#endif
