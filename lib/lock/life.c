/* See life.h. */
#include "lock/life.h"

#include <assert.h>
#include <string.h>

#include "base/mark.h"
#include "base/require.h"
#include "mode/mode.h"
#include "nodes/seats.h"

void rl_lock_enlist(redlock_lock *lock) {
    redlock_client *client = lock->client;
    assert(client->phase == RL_CLIENT_OPEN);
    assert(client->ends.capacity > client->lock_count); /* rl_reserve_deadline() */
    lock->references = 1;
    rl_list_add(&client->locks, &lock->link);
    client->lock_count++;
    client->user_count++;
}

void rl_lock_destroy(redlock_lock *lock) {
    redlock_client *client = lock->client;
    RL_REQUIRE(lock->references == 0 || client->phase == RL_CLIENT_GONE);
    RL_REQUIRE(!rl_queued_is_in(&lock->done) && !rl_queued_is_in(&lock->ready));
    RL_REQUIRE(!rl_queued_is_in(&lock->loss.queued));
    assert(!rl_lock_is_in_line(&lock->core) || client->phase == RL_CLIENT_GONE);
    assert(lock->extras == NULL || lock->extras->followers.first == NULL ||
           client->phase == RL_CLIENT_GONE);
    assert(client->lock_count > 0);
    rl_deadlines_set(&client->deadlines, &lock->deadline, RL_NEVER);
    rl_deadlines_set(&client->ends, &lock->end, RL_NEVER);
    rl_list_remove(&lock->link);
    client->lock_count--;
    client->user_count--;
    rl_lock_refused(lock, NULL, false);
    if (lock->owns_ballots) {
        rl_free(&client->memory, lock->core.round.ballots);
    }
    rl_free(&client->memory, lock->extras);
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        rl_resource_put(&client->resources, rl_ticket_resource(&lock->tickets[i]));
    }
    rl_free(&client->memory, lock);
}

int rl_lock_status(enum rl_result result) {
    static const int statuses[] = {
        [RL_RESULT_OK] = 0,
        [RL_RESULT_HELD] = REDLOCK_ERR_HELD,
        [RL_RESULT_NO_QUORUM] = REDLOCK_ERR_NO_QUORUM,
        [RL_RESULT_EXPIRED] = REDLOCK_ERR_EXPIRED,
        [RL_RESULT_DEADLINE] = REDLOCK_ERR_DEADLINE,
        [RL_RESULT_CANCELED] = REDLOCK_ERR_CANCELED,
        [RL_RESULT_LOST] = REDLOCK_ERR_LOST,
        [RL_RESULT_UNKNOWN] = REDLOCK_ERR_UNKNOWN,
        [RL_RESULT_MAX_HOLD] = REDLOCK_ERR_MAX_HOLD,
        [RL_RESULT_PERMITS] = REDLOCK_ERR_PERMITS,
        [RL_RESULT_SILENT] = REDLOCK_ERR_SILENT,
    };
    assert(result >= RL_RESULT_OK && result <= RL_RESULT_SILENT);
    return statuses[result];
}

void rl_lock_refused(redlock_lock *lock, const char *text, bool copies) {
    const redlock_allocator *memory = &lock->client->memory;
    char *copy = copies ? rl_alloc(memory, 1, strlen(text) + 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, text, strlen(text));
    } else if (copies) {
        text = redlock_strerror(REDLOCK_ERR_INVALID);
    }
    if (lock->last.refusal_is_allocated) {
        rl_free(memory, (char *)(uintptr_t)lock->last.refusal);
    }
    lock->last.refusal = copy != NULL ? copy : text;
    lock->last.refusal_is_allocated = copy != NULL;
}

void rl_lock_note(redlock_lock *lock, int status, enum rl_words words) {
    lock->last.status = (int16_t)status;
    lock->last.words = (uint8_t)words;
    rl_lock_refused(lock, NULL, false);
}

void rl_op_count(redlock_stats *stats, enum rl_op_kind kind, int status) {
    if (kind == RL_OP_EXTEND) {
        stats->renewed += status == 0;
        stats->extend_failed += status != 0;
    } else if (kind == RL_OP_RELEASE) {
        stats->released += status == 0;
    } else {
        stats->granted += status == 0;
        stats->held_by_another += status == REDLOCK_ERR_HELD;
        stats->no_quorum += status == REDLOCK_ERR_NO_QUORUM;
        stats->expired += status == REDLOCK_ERR_EXPIRED;
        stats->deadline += status == REDLOCK_ERR_DEADLINE;
        stats->canceled += status == REDLOCK_ERR_CANCELED;
    }
}

void rl_op_submit(redlock_lock *lock, enum rl_op_kind kind, redlock_lock_cb callback, void *data) {
    struct rl_op *op = &lock->ops[kind == RL_OP_EXTEND];
    RL_REQUIRE(!op->is_active); /* else a callback would be missed */
    *op = (struct rl_op){
        .callback = callback, .data = data, .kind = (uint8_t)kind, .is_active = true};
}

