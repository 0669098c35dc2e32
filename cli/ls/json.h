/* What redlock ls prints for programs: one object a line, for each lock, each node, and the whole.
 *
 *     {"kind": "lock", "key": ..., "held": true, "mode": "exclusive", "votes": 5, ...}
 *     {"kind": "node", "node": "10.0.0.1:6379", "read": true, ...}
 *     {"kind": "summary", ...} */
#ifndef RL_CLI_LS_JSON_H
#define RL_CLI_LS_JSON_H

#include "scan/scan.h"

/* waiting: of the locks only those that clients wait for. */
void rl_json_print(const struct rl_sweep *sweep, bool waiting);

#endif
