/* See hold.h. */
#include "lock/hold.h"

#include <assert.h>

#include "base/mark.h"
#include "lock/life.h"

redlock_lock *rl_hold_primary(const redlock_lock *lock) {
    return lock->reentry.primary != NULL ? lock->reentry.primary : (redlock_lock *)(uintptr_t)lock;
}

bool rl_hold_is_held(const redlock_lock *lock) {
    return lock->reentry.depth > 0 && rl_lock_is_holding(&rl_hold_primary(lock)->core);
}

/* Whether the object uses the hold: its callback said so, or is about to. */
bool rl_hold_uses(const redlock_lock *lock) {
    return lock->reentry.depth > 0 || lock->reentry.joining;
}

bool rl_hold_has_users(const redlock_lock *primary) {
    assert(primary->reentry.primary == NULL);
    bool used = rl_hold_uses(primary);
    RL_EACH(const redlock_lock, at, &primary->reentry.followers, reentry.link) {
        used = used || rl_hold_uses(at);
    }
    return used;
}

bool rl_hold_has_others(const redlock_lock *lock) {
    const redlock_lock *primary = rl_hold_primary(lock);
    bool others = primary != lock && rl_hold_uses(primary);
    RL_EACH(const redlock_lock, at, &primary->reentry.followers, reentry.link) {
        others = others || (at != lock && rl_hold_uses(at));
    }
    return others;
}

void rl_hold_attach(redlock_lock *lock, redlock_lock *primary) {
    assert(lock->reentry.primary == NULL);
    assert(primary->reentry.primary == NULL);
    assert(lock->client == primary->client);
    assert(rl_lock_is_holding(&primary->core));
    if (lock != primary) {
        assert(!rl_lock_is_in_line(&lock->core)); /* it would wait for its own hold */
        rl_lock_ref(primary);
        lock->reentry.primary = primary;
        rl_list_add(&primary->reentry.followers, &lock->reentry.link);
    }
}

void rl_hold_detach(redlock_lock *lock) {
    redlock_lock *primary = lock->reentry.primary;
    if (primary == NULL) {
        return;
    }
    assert(!rl_hold_uses(lock));
    rl_list_remove(&lock->reentry.link);
    lock->reentry.primary = NULL;
    rl_lock_copy_past(&lock->core, &primary->core); /* for its messages, outcomes and token */
    assert(primary->reentry.for_extend != lock && primary->reentry.for_release != lock);
    rl_lock_unref(primary);
}

/* The lock object whose operation the primary's core carries out. */
static redlock_lock *user_of(redlock_lock *primary, enum rl_op_kind kind) {
    redlock_lock *lock = kind == RL_OP_EXTEND    ? primary->reentry.for_extend
                         : kind == RL_OP_RELEASE ? primary->reentry.for_release
                                                 : NULL;
    assert(lock == NULL || lock->reentry.primary == primary);
    return lock != NULL ? lock : primary;
}

/* The last round of all users of the hold was an extension: their messages are about it. */
static void note_extension(redlock_lock *primary, int status) {
    if (primary->reentry.depth > 0) {
        rl_lock_note(primary, status, RL_WORDS_ROUND);
    }
    RL_EACH(redlock_lock, at, &primary->reentry.followers, reentry.link) {
        if (at->reentry.depth > 0) {
            rl_lock_note(at, status, RL_WORDS_ROUND);
        }
    }
}

void rl_hold_end(redlock_lock *lock, enum rl_op_kind kind, int status, enum rl_words words) {
    assert(lock->reentry.primary == NULL); /* a follower's core does nothing */
    redlock_lock *whose = user_of(lock, kind);
    rl_op_end(whose, kind, status, words);
    if (kind == RL_OP_EXTEND) {
        lock->reentry.for_extend = NULL;
        if (status == 0 || status == REDLOCK_ERR_UNKNOWN) {
            note_extension(lock, status);
        }
    } else if (kind == RL_OP_RELEASE) {
        lock->reentry.for_release = NULL;
        rl_hold_detach(whose);
    }
}

/* Ends an acquire that has joined with another status after all. */
void rl_hold_end_join(redlock_lock *lock, int status, enum rl_words words) {
    assert(lock->reentry.joining);
    assert(lock->ops[RL_OP_ACQUIRE].is_done && status < 0);
    lock->reentry.joining = false;
    lock->ops[RL_OP_ACQUIRE].status = status;
    lock->ops[RL_OP_ACQUIRE].words = (uint8_t)words;
}

static void lose(redlock_lock *lock, int status) {
    if (lock->reentry.joining) {
        RL_MARK(LOST_BEFORE_TOLD);
        rl_hold_end_join(lock, status, RL_WORDS_OWNER_LOST);
    }
    struct rl_op *extend = &lock->ops[RL_OP_EXTEND];
    if (extend->is_done && extend->status == 0) {
        extend->status = status; /* renewed, but over before it could be reported */
    }
    if (lock->reentry.depth > 0) {
        assert(!rl_queued_is_in(&lock->loss.queued)); /* on_lost runs once for each hold */
        lock->reentry.depth = 0;
        lock->reentry.owes_lost = true;
        lock->loss.status = (int16_t)status;
        rl_ready_lost(lock);
    }
}

void rl_hold_lost(redlock_lock *primary, int status) {
    assert(status < 0);
    assert(primary->reentry.for_extend == NULL ||
           primary->reentry.for_extend->ops[RL_OP_EXTEND].is_done);
    lose(primary, status);
    struct rl_link *first;
    while ((first = primary->reentry.followers.first) != NULL) {
        redlock_lock *lock = RL_CONTAINER(first, redlock_lock, reentry.link);
        lose(lock, status);
        rl_hold_detach(lock);
    }
}

static void renewed(redlock_lock *lock, int status) {
    if (lock->reentry.depth > 0 && lock->renewal.callback != NULL) {
        lock->renewal.is_due = true;
        lock->renewal.status = (int16_t)status;
        rl_ready_done(lock);
    }
}

void rl_hold_renewed(redlock_lock *primary, int status) {
    assert(primary->reentry.primary == NULL);
    assert(primary->reentry.for_extend == NULL); /* the watchdog waits for the user's extension */
    note_extension(primary, status);
    renewed(primary, status);
    RL_EACH(redlock_lock, at, &primary->reentry.followers, reentry.link) {
        renewed(at, status);
    }
}