void rl_op_end(redlock_lock *lock, enum rl_op_kind kind, int status, enum rl_words words) {
    struct rl_op *op = rl_op_of(lock, kind);
    RL_REQUIRE(op != NULL);
    RL_REQUIRE(!op->is_done);
    op->is_done = true;
    op->status = status;
    op->words = (uint8_t)words;
    rl_ready_done(lock);
}

static void put(struct rl_queue *queue, struct rl_queued *item, redlock_lock *lock) {
    if (!rl_queued_is_in(item)) {
        rl_lock_ref(lock);
        rl_queue_add(queue, item);
    }
}

void rl_ready_done(redlock_lock *lock) {
    put(&lock->client->done, &lock->done, lock);
}

void rl_ready_lost(redlock_lock *lock) {
    put(&lock->client->lost, &lock->loss.queued, lock);
}

void rl_ready_step(redlock_lock *lock) {
    put(&lock->client->ready, &lock->ready, lock);
}

redlock_lock *rl_ready_take_lost(redlock_client *client) {
    struct rl_queued *item = rl_queue_take(&client->lost);
    return RL_CONTAINER_OR_NULL(item, redlock_lock, loss.queued);
}

bool rl_ready_has_callbacks(const redlock_client *client) {
    return client->lost.first != NULL || client->done.first != NULL ||
           client->answered.first != NULL;
}

/* -- The users of a hold -- */

uint64_t rl_hold_owner(const redlock_lock *lock) {
    return lock->extras != NULL ? lock->extras->owner : 0;
}

bool rl_hold_reserve(redlock_lock *lock, const redlock_acquire_options *full) {
    const bool wants = full->owner != 0 || full->on_renew != NULL || full->linger_ms > 0;
    if (wants && lock->extras == NULL) {
        lock->extras = rl_alloc(&lock->client->memory, 1, sizeof *lock->extras);
    }
    if (lock->extras != NULL) {
        lock->extras->lock = lock;
    }
    return !wants || lock->extras != NULL;
}

/* The first of the locks that share this one's hold, and the one after that; NULL: none. */
static redlock_lock *first_follower(const redlock_lock *primary) {
    struct rl_link *first = primary->extras != NULL ? primary->extras->followers.first : NULL;
    return first != NULL ? RL_CONTAINER(first, struct rl_extras, link)->lock : NULL;
}

static redlock_lock *next_follower(const redlock_lock *follower) {
    struct rl_link *next = follower->extras->link.next;
    return next != NULL ? RL_CONTAINER(next, struct rl_extras, link)->lock : NULL;
}

#define EACH_FOLLOWER(at, primary) \
    for (redlock_lock *at = first_follower(primary); at != NULL; at = next_follower(at))

bool rl_hold_is_held(const redlock_lock *lock) {
    return lock->depth > 0 && rl_lock_is_holding(&rl_hold_primary(lock)->core);
}

/* Whether the object uses the hold: its callback has reported that, or is about to. */
bool rl_hold_uses(const redlock_lock *lock) {
    return lock->depth > 0 || lock->joining;
}

bool rl_hold_has_users(const redlock_lock *primary) {
    assert(rl_hold_primary(primary) == primary);
    bool used = rl_hold_uses(primary);
    EACH_FOLLOWER(at, primary) {
        used = used || rl_hold_uses(at);
    }
    return used;
}

bool rl_hold_has_others(const redlock_lock *lock) {
    const redlock_lock *primary = rl_hold_primary(lock);
    bool others = primary != lock && rl_hold_uses(primary);
    EACH_FOLLOWER(at, primary) {
        others = others || (at != lock && rl_hold_uses(at));
    }
    return others;
}

struct rl_resource *rl_hold_other_mode(const redlock_lock *lock,
                                       const struct rl_resource *resource) {
    const struct rl_mode_rules *other = lock->mode->other;
    return other != NULL ? rl_resource_find(resource->table, rl_resource_kind(other->mode, 0, 0),
                                            resource->bytes, resource->length)
                         : NULL;
}

bool rl_hold_lingers(const redlock_lock *lock) {
    return lock->extras != NULL && lock->extras->linger.ends_ns != 0 &&
           rl_lock_is_holding(&lock->core);
}

uint64_t rl_hold_wake_ns(const redlock_lock *lock) {
    return rl_hold_lingers(lock) ? lock->extras->linger.ends_ns : rl_lock_wake_ns(&lock->core);
}

void rl_hold_attach(redlock_lock *lock, redlock_lock *primary) {
    assert(rl_hold_primary(lock) == lock);
    assert(rl_hold_primary(primary) == primary);
    assert(lock->client == primary->client);
    assert(rl_lock_is_holding(&primary->core));
    if (lock != primary) {
        assert(!rl_lock_is_in_line(&lock->core)); /* else it would wait for its own hold */
        rl_lock_ref(primary);
        lock->extras->primary = primary;
        rl_list_add(&primary->extras->followers, &lock->extras->link);
    }
}

