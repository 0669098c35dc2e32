/* A held lock: validity, extensions, repairs, upgrades, release and loss. The safety argument is in
 * lock.h.
 *
 * Happy path: on_extend (or the watchdog's tick), votes, rl_lock_extend_decided(); on_release,
 * votes, rl_lock_release_decided().
 *
 * Failure modes: an extension without a majority's answer leaves validity as it was; the lock is
 * lost when an extension finds the token gone from a majority, or when the clock passes validity.
 * If the user gives no sign of life for max_silence_ms, the watchdog stops extending.
 *
 * Does silence make a hold less safe? No: the watchdog sends no extension, and validity stays as it
 * was. Can a sign of life revive a hold that another client may have? No: it does not change
 * validity; it lets the watchdog resume in a hold that lock_expire() has found valid in the same
 * step.
 */
#include <assert.h>
#include <string.h>

#include "base/mark.h"
#include "core/lock_hold.h"
#include "core/lock_state.h"
#include "core/timing.h"

#define LIFE_MS_MAX 86400000u
#define LEASE_NS_MAX (50 * RL_NS_PER_MS) /* a short hold needs no extension */

/* Restores the reader's fence after an upgrade with a new fence was not won. */
static void keep_reader_fence(struct rl_lock *lock) {
    const uint64_t fence = lock->reader_fence;
    assert(fence == 0 || lock->acquire.fences);
    lock->reader_fence = 0;
    if (fence != 0) {
        lock->fence = (struct rl_fence){.floor = fence, .value = fence};
    }
}

/* Ends the pending extension. The outcome of the watchdog's goes to on_renew. */
static void lock_end_extend(struct rl_lock *lock, struct rl_actions *out, enum rl_result result) {
    assert(lock->state == RL_EXTENDING);
    keep_reader_fence(lock);
    if (lock->reverts != RL_RESULT_NONE &&
        (result == RL_RESULT_OK || result == RL_RESULT_UNKNOWN)) {
        result = (enum rl_result)lock->reverts;
    }
    lock->reverts = RL_RESULT_NONE;
    if (!lock->renews) {
        out->extended = result;
    } else if (result == RL_RESULT_OK || result == RL_RESULT_UNKNOWN) {
        out->renewed = result;
    }
    lock->renews = false;
}

/* At the holding limit an extension prolongs nothing, and must not delay the report of the loss. */
static void lock_prolong(struct rl_lock *lock, uint64_t until_ns) {
    assert(until_ns >= lock->valid_until_ns); /* it was brought forward when the round began */
    if (lock->valid_until_ns < lock->hold_until_ns) {
        rl_lock_set_validity(lock, until_ns);
    }
}

enum rl_result rl_lock_end_of_validity(const struct rl_lock *lock) {
    assert(lock_is(lock, IS_HOLDING));
    const enum rl_result why = lock->is_silent ? RL_RESULT_SILENT : RL_RESULT_EXPIRED;
    return lock->valid_until_ns == lock->hold_until_ns ? RL_RESULT_MAX_HOLD : why;
}

void rl_lock_plan_renewal(struct rl_lock *lock, const struct rl_event *event, bool unknown) {
    const uint64_t until_ns = lock->valid_until_ns,
                   renew_ns = lock->acquire.renew_ms * RL_NS_PER_MS;
    const uint64_t validity_ns = rl_validity_ns(lock->rules, lock->acquire.ttl_ms);
    assert(until_ns > event->now_ns);
    uint64_t soon_ns = event->now_ns + rl_watch_retry_ns(until_ns - event->now_ns, event->random);
    lock->renew_ns = RL_NEVER;
    if (lock->is_leased && until_ns != lock->hold_until_ns) {
        const uint64_t third_ns = (until_ns - event->now_ns) / 3;
        lock->renew_ns = event->now_ns + (third_ns < LEASE_NS_MAX ? third_ns : LEASE_NS_MAX);
        lock->renew_ns = unknown ? soon_ns : lock->renew_ns;
    } else if (renew_ns != 0 && until_ns != lock->hold_until_ns) {
        lock->renew_ns = rl_watch_next_ns(until_ns, validity_ns, renew_ns, event->random);
        lock->renew_ns = unknown && lock->renew_ns < soon_ns ? soon_ns : lock->renew_ns;
    }
}

