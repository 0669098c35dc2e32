/* What attempts and holds have in common: a round begins, what may be on the nodes is let go, and
 * how long it is all good for. Each takes the event of the step and adds to its actions. */
#ifndef RL_CORE_LOCK_ROUND_H
#define RL_CORE_LOCK_ROUND_H

#include "core/lock_data.h"

/* Everything that ends an attempt or a hold comes through here: what may be on the nodes is
 * released, now or later; the round is over. */
void rl_lock_release_all(struct rl_lock *lock, const struct rl_event *event,
                         struct rl_actions *out);

/* `asked`: the nodes that take part; the others have failed. They are also those to send to now. */
void rl_lock_begin_round(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                         enum rl_round_kind kind, uint32_t asked);

/* When the validity ends that this attempt could win. */
uint64_t rl_lock_attempt_ends_ns(const struct rl_lock *lock);

/* Sets the end of validity, and the moment before it at which a holder is notified. */
void rl_lock_set_validity(struct rl_lock *lock, uint64_t until_ns);

#endif
