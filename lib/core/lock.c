/* The step function of a lock. The argument why it is safe is in lock.h.
 *
 * Order within a step: the clock first (a lock whose validity is over ends before anything else can
 * happen to it), then the event by its handler, then the invariant.
 */
#include "core/lock.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/retry.h"

#define IN(state) (1u << (state))

static const struct {
    const char *name;
    uint32_t next; /* allowed moves */
} states[RL_LOCK_STATES] = {
    [RL_IDLE] = {"idle", IN(RL_READY)},
    [RL_READY] = {"ready", IN(RL_TRYING) | IN(RL_IDLE)},
    [RL_TRYING] = {"trying", IN(RL_GRANTED) | IN(RL_BACKOFF) | IN(RL_IDLE)},
    [RL_BACKOFF] = {"backoff", IN(RL_READY) | IN(RL_IDLE)},
    [RL_GRANTED] = {"granted", IN(RL_HELD) | IN(RL_BACKOFF) | IN(RL_IDLE)},
    [RL_HELD] = {"held", IN(RL_EXTENDING) | IN(RL_RELEASING) | IN(RL_LOST) | IN(RL_IDLE)},
    [RL_EXTENDING] = {"extending", IN(RL_HELD) | IN(RL_RELEASING) | IN(RL_LOST) | IN(RL_IDLE)},
    [RL_RELEASING] = {"releasing", IN(RL_IDLE)},
    [RL_LOST] = {"lost", IN(RL_READY) | IN(RL_IDLE)},
};

static bool lock_is(const struct rl_lock *lock, uint32_t set) {
    return (IN(lock->state) & set) != 0;
}

#define IS_ACQUIRING (IN(RL_READY) | IN(RL_TRYING) | IN(RL_BACKOFF) | IN(RL_GRANTED))
#define IS_HOLDING (IN(RL_HELD) | IN(RL_EXTENDING))
#define HAS_VALIDITY (IN(RL_GRANTED) | IS_HOLDING)

static void lock_move(struct rl_lock *lock, enum rl_lock_state to) {
    assert(states[lock->state].next & IN(to));
    lock->state = (uint8_t)to;
    if (!lock_is(lock, HAS_VALIDITY)) {
        lock->valid_until_ns = 0;
    }
}

static void lock_invariant(const struct rl_lock *lock) {
    assert(lock->state < RL_LOCK_STATES);
    assert((lock->valid_until_ns != 0) == lock_is(lock, HAS_VALIDITY));
    assert((lock->may_hold & ~rl_all_nodes(lock->rules->n)) == 0);
    assert((lock->round.decision == RL_OPEN) ==
           lock_is(lock, IN(RL_TRYING) | IN(RL_EXTENDING) | IN(RL_RELEASING)));
    if (lock_is(lock, IS_HOLDING)) {
        assert(lock->lost_at_ns <= lock->valid_until_ns);
        assert(lock->now_ns < lock->valid_until_ns);
    }
    if (lock_is(lock, IN(RL_IDLE) | IN(RL_LOST) | IN(RL_BACKOFF))) {
        assert(lock->may_hold == 0); /* what may be out there has been released or is owed */
    }
}

/* -- Leaving: everything that ends an attempt or a hold comes through here -- */

static void lock_release_all(struct rl_lock *lock, const struct rl_event *event,
                             struct rl_actions *out) {
    if (lock->state == RL_BACKOFF) {
        return; /* the last attempt has been released, there is no other yet */
    }
    out->release |= event->up;
    out->owe |= lock->may_hold & ~event->up;
    out->may_have |= lock->may_hold;
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
        lock_move(lock, RL_IDLE);
    } else if (retry_ns >= lock->give_up_ns) {
        out->acquired = RL_RESULT_DEADLINE;
        lock_move(lock, RL_IDLE);
    } else {
        lock->retry_ns = retry_ns;
        lock_move(lock, RL_BACKOFF);
    }
}

static void lock_end_acquire(struct rl_lock *lock, const struct rl_event *event,
                             struct rl_actions *out, enum rl_result why) {
    lock_release_all(lock, event, out);
    out->acquired = why;
    lock_move(lock, RL_IDLE);
}

static void lock_lose(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                      enum rl_result why) {
    assert(lock_is(lock, IS_HOLDING));
    if (lock->state == RL_EXTENDING) {
        out->extended = why;
    }
    lock_release_all(lock, event, out);
    out->lost = why;
    lock_move(lock, RL_LOST);
}

/* -- The clock -- */

/* Sets the end of validity, and the moment before it at which a holder is told. */
static void lock_set_validity(struct rl_lock *lock, uint64_t until_ns) {
    uint64_t left_ns = until_ns > lock->now_ns ? until_ns - lock->now_ns : 0;
    uint64_t margin_ns = lock->rules->lost_margin_ns;
    if (margin_ns > left_ns / 2) {
        margin_ns = left_ns / 2;
    }
    lock->valid_until_ns = until_ns;
    lock->lost_at_ns = until_ns - margin_ns;
}

