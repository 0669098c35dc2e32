/* Acquiring, a part of the lock's step: see lock_acquire.c. Each function takes the event of the
 * step and adds to its actions. */
#ifndef RL_CORE_LOCK_ACQUIRE_H
#define RL_CORE_LOCK_ACQUIRE_H

#include <stdbool.h>

#include "core/lock_data.h"

/* -- Events -- */

void rl_lock_on_acquire(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_ready(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_none(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_permits(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_turn(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_notice(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_adopt(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_attempt(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
/* Asks for the vote of a node that has passed its key to this attempt. */
void rl_lock_ask(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
/* Asks for the votes that an attempt with passed keys has not received yet. */
void rl_lock_collect(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);

void rl_lock_on_tell(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);

/* Moves to READY, or stays there: asks the driver for a token. */
void rl_lock_ready(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);

/* Waits in line: each pause costs a try, as if the nodes had refused. */
void rl_lock_wait(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);

void rl_lock_attempt_decided(struct rl_lock *lock, const struct rl_event *event,
                             struct rl_actions *out);

void rl_lock_attempt_failed(struct rl_lock *lock, const struct rl_event *event,
                            struct rl_actions *out, enum rl_result why);

void rl_lock_end_acquire(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                         enum rl_result why);

bool rl_lock_too_late(const struct rl_lock *lock);

#endif
