/* The step function of a lock: order, rounds and votes, the clock. The safety argument is in
 * lock.h. Acquiring is in lock_acquire.c, holding in lock_hold.c, code for both in lock_state.c;
 * none of the three calls this file.
 *
 * Order within a step: first the clock (a lock whose validity is over ends before anything else can
 * happen to it), then the event's handler, then the invariant.
 */
#include "core/lock.h"

#include <assert.h>
#include <string.h>

#include "base/mark.h"
#include "core/lock_acquire.h"
#include "core/lock_hold.h"
#include "core/lock_state.h"

#define AWAIT_NS RL_NS_PER_MS

/* Ends what the clock has ended. Runs at the start of every step. */
static void lock_expire(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out) {
    if (lock_is(lock, IS_HOLDING) && event->now_ns >= lock->valid_until_ns) {
        rl_lock_lose(lock, event, out, rl_lock_end_of_validity(lock));
    } else if (lock->state == RL_GRANTED && rl_lock_too_late(lock)) {
        RL_MARK(GRANT_TOO_LATE);
        rl_lock_attempt_failed(lock, event, out, RL_RESULT_EXPIRED);
    }
}

void rl_lock_put_off(struct rl_lock *lock, uint64_t since_ns, uint64_t now_ns) {
    assert(since_ns <= now_ns);
    if (lock->round.decision != RL_OPEN || lock->round.sent_ns < since_ns) {
        return;
    }
    assert(now_ns >= lock->round.sent_ns);
    lock->round_until_ns += now_ns - lock->round.sent_ns;
    if (lock_is(lock, IN(RL_TRYING) | IN(RL_FENCING)) &&
        lock->round_until_ns > rl_lock_attempt_ends_ns(lock)) {
        lock->round_until_ns = rl_lock_attempt_ends_ns(lock);
    }
    rl_lock_invariant(lock);
}

/* Moves on if the pending round is decided. */
static void after_votes(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out) {
    if (lock->round.decision == RL_OPEN) {
        return;
    }
    if (lock_is(lock, IN(RL_TRYING) | IN(RL_FENCING))) {
        rl_lock_attempt_decided(lock, event, out);
    } else if (rl_lock_is_upgrading(lock)) {
        rl_lock_upgrade_decided(lock, event, out);
    } else if (lock->state == RL_EXTENDING) {
        rl_lock_extend_decided(lock, event, out);
    } else if (lock->state == RL_RELEASING) {
        rl_lock_release_decided(lock, out);
    }
}

/* A vote that was counted in time. */
static void on_counted_vote(struct rl_lock *lock, const struct rl_event *event,
                            struct rl_actions *out) {
    const struct rl_ballot_in *in = &event->u.vote;
    const bool counts = lock->round.kind == RL_ROUND_ACQUIRE ||
                        (lock->round.kind == RL_ROUND_UPGRADE && lock->reader_fence != 0);
    if (counts && in->vote == RL_VOTE_GRANTED && lock->fence.floor != 0) {
        rl_fence_vote(&lock->fence, in->node, in->counter);
    }
    after_votes(lock, event, out);
}

static void take_vote(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    const struct rl_ballot_in *in = &event->u.vote;
    bool open = lock->round.decision == RL_OPEN;
    if (!rl_round_vote(&lock->round, in->round, in->node, in->vote, in->reason, event->now_ns)) {
        out->late = true;
        return;
    }
    rl_round_note_latency(&lock->round, in->node, in->latency_us);
    if (open && lock->state == RL_TRYING && in->vote == RL_VOTE_GRANTED && in->start_ns != 0 &&
        in->start_ns < lock->set_ns) {
        lock->set_ns = in->start_ns;
    }
    uint32_t bit = UINT32_C(1) << in->node;
    /* In a turn a node may have been passed the key before it was asked. */
    bool did_not_run = in->vote == RL_VOTE_REFUSED ||
                       (in->vote == RL_VOTE_FAILED && !in->may_have_run && !lock->is_given);
    if (lock->round.kind == RL_ROUND_ACQUIRE && did_not_run) {
        lock->may_hold &= ~bit;
    }
    if (open) {
        on_counted_vote(lock, event, out);
        if (lock->state == RL_TRYING && rl_round_awaits(&lock->round) &&
            lock->collect_ns > event->now_ns + AWAIT_NS) {
            lock->collect_ns = event->now_ns + AWAIT_NS;
        }
        return;
    }
    out->late = true;
    if (lock->state == RL_HELD && lock->round.kind == RL_ROUND_EXTEND &&
        lock->round.decision == RL_WON && in->vote == RL_VOTE_REFUSED) {
        RL_MARK(LATE_REPAIR);
        rl_lock_repair(lock, event, out, bit);
    }
}

