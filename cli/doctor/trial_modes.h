/* Tries on a node what readers and semaphores need besides: each of their commands by what it does,
 * a story of two clients on the doctor's own key, which is cleaned up.
 *
 * Failure modes: the story ends with the first command that is refused, with what the node said.
 * The scripts overlook refusals where a lock is good without what is refused; what the next
 * commands answer shows it. Nothing is tried where SET or the release is refused: it would say the
 * same again, and leave keys behind. */
#ifndef RL_CLI_DOCTOR_TRIAL_MODES_H
#define RL_CLI_DOCTOR_TRIAL_MODES_H

#include "doctor/attempt.h"

void rl_doctor_try_readers(struct rl_trials *trials);
void rl_doctor_try_permits(struct rl_trials *trials);

#endif
