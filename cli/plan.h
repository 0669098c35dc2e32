/* What run and elect share: the checks and settings before they begin. */
#ifndef RL_CLI_PLAN_H
#define RL_CLI_PLAN_H

#include "args.h"

/* Whether the ttl leaves time to renew, and to end the command. Returns 0 or an exit status. */
int rl_plan_check_ttl(const struct rl_args *args);

/* Removes from our environment, which the command inherits, the variables of another lock, and the
 * passwords in REDLOCK_NODES unless --keep-passwords is given; a list that cannot be parsed is not
 * handed on at all. Returns 0 or an exit status. */
int rl_plan_begin(const struct rl_args *args);

#endif
