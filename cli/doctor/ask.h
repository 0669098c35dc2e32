/* Asks every node at once, a thread each, over hiredis without any of the library: what it says is
 * seen by a second pair of eyes.
 *
 * Failure modes: each step that fails says why and ends the questions to that node; a question that
 * is forbidden (INFO, CONFIG, TIME) leaves its facts unknown and the next one is asked. */
#ifndef RL_CLI_DOCTOR_ASK_H
#define RL_CLI_DOCTOR_ASK_H

#include "doctor/facts.h"

/* For how long strict clients still do not ask it for votes. 0: they do, or they are not strict. */
int64_t rl_doctor_quarantine_s(const struct rl_facts *facts);

/* Fills in facts[i], whose wire is set, for each of n nodes. */
void rl_doctor_ask(struct rl_facts *facts, size_t n);

#endif