void rl_lock_lose(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                  enum rl_result why) {
    assert(lock_is(lock, IS_HOLDING));
    assert(why == RL_RESULT_EXPIRED || why == RL_RESULT_LOST || why == RL_RESULT_MAX_HOLD ||
           why == RL_RESULT_SILENT);
    if (lock->state == RL_EXTENDING) {
        lock_end_extend(lock, out, why);
    }
    rl_lock_release_all(lock, event, out);
    out->lost = why;
    rl_lock_move(lock, RL_LOST);
}

/* -- Signs of life -- */

static void renew(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    lock->renews = true;
    rl_lock_begin_extend(lock, event, out, lock->acquire.ttl_ms);
}

void rl_lock_renew(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    const uint64_t silence_ns = lock->acquire.max_silence_ms * RL_NS_PER_MS;
    assert(lock->state == RL_HELD && event->now_ns >= lock->alive_ns);
    if (silence_ns != 0 && !lock->is_leased && event->now_ns - lock->alive_ns >= silence_ns) {
        lock->is_silent = true;
        lock->renew_ns = RL_NEVER;
    } else {
        renew(lock, event, out);
    }
}

static void note_life(struct rl_lock *lock, const struct rl_event *event) {
    lock->alive_ns = event->now_ns;
    lock->is_silent = false;
}

void rl_lock_on_alive(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    if (lock->state == RL_LOST) {
        return; /* lock_expire() was first */
    }
    const bool was_silent = lock->is_silent;
    assert(lock_is(lock, IS_HOLDING));
    note_life(lock, event);
    if (was_silent) {
        RL_MARK(SILENCE_BROKEN);
        renew(lock, event, out); /* the extension is overdue */
    }
}

void rl_lock_repair(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                    uint32_t gone) {
    assert(lock_is(lock, IS_HOLDING));
    assert(event->now_ns < lock->valid_until_ns);
    out->repair |= gone & event->up;
    lock->may_hold |= out->repair;
}

void rl_lock_extend_decided(struct rl_lock *lock, const struct rl_event *event,
                            struct rl_actions *out) {
    assert(lock->round.kind == RL_ROUND_EXTEND && lock->round.decision != RL_OPEN);
    if (lock->round.decision == RL_WON) {
        lock_prolong(lock, lock->round.sent_ns + rl_validity_ns(lock->rules, lock->ttl_ms));
        lock->is_leased = false;
        lock_end_extend(lock, out, RL_RESULT_OK);
        rl_lock_move(lock, RL_HELD);
        rl_lock_plan_renewal(lock, event, false);
        rl_lock_repair(lock, event, out, lock->round.refused);
    } else if (rl_round_refused_for_good(&lock->round)) {
        rl_lock_lose(lock, event, out, RL_RESULT_LOST);
    } else {
        lock_end_extend(lock, out, RL_RESULT_UNKNOWN);
        rl_lock_move(lock, RL_HELD);
        rl_lock_plan_renewal(lock, event, true);
    }
}

void rl_lock_release_decided(struct rl_lock *lock, struct rl_actions *out) {
    assert(lock->round.kind == RL_ROUND_RELEASE && lock->round.decision != RL_OPEN);
    out->released = lock->round.decision == RL_WON ? RL_RESULT_OK : RL_RESULT_NO_QUORUM;
    lock->may_hold = 0; /* the requests themselves become pending if they are not answered */
    rl_lock_move(lock, RL_IDLE);
}

/* The next round asks for keys of this ttl: validity must not outlast them. */
static void use_ttl(struct rl_lock *lock, const struct rl_event *event, uint32_t ttl_ms) {
    const uint64_t until_ns = event->now_ns + rl_validity_ns(lock->rules, ttl_ms);
    assert(lock->state == RL_HELD && until_ns > event->now_ns);
    lock->ttl_ms = ttl_ms;
    if (until_ns < lock->valid_until_ns) {
        rl_lock_set_validity(lock, until_ns);
    }
}

