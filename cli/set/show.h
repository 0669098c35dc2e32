/* What `redlock set` prints of a set.
 *
 *       node             epoch  change    is      self            vote
 *       127.0.0.1:7001   2      91d0c4ee  joint   127.0.0.1:7001  done
 *       127.0.0.1:7002   1      02aa17c0  stable  127.0.0.1:7002  -
 *
 * A set agrees if each member of the latest configuration has it, and it is stable. */
#ifndef RL_CLI_SET_SHOW_H
#define RL_CLI_SET_SHOW_H

#include "set/nodes.h"
#include "set/steps.h"

/* All nodes as they were read. Returns the exit status: RL_EXIT_OK if they agree. */
int rl_set_show(const struct rl_set *set);

/* What a change is going to do. wait_ms: before its first step, until new nodes may vote. */
void rl_set_show_plan(const struct rl_set *set, const struct rl_config *joint, int64_t wait_ms);

/* The one object of --json. name: of the subcommand. */
void rl_set_show_outcome(const struct rl_set *set, const struct rl_steps *steps, const char *name,
                         int exit_status);

#endif
