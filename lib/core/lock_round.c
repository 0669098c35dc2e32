/* See lock_round.h. */
#include "core/lock_round.h"

#include <assert.h>

#include "core/lock_state.h"
#include "core/watch.h"

uint64_t rl_lock_attempt_ends_ns(const struct rl_lock *lock) {
    return lock->set_ns + rl_validity_ns(lock->rules, lock->ttl_ms);
}

void rl_lock_set_validity(struct rl_lock *lock, uint64_t until_ns) {
    if (until_ns > lock->hold_until_ns) {
        until_ns = lock->hold_until_ns;
    }
    uint64_t left_ns = until_ns > lock->now_ns ? until_ns - lock->now_ns : 0;
    uint64_t margin_ns = lock->rules->lost_margin_ns;
    if (margin_ns > left_ns / 2) {
        margin_ns = left_ns / 2;
    }
    lock->valid_until_ns = until_ns;
    lock->lost_at_ns = until_ns - margin_ns;
}

void rl_lock_begin_round(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                         enum rl_round_kind kind, uint32_t asked) {
    rl_round_begin(&lock->round, kind, event->now_ns, asked, event->reasons);
    out->send = asked;
    uint64_t wait_ns = lock->rules->node_timeout_ns;
    if (lock_is(lock, IN(RL_TRYING) | IN(RL_FENCING)) && !lock->adopts) {
        uint64_t until_ns = rl_lock_attempt_ends_ns(lock);
        assert(until_ns > event->now_ns);
        if (until_ns - event->now_ns < wait_ns) {
            wait_ns = until_ns - event->now_ns; /* later votes can no longer win */
        }
    }
    if (lock->renews) {
        wait_ns = rl_watch_wait_ns(wait_ns, lock->valid_until_ns - event->now_ns);
    }
    lock->round_until_ns = event->now_ns + wait_ns;
}

void rl_lock_release_all(struct rl_lock *lock, const struct rl_event *event,
                         struct rl_actions *out) {
    if (lock_is(lock, IN(RL_BACKOFF) | IN(RL_WAITING) | IN(RL_READY))) {
        return; /* the last attempt is released, and no other has begun */
    }
    if (!lock->adopts) {
        out->release |= event->up;
        out->owe |= lock->may_hold & ~event->up;
        out->may_have |= lock->may_hold;
    }
    lock->may_hold = 0;
    rl_round_abandon(&lock->round);
}
