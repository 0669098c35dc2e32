/* Tries on a node what the library sends: the same SET, the same scripts, on a random key of the
 * doctor's own, which is deleted again and ends by its ttl if it cannot be.
 *
 * Failure modes: each command that is refused leaves what the node said; the others are tried all
 * the same, because an ACL is fixed faster when everything that is missing is known at once. Of a
 * story of several commands the first one that is refused ends it. The scripts overlook refusals
 * where a lock is good without what is refused; what the next commands answer shows it. Readers and
 * semaphores are not tried where SET or the release is refused: it would say the same again, and
 * leave keys behind. */
#ifndef RL_CLI_DOCTOR_TRIAL_H
#define RL_CLI_DOCTOR_TRIAL_H

#include "doctor/facts.h"

/* Tries our commands over the wire's connection. */
void rl_doctor_try(struct rl_facts *facts);

#endif
