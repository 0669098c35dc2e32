/* What redlock status shows of a semaphore.
 *
 *     uploads: 2 of 5 permits held, 3 free (each on 3 of 5 nodes)
 *
 *       slot  holder       votes  left     fence
 *       0     web1:4711    5/5    25 s     -
 *       3     web2:912     4/5    3.1 s    1795246000000001
 *
 *       1 client waits for permits, the next one first:
 *         1. web3:5310 wants 2, has waited 3.1 s
 *
 *       node            permits  latency
 *       127.0.0.1:7001  5        0.21 ms
 *
 * Failure modes: nodes that do not answer have their reason in the table; those that keep another
 * number of permits are named. Of more slots than are listed the rest is counted. */
#ifndef RL_CLI_PERMITS_SHOW_H
#define RL_CLI_PERMITS_SHOW_H

#include "line.h"
#include "look.h"
#include "permits.h"
#include "tool/json.h"

#define RL_PERMITS_LISTED_MAX 200 /* on the screen; JSON has all */

/* line: who waits for them. look: of the same key, for its nodes. has_nodes: the nodes' table is on
 * the screen already. */
void rl_permits_print(const struct rl_permits *permits, const struct rl_line *line,
                      const struct rl_look *look, bool has_nodes);

/* Members of the key's object. */
void rl_permits_json(struct tool_json *json, const struct rl_permits *permits,
                     const struct rl_line *line);

#endif
