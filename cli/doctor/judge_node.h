/* What the facts of one node mean. Each check is a function; it adds one finding, good or bad, with
 * a text that states the fact and a remedy that says what to do. Texts of good findings have no
 * figures in them, so that those of several nodes can be shown as one. */
#ifndef RL_CLI_DOCTOR_JUDGE_NODE_H
#define RL_CLI_DOCTOR_JUDGE_NODE_H

#include "doctor/ask.h"
#include "doctor/show.h"

void rl_doctor_judge_node(struct rl_findings *findings, const struct rl_facts *facts, int node);

#endif
