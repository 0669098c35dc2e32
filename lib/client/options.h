/* Options: what is allowed, what is missing, and a sentence for what is wrong. */
#ifndef RL_CLIENT_OPTIONS_H
#define RL_CLIENT_OPTIONS_H

#include "client/state.h"

/* Checks and takes over everything but the nodes. error receives the sentence of a failure. */
int rl_options_apply(redlock_client *client, const redlock_client_options *o, char *error,
                     size_t error_size);
int rl_options_acquire(redlock_lock *lock, const redlock_acquire_options *user,
                       struct rl_acquire *out, redlock_acquire_options *full);
/* A ttl that is usable with min_validity_ms, or REDLOCK_ERR_INVALID and a message. */
int rl_options_ttl(redlock_lock *lock, int64_t ttl_ms, int64_t min_validity_ms);

#endif