void rl_lock_begin_extend(struct rl_lock *lock, const struct rl_event *event,
                          struct rl_actions *out, uint32_t ttl_ms) {
    use_ttl(lock, event, ttl_ms);
    if (lock->ttl_ms > lock->life_ms) {
        lock->life_ms = lock->ttl_ms;
    }
    rl_lock_move(lock, RL_EXTENDING);
    rl_lock_begin_round(lock, event, out, RL_ROUND_EXTEND, event->up);
    lock->may_hold |= lock->is_given ? event->up : 0; /* a passed key may be on any node */
    if (lock->round.decision != RL_OPEN) {            /* too few nodes are up */
        rl_lock_extend_decided(lock, event, out);
    }
}

void rl_lock_stop_extend(struct rl_lock *lock, struct rl_actions *out) {
    assert(lock_is(lock, IS_HOLDING));
    if (lock->state == RL_EXTENDING) {
        lock_end_extend(lock, out, RL_RESULT_CANCELED);
        rl_round_abandon(&lock->round);
        rl_lock_move(lock, RL_HELD);
    }
}

void rl_lock_on_extend(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    if (lock->state == RL_LOST) {
        out->extended = RL_RESULT_EXPIRED; /* lock_expire() was first */
        return;
    }
    assert(lock->state == RL_HELD || lock->renews);
    note_life(lock, event);
    rl_lock_stop_extend(lock, out); /* the caller's takes precedence over the watchdog's */
    rl_lock_begin_extend(lock, event, out,
                         event->u.ttl_ms != 0 ? event->u.ttl_ms : lock->acquire.ttl_ms);
}

/* -- Upgrades -- */

/* Converts back by an extension, which does not shorten the hold. */
static void convert_back(struct rl_lock *lock, const struct rl_event *event,
                         struct rl_actions *out) {
    const uint32_t ttl_ms = lock->acquire.ttl_ms;
    const uint64_t until_ns = event->now_ns + rl_validity_ns(lock->rules, ttl_ms);
    assert(lock->state == RL_HELD && lock->life_ms >= ttl_ms);
    rl_lock_begin_extend(lock, event, out,
                         until_ns >= lock->valid_until_ns ? ttl_ms : lock->life_ms);
}

bool rl_lock_is_upgrading(const struct rl_lock *lock) {
    const uint8_t kind = lock->round.kind;
    return lock->state == RL_EXTENDING && (kind == RL_ROUND_UPGRADE || kind == RL_ROUND_FENCE);
}

void rl_lock_cancel_upgrade(struct rl_lock *lock, const struct rl_event *event,
                            struct rl_actions *out) {
    assert(rl_lock_is_upgrading(lock));
    rl_lock_stop_extend(lock, out);
    lock->renews = true; /* no caller waits for it */
    convert_back(lock, event, out);
}

/* Ends an upgrade before its round is won. */
static void upgrade_over(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                         enum rl_result why) {
    assert(why == RL_RESULT_HELD || why == RL_RESULT_UNKNOWN);
    lock_end_extend(lock, out, why);
    rl_lock_move(lock, RL_HELD);
    rl_lock_plan_renewal(lock, event, true);
}

/* The upgrade was not won. It is over when everything is converted back. */
static void upgrade_failed(struct rl_lock *lock, const struct rl_event *event,
                           struct rl_actions *out) {
    const bool others =
        lock->round.kind == RL_ROUND_UPGRADE && !rl_round_without_quorum(&lock->round);
    lock->reverts = (uint8_t)(others ? RL_RESULT_HELD : RL_RESULT_UNKNOWN);
    keep_reader_fence(lock);
    rl_lock_move(lock, RL_HELD);
    convert_back(lock, event, out);
}

/* The nodes returned different fences, as in a grant (fence.h): raises the counters of the nodes
 * that may vote. Until that is done, the new fence is not reported, and the hold is a reader's. */
static void begin_raise(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out) {
    assert(lock->state == RL_EXTENDING && lock->reader_fence != 0);
    RL_MARK(UPGRADE_RAISED);
    rl_fence_settle(&lock->fence);
    rl_lock_begin_round(lock, event, out, RL_ROUND_FENCE, event->voters);
    if (lock->round.decision != RL_OPEN) { /* too few nodes are left */
        upgrade_failed(lock, event, out);
    }
}

