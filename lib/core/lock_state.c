/* See lock_state.h. The table is the drawing in lock.h, told to the compiler. */
#include "core/lock_state.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t next; /* allowed moves */
} states[RL_LOCK_STATES] = {
    [RL_IDLE] = {"idle", IN(RL_WAITING) | IN(RL_READY) | IN(RL_RELEASING)},
    [RL_WAITING] = {"waiting", IN(RL_READY) | IN(RL_BACKOFF) | IN(RL_IDLE)},
    [RL_READY] = {"ready", IN(RL_TRYING) | IN(RL_IDLE)},
    [RL_TRYING] = {"trying", IN(RL_FENCING) | IN(RL_GRANTED) | IN(RL_BACKOFF) | IN(RL_IDLE)},
    [RL_FENCING] = {"fencing", IN(RL_GRANTED) | IN(RL_BACKOFF) | IN(RL_IDLE)},
    [RL_BACKOFF] = {"backoff", IN(RL_READY) | IN(RL_IDLE)},
    [RL_GRANTED] = {"granted", IN(RL_HELD) | IN(RL_BACKOFF) | IN(RL_IDLE)},
    [RL_HELD] = {"held", IN(RL_EXTENDING) | IN(RL_RELEASING) | IN(RL_LOST) | IN(RL_IDLE)},
    [RL_EXTENDING] = {"extending", IN(RL_HELD) | IN(RL_LOST)},
    [RL_RELEASING] = {"releasing", IN(RL_IDLE)},
    [RL_LOST] = {"lost", IN(RL_WAITING) | IN(RL_READY) | IN(RL_RELEASING) | IN(RL_IDLE)},
};

void rl_lock_move(struct rl_lock *lock, enum rl_lock_state to) {
    assert(states[lock->state].next & IN(to));
    lock->state = (uint8_t)to;
    if (!lock_is(lock, HAS_VALIDITY)) {
        lock->valid_until_ns = 0;
    }
    if (!lock_is(lock, IS_ASKING)) {
        lock->adopts = false;
    }
}

void rl_lock_invariant(const struct rl_lock *lock) {
    assert(lock->state < RL_LOCK_STATES);
    assert((lock->valid_until_ns != 0) == lock_is(lock, HAS_VALIDITY));
    assert((lock->may_hold & ~rl_all_nodes(lock->rules->n)) == 0);
    assert((lock->round.decision == RL_OPEN) == lock_is(lock, HAS_ROUND));
    assert(lock->state != RL_FENCING || lock->round.kind == RL_ROUND_FENCE);
    assert(lock->unasked == 0 || lock->state == RL_TRYING);
    assert((lock->unasked & lock->may_hold) == 0);
    assert(!lock->renews || lock->state == RL_EXTENDING);
    assert(!lock->adopts || lock_is(lock, IN(RL_TRYING) | IN(RL_GRANTED)));
    if (lock_is(lock, HAS_VALIDITY)) {
        assert(lock->valid_until_ns <= lock->hold_until_ns);
    }
    if (lock_is(lock, IS_HOLDING)) {
        assert(lock->lost_at_ns <= lock->valid_until_ns);
        assert(lock->now_ns < lock->valid_until_ns);
    }
    if (lock_is(lock, IN(RL_IDLE) | IN(RL_WAITING) | IN(RL_LOST) | IN(RL_BACKOFF))) {
        assert(lock->may_hold == 0); /* what may be out there has been released or is owed */
    }
}

static uint64_t sooner(uint64_t a_ns, uint64_t b_ns) {
    return a_ns < b_ns ? a_ns : b_ns;
}

uint64_t rl_lock_wake_ns(const struct rl_lock *lock) {
    switch ((enum rl_lock_state)lock->state) {
        case RL_TRYING:
        case RL_FENCING:
            return sooner(lock->round_until_ns, lock->give_up_ns);
        case RL_WAITING:
        case RL_BACKOFF:
            return sooner(lock->retry_ns, lock->give_up_ns);
        case RL_GRANTED:
            return lock->valid_until_ns;
        case RL_HELD:
            return sooner(lock->lost_at_ns, lock->renew_ns);
        case RL_EXTENDING:
            return sooner(lock->round_until_ns, lock->lost_at_ns);
        case RL_RELEASING:
            return lock->round_until_ns;
        case RL_IDLE:
        case RL_READY:
        case RL_LOST:
        case RL_LOCK_STATES:
            break;
    }
    return RL_NEVER;
}

uint64_t rl_lock_lost_ns(const struct rl_lock *lock) {
    return lock_is(lock, IS_HOLDING) ? lock->lost_at_ns : RL_NEVER;
}

bool rl_lock_is_valid(const struct rl_lock *lock, uint64_t now_ns) {
    return lock_is(lock, IS_HOLDING) && now_ns < lock->valid_until_ns;
}

bool rl_lock_is_holding(const struct rl_lock *lock) {
    return lock_is(lock, IS_HOLDING);
}

uint64_t rl_lock_fence(const struct rl_lock *lock) {
    return lock_is(lock, IS_ACQUIRING) ? 0 : lock->fence.value;
}

bool rl_lock_has_token(const struct rl_lock *lock, const char *token) {
    return lock_is(lock, IN(RL_TRYING) | IN(RL_FENCING) | HAS_VALIDITY) &&
           memcmp(lock->token, token, RL_TOKEN_LEN) == 0;
}

bool rl_lock_is_acquiring(const struct rl_lock *lock) {
    return lock_is(lock, IS_ACQUIRING);
}

bool rl_lock_is_in_line(const struct rl_lock *lock) {
    return lock_is(lock, IS_ACQUIRING | IS_HOLDING);
}

const char *rl_lock_state_name(enum rl_lock_state state) {
    assert(state < RL_LOCK_STATES);
    return states[state].name;
}
