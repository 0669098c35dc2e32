/* See share.h. */
#include "share.h"

#include <assert.h>

#include "mark.h"

redlock_lock *rl_share_carrier(const redlock_lock *lock) {
    return lock->via != NULL ? lock->via : (redlock_lock *)(uintptr_t)lock;
}

bool rl_share_is_held(const redlock_lock *lock) {
    return lock->depth > 0 && rl_lock_is_holding(&rl_share_carrier(lock)->core);
}

/* Uses the hold: was told so, or is about to be. */
static bool uses(const redlock_lock *lock) {
    return lock->depth > 0 || lock->joins;
}

static bool has_users(const redlock_lock *carrier) {
    bool used = uses(carrier);
    for (const redlock_lock *at = carrier->sharers; at != NULL; at = at->next_sharer) {
        used = used || uses(at);
    }
    return used;
}

bool rl_share_has_others(const redlock_lock *lock) {
    const redlock_lock *carrier = rl_share_carrier(lock);
    bool others = carrier != lock && uses(carrier);
    for (const redlock_lock *at = carrier->sharers; at != NULL; at = at->next_sharer) {
        others = others || (at != lock && uses(at));
    }
    return others;
}

/* -- Coming and going -- */

static void attach(redlock_lock *lock, redlock_lock *carrier) {
    assert(lock->via == NULL);
    assert(carrier->via == NULL);
    if (lock != carrier) {
        rl_lock_ref(carrier);
        lock->via = carrier;
        lock->next_sharer = carrier->sharers;
        carrier->sharers = lock;
    }
}

static void detach(redlock_lock *lock) {
    redlock_lock *carrier = lock->via;
    if (carrier == NULL) {
        return;
    }
    redlock_lock **at = &carrier->sharers;
    while (*at != lock) {
        assert(*at != NULL);
        at = &(*at)->next_sharer;
    }
    *at = lock->next_sharer;
    lock->next_sharer = NULL;
    lock->via = NULL;
    rl_lock_copy_past(&lock->core, &carrier->core); /* for its messages, outcomes and token */
    assert(carrier->for_extend != lock && carrier->for_release != lock);
    rl_lock_unref(carrier);
}

struct rl_op *rl_share_op(redlock_lock *carrier, enum rl_op_kind kind, redlock_lock **whose) {
    redlock_lock *lock = kind == RL_OP_EXTEND    ? carrier->for_extend
                         : kind == RL_OP_RELEASE ? carrier->for_release
                                                 : NULL;
    *whose = lock != NULL ? lock : carrier;
    return &(*whose)->ops[kind];
}

/* The last round of all who hold was an extension: their messages are about that. */
static void note_extension(redlock_lock *carrier, int status) {
    if (carrier->depth > 0) {
        rl_lock_note(carrier, status, RL_WORDS_ROUND);
    }
    for (redlock_lock *at = carrier->sharers; at != NULL; at = at->next_sharer) {
        if (at->depth > 0) {
            rl_lock_note(at, status, RL_WORDS_ROUND);
        }
    }
}

void rl_share_end(redlock_lock *lock, enum rl_op_kind kind, int status) {
    redlock_lock *whose;
    struct rl_op *op = rl_share_op(lock, kind, &whose);
    assert(op->is_active && !op->is_done);
    op->is_done = true;
    op->status = status;
    rl_loop_queue_done(whose);
    if (kind == RL_OP_EXTEND) {
        lock->for_extend = NULL;
        if (status == 0 || status == REDLOCK_ERR_UNKNOWN) {
            note_extension(lock, status);
        }
    } else if (kind == RL_OP_RELEASE) {
        lock->for_release = NULL;
        detach(whose);
    }
}

/* An operation that ends without the nodes having been asked. */
static void end_here(redlock_lock *lock, enum rl_op_kind kind, int status, enum rl_words words) {
    struct rl_op *op = &lock->ops[kind];
    assert(op->is_active && !op->is_done);
    op->is_done = true;
    op->status = status;
    op->words = (uint8_t)words;
    rl_loop_queue_done(lock);
}

