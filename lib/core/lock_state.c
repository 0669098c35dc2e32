/* See lock_state.h. The table is the diagram in lock.h, as code. */
#include "core/lock_state.h"

#include <assert.h>
#include <stddef.h>

#include "core/timing.h"

static const uint32_t next_states[RL_LOCK_STATES] = {
    [RL_IDLE] = IN(RL_WAITING) | IN(RL_READY) | IN(RL_RELEASING),
    [RL_WAITING] = IN(RL_READY) | IN(RL_BACKOFF) | IN(RL_IDLE),
    [RL_READY] = IN(RL_TRYING) | IN(RL_WAITING) | IN(RL_BACKOFF) | IN(RL_IDLE),
    [RL_TRYING] = IN(RL_FENCING) | IN(RL_GRANTED) | IN(RL_WAITING) | IN(RL_BACKOFF) | IN(RL_IDLE),
    [RL_FENCING] = IN(RL_GRANTED) | IN(RL_BACKOFF) | IN(RL_IDLE),
    [RL_BACKOFF] = IN(RL_READY) | IN(RL_IDLE),
    [RL_GRANTED] = IN(RL_HELD) | IN(RL_BACKOFF) | IN(RL_IDLE),
    [RL_HELD] = IN(RL_EXTENDING) | IN(RL_RELEASING) | IN(RL_LOST) | IN(RL_IDLE),
    [RL_EXTENDING] = IN(RL_HELD) | IN(RL_LOST),
    [RL_RELEASING] = IN(RL_IDLE),
    [RL_LOST] = IN(RL_WAITING) | IN(RL_READY) | IN(RL_RELEASING) | IN(RL_IDLE),
};

static_assert(RL_LOCK_STATES <= 32, "a set of states is 32 bits");

void rl_lock_move(struct rl_lock *lock, enum rl_lock_state to) {
    assert(to < RL_LOCK_STATES);
    const bool allowed = (next_states[lock->state] & IN(to)) != 0;
    assert(allowed);
    (void)allowed; /* without assertions */
    lock->state = (uint8_t)to;
    if (!lock_is(lock, HAS_VALIDITY)) {
        lock->valid_until_ns = 0;
    }
    if (!lock_is(lock, IS_ASKING)) {
        lock->adopts = false;
    }
    if (!lock_is(lock, HAS_PLACE)) {
        lock->place = 0;
    }
    if (lock->state == RL_TRYING) {
        lock->collect_ns = RL_NEVER;
    }
    lock->was_refused = false; /* the caller sets it after the move */
}

void rl_lock_invariant(const struct rl_lock *lock) {
    assert(lock->state < RL_LOCK_STATES);
    assert((lock->valid_until_ns != 0) == lock_is(lock, HAS_VALIDITY));
    assert((lock->round.decision == RL_OPEN) == lock_is(lock, HAS_ROUND));
    assert(lock->state != RL_TRYING ||
           lock->round.kind == (lock->adopts ? RL_ROUND_EXTEND : RL_ROUND_ACQUIRE));
    assert(lock->state != RL_FENCING || lock->round.kind == RL_ROUND_FENCE);
    assert(lock->state != RL_GRANTED || lock->round.decision == RL_WON);
    assert(lock->state != RL_EXTENDING || lock->round.kind == RL_ROUND_EXTEND ||
           lock->round.kind == RL_ROUND_UPGRADE ||
           (lock->round.kind == RL_ROUND_FENCE && lock->reader_fence != 0));
    assert(!lock->renews || lock->round.kind == RL_ROUND_EXTEND);
    assert(lock->reader_fence == 0 || lock_is(lock, HAS_PLACE) ||
           (lock->state == RL_EXTENDING && !lock->renews));
    assert(lock->reverts == RL_RESULT_NONE || (lock->state == RL_EXTENDING && !lock->renews));
    assert(lock->state != RL_RELEASING || lock->round.kind == RL_ROUND_RELEASE);
    assert(lock->token[RL_TOKEN_LEN] == '\0');
    assert(!lock_is(lock, IN(RL_TRYING) | IN(RL_FENCING)) || lock->set_ns <= lock->now_ns);
    assert(!lock->renews || lock->state == RL_EXTENDING);
    assert(!lock->was_refused || lock->state == RL_WAITING);
    assert(!lock->adopts || lock_is(lock, IN(RL_TRYING) | IN(RL_GRANTED)));
    if (lock_is(lock, HAS_VALIDITY)) {
        assert(lock->valid_until_ns <= lock->hold_until_ns);
    }
    if (lock_is(lock, IS_HOLDING)) {
        assert(lock->lost_at_ns <= lock->valid_until_ns);
        assert(lock->now_ns < lock->valid_until_ns);
        assert(lock->renew_ns == RL_NEVER || lock->acquire.renew_ms != 0 || lock->is_leased);
        assert(lock->alive_ns <= lock->now_ns);
        assert(!lock->is_silent || (lock->state == RL_HELD && lock->renew_ns == RL_NEVER));
    }
    if (lock_is(lock, IN(RL_IDLE) | IN(RL_WAITING) | IN(RL_READY) | IN(RL_LOST) | IN(RL_BACKOFF))) {
        assert(lock->may_hold == 0); /* keys that may exist are released, or will be */
    }
}

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
    lock->absent = lock->planted = 0;
    rl_round_begin(&lock->round, &lock->rules->electorate, kind, event->now_ns, asked,
                   event->reasons);
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
