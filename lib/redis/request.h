/* Formats a request: when it is sent, and again, whole, if the node has forgotten its script. */
#ifndef RL_REDIS_REQUEST_H
#define RL_REDIS_REQUEST_H

#include <stddef.h>

#include "redis/node_data.h"

/* Writes its command, as rl_command_format() does. */
size_t rl_request_format(const struct rl_request *request, char *wire);

#endif
