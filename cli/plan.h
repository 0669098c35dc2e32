/* What run and elect have in common: the check before, and what the command finds in its
 * environment. */
#ifndef RL_CLI_PLAN_H
#define RL_CLI_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "args.h"

/* REDLOCK_NODES without its passwords, for the command that redlock runs.
 *
 * Failure modes: a list that cannot be read is not handed on at all, since nobody can tell where a
 * password in it begins. */

/* Takes users and passwords out of REDLOCK_NODES in our own environment, which is what the command
 * inherits; the whole variable if it cannot be read. Returns 0 or an exit status. */
int rl_nodes_hide_passwords(void);

#define RL_PLAN_VARIABLES 6

struct rl_variables {
    char *list[RL_PLAN_VARIABLES]; /* "NAME=value", NULL at the end */
};

/* Whether the ttl leaves time to renew, and to end the command. Returns 0 or an exit status. */
int rl_plan_check_ttl(const struct rl_args *args);

/* REDLOCK_KEY, REDLOCK_TOKEN (NULL: none), REDLOCK_VALID_MS, REDLOCK_FENCE (0: none), REDLOCK_SLOT
 * (NULL: none). False: no memory. */
bool rl_plan_variables(struct rl_variables *variables, const char *keys, const char *token,
                       int64_t valid_ms, uint64_t fence, const char *slots);
void rl_plan_variables_free(struct rl_variables *variables);

#endif
