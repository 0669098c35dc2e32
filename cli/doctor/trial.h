/* Tries on a node what the library sends: the same SET, the same scripts, on a random key of its
 * own, which is deleted afterwards, or else expires; and each command that the scripts call.
 *
 * Failure modes: the first refused command of a trial keeps the node's error; the others are tried
 * all the same, because an ACL is fixed faster when everything that is missing is known at once. */
#ifndef RL_CLI_DOCTOR_TRIAL_H
#define RL_CLI_DOCTOR_TRIAL_H

#include "doctor/facts.h"

/* Tries our commands over the wire's connection. */
void rl_doctor_try(struct rl_facts *facts);

#endif
