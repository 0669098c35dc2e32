/* What the facts of all nodes mean together: how many there are of each set, whether one server
 * stands behind two names, whether enough can be used. */
#ifndef RL_CLI_DOCTOR_JUDGE_NODES_H
#define RL_CLI_DOCTOR_JUDGE_NODES_H

#include "doctor/ask.h"
#include "doctor/show.h"

/* Whether the certificate of a node is verified; a bad one makes the node unreachable
 * (judge_node.h). */

/* Nothing, for a node without TLS. */
void rl_doctor_judge_tls(struct rl_findings *findings, const struct rl_facts *facts, int node);

/* Returns after how many seconds a quorum of each set votes for strict clients: 0 if it does, or if
 * too few nodes can be used. */
int64_t rl_doctor_judge_nodes(struct rl_findings *findings, const struct rl_facts *facts,
                              const struct rl_wires *wires);

#endif
