/* See reentrancy.h. */
#include "lock/reentrancy.h"

#include <assert.h>
#include <string.h>

#include "client/env.h"
#include "lock/life.h"
#include "lock/step.h"
#include "mode/mode.h"
#include "wait/hear.h"
#include "wait/line.h"
#include "watch/span.h"

/* The object no longer uses the hold. If no object does, releases the hold in the background,
 * unless the last user is already releasing it: this object must not end that release, even if its
 * core carries it out. */
static void leave(redlock_lock *lock) {
    redlock_lock *primary = rl_hold_primary(lock);
    const redlock_lock *extends = rl_hold_user_of(primary, RL_OP_EXTEND);
    assert(!rl_hold_uses(lock));
    rl_lock_ref(primary);
    if (primary->core.state == RL_EXTENDING && extends == lock) {
        rl_step_simple(primary, RL_EV_CANCEL); /* the object's own extension, not the watchdog's */
    }
    if (lock != primary && rl_hold_user_of(primary, RL_OP_RELEASE) == lock) {
        rl_step_simple(primary, RL_EV_ABANDON);
    }
    rl_hold_detach(lock);
    if (!rl_hold_has_users(primary) && rl_hold_user_of(primary, RL_OP_RELEASE) == primary) {
        rl_step_simple(primary, RL_EV_ABANDON);
    }
    rl_lock_unref(primary);
}

/* -- Acquire -- */

/* Compares names and ignores kinds. */
static bool same_name(const struct rl_resource *a, const struct rl_resource *b) {
    return a == b || (a->home_hash == b->home_hash && a->length == b->length &&
                      memcmp(a->bytes, b->bytes, a->length) == 0);
}

