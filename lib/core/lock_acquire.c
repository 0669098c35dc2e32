/* Acquiring: waiting in line, attempts, pauses between them, the grant. The safety argument is in
 * lock.h; fence.h has the fence's.
 *
 * Happy path: on_acquire, on_attempt, votes, rl_lock_attempt_decided(), perhaps a second round for
 * the fence, on_tell.
 *
 * Failure modes: an attempt that cannot win, comes too late or is cancelled is released. The lock
 * retries after a pause, or gives up.
 */
#include <assert.h>
#include <string.h>

#include "base/mark.h"
#include "core/lock_acquire.h"
#include "core/lock_hold.h"
#include "core/lock_state.h"
#include "core/timing.h"

#define NOTICE_SPREAD_NS (3 * RL_NS_PER_MS)
#define PASS_PATIENCE_NS (20 * RL_NS_PER_MS)

/* -- The end of an attempt -- */

/* Tries again after a pause, or when its turn in line has come; or gives up. A lock in line does
 * not give up because a pause would outlast the acquire: its turn may come before. */
static void lock_again(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                       enum rl_result why, bool queues) {
    assert(lock_is(lock, IS_ACQUIRING & ~IN(RL_BACKOFF)));
    assert(why != RL_RESULT_NONE && why != RL_RESULT_OK);
    assert(!queues || lock_is(lock, IN(RL_READY) | IN(RL_TRYING)));
    lock->acquire.attempt = (uint8_t)why;
    rl_lock_release_all(lock, event, out);
    rl_fence_begin(&lock->fence, 0);
    uint64_t retry_ns = event->now_ns + rl_retry_delay_ns(lock->acquire.delay_ms,
                                                          lock->acquire.jitter_ms, event->random);
    if (lock->acquire.tries == 0) {
        out->acquired = why;
        rl_lock_move(lock, RL_IDLE);
    } else if (queues) {
        rl_lock_move(lock, RL_WAITING);
        lock->was_refused = true;
        lock->retry_ns = lock->acquire.tries == RL_NO_LIMIT ? RL_NEVER : retry_ns;
    } else if (retry_ns >= lock->give_up_ns) {
        out->acquired = RL_RESULT_DEADLINE;
        rl_lock_move(lock, RL_IDLE);
    } else {
        lock->retry_ns = retry_ns;
        rl_lock_move(lock, RL_BACKOFF);
    }
}

void rl_lock_attempt_failed(struct rl_lock *lock, const struct rl_event *event,
                            struct rl_actions *out, enum rl_result why) {
    bool queues = why == RL_RESULT_HELD && lock->state == RL_TRYING && event->lines;
    lock_again(lock, event, out, why, queues);
}

/* The result of an attempt that is cut short: missing votes count as failed. */
static enum rl_result lock_cut_short(const struct rl_lock *lock) {
    const struct rl_round *round = &lock->round;
    assert(!lock->adopts); /* an adoption has no deadline */
    if (!rl_is_quorum(&round->electorate, round->granted | round->refused)) {
        return RL_RESULT_NO_QUORUM;
    }
    return round->kind == RL_ROUND_FENCE ? RL_RESULT_EXPIRED : RL_RESULT_HELD;
}

/* If the deadline has cut short the only attempt of an acquire, the acquire reports that attempt;
 * otherwise it reports the last finished one, which says more. An acquire that only waited in line
 * has had no attempt: the driver knows what held it up. */
void rl_lock_end_acquire(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                         enum rl_result why) {
    assert(lock_is(lock, IS_ACQUIRING));
    bool is_open = lock_is(lock, IN(RL_TRYING) | IN(RL_FENCING));
    if (why == RL_RESULT_DEADLINE && lock->acquire.attempt == RL_RESULT_NONE && is_open) {
        lock->acquire.attempt = (uint8_t)lock_cut_short(lock);
    } else if (why == RL_RESULT_HELD || why == RL_RESULT_PERMITS) {
        lock->acquire.attempt = (uint8_t)why; /* the tries were used up in line */
    }
    rl_lock_release_all(lock, event, out);
    rl_fence_begin(&lock->fence, 0);
    out->acquired = why;
    rl_lock_move(lock, RL_IDLE);
}