static bool lock_too_late(const struct rl_lock *lock) {
    return lock->now_ns + lock->acquire.min_validity_ms * RL_NS_PER_MS >= lock->valid_until_ns;
}

/* Ends what the clock has ended. Runs at the start of every step. */
static void lock_expire(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out) {
    if (lock_is(lock, IS_HOLDING) && event->now_ns >= lock->valid_until_ns) {
        lock_lose(lock, event, out, RL_RESULT_EXPIRED);
    } else if (lock->state == RL_GRANTED && lock_too_late(lock)) {
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
    lock->round_until_ns = event->now_ns + wait_ns;
}

static void lock_attempt_decided(struct rl_lock *lock, const struct rl_event *event,
                                 struct rl_actions *out) {
    if (lock->round.decision == RL_WON) {
        lock_move(lock, RL_GRANTED);
        lock_set_validity(lock, lock->round.sent_ns + rl_validity_ns(lock->rules, lock->ttl_ms));
        if (lock_too_late(lock)) {
            lock_attempt_failed(lock, event, out, RL_RESULT_EXPIRED);
        } else {
            out->tell = true;
        }
    } else if (rl_round_without_quorum(&lock->round)) {
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
        lock_set_validity(lock, lock->round.sent_ns + rl_validity_ns(lock->rules, lock->ttl_ms));
        out->extended = RL_RESULT_OK;
        lock_move(lock, RL_HELD);
        lock_repair(lock, event, out, rl_round_mask(&lock->round, RL_VOTE_REFUSED));
    } else if (rl_round_refused_for_good(&lock->round)) {
        lock_lose(lock, event, out, RL_RESULT_LOST);
    } else {
        out->extended = RL_RESULT_UNKNOWN;
        lock_move(lock, RL_HELD);
    }
}

static void lock_release_decided(struct rl_lock *lock, struct rl_actions *out) {
    out->released = lock->round.decision == RL_WON ? RL_RESULT_OK : RL_RESULT_NO_QUORUM;
    lock->may_hold = 0; /* the requests themselves become owed if they are not answered */
    lock_move(lock, RL_IDLE);
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

/* -- The handlers of the events -- */

static void on_acquire(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    const struct rl_acquire *acquire = &event->u.acquire;
    assert(lock_is(lock, IN(RL_IDLE) | IN(RL_LOST)));
    assert(acquire->tries >= 1);
    lock->acquire = *acquire;
    lock->give_up_ns = acquire->wait_ms == RL_NO_LIMIT
                           ? RL_NEVER
                           : event->now_ns + acquire->wait_ms * RL_NS_PER_MS;
    lock_move(lock, RL_READY);
    out->draw = true;
}

static void on_attempt(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    assert(lock->state == RL_READY);
    assert(lock->may_hold == 0);
    memcpy(lock->token, event->u.token, RL_TOKEN_LEN);
    lock->ttl_ms = lock->life_ms = lock->acquire.ttl_ms;
    if (lock->acquire.tries != RL_NO_LIMIT) {
        lock->acquire.tries--;
    }
    lock_move(lock, RL_TRYING);
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
            lock_repair(lock, event, out, bit);
        }
    }
}

static void on_tick(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    bool acquiring = lock_is(lock, IN(RL_TRYING) | IN(RL_BACKOFF));
    if (lock_is(lock, IS_HOLDING) && event->now_ns >= lock->lost_at_ns) {
        lock_lose(lock, event, out, RL_RESULT_EXPIRED);
    } else if (acquiring && event->now_ns >= lock->give_up_ns) {
        lock_end_acquire(lock, event, out, RL_RESULT_DEADLINE);
    } else if (lock->state == RL_BACKOFF && event->now_ns >= lock->retry_ns) {
        lock_move(lock, RL_READY);
        out->draw = true;
    } else if (lock->round.decision == RL_OPEN && event->now_ns >= lock->round_until_ns) {
        rl_round_expire(&lock->round, lock->timeout_reason, event->now_ns);
        lock_after_votes(lock, event, out);
    }
}

static void on_tell(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    (void)event; /* lock_expire() has ended a grant that came too late */
    if (lock->state == RL_GRANTED) {
        lock_move(lock, RL_HELD);
        lock_set_validity(lock, lock->valid_until_ns);
        out->acquired = RL_RESULT_OK;
    }
}

static void on_extend(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    if (lock->state != RL_HELD) {
        out->extended = RL_RESULT_EXPIRED; /* lock_expire() was first */
        return;
    }
    lock->ttl_ms = event->u.ttl_ms != 0 ? event->u.ttl_ms : lock->acquire.ttl_ms;
    uint64_t until_ns = event->now_ns + rl_validity_ns(lock->rules, lock->ttl_ms);
    assert(until_ns > event->now_ns);
    if (until_ns < lock->valid_until_ns) {
        lock_set_validity(lock, until_ns);
    }
    if (lock->ttl_ms > lock->life_ms) {
        lock->life_ms = lock->ttl_ms;
    }
    lock_move(lock, RL_EXTENDING);
    lock_begin_round(lock, event, out, RL_ROUND_EXTEND);
    lock_after_votes(lock, event, out);
}