/* Among nodes that are one server only the first yes counts. The second SET of a token finds the
 * key of the first, so in either order this no does not mean that another client has the key.
 * (Safety does not depend on releases. There only nodes that may vote count as one server, so that
 * a node that shows a new identity each time cannot stand in for several.) */
static bool is_twins_second(struct rl_lock *lock, const struct rl_event *event) {
    const struct rl_ballot_in *in = &event->u.vote;
    struct rl_round *round = &lock->round;
    const bool sets = round->kind == RL_ROUND_ACQUIRE, ends = round->kind == RL_ROUND_RELEASE;
    uint32_t duplicates = event->duplicates != NULL ? event->duplicates[in->node] : 0;
    duplicates &= ends ? event->voters : UINT32_MAX;
    if (duplicates == 0 || in->round != round->id || in->vote == RL_VOTE_FAILED ||
        round->ballots[in->node].vote != RL_VOTE_PENDING) {
        return false;
    }
    uint32_t yes = round->granted;
    yes |= ends ? round->refused : 0;
    if (sets && in->vote == RL_VOTE_GRANTED) {
        rl_round_excuse(round, duplicates, lock->rules->duplicate_reason);
    }
    return (duplicates & yes) != 0 && (in->vote == RL_VOTE_GRANTED || sets || ends);
}

static void take_as_failed(struct rl_lock *lock, const struct rl_event *event,
                           struct rl_actions *out, int16_t reason) {
    struct rl_event failed = *event;
    failed.u.vote.vote = RL_VOTE_FAILED;
    failed.u.vote.reason = reason;
    failed.u.vote.may_have_run = event->u.vote.vote == RL_VOTE_GRANTED;
    take_vote(lock, &failed, out);
}

/* A node that has just joined the set lacks the key, so its no is not a vote. */
static bool is_absent(const struct rl_lock *lock, const struct rl_ballot_in *in) {
    const struct rl_round *round = &lock->round;
    const uint32_t *sides = round->electorate.sides;
    const uint32_t out = rl_round_pending(round) & sides[1] & ~sides[0];
    return round->kind == RL_ROUND_EXTEND && round->decision == RL_OPEN && in->round == round->id &&
           in->vote == RL_VOTE_REFUSED && ((out & ~lock->planted) >> in->node & 1) != 0;
}

/* When the old nodes have renewed the hold, asks the new ones to set the key. */
static void plant(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    const bool is_renewed =
        lock->absent != 0 && rl_is_majority(lock->round.electorate.sides[0], lock->round.granted);
    if (is_renewed && lock->round.kind == RL_ROUND_EXTEND && lock->round.decision == RL_OPEN) {
        out->plant = lock->absent & event->voters;
        lock->planted |= out->plant;
        lock->may_hold |= out->plant;
        lock->absent &= ~out->plant;
    }
}

/* Does not count a yes to an extension from a node that may not vote, see guard.h (a node is asked
 * to grant only while it may vote, on a connection that has not ended since), nor a server's second
 * vote. */
static void on_vote(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    const struct rl_ballot_in *in = &event->u.vote;
    assert(in->node < RL_SEATS_MAX);
    if (in->vote == RL_VOTE_NONE) {
        rl_lock_ask(lock, event, out);
        return;
    }
    assert(event->duplicates == NULL || (event->duplicates[in->node] >> in->node & 1) == 0);
    if (is_absent(lock, in)) {
        lock->absent |= UINT32_C(1) << in->node;
        plant(lock, event, out);
        return;
    }
    bool prolongs = lock->round.kind == RL_ROUND_EXTEND || lock->round.kind == RL_ROUND_UPGRADE;
    bool may_vote = !prolongs || (event->voters >> in->node & 1) != 0;
    if (in->vote == RL_VOTE_GRANTED && !may_vote) {
        RL_MARK(YES_NOT_COUNTED);
        take_as_failed(lock, event, out, event->reasons[in->node]);
    } else if (is_twins_second(lock, event)) {
        RL_MARK(TWIN_NOT_COUNTED);
        take_as_failed(lock, event, out, lock->rules->duplicate_reason);
    } else {
        take_vote(lock, event, out);
    }
    plant(lock, event, out);
}

