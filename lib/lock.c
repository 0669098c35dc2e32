/* The lock of the public interface: arguments are checked, the core is stepped, callbacks are run.
 *
 * Can a callback run twice or never? An operation is submitted by setting is_active, ended by the
 * core setting is_done through note_done() (once, it asserts), and told here by clearing both
 * before the callback is called. rl_lock_tell() is called for every lock in the queue, and a lock
 * is in the queue whenever one of its operations is done.
 *
 * Can a success be told after the loss of what it is about was due? loop.c tells the losses before
 * it calls rl_lock_tell(), and rl_lock_tell() does so between two callbacks, since the first may
 * have blocked the loop. A loss that is found then changes the status of an extension that is done.
 */
#include <assert.h>
#include <string.h>

#include "client.h"
#include "line.h"
#include "share.h"

/* -- Life -- */

void rl_lock_ref(redlock_lock *lock) {
    lock->references++;
}

void rl_lock_unref(redlock_lock *lock) {
    assert(lock->references > 0);
    if (--lock->references == 0) {
        rl_lock_destroy(lock);
    }
}

void redlock_lock_free(redlock_lock *lock) {
    if (lock == NULL || lock->is_freed) {
        return;
    }
    rl_own(lock->client, __func__);
    lock->is_freed = true;
    lock->on_lost = NULL;
    lock->on_renew = NULL;
    if (rl_io_is_forked(&lock->client->io)) {
        return; /* a child's copy, as that of its client, goes with the child */
    }
    if (lock->client->phase == RL_CLIENT_OPEN) {
        rl_loop_wake(lock->client);
        rl_share_abandon(lock);
    }
    rl_lock_unref(lock);
}

/* -- Callbacks -- */

static const struct {
    enum rl_result result;
    int status;
} results[] = {
    {RL_RESULT_OK, 0},
    {RL_RESULT_HELD, REDLOCK_ERR_HELD},
    {RL_RESULT_NO_QUORUM, REDLOCK_ERR_NO_QUORUM},
    {RL_RESULT_EXPIRED, REDLOCK_ERR_EXPIRED},
    {RL_RESULT_DEADLINE, REDLOCK_ERR_DEADLINE},
    {RL_RESULT_CANCELED, REDLOCK_ERR_CANCELED},
    {RL_RESULT_LOST, REDLOCK_ERR_LOST},
    {RL_RESULT_UNKNOWN, REDLOCK_ERR_UNKNOWN},
    {RL_RESULT_MAX_HOLD, REDLOCK_ERR_MAX_HOLD},
};

int rl_lock_status(enum rl_result result) {
    assert(result >= RL_RESULT_OK && result <= RL_RESULT_MAX_HOLD);
    assert(results[result - 1].result == result);
    return results[result - 1].status;
}

