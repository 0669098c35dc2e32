/* What the facts of all nodes mean together: how many there are, whether one server stands behind
 * two names, whether enough can be used. */
#ifndef RL_CLI_DOCTOR_JUDGE_NODES_H
#define RL_CLI_DOCTOR_JUDGE_NODES_H

#include "doctor/facts.h"
#include "doctor/findings.h"

void rl_doctor_judge_nodes(struct rl_findings *findings, const struct rl_facts *facts, size_t n);

#endif
