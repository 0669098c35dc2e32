/* The address in a URL, where there is one: a path, or a host that is a number. */
#ifndef RL_REDIS_ADDRESS_H
#define RL_REDIS_ADDRESS_H

#include <stdbool.h>

#include "base/world.h"
#include "redis/url.h"

/* False: the host is a name, which the world has to look up. */
bool rl_address_of(const struct rl_url *url, struct rl_address *address);

#endif
