/* Options: checks, defaults, and a sentence for each error. */
#ifndef RL_CLIENT_OPTIONS_H
#define RL_CLIENT_OPTIONS_H

#include "client/state.h"

/* Checks and applies all options but the nodes. error receives the sentence of a failure. */
int rl_options_apply(redlock_client *client, const redlock_client_options *o, char *error,
                     size_t error_size);
int rl_options_acquire(redlock_lock *lock, const redlock_acquire_options *user,
                       struct rl_acquire *out, redlock_acquire_options *full);
/* Checks that the ttl is usable with min_validity_ms: 0, or REDLOCK_ERR_INVALID and a message. */
int rl_options_ttl(redlock_lock *lock, int64_t ttl_ms, int64_t min_validity_ms);

#endif
