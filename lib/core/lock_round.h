/* What attempts and holds have in common: beginning a round, releasing everything that may be on
 * the nodes, and validity. Each takes the event of the step and adds to its actions. */
#ifndef RL_CORE_LOCK_ROUND_H
#define RL_CORE_LOCK_ROUND_H

#include "core/lock_data.h"

/* Every end of an attempt or a hold comes through here: releases what may be on the nodes, now or
 * later, and ends the round. */
void rl_lock_release_all(struct rl_lock *lock, const struct rl_event *event,
                         struct rl_actions *out);

/* `asked`: the nodes that take part; the others have failed. The round's command is sent to these
 * now. */
void rl_lock_begin_round(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                         enum rl_round_kind kind, uint32_t asked);

/* The end of the validity that this attempt can win. */
uint64_t rl_lock_attempt_ends_ns(const struct rl_lock *lock);

/* Sets the end of validity, and the moment before it at which a holder is notified. */
void rl_lock_set_validity(struct rl_lock *lock, uint64_t until_ns);

#endif
