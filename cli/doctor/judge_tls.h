/* Whether the certificate of a node is looked at; what is wrong with one is why it is not reachable
 * (judge_node.h). */
#ifndef RL_CLI_DOCTOR_JUDGE_TLS_H
#define RL_CLI_DOCTOR_JUDGE_TLS_H

#include "doctor/facts.h"
#include "doctor/findings.h"

/* Nothing, for a node without TLS. */
void rl_doctor_judge_tls(struct rl_findings *findings, const struct rl_facts *facts, int node);

#endif
