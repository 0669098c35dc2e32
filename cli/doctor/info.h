/* What INFO says, line by line: "name:value", read as the library reads it (redis/info.h). Fields
 * that a server does not have stay empty; numbers that are none stay 0. */
#ifndef RL_CLI_DOCTOR_INFO_H
#define RL_CLI_DOCTOR_INFO_H

#include "doctor/facts.h"

void rl_doctor_read_info(struct rl_facts *facts, const char *info);

#endif
