/* The lists of waiting clients that redlock status shows below the holder. The full table is
 * that of redlock queue (queue.c).
 *
 * Failure modes: clients that are not listed are counted. If a client waits at another node than
 * the first one does, that node is named. */
#ifndef RL_CLI_LINE_SHOW_H
#define RL_CLI_LINE_SHOW_H

#include "found.h"
#include "tool/json.h"

/* Begins a node's row. False: the node did not answer; the row says why, and is complete. */
bool rl_node_print(const struct rl_look_node *node, int width);
/* Ends it: how fast the node answered, and when it votes if it does not yet. */
void rl_node_print_latency(const struct rl_look_node *node);

/* The lists of status. look: of the same key. Prints nothing if no client waits. */
void rl_line_print(const struct rl_line *line, const struct rl_look *look);

/* Members of the key's object in the JSON of status. */
void rl_line_json(struct tool_json *json, const struct rl_line *line);

/* What redlock status shows of a semaphore:
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
 * Failure modes: the table shows why a node did not answer; nodes that keep another number of
 * permits are named. Slots that are not listed are counted. */

#define RL_PERMITS_LISTED_MAX 200 /* on the screen; JSON has all */

/* line: the clients that wait for them. look: of the same key, for its nodes. has_nodes: the nodes'
 * table is on the screen already. */
void rl_permits_print(const struct rl_permits *permits, const struct rl_line *line,
                      const struct rl_look *look, bool has_nodes);

/* Members of the key's object. */
void rl_permits_json(struct tool_json *json, const struct rl_permits *permits,
                     const struct rl_line *line);

#endif