bool rl_lock_too_late(const struct rl_lock *lock) {
    assert(lock->state == RL_GRANTED);
    return lock->now_ns + lock->acquire.min_validity_ms * RL_NS_PER_MS >= lock->valid_until_ns;
}

static void lock_granted(struct rl_lock *lock, const struct rl_event *event,
                         struct rl_actions *out) {
    const uint64_t max_hold_ns = lock->acquire.max_hold_ms * RL_NS_PER_MS;
    const uint64_t set_ns = lock->set_ns, until_ns = rl_lock_attempt_ends_ns(lock);
    rl_lock_move(lock, RL_GRANTED);
    lock->acquire.attempt = RL_RESULT_OK;
    lock->hold_until_ns = max_hold_ns == 0 ? RL_NEVER : set_ns + max_hold_ns;
    rl_lock_set_validity(lock, until_ns);
    if (rl_lock_too_late(lock)) {
        rl_lock_attempt_failed(lock, event, out, RL_RESULT_EXPIRED);
    } else {
        out->tell = true;
    }
}

/* The nodes returned different fences: raises the counters of nodes that are up and have the
 * token. */
static void lock_begin_fencing(struct rl_lock *lock, const struct rl_event *event,
                               struct rl_actions *out) {
    if (event->now_ns >= rl_lock_attempt_ends_ns(lock)) {
        rl_lock_attempt_failed(lock, event, out, RL_RESULT_EXPIRED);
        return;
    }
    if (event->now_ns >= lock->give_up_ns) { /* it was won except for its fence */
        rl_lock_end_acquire(lock, event, out, RL_RESULT_DEADLINE);
        return;
    }
    RL_MARK(FENCE_RAISED);
    rl_fence_settle(&lock->fence);
    rl_lock_move(lock, RL_FENCING);
    rl_lock_begin_round(lock, event, out, RL_ROUND_FENCE, event->up);
    if (lock->round.decision != RL_OPEN) { /* too few nodes are left */
        rl_lock_attempt_decided(lock, event, out);
        out->send = 0;
    }
}

void rl_lock_attempt_decided(struct rl_lock *lock, const struct rl_event *event,
                             struct rl_actions *out) {
    assert(lock->round.decision != RL_OPEN);
    assert(lock_is(lock, IN(RL_TRYING) | IN(RL_FENCING)));
    bool fences = lock->acquire.fences && !lock->adopts;
    if (lock->round.decision == RL_WON && lock->round.kind == RL_ROUND_ACQUIRE && fences &&
        !rl_fence_is_placed(&lock->fence, &lock->round.electorate)) {
        lock_begin_fencing(lock, event, out);
    } else if (lock->round.decision == RL_WON) {
        if (fences) {
            rl_fence_settle(&lock->fence);
        }
        lock_granted(lock, event, out);
    } else if (lock->adopts && rl_round_refused_for_good(&lock->round)) {
        rl_lock_attempt_failed(lock, event, out, RL_RESULT_LOST);
    } else if (lock->adopts || rl_round_without_quorum(&lock->round)) {
        rl_lock_attempt_failed(lock, event, out, RL_RESULT_NO_QUORUM);
    } else if (lock->round.kind == RL_ROUND_FENCE) {
        rl_lock_attempt_failed(lock, event, out, RL_RESULT_EXPIRED); /* the keys are gone */
    } else {
        rl_lock_attempt_failed(lock, event, out, RL_RESULT_HELD);
    }
}

/* -- Waiting in line, and preparing an attempt -- */

/* The driver has a token at once, later, or not at all: the lock asks again after the node
 * timeout. */
void rl_lock_ready(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    assert(lock->may_hold == 0);
    if (lock->state != RL_READY) {
        rl_lock_move(lock, RL_READY);
    }
    lock->retry_ns = event->now_ns + lock->rules->node_timeout_ns;
    out->generate_token = true;
}

