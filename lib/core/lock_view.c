/* See lock_view.h. */
#include "core/lock_view.h"

#include <string.h>

#include "core/lock_state.h"

static uint64_t sooner(uint64_t a_ns, uint64_t b_ns) {
    return a_ns < b_ns ? a_ns : b_ns;
}

uint64_t rl_lock_wake_ns(const struct rl_lock *lock) {
    switch ((enum rl_lock_state)lock->state) {
        case RL_TRYING:
        case RL_FENCING:
            return sooner(sooner(lock->round_until_ns, lock->collect_ns), lock->give_up_ns);
        case RL_WAITING:
        case RL_READY:
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
    const uint64_t fence = lock->reader_fence != 0 ? lock->reader_fence : lock->fence.value;
    return lock_is(lock, IS_ACQUIRING) ? 0 : fence;
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