static void on_tick(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    const uint32_t set =
        IN(RL_WAITING) | IN(RL_READY) | IN(RL_TRYING) | IN(RL_FENCING) | IN(RL_BACKOFF);
    bool acquiring = lock_is(lock, set);
    if (lock_is(lock, IS_HOLDING) && event->now_ns >= lock->lost_at_ns) {
        rl_lock_lose(lock, event, out, rl_lock_end_of_validity(lock));
    } else if (lock->state == RL_HELD && event->now_ns >= lock->renew_ns) {
        rl_lock_renew(lock, event, out);
    } else if (lock->state == RL_TRYING && rl_round_awaits(&lock->round) &&
               event->now_ns >= lock->give_up_ns) {
        rl_lock_collect(lock, event, out); /* wins the attempt, or ends it */
    } else if (acquiring && event->now_ns >= lock->give_up_ns) {
        rl_lock_end_acquire(lock, event, out, RL_RESULT_DEADLINE);
    } else if (lock->state == RL_WAITING && event->now_ns >= lock->retry_ns) {
        rl_lock_wait(lock, event, out);
    } else if (lock_is(lock, IN(RL_BACKOFF) | IN(RL_READY)) && event->now_ns >= lock->retry_ns) {
        rl_lock_ready(lock, event, out);
    } else if (lock->state == RL_TRYING && event->now_ns >= lock->collect_ns) {
        rl_lock_collect(lock, event, out);
    } else if (lock->round.decision == RL_OPEN && event->now_ns >= lock->round_until_ns) {
        rl_round_expire(&lock->round, lock->rules->timeout_reason, event->now_ns);
        after_votes(lock, event, out);
    }
}

/* Open rounds end here: further votes would come on connections that have read the new
 * configuration. A release needs no vote. */
static void on_changed(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    struct rl_acquire *acquire = &lock->acquire;
    const uint32_t max_ms = event->u.ttl_ms;
    const uint64_t valid_ms = rl_validity_ns(lock->rules, max_ms) / RL_NS_PER_MS;
    if (acquire->ttl_ms > max_ms && valid_ms > 1) { /* an administrator waits no longer than this */
        uint64_t renew_ms = (uint64_t)acquire->renew_ms * max_ms / acquire->ttl_ms;
        renew_ms = renew_ms < valid_ms / 2 ? renew_ms : valid_ms / 2;
        acquire->renew_ms = renew_ms > 0 || acquire->renew_ms == 0 ? (uint32_t)renew_ms : 1;
        acquire->ttl_ms = max_ms;
    }
    if (lock_is(lock, HAS_VALIDITY) && lock->life_ms > max_ms && valid_ms > 1) { /* upgrades, too */
        lock->life_ms = max_ms;
    }
    if (lock->round.decision == RL_OPEN && lock->state != RL_RELEASING) {
        rl_round_await(&lock->round, 0);
        rl_round_expire(&lock->round, lock->rules->changed_reason, event->now_ns);
        after_votes(lock, event, out);
    }
}

static void on_cancel(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    if (lock->state == RL_EXTENDING && !lock->renews) {
        if (rl_lock_is_upgrading(lock)) {
            rl_lock_cancel_upgrade(lock, event, out);
        } else {
            rl_lock_stop_extend(lock, out);
            rl_lock_plan_renewal(lock, event, true); /* it may have shortened the validity */
        }
    } else if (lock->state == RL_READY) { /* there is no token, so nothing to release */
        out->acquired = RL_RESULT_CANCELED;
        rl_lock_move(lock, RL_IDLE);
    } else if (lock_is(lock, IS_ACQUIRING)) {
        rl_lock_end_acquire(lock, event, out, RL_RESULT_CANCELED);
    }
}

static void on_abandon(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    if (lock->state == RL_IDLE) {
        return;
    }
    if (lock->state == RL_RELEASING) {
        out->released = RL_RESULT_CANCELED; /* its requests are outstanding or pending */
        lock->may_hold = 0;
        rl_round_abandon(&lock->round);
    } else if (lock_is(lock, IS_ACQUIRING)) {
        rl_lock_end_acquire(lock, event, out, RL_RESULT_CANCELED);
        return;
    } else if (lock->state != RL_LOST) {
        rl_lock_stop_extend(lock, out);
        rl_lock_release_all(lock, event, out);
    }
    rl_lock_move(lock, RL_IDLE);
}

static void (*const handlers[RL_EVENT_TYPES])(struct rl_lock *, const struct rl_event *,
                                              struct rl_actions *) = {
    [RL_EV_ACQUIRE] = rl_lock_on_acquire,
    [RL_EV_ATTEMPT] = rl_lock_on_attempt,
    [RL_EV_READY] = rl_lock_on_ready,
    [RL_EV_NONE] = rl_lock_on_none,
    [RL_EV_PERMITS] = rl_lock_on_permits,
    [RL_EV_VOTE] = on_vote,
    [RL_EV_TICK] = on_tick,
    [RL_EV_TELL] = rl_lock_on_tell,
    [RL_EV_EXTEND] = rl_lock_on_extend,
    [RL_EV_RELEASE] = rl_lock_on_release,
    [RL_EV_CANCEL] = on_cancel,
    [RL_EV_ABANDON] = on_abandon,
    [RL_EV_TURN] = rl_lock_on_turn,
    [RL_EV_NOTICE] = rl_lock_on_notice,
    [RL_EV_ADOPT] = rl_lock_on_adopt,
    [RL_EV_DISOWN] = rl_lock_on_disown,
    [RL_EV_CHANGED] = on_changed,
    [RL_EV_UPGRADE] = rl_lock_on_upgrade,
    [RL_EV_ALIVE] = rl_lock_on_alive,
};

