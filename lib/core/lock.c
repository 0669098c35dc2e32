/* The step function of a lock. The argument why it is safe is in lock.h.
 *
 * Order within a step: the clock first (a lock whose validity is over ends before anything else can
 * happen to it), then the event by its handler, then the invariant.
 */
#include "core/lock.h"

#include <assert.h>
#include <string.h>

#include "core/lock_state.h"
#include "core/retry.h"
#include "core/watch.h"
#include "mark.h"

#define NOTICE_SPREAD_NS (3 * RL_NS_PER_MS)
#define LIFE_MS_MAX 86400000u

/* -- Leaving: everything that ends an attempt or a hold comes through here -- */

static void lock_release_all(struct rl_lock *lock, const struct rl_event *event,
                             struct rl_actions *out) {
    if (lock_is(lock, IN(RL_BACKOFF) | IN(RL_WAITING))) {
        return; /* the last attempt has been released, there is no other yet */
    }
    if (!lock->adopts) {
        out->release |= event->up;
        out->owe |= lock->may_hold & ~event->up;
        out->may_have |= lock->may_hold;
    }
    lock->may_hold = 0;
    rl_round_abandon(&lock->round);
}

/* An attempt did not make it: again after a pause, or the end. */
static void lock_attempt_failed(struct rl_lock *lock, const struct rl_event *event,
                                struct rl_actions *out, enum rl_result why) {
    lock_release_all(lock, event, out);
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

static void lock_end_acquire(struct rl_lock *lock, const struct rl_event *event,
                             struct rl_actions *out, enum rl_result why) {
    lock_release_all(lock, event, out);
    out->acquired = why;
    rl_lock_move(lock, RL_IDLE);
}

/* The extension under way is over. Of the watchdog's, nobody but on_renew waits for the outcome. */
static void lock_end_extend(struct rl_lock *lock, struct rl_actions *out, enum rl_result result) {
    assert(lock->state == RL_EXTENDING);
    if (!lock->renews) {
        out->extended = result;
    } else if (result == RL_RESULT_OK || result == RL_RESULT_UNKNOWN) {
        out->renewed = result;
    }
    lock->renews = false;
}

static void lock_lose(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                      enum rl_result why) {
    assert(lock_is(lock, IS_HOLDING));
    if (lock->state == RL_EXTENDING) {
        lock_end_extend(lock, out, why);
    }
    lock_release_all(lock, event, out);
    out->lost = why;
    rl_lock_move(lock, RL_LOST);
}

/* -- The clock -- */

/* Sets the end of validity, and the moment before it at which a holder is told. */
static void lock_set_validity(struct rl_lock *lock, uint64_t until_ns) {
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

/* At the limit of holding an extension prolongs nothing, and must not put off when it is told. */
static void lock_prolong(struct rl_lock *lock, uint64_t until_ns) {
    if (until_ns < lock->hold_until_ns || lock->valid_until_ns < lock->hold_until_ns) {
        lock_set_validity(lock, until_ns);
    }
}

/* Why validity ends at valid_until_ns. */
static enum rl_result lock_end_of_validity(const struct rl_lock *lock) {
    return lock->valid_until_ns == lock->hold_until_ns ? RL_RESULT_MAX_HOLD : RL_RESULT_EXPIRED;
}

/* When the watchdog is to extend next. */
static void lock_plan_renewal(struct rl_lock *lock, const struct rl_event *event, bool unknown) {
    const uint64_t until_ns = lock->valid_until_ns,
                   renew_ns = lock->acquire.renew_ms * RL_NS_PER_MS;
    const uint64_t validity_ns = rl_validity_ns(lock->rules, lock->acquire.ttl_ms);
    uint64_t soon_ns = event->now_ns + rl_watch_retry_ns(until_ns - event->now_ns, event->random);
    lock->renew_ns = RL_NEVER;
    if (renew_ns != 0 && until_ns != lock->hold_until_ns) {
        lock->renew_ns = rl_watch_next_ns(until_ns, validity_ns, renew_ns, event->random);
        lock->renew_ns = unknown && lock->renew_ns < soon_ns ? soon_ns : lock->renew_ns;
    }
}

static bool lock_too_late(const struct rl_lock *lock) {
    return lock->now_ns + lock->acquire.min_validity_ms * RL_NS_PER_MS >= lock->valid_until_ns;
}

/* Ends what the clock has ended. Runs at the start of every step. */
static void lock_expire(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out) {
    if (lock_is(lock, IS_HOLDING) && event->now_ns >= lock->valid_until_ns) {
        lock_lose(lock, event, out, lock_end_of_validity(lock));
    } else if (lock->state == RL_GRANTED && lock_too_late(lock)) {
        RL_MARK(GRANT_TOO_LATE);
        lock_attempt_failed(lock, event, out, RL_RESULT_EXPIRED);
    }
}

/* -- Rounds -- */

static void lock_begin_round(struct rl_lock *lock, const struct rl_event *event,
                             struct rl_actions *out, enum rl_round_kind kind) {
    rl_round_begin(&lock->round, kind, event->now_ns, event->up, event->reasons);
    out->send = event->up;
    uint64_t wait_ns = lock->rules->node_timeout_ns;
    uint64_t validity_ns = rl_validity_ns(lock->rules, lock->ttl_ms);
    if (kind == RL_ROUND_ACQUIRE && validity_ns < wait_ns) {
        wait_ns = validity_ns; /* votes that come later could not win any more */
    }
    if (lock->renews) {
        wait_ns = rl_watch_wait_ns(wait_ns, lock->valid_until_ns - event->now_ns);
    }
    lock->round_until_ns = event->now_ns + wait_ns;
}

static void lock_attempt_decided(struct rl_lock *lock, const struct rl_event *event,
                                 struct rl_actions *out) {
    if (lock->round.decision == RL_WON) {
        rl_lock_move(lock, RL_GRANTED);
        lock->hold_until_ns = lock->acquire.max_hold_ms == 0
                                  ? RL_NEVER
                                  : lock->round.sent_ns + lock->acquire.max_hold_ms * RL_NS_PER_MS;
        lock_set_validity(lock, lock->round.sent_ns + rl_validity_ns(lock->rules, lock->ttl_ms));
        if (lock_too_late(lock)) {
            lock_attempt_failed(lock, event, out, RL_RESULT_EXPIRED);
        } else {
            out->tell = true;
        }
    } else if (lock->adopts && rl_round_refused_for_good(&lock->round)) {
        lock_attempt_failed(lock, event, out, RL_RESULT_LOST);
    } else if (lock->adopts || rl_round_without_quorum(&lock->round)) {
        lock_attempt_failed(lock, event, out, RL_RESULT_NO_QUORUM);
    } else {
        lock_attempt_failed(lock, event, out, RL_RESULT_HELD);
    }
}

/* Gives the key back to nodes that answered that they do not have it. */
static void lock_repair(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                        uint32_t gone) {
    assert(lock_is(lock, IS_HOLDING));
    assert(event->now_ns < lock->valid_until_ns);
    out->repair |= gone & event->up;
    lock->may_hold |= out->repair;
}

static void lock_extend_decided(struct rl_lock *lock, const struct rl_event *event,
                                struct rl_actions *out) {
    if (lock->round.decision == RL_WON) {
        lock_prolong(lock, lock->round.sent_ns + rl_validity_ns(lock->rules, lock->ttl_ms));
        lock_end_extend(lock, out, RL_RESULT_OK);
        rl_lock_move(lock, RL_HELD);
        lock_plan_renewal(lock, event, false);
        lock_repair(lock, event, out, rl_round_mask(&lock->round, RL_VOTE_REFUSED));
    } else if (rl_round_refused_for_good(&lock->round)) {
        lock_lose(lock, event, out, RL_RESULT_LOST);
    } else {
        lock_end_extend(lock, out, RL_RESULT_UNKNOWN);
        rl_lock_move(lock, RL_HELD);
        lock_plan_renewal(lock, event, true);
    }
}

static void lock_release_decided(struct rl_lock *lock, struct rl_actions *out) {
    out->released = lock->round.decision == RL_WON ? RL_RESULT_OK : RL_RESULT_NO_QUORUM;
    lock->may_hold = 0; /* the requests themselves become owed if they are not answered */
    rl_lock_move(lock, RL_IDLE);
}

/* Moves on if the round under way is decided. */
static void lock_after_votes(struct rl_lock *lock, const struct rl_event *event,
                             struct rl_actions *out) {
    if (lock->round.decision == RL_OPEN) {
        return;
    }
    if (lock->state == RL_TRYING) {
        lock_attempt_decided(lock, event, out);
    } else if (lock->state == RL_EXTENDING) {
        lock_extend_decided(lock, event, out);
    } else if (lock->state == RL_RELEASING) {
        lock_release_decided(lock, out);
    }
}

static void lock_begin_extend(struct rl_lock *lock, const struct rl_event *event,
                              struct rl_actions *out, uint32_t ttl_ms) {
    assert(lock->state == RL_HELD);
    lock->ttl_ms = ttl_ms;
    uint64_t until_ns = event->now_ns + rl_validity_ns(lock->rules, lock->ttl_ms);
    assert(until_ns > event->now_ns);
    if (until_ns < lock->valid_until_ns) {
        lock_set_validity(lock, until_ns);
    }
    if (lock->ttl_ms > lock->life_ms) {
        lock->life_ms = lock->ttl_ms;
    }
    rl_lock_move(lock, RL_EXTENDING);
    lock_begin_round(lock, event, out, RL_ROUND_EXTEND);
    lock_after_votes(lock, event, out);
}

/* -- The handlers of the events -- */

/* In line: each pause costs a try, as if the nodes had been asked and had refused. */
static void lock_wait(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    assert(lock->state == RL_WAITING);
    lock->retry_ns = RL_NEVER;
    if (lock->acquire.tries != RL_NO_LIMIT) {
        lock->acquire.tries--;
        lock->retry_ns = event->now_ns + rl_retry_delay_ns(lock->acquire.delay_ms,
                                                           lock->acquire.jitter_ms, event->random);
    }
    if (lock->acquire.tries == 0) {
        lock_end_acquire(lock, event, out, RL_RESULT_HELD);
    }
}

static void on_acquire(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    const struct rl_acquire *acquire = &event->u.acquire;
    assert(lock_is(lock, IN(RL_IDLE) | IN(RL_LOST)));
    assert(acquire->tries >= 1);
    lock->acquire = *acquire;
    lock->give_up_ns = acquire->wait_ms == RL_NO_LIMIT
                           ? RL_NEVER
                           : event->now_ns + acquire->wait_ms * RL_NS_PER_MS;
    if (acquire->waits) {
        rl_lock_move(lock, RL_WAITING);
        lock_wait(lock, event, out);
    } else {
        rl_lock_move(lock, RL_READY);
        out->draw = true;
    }
}

static void on_turn(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    assert(lock->state == RL_WAITING);
    assert(lock->acquire.tries >= 1);
    if (event->u.pause) {
        lock_attempt_failed(lock, event, out, RL_RESULT_HELD);
    } else {
        rl_lock_move(lock, RL_READY);
        out->draw = true;
    }
}

/* Several clients may hear of one release: the spread keeps them from splitting the votes. */
static void on_notice(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    (void)out;
    uint64_t retry_ns = event->now_ns + event->random % NOTICE_SPREAD_NS;
    if (lock->state == RL_BACKOFF && retry_ns < lock->retry_ns) {
        lock->retry_ns = retry_ns;
    }
}

/* One attempt, with extensions in place of SETs. A node that is down may have the key as well. */
static void on_adopt(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    assert(lock_is(lock, IN(RL_IDLE) | IN(RL_LOST)));
    lock->acquire = event->u.adopt.acquire;
    lock->acquire.tries = 0;
    lock->give_up_ns = RL_NEVER;
    lock->ttl_ms = lock->life_ms = lock->acquire.ttl_ms;
    memcpy(lock->token, event->u.adopt.token, RL_TOKEN_LEN);
    lock->adopts = true;
    rl_lock_move(lock, RL_READY);
    rl_lock_move(lock, RL_TRYING);
    lock_begin_round(lock, event, out, RL_ROUND_EXTEND);
    lock->may_hold = rl_all_nodes(lock->rules->n);
    lock_after_votes(lock, event, out);
}

static void on_attempt(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    assert(lock->state == RL_READY);
    assert(lock->may_hold == 0);
    memcpy(lock->token, event->u.token, RL_TOKEN_LEN);
    lock->ttl_ms = lock->life_ms = lock->acquire.ttl_ms;
    if (lock->acquire.tries != RL_NO_LIMIT) {
        lock->acquire.tries--;
    }
    rl_lock_move(lock, RL_TRYING);
    lock_begin_round(lock, event, out, RL_ROUND_ACQUIRE);
    lock->may_hold = event->up;
    lock_after_votes(lock, event, out);
    if (lock->round.decision != RL_OPEN) {
        out->send = 0; /* too few nodes are up: do not set what would have to be deleted */
        out->release = 0;
        rl_round_expire(&lock->round, lock->rules->not_asked_reason, event->now_ns);
    }
}

static void on_vote(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    const struct rl_ballot_in *in = &event->u.vote;
    bool open = lock->round.decision == RL_OPEN;
    if (!rl_round_vote(&lock->round, in->round, in->node, in->vote, in->reason, event->now_ns)) {
        out->late = true;
        return;
    }
    uint32_t bit = UINT32_C(1) << in->node;
    bool did_not_run =
        in->vote == RL_VOTE_REFUSED || (in->vote == RL_VOTE_FAILED && !in->may_have_run);
    if (lock->round.kind == RL_ROUND_ACQUIRE && did_not_run) {
        lock->may_hold &= ~bit;
    }
    if (open) {
        lock_after_votes(lock, event, out);
    } else {
        out->late = true;
        if (lock->state == RL_HELD && lock->round.kind == RL_ROUND_EXTEND &&
            lock->round.decision == RL_WON && in->vote == RL_VOTE_REFUSED) {
            RL_MARK(LATE_REPAIR);
            lock_repair(lock, event, out, bit);
        }
    }
}

static void on_tick(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    bool acquiring = lock_is(lock, IN(RL_WAITING) | IN(RL_TRYING) | IN(RL_BACKOFF));
    if (lock_is(lock, IS_HOLDING) && event->now_ns >= lock->lost_at_ns) {
        lock_lose(lock, event, out, lock_end_of_validity(lock));
    } else if (lock->state == RL_HELD && event->now_ns >= lock->renew_ns) {
        lock->renews = true;
        lock_begin_extend(lock, event, out, lock->acquire.ttl_ms);
    } else if (lock->state == RL_WAITING && event->now_ns >= lock->retry_ns &&
               event->now_ns < lock->give_up_ns) {
        lock_wait(lock, event, out);
    } else if (acquiring && event->now_ns >= lock->give_up_ns) {
        lock_end_acquire(lock, event, out, RL_RESULT_DEADLINE);
    } else if (lock->state == RL_BACKOFF && event->now_ns >= lock->retry_ns) {
        rl_lock_move(lock, RL_READY);
        out->draw = true;
    } else if (lock->round.decision == RL_OPEN && event->now_ns >= lock->round_until_ns) {
        rl_round_expire(&lock->round, lock->timeout_reason, event->now_ns);
        lock_after_votes(lock, event, out);
    }
}

static void on_tell(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    if (lock->state == RL_GRANTED) { /* or lock_expire() has ended it: it came too late */
        rl_lock_move(lock, RL_HELD);
        lock_set_validity(lock, lock->valid_until_ns);
        lock_plan_renewal(lock, event, false);
        out->acquired = RL_RESULT_OK;
    }
}

/* A holder ends its hold, or an extension: what is under way is cancelled. */
static void lock_stop_extend(struct rl_lock *lock, struct rl_actions *out) {
    assert(lock_is(lock, IS_HOLDING));
    if (lock->state == RL_EXTENDING) {
        lock_end_extend(lock, out, RL_RESULT_CANCELED);
        rl_round_abandon(&lock->round);
        rl_lock_move(lock, RL_HELD);
    }
}

static void on_extend(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    if (lock->state == RL_EXTENDING && lock->renews) {
        lock_stop_extend(lock, out); /* the caller's takes precedence */
    }
    if (lock->state != RL_HELD) {
        out->extended = RL_RESULT_EXPIRED; /* lock_expire() was first */
        return;
    }
    lock_begin_extend(lock, event, out,
                      event->u.ttl_ms != 0 ? event->u.ttl_ms : lock->acquire.ttl_ms);
}

static void on_release(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    if (lock_is(lock, IN(RL_IDLE) | IN(RL_LOST)) && event->u.token != NULL) {
        memcpy(lock->token, event->u.token, RL_TOKEN_LEN);
        lock->life_ms = LIFE_MS_MAX; /* it was set by somebody else, who knows how long */
        lock->may_hold = rl_all_nodes(lock->rules->n);
    } else if (lock->state == RL_LOST) {
        out->released = RL_RESULT_LOST; /* lock_lose() released what there was */
        rl_lock_move(lock, RL_IDLE);
        return;
    } else {
        lock_stop_extend(lock, out);
    }
    rl_lock_move(lock, RL_RELEASING);
    lock_begin_round(lock, event, out, RL_ROUND_RELEASE);
    out->owe = lock->may_hold & ~event->up;
    out->may_have = lock->may_hold;
    lock_after_votes(lock, event, out);
}

static void on_cancel(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    if (lock->state == RL_EXTENDING && !lock->renews) {
        lock_stop_extend(lock, out);
    } else if (lock->state == RL_READY) { /* there is no token, so nothing to release */
        out->acquired = RL_RESULT_CANCELED;
        rl_lock_move(lock, RL_IDLE);
    } else if (lock_is(lock, IS_ACQUIRING)) {
        lock_end_acquire(lock, event, out, RL_RESULT_CANCELED);
    }
}

static void on_abandon(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    if (lock->state == RL_IDLE) {
        return;
    }
    if (lock->state == RL_RELEASING) {
        out->released = RL_RESULT_CANCELED; /* its requests are out or owed */
        lock->may_hold = 0;
        rl_round_abandon(&lock->round);
    } else if (lock_is(lock, IS_ACQUIRING)) {
        lock_end_acquire(lock, event, out, RL_RESULT_CANCELED);
        return;
    } else if (lock->state != RL_LOST) {
        lock_stop_extend(lock, out);
        lock_release_all(lock, event, out);
    }
    rl_lock_move(lock, RL_IDLE);
}

static void on_disown(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    (void)event;
    if (lock->state == RL_LOST) {
        return; /* lock_expire() was first */
    }
    lock_stop_extend(lock, out);
    lock->may_hold = 0; /* others may need the keys */
    rl_lock_move(lock, RL_IDLE);
}

static const struct {
    const char *name;
    void (*handle)(struct rl_lock *, const struct rl_event *, struct rl_actions *);
} events[RL_EVENT_TYPES] = {
    [RL_EV_ACQUIRE] = {"acquire", on_acquire}, [RL_EV_ATTEMPT] = {"attempt", on_attempt},
    [RL_EV_VOTE] = {"vote", on_vote},          [RL_EV_TICK] = {"tick", on_tick},
    [RL_EV_TELL] = {"tell", on_tell},          [RL_EV_EXTEND] = {"extend", on_extend},
    [RL_EV_RELEASE] = {"release", on_release}, [RL_EV_CANCEL] = {"cancel", on_cancel},
    [RL_EV_ABANDON] = {"abandon", on_abandon}, [RL_EV_TURN] = {"turn", on_turn},
    [RL_EV_NOTICE] = {"notice", on_notice},    [RL_EV_ADOPT] = {"adopt", on_adopt},
    [RL_EV_DISOWN] = {"disown", on_disown},
};

/* -- The interface -- */

void rl_lock_init(struct rl_lock *lock, const struct rl_rules *rules, struct rl_ballot *ballots,
                  int16_t timeout_reason) {
    *lock = (struct rl_lock){.rules = rules, .timeout_reason = timeout_reason, .state = RL_IDLE};
    rl_round_init(&lock->round, rules->n, ballots);
    rl_lock_invariant(lock);
}

void rl_lock_step(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    assert(event->type < RL_EVENT_TYPES);
    assert(event->now_ns >= lock->now_ns);
    assert((event->up & ~rl_all_nodes(lock->rules->n)) == 0);
    *out = (struct rl_actions){.release = 0};
    lock->now_ns = event->now_ns;
    lock_expire(lock, event, out);
    events[event->type].handle(lock, event, out);
    rl_lock_invariant(lock);
}

const char *rl_event_name(enum rl_event_type type) {
    assert(type < RL_EVENT_TYPES);
    return events[type].name;
}