static bool same_resources(const redlock_lock *a, const redlock_lock *b) {
    if (a->resource_count != b->resource_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->resource_count; i++) {
        bool found = false;
        for (uint32_t j = 0; j < b->resource_count; j++) {
            found = found || same_name(rl_lock_resource(a, i), rl_lock_resource(b, j));
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

/* The lock in this waitlist that the owner holds, or NULL. */
static redlock_lock *held_by(const struct rl_waitlist *list, uint64_t owner) {
    redlock_lock *holder = NULL;
    for (struct rl_ticket *at = list->first; at != NULL && holder == NULL; at = at->next) {
        redlock_lock *lock = rl_ticket_lock(at);
        const bool holds = rl_lock_is_holding(&lock->core);
        holder = holds && rl_hold_owner(lock) == owner && rl_hold_has_users(lock) ? lock : NULL;
    }
    if (holder != NULL && rl_lock_lost_ns(&holder->core) <= rl_client_now_ns(holder->client)) {
        rl_step_simple(holder, RL_EV_TICK);
        holder = rl_lock_is_holding(&holder->core) ? holder : NULL;
    }
    return holder;
}

/* The owner's hold of this resource, in either mode, or NULL. */
static redlock_lock *find_hold(const redlock_lock *lock, const struct rl_resource *resource,
                               uint64_t owner) {
    redlock_lock *holder = held_by(&resource->waitlist, owner);
    const struct rl_resource *same = holder == NULL ? rl_hold_other_mode(lock, resource) : NULL;
    return same != NULL ? held_by(&same->waitlist, owner) : holder;
}

/* Whether the lock can share this hold of its owner: 0, or why not. */
static int sharing_status(const redlock_lock *lock, const redlock_lock *primary) {
    const bool would_wait = !lock->mode->side_by_side && rl_mode_now(primary)->side_by_side;
    assert(rl_lock_is_holding(&primary->core));
    if (!same_resources(lock, primary)) {
        return REDLOCK_ERR_PART_HELD;
    }
    return would_wait ? REDLOCK_ERR_WOULD_DEADLOCK : 0;
}

redlock_lock *rl_reentrancy_find(redlock_lock *lock, uint64_t owner, int *why) {
    *why = 0;
    redlock_lock *primary = NULL;
    for (uint32_t i = 0; owner != 0 && primary == NULL && i < lock->resource_count; i++) {
        primary = find_hold(lock, rl_lock_resource(lock, i), owner);
    }
    if (primary != NULL) {
        *why = sharing_status(lock, primary);
    }
    return *why == 0 ? primary : NULL;
}

void rl_reentrancy_join(redlock_lock *lock, redlock_lock *primary) {
    assert(rl_hold_owner(primary) != 0);
    assert(!lock->joining);
    if (rl_hold_primary(lock) == lock) {
        rl_hold_attach(lock, primary);
    }
    lock->extras->owner = rl_hold_owner(primary);
    lock->joining = true;
    lock->client->stats.shared++;
    rl_op_end(lock, RL_OP_ACQUIRE, 0, RL_WORDS_SHARES);
}

static void admit_one(redlock_lock *lock, redlock_lock *primary) {
    rl_step_simple(lock, RL_EV_CANCEL); /* leaves the waitlists */
    struct rl_op *op = rl_op_of(lock, RL_OP_ACQUIRE);
    const int status = sharing_status(lock, primary);
    RL_REQUIRE(op != NULL);
    assert(op->is_done);
    if (status != 0) {
        op->status = status; /* the owner would wait for itself */
        op->words = RL_WORDS_NONE;
    } else if (lock->core.acquire.fences && rl_lock_fence(&primary->core) == 0) {
        op->status = REDLOCK_ERR_ALREADY_HELD;
        op->words = RL_WORDS_NO_FENCE;
    } else {
        op->is_done = false;
        rl_reentrancy_join(lock, primary);
    }
}

/* Also admits locks that are already asking, as readers do side by side: an owner has one hold. */
static void admit_all(const struct rl_waitlist *list, redlock_lock *primary) {
    struct rl_ticket *next = list->first;
    assert(rl_hold_owner(primary) != 0);
    while (next != NULL) {
        redlock_lock *lock = rl_ticket_lock(next);
        next = next->next;
        if (rl_hold_owner(lock) == rl_hold_owner(primary) && rl_lock_is_acquiring(&lock->core)) {
            admit_one(lock, primary);
        }
    }
}

void rl_reentrancy_admit(redlock_lock *primary) {
    for (uint32_t i = 0; rl_hold_owner(primary) != 0 && i < primary->resource_count; i++) {
        const struct rl_resource *resource = rl_lock_resource(primary, i);
        admit_all(&resource->waitlist, primary);
        resource = rl_hold_other_mode(primary, resource);
        if (resource != NULL) {
            admit_all(&resource->waitlist, primary);
        }
    }
}

bool rl_reentrancy_cancel(redlock_lock *lock) {
    if (!lock->joining) {
        return false;
    }
    rl_hold_end_join(lock, REDLOCK_ERR_CANCELED, RL_WORDS_NONE);
    if (lock->depth == 0) {
        leave(lock);
    }
    return true;
}

/* -- Lingering -- */

void rl_linger_reset(redlock_lock *lock, uint32_t ms) {
    assert(!rl_hold_lingers(lock));
    if (lock->extras != NULL) {
        lock->extras->linger = (struct rl_linger){.ms = ms};
    }
}

/* When the hold is too old to resume: half of a new hold's validity must be left. */
static uint64_t ends_ns(const redlock_lock *lock) {
    const struct rl_acquire *acquire = &lock->core.acquire;
    const uint64_t half_ns = rl_validity_ns(lock->core.rules, acquire->ttl_ms) / 2;
    const uint64_t least_ns = acquire->min_validity_ms * RL_NS_PER_MS;
    const uint64_t needed_ns = least_ns > half_ns ? least_ns : half_ns;
    const uint64_t until_ns = lock->core.valid_until_ns, lost_ns = rl_lock_lost_ns(&lock->core);
    uint64_t ends_ns = until_ns > needed_ns ? until_ns - needed_ns : 0;
    ends_ns = lost_ns < ends_ns ? lost_ns : ends_ns;
    return lock->extras->linger.until_ns < ends_ns ? lock->extras->linger.until_ns : ends_ns;
}

/* The user has released the lock, and no object uses the hold any more. Returns whether it lingers
 * now. */
static bool begin_to_linger(redlock_lock *lock) {
    assert(rl_hold_primary(lock) == lock && !rl_hold_has_users(lock));
    if (!rl_lock_may_linger(lock) || lock->core.state != RL_HELD ||
        !rl_mode_now(lock)->is_passed_on) {
        return false;
    }
    struct rl_linger *linger = &lock->extras->linger;
    const uint64_t now_ns = rl_client_now_ns(lock->client);
    if (!rl_hear_is_unwanted(lock, now_ns)) {
        return false;
    }
    if (linger->until_ns == 0) {
        linger->until_ns = now_ns + linger->ms * RL_NS_PER_MS;
    }
    const uint64_t until_ns = ends_ns(lock);
    linger->ends_ns = now_ns < until_ns ? until_ns : 0;
    rl_deadlines_set(&lock->client->deadlines, &lock->deadline, rl_hold_wake_ns(lock));
    return linger->ends_ns != 0;
}

bool rl_linger_suits(const redlock_lock *lock, const struct rl_acquire *acquire, uint32_t ms) {
    const struct rl_acquire *had = &lock->core.acquire;
    return rl_hold_lingers(lock) && ms == lock->extras->linger.ms &&
           acquire->ttl_ms == had->ttl_ms && acquire->min_validity_ms == had->min_validity_ms &&
           acquire->renew_ms == had->renew_ms && acquire->max_silence_ms == had->max_silence_ms &&
           rl_client_now_ns(lock->client) < lock->extras->linger.ends_ns;
}

void rl_linger_resume(redlock_lock *lock) {
    assert(rl_hold_lingers(lock) && !lock->joining);
    lock->extras->linger.ends_ns = 0;
    lock->joining = true;
    rl_op_end(lock, RL_OP_ACQUIRE, 0, RL_WORDS_LINGERED);
    rl_step_simple(lock, RL_EV_ALIVE); /* the watchdog goes on */
}

void rl_linger_end(redlock_lock *lock) {
    if (rl_hold_lingers(lock)) {
        lock->extras->linger.ends_ns = 0;
        rl_step_simple(lock, RL_EV_ABANDON);
    }
}

static void recall(const struct rl_resource *resource) {
    redlock_lock *active = resource != NULL ? rl_line_active(resource) : NULL;
    if (active != NULL) {
        rl_linger_end(active);
    }
}

void rl_linger_recall(const redlock_lock *lock) {
    /* Most clients have no lingering lock, and skip the search. */
    for (uint32_t i = 0; rl_hear_has_any(lock->client) && i < lock->resource_count; i++) {
        const struct rl_resource *resource = rl_lock_resource(lock, i);
        recall(resource);
        recall(rl_hold_other_mode(lock, resource));
    }
}

/* -- Release -- */

void rl_reentrancy_release(redlock_lock *lock) {
    redlock_lock *primary = rl_hold_primary(lock);
    assert(rl_op_of(lock, RL_OP_RELEASE) != NULL);
    if (lock->was_lost) {
        lock->was_lost = false;
        bool is_said = lock->last.loss == REDLOCK_ERR_LOST; /* the last round shows the loss */
        rl_op_end(lock, RL_OP_RELEASE, REDLOCK_ERR_LOST,
                  is_said ? RL_WORDS_ROUND : RL_WORDS_WAS_LOST);
        return;
    }
    assert(lock->depth > 0);
    lock->depth--;
    if (lock->depth == 0) {
        rl_span_released(lock);
    }
    if (lock->depth > 0) {
        rl_op_end(lock, RL_OP_RELEASE, 0, RL_WORDS_STILL_HELD);
    } else if (rl_hold_has_users(primary)) {
        leave(lock);
        rl_op_end(lock, RL_OP_RELEASE, 0, RL_WORDS_HELD_BY_OTHERS);
    } else if (primary == lock && begin_to_linger(lock)) {
        rl_op_end(lock, RL_OP_RELEASE, 0, RL_WORDS_LINGERS);
    } else {
        rl_hold_act_for(primary, RL_OP_RELEASE, lock);
        rl_step_simple(primary, RL_EV_RELEASE);
    }
}

bool rl_reentrancy_disown(redlock_lock *lock) {
    redlock_lock *primary = rl_hold_primary(lock);
    assert(lock->depth == 1 && !lock->joining && !rl_hold_has_others(lock));
    rl_lock_ref(primary);
    rl_step_simple(primary, RL_EV_DISOWN);
    bool is_lost = primary->core.state == RL_LOST;
    if (!is_lost) {
        lock->depth = 0;
        rl_span_released(lock);
        rl_hold_detach(lock);
    }
    rl_lock_unref(primary);
    return !is_lost;
}

void rl_reentrancy_abandon(redlock_lock *lock) {
    if (lock->joining) {
        rl_hold_end_join(lock, REDLOCK_ERR_CANCELED, RL_WORDS_NONE);
    }
    if (lock->depth > 0) {
        lock->depth = 0;
        rl_span_released(lock);
    }
    lock->was_lost = false;
    leave(lock); /* also a primary, whose hold may go on for its followers */
}