/* -- The interface -- */

void rl_lock_init(struct rl_lock *lock, const struct rl_rules *rules, struct rl_ballot *ballots) {
    *lock = (struct rl_lock){.rules = rules, .state = RL_IDLE};
    rl_round_init(&lock->round, ballots);
    rl_lock_invariant(lock);
}

/* What every driver may rely on. */
static void check_actions(const struct rl_lock *lock, const struct rl_event *event,
                          const struct rl_actions *out) {
    assert(((out->release | out->send | out->repair | out->plant) & ~event->up) == 0);
    assert(out->plant == 0 || lock->round.kind == RL_ROUND_EXTEND);
    assert((out->owe & (event->up | ~out->may_have)) == 0);
    assert(out->repair == 0 || lock_is(lock, IS_HOLDING));
    assert(!out->generate_token || lock->state == RL_READY);
    assert(!out->tell || lock->state == RL_GRANTED);
    assert(!out->late || event->type == RL_EV_VOTE);
    assert(out->acquired != RL_RESULT_OK || lock->state == RL_HELD);
    assert(out->extended != RL_RESULT_OK || lock->state == RL_HELD);
    (void)lock; /* without assertions */
    (void)event;
    (void)out;
}

void rl_lock_step(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    assert(event->type < RL_EVENT_TYPES);
    assert(handlers[event->type] != NULL);
    assert(event->now_ns >= lock->now_ns);
    assert((event->voters & ~event->up) == 0);
    *out = (struct rl_actions){.release = 0};
    lock->now_ns = event->now_ns;
    lock_expire(lock, event, out);
    handlers[event->type](lock, event, out);
    check_actions(lock, event, out);
    rl_lock_invariant(lock);
}

void rl_lock_copy_past(struct rl_lock *lock, const struct rl_lock *from) {
    assert(lock_is(lock, IN(RL_IDLE) | IN(RL_LOST)));
    rl_round_copy(&lock->round, &from->round);
    memcpy(lock->token, from->token, sizeof lock->token);
    rl_lock_invariant(lock);
}

uint32_t rl_lock_nodes(const struct rl_lock *lock) {
    return rl_electors(&lock->round.electorate) | lock->may_hold;
}

uint32_t rl_renumber(uint32_t nodes, const uint8_t to[RL_SEATS_MAX]) {
    uint32_t now = 0;
    RL_EACH_BIT(i, nodes) {
        now |= to[i] < RL_SEATS_MAX ? rl_seat(to[i]) : 0;
    }
    return now;
}

void rl_lock_renumber(struct rl_lock *lock, const uint8_t to[RL_SEATS_MAX]) {
    struct rl_round *round = &lock->round;
    struct rl_ballot ballots[RL_SEATS_MAX] = {{0}};
    const uint32_t before = rl_electors(&round->electorate);
    uint32_t *const masks[] = {&round->electorate.sides[0],
                               &round->electorate.sides[1],
                               &round->granted,
                               &round->refused,
                               &round->failed,
                               &round->awaited,
                               &lock->fence.nodes,
                               &lock->asked,
                               &lock->absent,
                               &lock->planted,
                               &lock->may_hold};
    RL_EACH_BIT(i, before) {
        assert(to[i] < RL_SEATS_MAX);
        ballots[to[i]] = round->ballots[i];
    }
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        *masks[i] = rl_renumber(*masks[i], to);
    }
    for (uint32_t i = 0; i < RL_SEATS_MAX; i++) {
        if (to[i] < RL_SEATS_MAX) {
            round->ballots[to[i]] = ballots[to[i]];
        }
    }
    assert(rl_seats_count(rl_electors(&round->electorate)) == rl_seats_count(before));
    rl_lock_invariant(lock);
}

/* -- Queries -- */

static uint64_t sooner(uint64_t a_ns, uint64_t b_ns) {
    return a_ns < b_ns ? a_ns : b_ns;
}

uint64_t rl_lock_wake_ns(const struct rl_lock *lock) {
    switch ((enum rl_lock_state)lock->state) {
        case RL_TRYING:
            return sooner(sooner(lock->round_until_ns, lock->collect_ns), lock->give_up_ns);
        case RL_FENCING:
            return sooner(lock->round_until_ns, lock->give_up_ns);
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