static void count(redlock_stats *stats, enum rl_op_kind kind, int status) {
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

void rl_lock_note(redlock_lock *lock, int status, enum rl_words words) {
    lock->last_status = status;
    lock->last_words = (uint8_t)words;
    if (lock->client->refused == lock) {
        lock->client->refused = NULL;
    }
}

/* is_first: no callback of this lock has run since the losses were told. Returns whether that is
 * still so. */
static bool tell_op(redlock_lock *lock, enum rl_op_kind kind, bool is_first) {
    if (!lock->ops[kind].is_done) {
        return is_first;
    }
    if (!is_first) {
        rl_loop_tell_losses(lock->client);
    }
    struct rl_op op = lock->ops[kind];
    assert(op.is_active && op.is_done);
    lock->ops[kind] = (struct rl_op){.callback = NULL};
    rl_lock_note(lock, op.status, (enum rl_words)op.words);
    count(&lock->client->stats, kind, op.status);
    if (kind == RL_OP_ACQUIRE && op.status == 0) {
        lock->fence = rl_lock_fence(&rl_share_carrier(lock)->core);
        lock->client->stats.fenced += lock->fence != 0;
        rl_trace(lock->client, REDLOCK_EVENT_ACQUIRED, lock, NULL, 0, 0);
        lock->joins = false;
        lock->depth++;
        assert(rl_share_is_held(lock));
        if (lock->via == NULL && lock->depth == 1) {
            rl_share_admit(lock);
        }
    }
    rl_trace(lock->client, REDLOCK_EVENT_DONE, lock, NULL, op.status, 0);
    if (op.callback != NULL) {
        op.callback(lock, op.status, op.data);
    }
    return false;
}

void rl_lock_tell(redlock_lock *lock) {
    if (lock->tell) {
        bool was_queued = lock->is_queued;
        lock->tell = false;
        lock->is_queued = true; /* what this ends is told right below, not in another turn */
        rl_votes_simple(lock, RL_EV_TELL); /* looks at the clock once more */
        lock->is_queued = was_queued;
    }
    bool is_first = tell_op(lock, RL_OP_ACQUIRE, true);
    is_first = tell_op(lock, RL_OP_EXTEND, is_first);
    is_first = tell_op(lock, RL_OP_RELEASE, is_first);
    if (lock->renew) {
        if (!is_first) {
            rl_loop_tell_losses(lock->client);
        }
        lock->renew = false;
        if (lock->on_renew != NULL && rl_share_is_held(lock)) {
            lock->on_renew(lock, lock->renew_status, lock->renew_data);
        }
    }
}

void rl_lock_tell_lost(redlock_lock *lock) {
    lock->client->stats.lost++;
    rl_trace(lock->client, REDLOCK_EVENT_LOST, lock, NULL, lock->lost_status, 0);
    redlock_lock_cb callback = lock->on_lost;
    rl_lock_note(lock, lock->lost_status, RL_WORDS_ROUND);
    lock->on_lost = NULL;
    if (callback != NULL) {
        callback(lock, lock->lost_status, lock->lost_data);
    }
}

/* -- Operations -- */

static int refuse(redlock_lock *lock, int status) {
    rl_message_refuse(lock, "%s", redlock_strerror(status));
    return status;
}

/* What every operation asks first. Brings the lock up to date: one whose validity is over is lost
 * before anything else is done with it. */
static int enter(redlock_lock *lock, const char *function) {
    if (lock == NULL || lock->is_freed) {
        return REDLOCK_ERR_INVALID;
    }
    redlock_client *client = lock->client;
    rl_own(client, function);
    if (rl_io_is_forked(&client->io)) {
        return refuse(lock, REDLOCK_ERR_FORKED);
    }
    if (client->phase != RL_CLIENT_OPEN) {
        return refuse(lock, REDLOCK_ERR_CLOSED);
    }
    if (client->refused == lock) {
        client->refused = NULL;
    }
    rl_loop_wake(client);
    redlock_lock *carrier = rl_share_carrier(lock);
    if (rl_lock_lost_ns(&carrier->core) <= redlock_now_ns()) {
        rl_votes_simple(carrier, RL_EV_TICK);
    }
    return 0;
}

static void submit(redlock_lock *lock, enum rl_op_kind kind, redlock_lock_cb callback, void *data) {
    assert(!lock->ops[kind].is_active);
    lock->ops[kind] = (struct rl_op){.callback = callback, .data = data, .is_active = true};
}

static int refuse_busy(redlock_lock *lock, const char *with) {
    rl_message_refuse(lock, "in use: %s", with);
    return REDLOCK_ERR_BUSY;
}

/* What is in the way of an acquire, an adoption, a release; NULL: nothing. */
static const char *in_the_way(const redlock_lock *lock) {
    if (lock->ops[RL_OP_ACQUIRE].is_active) {
        return "an acquire is under way";
    }
    if (lock->ops[RL_OP_RELEASE].is_active) {
        return "a release is under way";
    }
    if (lock->core.state == RL_RELEASING) {
        return "another object of its owner is releasing what they shared";
    }
    return lock->is_lost_queue ? "on_lost is about to run" : NULL;
}

/* Refuses what cannot be done while the object holds something, or is in use. */
static int check_free(redlock_lock *lock) {
    const char *why = in_the_way(lock);
    if (why != NULL) {
        return refuse_busy(lock, why);
    }
    bool holds = rl_lock_is_holding(&rl_share_carrier(lock)->core);
    return holds ? refuse(lock, REDLOCK_ERR_ALREADY_HELD) : 0;
}

static void take_callbacks(redlock_lock *lock, const redlock_acquire_options *full) {
    lock->on_lost = full->on_lost;
    lock->lost_data = full->lost_data;
    lock->on_renew = full->on_renew;
    lock->renew_data = full->renew_data;
    lock->owner = full->owner;
    lock->fence = lock->depth > 0 ? lock->fence : 0;
    lock->owes_lost = false;
    lock->renew = false;
    lock->attempt_status = 0;
    lock->has_asked = false;
}

int redlock_acquire(redlock_lock *lock, const redlock_acquire_options *options,
                    redlock_lock_cb on_done, void *data) {
    redlock_acquire_options full;
    struct rl_event event = {.type = RL_EV_ACQUIRE};
    bool part;
    int status = enter(lock, __func__);
    if (status != 0) {
        return status;
    }
    const char *why = in_the_way(lock);
    if (why != NULL) {
        return refuse_busy(lock, why);
    }
    status = rl_options_acquire(lock, options, &event.u.acquire, &full);
    if (status != 0) {
        return status;
    }
    if (rl_share_is_held(lock) && (full.owner == 0 || full.owner != lock->owner)) {
        return refuse(lock, REDLOCK_ERR_ALREADY_HELD);
    }
    redlock_lock *carrier = rl_share_find(lock, full.owner, &part);
    if (part) {
        return refuse(lock, REDLOCK_ERR_PART_HELD);
    }
    if (carrier != NULL && full.fencing && rl_lock_fence(&carrier->core) == 0) {
        rl_message_refuse(lock, RL_MESSAGE_NO_FENCE);
        return REDLOCK_ERR_ALREADY_HELD;
    }
    if (carrier == NULL && rl_lock_is_holding(&lock->core)) {
        return refuse_busy(lock, "it was released, but other objects of its owner hold by it");
    }
    take_callbacks(lock, &full);
    submit(lock, RL_OP_ACQUIRE, on_done, data);
    lock->client->stats.acquires++;
    if (carrier != NULL) {
        rl_share_join(lock, carrier);
    } else {
        event.u.acquire.waits = rl_line_enter(lock);
        rl_votes_step(lock, &event);
    }
    return 0;
}

static bool is_token(const char *token) {
    return token != NULL && strlen(token) == RL_TOKEN_LEN &&
           strspn(token, "0123456789abcdef") == RL_TOKEN_LEN;
}

static int refuse_token(redlock_lock *lock) {
    rl_message_refuse(lock, "the token must be %d hex digits, as redlock_lock_token() gives it",
                      REDLOCK_TOKEN_LENGTH);
    return REDLOCK_ERR_INVALID;
}

int redlock_adopt(redlock_lock *lock, const char *token, const redlock_acquire_options *options,
                  redlock_lock_cb on_done, void *data) {
    redlock_acquire_options full;
    struct rl_event event = {.type = RL_EV_ADOPT};
    int status = enter(lock, __func__);
    if (status != 0) {
        return status;
    }
    status = check_free(lock);
    if (status == 0 && rl_line_is_busy(lock)) {
        status = refuse_busy(lock, "another lock of this client holds it, or asks for it");
    }
    if (status != 0) {
        return status;
    }
    if (!is_token(token)) {
        return refuse_token(lock);
    }
    status = rl_options_acquire(lock, options, &event.u.adopt.acquire, &full);
    if (status != 0) {
        return status;
    }
    if (full.fencing) {
        rl_message_refuse(lock, "fencing: a fence comes with a grant; hand it over with the token");
        return REDLOCK_ERR_INVALID;
    }
    full.owner = 0;
    take_callbacks(lock, &full);
    submit(lock, RL_OP_ACQUIRE, on_done, data);
    lock->client->stats.acquires++;
    lock->has_asked = true;
    event.u.adopt.token = token;
    rl_line_enter(lock);
    rl_votes_step(lock, &event);
    return 0;
}

int redlock_extend(redlock_lock *lock, int64_t ttl_ms, redlock_lock_cb on_done, void *data) {
    struct rl_event event = {.type = RL_EV_EXTEND};
    int status = enter(lock, __func__);
    if (status != 0) {
        return status;
    }
    redlock_lock *carrier = rl_share_carrier(lock);
    bool is_extending = carrier->core.state == RL_EXTENDING && !carrier->core.renews;
    if (lock->ops[RL_OP_EXTEND].is_active) {
        return refuse_busy(lock, "an extension is under way");
    }
    if (rl_share_is_held(lock) && is_extending) {
        return refuse_busy(lock, "another object of its owner is extending what they share");
    }
    if (!rl_share_is_held(lock)) {
        return refuse(lock, REDLOCK_ERR_NOT_HELD);
    }
    if (ttl_ms != 0) {
        status = rl_options_ttl(lock, ttl_ms, 0);
        if (status != 0) {
            return status;
        }
    }
    event.u.ttl_ms = (uint32_t)ttl_ms;
    submit(lock, RL_OP_EXTEND, on_done, data);
    carrier->for_extend = carrier != lock ? lock : NULL;
    rl_votes_step(carrier, &event);
    return 0;
}

int redlock_release(redlock_lock *lock, redlock_lock_cb on_done, void *data) {
    int status = enter(lock, __func__);
    if (status != 0) {
        return status;
    }
    if (lock->ops[RL_OP_ACQUIRE].is_active || lock->ops[RL_OP_RELEASE].is_active) {
        return refuse_busy(lock, in_the_way(lock));
    }
    if (!rl_share_is_held(lock) && !lock->owes_lost) {
        return refuse(lock, REDLOCK_ERR_NOT_HELD);
    }
    submit(lock, RL_OP_RELEASE, on_done, data);
    rl_share_release(lock);
    return 0;
}

int redlock_release_token(redlock_lock *lock, const char *token, redlock_lock_cb on_done,
                          void *data) {
    struct rl_event event = {.type = RL_EV_RELEASE};
    int status = enter(lock, __func__);
    if (status != 0) {
        return status;
    }
    status = check_free(lock);
    if (status != 0) {
        return status;
    }
    if (!is_token(token)) {
        return refuse_token(lock);
    }
    event.u.token = token;
    lock->owes_lost = false;
    submit(lock, RL_OP_RELEASE, on_done, data);
    rl_votes_step(lock, &event);
    return 0;
}

int redlock_disown(redlock_lock *lock) {
    int status = enter(lock, __func__);
    if (status != 0) {
        return status;
    }
    if (!rl_share_is_held(lock)) {
        return refuse(lock, REDLOCK_ERR_NOT_HELD);
    }
    if (lock->depth > 1 || lock->joins || rl_share_has_others(lock)) {
        return refuse_busy(lock, "it was acquired more than once, or others share it");
    }
    if (!rl_share_disown(lock)) {
        return refuse(lock, REDLOCK_ERR_NOT_HELD); /* at this very moment; on_lost says so */
    }
    return 0;
}

int redlock_cancel(redlock_lock *lock) {
    int status = enter(lock, __func__);
    if (status != 0) {
        return status;
    }
    if (rl_share_cancel(lock)) {
        return 0;
    }
    redlock_lock *carrier = rl_share_carrier(lock);
    const struct rl_op *extend = &lock->ops[RL_OP_EXTEND];
    bool extends = extend->is_active && !extend->is_done; /* else it may be another's by now */
    if (!rl_lock_is_acquiring(&lock->core) && !extends) {
        return refuse(lock, REDLOCK_ERR_IDLE);
    }
    rl_votes_simple(extends ? carrier : lock, RL_EV_CANCEL);
    return 0;
}

/* -- Getters -- */

int redlock_lock_is_valid(const redlock_lock *lock) {
    if (lock != NULL) {
        rl_own(lock->client, __func__);
    }
    return lock != NULL && lock->depth > 0 && !rl_io_is_forked(&lock->client->io) &&
           rl_lock_is_valid(&rl_share_carrier(lock)->core, redlock_now_ns());
}

uint64_t redlock_lock_valid_until_ns(const redlock_lock *lock) {
    if (lock != NULL) {
        rl_own(lock->client, __func__);
    }
    bool held = lock != NULL && rl_share_is_held(lock) && !rl_io_is_forked(&lock->client->io);
    return held ? rl_share_carrier(lock)->core.valid_until_ns : 0;
}

int64_t redlock_lock_remaining_ms(const redlock_lock *lock) {
    uint64_t until_ns = redlock_lock_valid_until_ns(lock);
    uint64_t now_ns = redlock_now_ns();
    return until_ns > now_ns ? (int64_t)((until_ns - now_ns) / RL_NS_PER_MS) : 0;
}

const char *redlock_lock_token(const redlock_lock *lock) {
    return lock != NULL ? rl_share_carrier(lock)->core.token : "";
}

uint64_t redlock_lock_fence(const redlock_lock *lock) {
    return lock != NULL ? lock->fence : 0;
}

const void *redlock_lock_resource(const redlock_lock *lock, size_t *length) {
    const struct rl_resource *first = lock != NULL ? lock->resources[0] : NULL;
    if (length != NULL) {
        *length = first != NULL ? first->length : 0;
    }
    return first != NULL ? first->bytes : NULL;
}

redlock_client *redlock_lock_client(const redlock_lock *lock) {
    return lock != NULL ? lock->client : NULL;
}