void rl_lock_wait(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    assert(lock->state == RL_WAITING);
    lock->retry_ns = RL_NEVER;
    if (lock->was_refused && lock->acquire.tries == 1) { /* the last try must ask the nodes */
        rl_lock_ready(lock, event, out);
        return;
    }
    if (lock->acquire.tries != RL_NO_LIMIT) {
        lock->acquire.tries--;
        lock->retry_ns = event->now_ns + rl_retry_delay_ns(lock->acquire.delay_ms,
                                                           lock->acquire.jitter_ms, event->random);
    }
    if (lock->acquire.tries == 0) {
        rl_lock_end_acquire(lock, event, out, RL_RESULT_HELD);
    }
}

void rl_lock_on_acquire(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out) {
    const struct rl_acquire *acquire = &event->u.acquire;
    assert(lock_is(lock, IN(RL_IDLE) | IN(RL_LOST)));
    assert(acquire->tries >= 1);
    assert(acquire->attempt == RL_RESULT_NONE);
    assert(rl_validity_ns(lock->rules, acquire->ttl_ms) > 0);
    lock->acquire = *acquire;
    lock->give_up_ns = acquire->wait_ms == RL_NO_LIMIT
                           ? RL_NEVER
                           : event->now_ns + acquire->wait_ms * RL_NS_PER_MS;
    rl_fence_begin(&lock->fence, 0);
    if (acquire->waits) {
        rl_lock_move(lock, RL_WAITING);
        rl_lock_wait(lock, event, out);
    } else {
        rl_lock_ready(lock, event, out);
    }
}

/* The driver has what it waited for. */
void rl_lock_on_ready(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    assert(lock->state == RL_READY);
    rl_lock_ready(lock, event, out);
}

/* The try is refused before any vote was requested. */
void rl_lock_on_none(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    assert(lock->state == RL_READY);
    assert(lock->place == 0); /* a turn always has something to request */
    if (lock->acquire.tries != RL_NO_LIMIT) {
        lock->acquire.tries--;
    }
    lock_again(lock, event, out, RL_RESULT_HELD, event->lines);
}

/* Neither waiting nor retrying would help. */
void rl_lock_on_permits(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out) {
    assert(lock_is(lock, IN(RL_WAITING) | IN(RL_READY) | IN(RL_TRYING) | IN(RL_BACKOFF)));
    assert(!lock->adopts);
    rl_lock_end_acquire(lock, event, out, RL_RESULT_PERMITS);
}

void rl_lock_on_turn(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    assert(lock->state == RL_WAITING);
    assert(lock->acquire.tries >= 1);
    if (event->u.pause) {
        lock_again(lock, event, out, RL_RESULT_HELD, false);
    } else {
        lock->place = event->place;
        rl_lock_ready(lock, event, out);
    }
}

/* Several clients may be notified of the same release: the random spread keeps them from splitting
 * the votes. */
void rl_lock_on_notice(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    (void)out;
    uint64_t retry_ns = event->now_ns + event->random % NOTICE_SPREAD_NS;
    if (lock->state == RL_BACKOFF && retry_ns < lock->retry_ns) {
        lock->retry_ns = retry_ns;
    }
}

/* A single attempt, by extensions instead of SETs. A node that is down may have the key as well. */
void rl_lock_on_adopt(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    assert(lock_is(lock, IN(RL_IDLE) | IN(RL_LOST)));
    lock->acquire = event->u.adopt.acquire;
    lock->acquire.tries = 0;
    lock->give_up_ns = RL_NEVER;
    lock->ttl_ms = lock->life_ms = lock->acquire.ttl_ms;
    lock->set_ns = event->now_ns;
    lock->is_leased = lock->is_given = false;
    memcpy(lock->token, event->u.adopt.token, RL_TOKEN_LEN);
    rl_fence_begin(&lock->fence, 0);
    lock->adopts = true;
    rl_lock_move(lock, RL_READY);
    rl_lock_move(lock, RL_TRYING);
    rl_lock_begin_round(lock, event, out, RL_ROUND_EXTEND, event->up);
    lock->may_hold = rl_electors(&lock->rules->electorate);
    if (lock->round.decision != RL_OPEN) { /* too few nodes are up */
        rl_lock_attempt_decided(lock, event, out);
    }
}

/* -- An attempt -- */

