/* The way to a lock: waiting in line, attempts, pauses between them, the grant. The argument why it
 * is safe is in lock.h, that of the fence in fence.h.
 *
 * Happy path: on_acquire, on_attempt, votes, rl_lock_attempt_decided(), perhaps a second round for
 * the fence, on_tell.
 *
 * Failure modes: an attempt that cannot win, comes too late or is cancelled is released, and tried
 * again after a pause, or given up. After an attempt that met another's key the next ones ask one
 * node alone (first.h) and the others only when that one has granted. Not for ever: a node that
 * refuses alone, because of a key that somebody left there, must not keep a majority from granting.
 *
 * Can asking one node first make two holders? It is one round with one token, in which the other
 * nodes are asked later. Validity runs from the first sending, so no key of the round was set
 * before that. And a node that lost its vote in between (guard.h) is not asked any more.
 */
#include <assert.h>
#include <string.h>

#include "core/first.h"
#include "core/lock_parts.h"
#include "core/retry.h"
#include "mark.h"

#define NOTICE_SPREAD_NS (3 * RL_NS_PER_MS)
#define ALONE_MAX 3 /* attempts in a row that ask one node first */

/* -- The end of an attempt -- */

uint64_t rl_lock_attempt_ends_ns(const struct rl_lock *lock) {
    return lock->set_ns + rl_validity_ns(lock->rules, lock->ttl_ms);
}

void rl_lock_attempt_failed(struct rl_lock *lock, const struct rl_event *event,
                            struct rl_actions *out, enum rl_result why) {
    lock->acquire.attempt = (uint8_t)why;
    rl_lock_release_all(lock, event, out);
    rl_fence_begin(&lock->fence, 0);
    uint64_t retry_ns = event->now_ns + rl_retry_delay_ns(lock->acquire.delay_ms,
                                                          lock->acquire.jitter_ms, event->random);
    if (lock->acquire.tries == 0) {
        out->acquired = why;
        rl_lock_move(lock, RL_IDLE);
    } else if (retry_ns >= lock->give_up_ns) {
        out->acquired = RL_RESULT_DEADLINE;
        rl_lock_move(lock, RL_IDLE);
    } else {
        lock->retry_ns = retry_ns;
        rl_lock_move(lock, RL_BACKOFF);
    }
}

/* What an attempt would have come to if it were over: votes that are not there have failed. */
static enum rl_result lock_cut_short(const struct rl_lock *lock) {
    const struct rl_round *round = &lock->round;
    if ((uint32_t)round->granted + round->refused < rl_quorum(round->n)) {
        return RL_RESULT_NO_QUORUM;
    }
    return round->kind == RL_ROUND_FENCE ? RL_RESULT_EXPIRED : RL_RESULT_HELD;
}

/* An acquire whose only attempt the deadline has cut short is told of that one; in any other case
 * the last attempt that ended says more. One that has asked nobody, in line, has had none: the
 * driver knows what held it up. */
void rl_lock_end_acquire(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                         enum rl_result why) {
    bool is_open = lock_is(lock, IN(RL_TRYING) | IN(RL_FENCING));
    if (why == RL_RESULT_DEADLINE && lock->acquire.attempt == RL_RESULT_NONE && is_open) {
        lock->acquire.attempt = (uint8_t)lock_cut_short(lock);
    } else if (why == RL_RESULT_HELD) {
        lock->acquire.attempt = (uint8_t)why; /* the tries were over in line */
    }
    rl_lock_release_all(lock, event, out);
    rl_fence_begin(&lock->fence, 0);
    out->acquired = why;
    rl_lock_move(lock, RL_IDLE);
}

bool rl_lock_too_late(const struct rl_lock *lock) {
    return lock->now_ns + lock->acquire.min_validity_ms * RL_NS_PER_MS >= lock->valid_until_ns;
}

static void lock_granted(struct rl_lock *lock, const struct rl_event *event,
                         struct rl_actions *out) {
    const uint64_t max_hold_ns = lock->acquire.max_hold_ms * RL_NS_PER_MS;
    rl_lock_move(lock, RL_GRANTED);
    lock->acquire.attempt = RL_RESULT_OK;
    lock->hold_until_ns = max_hold_ns == 0 ? RL_NEVER : lock->set_ns + max_hold_ns;
    rl_lock_set_validity(lock, rl_lock_attempt_ends_ns(lock));
    if (rl_lock_too_late(lock)) {
        rl_lock_attempt_failed(lock, event, out, RL_RESULT_EXPIRED);
    } else {
        out->tell = true;
    }
}

