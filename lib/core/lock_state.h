/* The states of a lock: which moves are allowed, and what is true in each. For lock*.c;
 * others look at a lock through lock_view.h. */
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
#define HAS_VALIDITY (IN(RL_GRANTED) | IS_HOLDING)

static inline bool lock_is(const struct rl_lock *lock, uint32_t set) {
    return (IN(lock->state) & set) != 0;
}

/* Asserts that the move is one of the table. Clears what belongs to the state that is left. */
void rl_lock_move(struct rl_lock *lock, enum rl_lock_state to);

void rl_lock_invariant(const struct rl_lock *lock);

const char *rl_lock_state_name(enum rl_lock_state state);

#endif