void rl_lock_on_attempt(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out) {
    assert(lock->state == RL_READY);
    assert(lock->may_hold == 0);
    memcpy(lock->token, event->u.token, RL_TOKEN_LEN);
    lock->place = lock->place != 0 ? lock->place : event->place;
    lock->ttl_ms = lock->life_ms = lock->acquire.ttl_ms;
    lock->is_leased = event->lease_ms != 0;
    if (event->lease_ms > lock->life_ms) {
        lock->life_ms = event->lease_ms;
    } else if (lock->is_leased) {
        lock->ttl_ms = event->lease_ms;
    }
    lock->set_ns = event->since_ns != 0 ? event->since_ns : event->now_ns;
    assert(lock->set_ns <= event->now_ns);
    uint64_t floor = event->floor > 0 ? event->floor : 1; /* the wall clock may be wrong */
    rl_fence_begin(&lock->fence, lock->acquire.fences ? floor : 0);
    if (lock->acquire.tries != RL_NO_LIMIT) {
        lock->acquire.tries--;
    }
    rl_lock_move(lock, RL_TRYING);
    const bool has_keys = lock->place != 0; /* home or the previous holder has written them */
    lock->is_given = has_keys;
    lock->may_hold = has_keys ? event->up : 0;
    if (event->now_ns >= rl_lock_attempt_ends_ns(lock)) { /* the process was stopped meanwhile */
        rl_lock_attempt_failed(lock, event, out, RL_RESULT_EXPIRED);
        out->release = has_keys ? out->release : 0;
        return;
    }
    rl_lock_begin_round(lock, event, out, RL_ROUND_ACQUIRE, event->voters);
    if (lock->round.decision == RL_OPEN) {
        lock->may_hold |= event->voters;
        if (lock->is_leased) { /* the votes are on their way */
            out->send = lock->asked = 0;
            rl_round_await(&lock->round, event->awaited);
            const uint64_t some_ns = lock->rules->node_timeout_ns / 4;
            lock->collect_ns =
                event->now_ns + (some_ns < PASS_PATIENCE_NS ? some_ns : PASS_PATIENCE_NS);
        }
        return;
    }
    out->send = 0; /* too few nodes can vote: send no SETs that would have to be undone */
    rl_lock_attempt_decided(lock, event, out);
    out->release = has_keys ? out->release : 0;
    rl_round_expire(&lock->round, lock->rules->not_asked_reason, event->now_ns);
}

void rl_lock_ask(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    const struct rl_ballot_in *in = &event->u.vote;
    const uint32_t pending = rl_round_pending(&lock->round) & event->voters;
    if (lock->state == RL_TRYING && lock->is_leased && in->round == lock->round.id) {
        out->send = pending & ~lock->asked & UINT32_C(1) << in->node;
        lock->asked |= out->send;
    }
}

void rl_lock_collect(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    const uint64_t ends_ns = rl_lock_attempt_ends_ns(lock);
    assert(lock->state == RL_TRYING && lock->round.decision == RL_OPEN);
    lock->collect_ns = RL_NEVER;
    rl_round_await(&lock->round, 0);
    if (lock->round.decision != RL_OPEN) {
        rl_lock_attempt_decided(lock, event, out);
        return;
    }
    if (event->now_ns >= ends_ns) { /* they can no longer win */
        rl_round_expire(&lock->round, lock->rules->timeout_reason, event->now_ns);
        rl_lock_attempt_decided(lock, event, out);
        return;
    }
    out->send = rl_round_pending(&lock->round) & event->voters & ~lock->asked;
    lock->asked |= out->send;
    lock->round_until_ns = event->now_ns + lock->rules->node_timeout_ns;
    lock->round_until_ns = lock->round_until_ns < ends_ns ? lock->round_until_ns : ends_ns;
}

void rl_lock_on_tell(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    if (lock->state == RL_GRANTED) { /* else lock_expire() has ended it: TELL came too late */
        rl_lock_move(lock, RL_HELD);
        lock->alive_ns = event->now_ns;
        lock->is_silent = false;
        rl_lock_set_validity(lock, lock->valid_until_ns);
        rl_lock_plan_renewal(lock, event, false);
        out->acquired = RL_RESULT_OK;
    }
}