static void on_release(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    if (lock->state == RL_LOST) {
        out->released = RL_RESULT_LOST; /* lock_lose() released what there was */
        lock_move(lock, RL_IDLE);
        return;
    }
    assert(lock_is(lock, IS_HOLDING));
    if (lock->state == RL_EXTENDING) {
        out->extended = RL_RESULT_CANCELED;
        rl_round_abandon(&lock->round);
    }
    lock_move(lock, RL_RELEASING);
    lock_begin_round(lock, event, out, RL_ROUND_RELEASE);
    out->owe = lock->may_hold & ~event->up;
    out->may_have = lock->may_hold;
    lock_after_votes(lock, event, out);
}

static void on_cancel(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    if (lock->state == RL_EXTENDING) {
        out->extended = RL_RESULT_CANCELED;
        rl_round_abandon(&lock->round);
        lock_move(lock, RL_HELD);
    } else if (lock->state == RL_READY) { /* there is no token, so nothing to release */
        out->acquired = RL_RESULT_CANCELED;
        lock_move(lock, RL_IDLE);
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
    } else if (lock->state != RL_LOST) {
        out->acquired = lock_is(lock, IS_ACQUIRING) ? RL_RESULT_CANCELED : RL_RESULT_NONE;
        out->extended = lock->state == RL_EXTENDING ? RL_RESULT_CANCELED : RL_RESULT_NONE;
        lock_release_all(lock, event, out);
    }
    lock_move(lock, RL_IDLE);
}

static const struct {
    const char *name;
    void (*handle)(struct rl_lock *, const struct rl_event *, struct rl_actions *);
} events[RL_EVENT_TYPES] = {
    [RL_EV_ACQUIRE] = {"acquire", on_acquire}, [RL_EV_ATTEMPT] = {"attempt", on_attempt},
    [RL_EV_VOTE] = {"vote", on_vote},          [RL_EV_TICK] = {"tick", on_tick},
    [RL_EV_TELL] = {"tell", on_tell},          [RL_EV_EXTEND] = {"extend", on_extend},
    [RL_EV_RELEASE] = {"release", on_release}, [RL_EV_CANCEL] = {"cancel", on_cancel},
    [RL_EV_ABANDON] = {"abandon", on_abandon},
};

/* -- The interface -- */

void rl_lock_init(struct rl_lock *lock, const struct rl_rules *rules, struct rl_ballot *ballots,
                  int16_t timeout_reason) {
    *lock = (struct rl_lock){.rules = rules, .timeout_reason = timeout_reason, .state = RL_IDLE};
    rl_round_init(&lock->round, rules->n, ballots);
    lock_invariant(lock);
}

void rl_lock_step(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    assert(event->type < RL_EVENT_TYPES);
    assert(event->now_ns >= lock->now_ns);
    assert((event->up & ~rl_all_nodes(lock->rules->n)) == 0);
    *out = (struct rl_actions){.release = 0};
    lock->now_ns = event->now_ns;
    lock_expire(lock, event, out);
    events[event->type].handle(lock, event, out);
    lock_invariant(lock);
}

uint64_t rl_lock_wake_ns(const struct rl_lock *lock) {
    uint64_t wake_ns = RL_NEVER;
    uint64_t also_ns = RL_NEVER;
    switch ((enum rl_lock_state)lock->state) {
        case RL_TRYING:
            wake_ns = lock->round_until_ns;
            also_ns = lock->give_up_ns;
            break;
        case RL_BACKOFF:
            wake_ns = lock->retry_ns;
            also_ns = lock->give_up_ns;
            break;
        case RL_GRANTED:
            wake_ns = lock->valid_until_ns;
            break;
        case RL_HELD:
            wake_ns = lock->lost_at_ns;
            break;
        case RL_EXTENDING:
            wake_ns = lock->round_until_ns;
            also_ns = lock->lost_at_ns;
            break;
        case RL_RELEASING:
            wake_ns = lock->round_until_ns;
            break;
        case RL_IDLE:
        case RL_READY:
        case RL_LOST:
        case RL_LOCK_STATES:
            break;
    }
    return wake_ns < also_ns ? wake_ns : also_ns;
}

bool rl_lock_is_valid(const struct rl_lock *lock, uint64_t now_ns) {
    return lock_is(lock, IS_HOLDING) && now_ns < lock->valid_until_ns;
}

bool rl_lock_is_holding(const struct rl_lock *lock) {
    return lock_is(lock, IS_HOLDING);
}

bool rl_lock_is_acquiring(const struct rl_lock *lock) {
    return lock_is(lock, IS_ACQUIRING);
}

const char *rl_lock_state_name(enum rl_lock_state state) {
    assert(state < RL_LOCK_STATES);
    return states[state].name;
}

const char *rl_event_name(enum rl_event_type type) {
    assert(type < RL_EVENT_TYPES);
    return events[type].name;
}
