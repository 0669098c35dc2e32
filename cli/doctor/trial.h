/* Tries on a node what the library sends: the same SET, the same scripts, on a random key of its
 * own, which is deleted afterwards, or else expires.
 *
 * Failure modes: a refused command keeps the node's error; the others are tried all the same,
 * because an ACL is fixed faster when everything that is missing is known at once. The first
 * refused command ends a story of several commands. The scripts ignore a refusal where a lock is
 * good without the refused command; the answers of the next commands show it. Readers and
 * semaphores are not tried where SET or the release is refused: it would say the same again, and
 * leave keys behind. */
#ifndef RL_CLI_DOCTOR_TRIAL_H
#define RL_CLI_DOCTOR_TRIAL_H

#include "doctor/facts.h"

/* Tries our commands over the wire's connection. */
void rl_doctor_try(struct rl_facts *facts);

#endif
