/* Asks every node at once, a thread each, over hiredis and without the library: its findings are
 * independent of the library.
 *
 * Failure modes: a step that fails says why and ends the questions to that node; a forbidden
 * question (INFO, CONFIG, TIME) leaves its facts unknown, and the next one follows. */
#ifndef RL_CLI_DOCTOR_ASK_H
#define RL_CLI_DOCTOR_ASK_H

#include <stddef.h>
#include <stdint.h>

#include "doctor/facts.h"
#include "wire/wires.h"

/* For how long strict clients still keep it from voting. 0: it may vote, or they are not strict. */
int64_t rl_doctor_quarantine_s(const struct rl_facts *facts);

/* Fills in facts[i] for each node, also for those that the configurations name. facts: zero, and
 * room for REDLOCK_NODES_MAX. */
void rl_doctor_ask(struct rl_facts *facts, struct rl_wires *wires);

#endif