/* The object does not use the hold any more. If nobody does, it is released in the background,
 * unless the last one that used it is releasing it just now: that release is not this object's to
 * end, though its core may be. */
static void share_leave(redlock_lock *lock) {
    redlock_lock *carrier = rl_share_carrier(lock);
    const redlock_lock *extends = carrier->for_extend != NULL ? carrier->for_extend : carrier;
    assert(!uses(lock));
    rl_lock_ref(carrier);
    if (carrier->core.state == RL_EXTENDING && extends == lock) {
        rl_votes_simple(carrier, RL_EV_CANCEL); /* not the watchdog's */
    }
    if (carrier->for_release == lock) {
        rl_votes_simple(carrier, RL_EV_ABANDON);
    }
    detach(lock);
    if (!has_users(carrier) && carrier->for_release == NULL) {
        rl_votes_simple(carrier, RL_EV_ABANDON);
    }
    rl_lock_unref(carrier);
}

/* -- Acquire -- */

static bool same_resources(const redlock_lock *a, const redlock_lock *b) {
    if (a->resource_count != b->resource_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->resource_count; i++) {
        bool found = false;
        for (uint32_t j = 0; j < b->resource_count; j++) {
            found = found || a->resources[i] == b->resources[j];
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

/* The active lock of a line, if it is held for this owner now. */
static redlock_lock *held_by(const struct rl_turns *turns, uint64_t owner) {
    redlock_lock *active = turns->active != NULL ? turns->active->owner : NULL;
    if (active == NULL || active->owner != owner || !has_users(active)) {
        return NULL;
    }
    if (rl_lock_lost_ns(&active->core) <= redlock_now_ns()) {
        rl_votes_simple(active, RL_EV_TICK);
    }
    return rl_lock_is_holding(&active->core) ? active : NULL;
}

redlock_lock *rl_share_find(redlock_lock *lock, uint64_t owner, bool *part) {
    *part = false;
    if (owner == 0) {
        return NULL;
    }
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        redlock_lock *carrier = held_by(lock->seats[i].turns, owner);
        if (carrier != NULL) {
            *part = !same_resources(lock, carrier);
            return *part ? NULL : carrier;
        }
    }
    return NULL;
}

void rl_share_join(redlock_lock *lock, redlock_lock *carrier) {
    assert(carrier->owner != 0);
    assert(!lock->joins);
    if (lock->via == NULL) {
        attach(lock, carrier);
    }
    lock->owner = carrier->owner;
    lock->joins = true;
    lock->client->stats.shared++;
    end_here(lock, RL_OP_ACQUIRE, 0, RL_WORDS_SHARES);
}

static void admit_one(redlock_lock *lock, redlock_lock *carrier) {
    rl_votes_simple(lock, RL_EV_CANCEL); /* out of the line */
    struct rl_op *op = &lock->ops[RL_OP_ACQUIRE];
    assert(op->is_active && op->is_done);
    if (lock->core.acquire.fences && rl_lock_fence(&carrier->core) == 0) {
        op->status = REDLOCK_ERR_ALREADY_HELD;
        op->words = RL_WORDS_NO_FENCE;
    } else if (same_resources(lock, carrier)) {
        op->is_done = false;
        rl_share_join(lock, carrier);
    } else {
        op->status = REDLOCK_ERR_PART_HELD; /* it would wait for its own owner */
        op->words = RL_WORDS_NONE;
    }
}

void rl_share_admit(redlock_lock *carrier) {
    for (uint32_t i = 0; carrier->owner != 0 && i < carrier->resource_count; i++) {
        struct rl_seat *next = carrier->seats[i].turns->first;
        while (next != NULL) {
            redlock_lock *lock = next->owner;
            next = next->next;
            if (lock->owner == carrier->owner && lock->core.state == RL_WAITING) {
                admit_one(lock, carrier);
            }
        }
    }
}

/* An acquire that has joined comes to something else after all. */
static void end_join(redlock_lock *lock, int status, enum rl_words words) {
    lock->joins = false;
    lock->ops[RL_OP_ACQUIRE].status = status;
    lock->ops[RL_OP_ACQUIRE].words = (uint8_t)words;
}

bool rl_share_cancel(redlock_lock *lock) {
    if (!lock->joins) {
        return false;
    }
    end_join(lock, REDLOCK_ERR_CANCELED, RL_WORDS_NONE);
    if (lock->depth == 0) {
        share_leave(lock);
    }
    return true;
}

/* -- While held -- */

static void lose(redlock_lock *lock, int status) {
    if (lock->joins) {
        RL_MARK(LOST_BEFORE_TOLD);
        end_join(lock, status, RL_WORDS_OWNER_LOST);
    }
    struct rl_op *extend = &lock->ops[RL_OP_EXTEND];
    if (extend->is_done && extend->status == 0) {
        extend->status = status; /* renewed, but over before it could be told */
    }
    if (lock->depth > 0) {
        lock->depth = 0;
        lock->owes_lost = true;
        lock->lost_status = status;
        rl_loop_queue_lost(lock);
    }
}

void rl_share_lost(redlock_lock *carrier, int status) {
    assert(carrier->for_extend == NULL || carrier->for_extend->ops[RL_OP_EXTEND].is_done);
    lose(carrier, status);
    while (carrier->sharers != NULL) {
        redlock_lock *lock = carrier->sharers;
        lose(lock, status);
        detach(lock);
    }
}

static void renewed(redlock_lock *lock, int status) {
    if (lock->depth > 0 && lock->on_renew != NULL) {
        lock->renew = true;
        lock->renew_status = status;
        rl_loop_queue_done(lock);
    }
}

void rl_share_renewed(redlock_lock *carrier, int status) {
    note_extension(carrier, status);
    renewed(carrier, status);
    for (redlock_lock *at = carrier->sharers; at != NULL; at = at->next_sharer) {
        renewed(at, status);
    }
}

/* -- Release -- */

void rl_share_release(redlock_lock *lock) {
    redlock_lock *carrier = rl_share_carrier(lock);
    assert(lock->ops[RL_OP_RELEASE].is_active);
    if (lock->owes_lost) {
        lock->owes_lost = false;
        bool is_said = lock->lost_status == REDLOCK_ERR_LOST; /* by the round */
        end_here(lock, RL_OP_RELEASE, REDLOCK_ERR_LOST,
                 is_said ? RL_WORDS_ROUND : RL_WORDS_WAS_LOST);
        return;
    }
    assert(lock->depth > 0);
    lock->depth--;
    if (lock->depth > 0) {
        end_here(lock, RL_OP_RELEASE, 0, RL_WORDS_STILL_HELD);
    } else if (has_users(carrier)) {
        share_leave(lock);
        end_here(lock, RL_OP_RELEASE, 0, RL_WORDS_HELD_BY_OTHERS);
    } else {
        carrier->for_release = carrier != lock ? lock : NULL;
        rl_votes_simple(carrier, RL_EV_RELEASE);
    }
}

bool rl_share_disown(redlock_lock *lock) {
    redlock_lock *carrier = rl_share_carrier(lock);
    assert(lock->depth == 1 && !lock->joins && !rl_share_has_others(lock));
    rl_lock_ref(carrier);
    rl_votes_simple(carrier, RL_EV_DISOWN);
    bool is_lost = carrier->core.state == RL_LOST;
    if (!is_lost) {
        lock->depth = 0;
        detach(lock);
    }
    rl_lock_unref(carrier);
    return !is_lost;
}

void rl_share_abandon(redlock_lock *lock) {
    if (lock->joins) {
        end_join(lock, REDLOCK_ERR_CANCELED, RL_WORDS_NONE);
    }
    lock->depth = 0;
    lock->owes_lost = false;
    share_leave(lock); /* of itself as well: it may go on carrying others */
}
