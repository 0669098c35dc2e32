/* What run and elect share: the checks and settings before they begin, and the command's
 * environment. */
#ifndef RL_CLI_PLAN_H
#define RL_CLI_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "args.h"
#include "orphan.h"

#define RL_PLAN_VARIABLES 6

struct rl_variables {
    char *list[RL_PLAN_VARIABLES]; /* "NAME=value", NULL at the end */
};

/* Whether the ttl leaves time to renew, and to end the command. Returns 0 or an exit status. */
int rl_plan_check_ttl(const struct rl_args *args);

/* Removes from our environment, which the command inherits, the variables of another lock, and the
 * passwords in REDLOCK_NODES unless --keep-passwords is given; a list that cannot be parsed is not
 * handed on at all. Fills in orphan, to be freed in any case. Returns 0 or an exit status. */
int rl_plan_begin(const struct rl_args *args, struct rl_orphan *orphan, bool is_name);

/* REDLOCK_KEY, REDLOCK_TOKEN (NULL: none), REDLOCK_VALID_MS, REDLOCK_FENCE (0: none), REDLOCK_SLOT
 * (NULL: none). */
void rl_plan_variables(struct rl_variables *variables, const char *keys, const char *token,
                       int64_t valid_ms, uint64_t fence, const char *slots);
void rl_plan_variables_free(struct rl_variables *variables);

#endif
