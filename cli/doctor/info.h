/* What INFO says of a node, as facts; fields that a server does not have stay empty, or 0. */
#ifndef RL_CLI_DOCTOR_INFO_H
#define RL_CLI_DOCTOR_INFO_H

#include "doctor/facts.h"

void rl_doctor_read_info(struct rl_facts *facts, const char *info);

/* For how long strict clients still do not ask it for votes. 0: they do, or they are not strict. */
int64_t rl_doctor_quarantine_s(const struct rl_facts *facts);

#endif