/* The nodes do not agree on the fence: those that are up are raised to it where they have the
 * token. */
static void lock_begin_fencing(struct rl_lock *lock, const struct rl_event *event,
                               struct rl_actions *out) {
    if (event->now_ns >= rl_lock_attempt_ends_ns(lock)) {
        rl_lock_attempt_failed(lock, event, out, RL_RESULT_EXPIRED);
        return;
    }
    RL_MARK(FENCE_RAISED);
    rl_fence_settle(&lock->fence);
    rl_lock_move(lock, RL_FENCING);
    rl_lock_begin_round(lock, event, out, RL_ROUND_FENCE, event->up);
    if (lock->round.decision != RL_OPEN) { /* too few nodes are left */
        rl_lock_after_votes(lock, event, out);
        out->send = 0;
    }
}

void rl_lock_attempt_decided(struct rl_lock *lock, const struct rl_event *event,
                             struct rl_actions *out) {
    bool fences = lock->acquire.fences && !lock->adopts;
    if (lock->round.decision == RL_WON && lock->round.kind == RL_ROUND_ACQUIRE && fences &&
        !rl_fence_is_placed(&lock->fence, lock->rules->n)) {
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

/* -- In line, and on the way to an attempt -- */

void rl_lock_wait(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    assert(lock->state == RL_WAITING);
    lock->retry_ns = RL_NEVER;
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
    lock->acquire = *acquire;
    lock->met_another = false;
    lock->give_up_ns = acquire->wait_ms == RL_NO_LIMIT
                           ? RL_NEVER
                           : event->now_ns + acquire->wait_ms * RL_NS_PER_MS;
    rl_fence_begin(&lock->fence, 0);
    if (acquire->waits) {
        rl_lock_move(lock, RL_WAITING);
        rl_lock_wait(lock, event, out);
    } else {
        rl_lock_move(lock, RL_READY);
        out->draw = true;
    }
}

void rl_lock_on_turn(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    assert(lock->state == RL_WAITING);
    assert(lock->acquire.tries >= 1);
    if (event->u.pause) {
        rl_lock_attempt_failed(lock, event, out, RL_RESULT_HELD);
    } else {
        rl_lock_move(lock, RL_READY);
        out->draw = true;
    }
}

/* Several clients may hear of one release: the spread keeps them from splitting the votes. */
void rl_lock_on_notice(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    (void)out;
    uint64_t retry_ns = event->now_ns + event->random % NOTICE_SPREAD_NS;
    if (lock->state == RL_BACKOFF && retry_ns < lock->retry_ns) {
        lock->retry_ns = retry_ns;
    }
}

/* One attempt, with extensions in place of SETs. A node that is down may have the key as well. */
void rl_lock_on_adopt(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    assert(lock_is(lock, IN(RL_IDLE) | IN(RL_LOST)));
    lock->acquire = event->u.adopt.acquire;
    lock->acquire.tries = 0;
    lock->give_up_ns = RL_NEVER;
    lock->ttl_ms = lock->life_ms = lock->acquire.ttl_ms;
    lock->set_ns = event->now_ns;
    memcpy(lock->token, event->u.adopt.token, RL_TOKEN_LEN);
    rl_fence_begin(&lock->fence, 0);
    lock->adopts = true;
    rl_lock_move(lock, RL_READY);
    rl_lock_move(lock, RL_TRYING);
    rl_lock_begin_round(lock, event, out, RL_ROUND_EXTEND, event->up);
    lock->may_hold = rl_all_nodes(lock->rules->n);
    rl_lock_after_votes(lock, event, out);
}

/* -- An attempt -- */

/* Whether this attempt asks one node first. The first one that asks never does: it has met nobody.
 */
static bool lock_goes_alone(struct rl_lock *lock) {
    bool alone = lock->acquire.breaks_ties && lock->met_another && lock->alone < ALONE_MAX;
    lock->alone = alone ? (uint8_t)(lock->alone + 1) : 0;
    return alone;
}

/* Sends SETs to some of the nodes that have not been asked yet. Their votes are waited for from now
 * on, whatever time the nodes before them took. */
static void lock_ask(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                     uint32_t nodes) {
    assert(nodes != 0 && (nodes & ~(lock->unasked & event->voters)) == 0);
    out->send |= nodes;
    lock->unasked &= ~nodes;
    lock->may_hold |= nodes;
    lock->round_until_ns = event->now_ns + lock->rules->node_timeout_ns;
    if (lock->round_until_ns > rl_lock_attempt_ends_ns(lock)) {
        lock->round_until_ns = rl_lock_attempt_ends_ns(lock);
    }
}

/* Nodes that may not be asked any more have failed: since the attempt began they were lost, or came
 * back as somebody who may have forgotten. Returns whether the round is still open. */
static bool lock_pass_over(struct rl_lock *lock, const struct rl_event *event) {
    const uint32_t nodes = lock->unasked & ~event->voters;
    for (uint32_t i = 0; nodes >> i != 0; i++) {
        if (nodes >> i & 1) {
            RL_MARK(PASSED_OVER);
            rl_round_vote(&lock->round, lock->round.id, i, RL_VOTE_FAILED, event->reasons[i],
                          event->now_ns);
        }
    }
    lock->unasked &= event->voters;
    return lock->round.decision == RL_OPEN;
}

/* Asks the first of the nodes that are left. */
static void lock_ask_one(struct rl_lock *lock, const struct rl_event *event,
                         struct rl_actions *out) {
    uint32_t first = rl_first_node(lock->resource, lock->rules->node_hashes, lock->unasked);
    lock_ask(lock, event, out, UINT32_C(1) << first);
}

/* The attempt goes on to the next node, or to all that are left, if there is a point in it. */
static void lock_ask_on(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                        bool one) {
    if (event->now_ns >= rl_lock_attempt_ends_ns(lock)) {
        rl_lock_attempt_failed(lock, event, out, RL_RESULT_EXPIRED);
    } else if (!lock_pass_over(lock, event)) {
        rl_lock_after_votes(lock, event, out);
    } else if (one) {
        lock_ask_one(lock, event, out);
    } else {
        lock_ask(lock, event, out, lock->unasked);
    }
}

void rl_lock_on_attempt(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out) {
    assert(lock->state == RL_READY);
    assert(lock->may_hold == 0);
    memcpy(lock->token, event->u.token, RL_TOKEN_LEN);
    lock->ttl_ms = lock->life_ms = lock->acquire.ttl_ms;
    lock->set_ns = event->now_ns;
    uint64_t floor = event->floor > 0 ? event->floor : 1; /* a wall clock may show anything */
    rl_fence_begin(&lock->fence, lock->acquire.fences ? floor : 0);
    if (lock->acquire.tries != RL_NO_LIMIT) {
        lock->acquire.tries--;
    }
    rl_lock_move(lock, RL_TRYING);
    rl_lock_begin_round(lock, event, out, RL_ROUND_ACQUIRE, event->voters);
    out->send = 0;
    if (lock->round.decision != RL_OPEN) { /* too few nodes: do not set what has to be deleted */
        rl_lock_after_votes(lock, event, out);
        out->release = 0;
        rl_round_expire(&lock->round, lock->rules->not_asked_reason, event->now_ns);
        return;
    }
    lock->unasked = event->voters;
    if (lock_goes_alone(lock)) {
        lock_ask_one(lock, event, out);
    } else {
        lock_ask(lock, event, out, lock->unasked);
    }
}

void rl_lock_alone_voted(struct rl_lock *lock, const struct rl_event *event,
                         struct rl_actions *out) {
    assert(lock->state == RL_TRYING);
    assert(lock->round.decision == RL_OPEN);
    if (lock->unasked == 0) {
        return;
    }
    if (event->u.vote.vote == RL_VOTE_REFUSED) {
        RL_MARK(REFUSED_ALONE);
        lock->unasked |= rl_all_nodes(lock->rules->n) & ~lock->may_hold; /* nothing to delete */
        rl_lock_attempt_failed(lock, event, out, RL_RESULT_HELD);
    } else {
        lock_ask_on(lock, event, out, event->u.vote.vote == RL_VOTE_FAILED);
    }
}

void rl_lock_ask_others(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out) {
    assert(lock->state == RL_TRYING && lock->unasked != 0);
    RL_MARK(SILENT_ALONE);
    lock_ask_on(lock, event, out, false);
}

void rl_lock_on_tell(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    if (lock->state == RL_GRANTED) { /* or lock_expire() has ended it: it came too late */
        rl_lock_move(lock, RL_HELD);
        rl_lock_set_validity(lock, lock->valid_until_ns);
        rl_lock_plan_renewal(lock, event, false);
        out->acquired = RL_RESULT_OK;
    }
}
