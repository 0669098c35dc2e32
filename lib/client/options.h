/* Options: checks, defaults, and a sentence for each error. */
#ifndef RL_CLIENT_OPTIONS_H
#define RL_CLIENT_OPTIONS_H

#include "client/state.h"

/* Merges the caller's options with the defaults, and makes the checks that a world needs. Returns
 * 0, or the status of redlock_client_open(). */
int rl_options_client(redlock_client_options *full, const redlock_client_options *user);
/* Checks and applies all options but the nodes' URLs. o is from rl_options_client(). */
int rl_options_apply(redlock_client *client, const redlock_client_options *o);
/* Merges and checks the options of an acquire: 0, or REDLOCK_ERR_INVALID and why. */
int rl_options_acquire(const redlock_lock *lock, const redlock_acquire_options *user,
                       struct rl_acquire *out, redlock_acquire_options *full,
                       char why[REDLOCK_MESSAGE_MAX]);
/* Checks that the ttl is usable with min_validity_ms: 0, or REDLOCK_ERR_INVALID and why. */
int rl_options_ttl(const redlock_lock *lock, int64_t ttl_ms, int64_t min_validity_ms,
                   char why[REDLOCK_MESSAGE_MAX]);

#endif