static void upgrade_won(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out) {
    if (lock->reader_fence != 0) {
        rl_fence_settle(&lock->fence);
        lock->reader_fence = 0;
    }
    lock_end_extend(lock, out, RL_RESULT_OK);
    rl_lock_move(lock, RL_HELD);
    rl_lock_plan_renewal(lock, event, false);
}

void rl_lock_upgrade_decided(struct rl_lock *lock, const struct rl_event *event,
                             struct rl_actions *out) {
    const struct rl_round *round = &lock->round;
    assert(rl_lock_is_upgrading(lock) && round->decision != RL_OPEN);
    if (round->decision != RL_WON) {
        upgrade_failed(lock, event, out);
        return;
    }
    if (round->kind == RL_ROUND_FENCE) { /* with a raise, the upgrade prolongs nothing */
        upgrade_won(lock, event, out);
    } else if (lock->reader_fence != 0 && !rl_fence_is_placed(&lock->fence, &round->electorate)) {
        begin_raise(lock, event, out);
    } else {
        lock_prolong(lock, round->sent_ns + rl_validity_ns(lock->rules, lock->ttl_ms));
        upgrade_won(lock, event, out);
    }
}

void rl_lock_on_upgrade(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out) {
    if (lock->state == RL_LOST) {
        out->extended = RL_RESULT_EXPIRED; /* lock_expire() was first */
        return;
    }
    assert(lock->state == RL_HELD || lock->renews);
    note_life(lock, event);
    rl_lock_stop_extend(lock, out);
    /* The longest ttl: a later extension may have prolonged validity without reaching this node, so
     * with a shorter ttl the key here would end before validity. (A reader does not need it: its
     * lease keeps no other reader out.) Since then the set may have been given a lower limit. */
    use_ttl(lock, event, lock->life_ms);
    rl_lock_move(lock, RL_EXTENDING);
    lock->reader_fence = lock->fence.value;
    if (lock->reader_fence != 0) {
        rl_fence_begin(&lock->fence,
                       event->floor > lock->reader_fence ? event->floor : lock->reader_fence + 1);
    }
    /* Asks no node whose yes would not count: its converted key would keep readers out for
     * nothing. */
    rl_lock_begin_round(lock, event, out, RL_ROUND_UPGRADE, event->voters);
    if (lock->round.decision != RL_OPEN) { /* too few nodes are up: convert nothing in vain */
        out->send = 0;
        rl_round_expire(&lock->round, lock->rules->not_asked_reason, event->now_ns);
        upgrade_over(lock, event, out, RL_RESULT_UNKNOWN);
    }
}

void rl_lock_on_release(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out) {
    if (lock_is(lock, IN(RL_IDLE) | IN(RL_LOST)) && event->u.token != NULL) {
        memcpy(lock->token, event->u.token, RL_TOKEN_LEN);
        lock->life_ms = LIFE_MS_MAX; /* another client has set the key, with an unknown ttl */
        lock->may_hold = rl_electors(&lock->rules->electorate);
    } else if (lock->state == RL_LOST) {
        out->released = RL_RESULT_LOST; /* rl_lock_lose() has released everything */
        rl_lock_move(lock, RL_IDLE);
        return;
    } else {
        rl_lock_stop_extend(lock, out);
    }
    rl_lock_move(lock, RL_RELEASING);
    rl_lock_begin_round(lock, event, out, RL_ROUND_RELEASE, event->up);
    out->owe = lock->may_hold & ~event->up;
    out->may_have = lock->may_hold;
    if (lock->round.decision != RL_OPEN) {
        rl_lock_release_decided(lock, out);
    }
}

void rl_lock_on_disown(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out) {
    if (lock->state == RL_LOST) {
        return; /* lock_expire() was first */
    }
    rl_lock_stop_extend(lock, out);
    if (lock->is_leased) { /* the keys must live as long as was requested */
        lock->ttl_ms = lock->acquire.ttl_ms;
        rl_lock_begin_round(lock, event, out, RL_ROUND_EXTEND, event->up);
        rl_round_abandon(&lock->round);
    }
    lock->may_hold = 0; /* other clients may need the keys */
    rl_lock_move(lock, RL_IDLE);
}
