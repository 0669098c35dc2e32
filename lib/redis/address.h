/* The address in a URL, if it has one: a path, or a numeric host. */
#ifndef RL_REDIS_ADDRESS_H
#define RL_REDIS_ADDRESS_H

#include <stdbool.h>

#include "base/world.h"
#include "redis/url.h"

/* Returns false if the host is a name, which the world has to look up. */
bool rl_address_of(const struct rl_url *url, struct rl_address *address);

#endif
