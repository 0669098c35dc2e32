/* What the facts of all nodes mean together: how many there are, whether one server stands behind
 * two names, whether enough can be used. */
#ifndef RL_CLI_DOCTOR_JUDGE_NODES_H
#define RL_CLI_DOCTOR_JUDGE_NODES_H

#include "doctor/facts.h"
#include "doctor/findings.h"

/* Returns after how many seconds a quorum votes for strict clients: 0 if it does, or if too few
 * nodes can be used. */
int64_t rl_doctor_judge_nodes(struct rl_findings *findings, const struct rl_facts *facts, size_t n);

#endif