void rl_hold_detach(redlock_lock *lock) {
    redlock_lock *primary = rl_hold_primary(lock);
    if (primary == lock) {
        return;
    }
    assert(!rl_hold_uses(lock));
    rl_list_remove(&lock->extras->link);
    lock->extras->primary = NULL;
    if (rl_seats_share(lock, primary)) { /* for messages, outcomes and the token */
        rl_lock_copy_past(&lock->core, &primary->core);
    }
    assert(primary->extras->for_extend != lock && primary->extras->for_release != lock);
    rl_lock_unref(primary);
}

redlock_lock *rl_hold_user_of(redlock_lock *primary, enum rl_op_kind kind) {
    const struct rl_extras *extras = primary->extras;
    redlock_lock *lock = extras == NULL          ? NULL
                         : kind == RL_OP_EXTEND  ? extras->for_extend
                         : kind == RL_OP_RELEASE ? extras->for_release
                                                 : NULL;
    assert(lock == NULL || rl_hold_primary(lock) == primary);
    return lock != NULL ? lock : primary;
}

void rl_hold_act_for(redlock_lock *primary, enum rl_op_kind kind, redlock_lock *lock) {
    struct rl_extras *extras = primary->extras;
    assert(kind != RL_OP_ACQUIRE && (lock == NULL || lock == primary || extras != NULL));
    if (extras != NULL) {
        redlock_lock **whose = kind == RL_OP_EXTEND ? &extras->for_extend : &extras->for_release;
        *whose = lock != primary ? lock : NULL;
    }
}

/* The hold's last round was an extension: makes the messages of all its users describe it. */
static void note_extension(redlock_lock *primary, int status) {
    if (primary->depth > 0) {
        rl_lock_note(primary, status, RL_WORDS_ROUND);
    }
    EACH_FOLLOWER(at, primary) {
        if (at->depth > 0) {
            rl_lock_note(at, status, RL_WORDS_ROUND);
        }
    }
}

void rl_hold_end(redlock_lock *lock, enum rl_op_kind kind, int status, enum rl_words words) {
    assert(rl_hold_primary(lock) == lock); /* a follower's core does nothing */
    redlock_lock *whose = rl_hold_user_of(lock, kind);
    rl_op_end(whose, kind, status, words);
    if (kind == RL_OP_EXTEND) {
        rl_hold_act_for(lock, kind, NULL);
        if (status == 0 || status == REDLOCK_ERR_UNKNOWN) {
            note_extension(lock, status);
        }
    } else if (kind == RL_OP_RELEASE) {
        rl_hold_act_for(lock, kind, NULL);
        rl_hold_detach(whose);
    }
}

/* Changes the status of an acquire that has already joined a hold. */
void rl_hold_end_join(redlock_lock *lock, int status, enum rl_words words) {
    assert(lock->joining);
    struct rl_op *acquire = rl_op_of(lock, RL_OP_ACQUIRE);
    RL_REQUIRE(acquire != NULL);
    assert(acquire->is_done && status < 0);
    lock->joining = false;
    acquire->status = status;
    acquire->words = (uint8_t)words;
}

static void lose(redlock_lock *lock, int status) {
    if (lock->joining) {
        RL_MARK(LOST_BEFORE_TOLD);
        rl_hold_end_join(lock, status, RL_WORDS_OWNER_LOST);
    }
    struct rl_op *extend = rl_op_of(lock, RL_OP_EXTEND);
    if (extend != NULL && extend->is_done && extend->status == 0) {
        extend->status = status; /* it succeeded, but the hold ended before the callback */
    }
    if (lock->depth > 0) {
        assert(!rl_queued_is_in(&lock->loss.queued)); /* on_lost runs once per hold */
        lock->depth = 0;
        lock->was_lost = true;
        lock->last.loss = (int16_t)status;
        rl_ready_lost(lock);
    }
}

void rl_hold_lost(redlock_lock *primary, int status) {
    assert(status < 0);
    assert(rl_hold_user_of(primary, RL_OP_EXTEND) == primary ||
           rl_op_of(rl_hold_user_of(primary, RL_OP_EXTEND), RL_OP_EXTEND)->is_done);
    lose(primary, status);
    redlock_lock *lock;
    while ((lock = first_follower(primary)) != NULL) {
        lose(lock, status);
        rl_hold_detach(lock);
    }
}

static void renewed(redlock_lock *lock, int status) {
    struct rl_extras *extras = lock->extras;
    if (lock->depth > 0 && extras != NULL && extras->renewal.callback != NULL) {
        extras->renewal.is_due = true;
        extras->renewal.status = (int16_t)status;
        rl_ready_done(lock);
    }
}

void rl_hold_renewed(redlock_lock *primary, int status) {
    assert(rl_hold_primary(primary) == primary);
    assert(rl_hold_user_of(primary, RL_OP_EXTEND) ==
           primary); /* the watchdog waits for the user's extension */
    note_extension(primary, status);
    renewed(primary, status);
    EACH_FOLLOWER(at, primary) {
        renewed(at, status);
    }
}
