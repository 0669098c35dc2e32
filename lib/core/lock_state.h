/* The states of a lock: which moves are allowed, what is true in each, and what attempts and holds
 * have in common. For lock*.c; others look at a lock through the queries of lock.h. */
#ifndef RL_CORE_LOCK_STATE_H
#define RL_CORE_LOCK_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/lock_data.h"

#define IN(state) (1u << (state))

#define IS_ASKING (IN(RL_READY) | IN(RL_TRYING) | IN(RL_FENCING) | IN(RL_BACKOFF) | IN(RL_GRANTED))
#define IS_ACQUIRING (IN(RL_WAITING) | IS_ASKING)
#define IS_HOLDING (IN(RL_HELD) | IN(RL_EXTENDING))
#define HAS_ROUND (IN(RL_TRYING) | IN(RL_FENCING) | IN(RL_EXTENDING) | IN(RL_RELEASING))
#define HAS_PLACE (IN(RL_READY) | IN(RL_TRYING) | IN(RL_FENCING))
#define HAS_VALIDITY (IN(RL_GRANTED) | IS_HOLDING)

static inline bool lock_is(const struct rl_lock *lock, uint32_t set) {
    return (IN(lock->state) & set) != 0;
}

/* Asserts that the table allows the move. Clears what belongs to the state that the lock leaves. */
void rl_lock_move(struct rl_lock *lock, enum rl_lock_state to);

void rl_lock_invariant(const struct rl_lock *lock);

/* Shared by attempts and holds. Each function takes the event of the step and adds to its
 * actions. */

/* Every attempt and hold ends here. Releases the keys that may be on the nodes, now or later, and
 * ends the round. */
void rl_lock_release_all(struct rl_lock *lock, const struct rl_event *event,
                         struct rl_actions *out);

/* `asked`: the nodes to which the round's command is sent; the others have failed. */
void rl_lock_begin_round(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                         enum rl_round_kind kind, uint32_t asked);

/* The end of the validity that this attempt can win. */
uint64_t rl_lock_attempt_ends_ns(const struct rl_lock *lock);

/* Sets the end of validity, and the moment before it at which a holder is notified. */
void rl_lock_set_validity(struct rl_lock *lock, uint64_t until_ns);

#endif
