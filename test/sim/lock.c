/* What a user may do with a lock, as lib/lock.c: the same refusals, the core stepped, callbacks run
 * when the loop's turn comes to them. */
#include <assert.h>

#include "sim/client.h"
#include "sim/user.h"
#include "sim/world.h"

static void note(const struct sim_lock *lock, struct sim_note note) {
    note.client = lock->client->index;
    note.lock = lock->index;
    note.node = SIM_NOBODY;
    note.resource = lock->resource;
    sim_trace(lock->client->world, note);
}

/* -- Callbacks -- */

static void tell_op(struct sim_lock *lock, enum rl_op_kind kind) {
    struct sim_op op = lock->ops[kind];
    if (!op.is_done) {
        return;
    }
    assert(op.is_active);
    lock->ops[kind] = (struct sim_op){.is_active = false};
    sim_check_end(lock, kind, op.result);
    lock->client->world->stats.results[op.result]++;
    uint64_t fence =
        kind == RL_OP_ACQUIRE && op.result == RL_RESULT_OK ? lock->core.fence.value : 0;
    note(lock, (struct sim_note){.kind = SIM_NOTE_DONE, .a = kind, .b = op.result, .fence = fence});
    if (kind == RL_OP_ACQUIRE) {
        sim_user_acquired(lock, op.result);
    } else if (kind == RL_OP_EXTEND) {
        sim_user_extended(lock, op.result);
    } else {
        sim_user_released(lock, op.result);
    }
}

void sim_lock_tell(struct sim_lock *lock) {
    if (lock->tell) {
        lock->tell = false;
        sim_votes_simple(lock, RL_EV_TELL);
    }
    tell_op(lock, RL_OP_ACQUIRE);
    tell_op(lock, RL_OP_EXTEND);
    tell_op(lock, RL_OP_RELEASE);
}

void sim_lock_tell_lost(struct sim_lock *lock) {
    note(lock, (struct sim_note){.kind = SIM_NOTE_LOST, .b = lock->lost_result});
    sim_check_lost(lock);
    sim_user_lost(lock, lock->lost_result);
}

/* -- Operations -- */

static void enter(struct sim_lock *lock) {
    if (rl_lock_wake_ns(&lock->core) <= sim_client_now(lock->client)) {
        sim_votes_simple(lock, RL_EV_TICK);
    }
    sim_loop_schedule(lock->client);
}

static void submit(struct sim_lock *lock, enum rl_op_kind kind) {
    assert(!lock->ops[kind].is_active);
    lock->ops[kind] = (struct sim_op){.is_active = true};
    sim_check_begin(lock, kind);
}

static bool is_holding(const struct sim_lock *lock) {
    return lock->core.state == RL_HELD || lock->core.state == RL_EXTENDING;
}

bool sim_lock_acquire(struct sim_lock *lock, const struct rl_acquire *acquire) {
    struct rl_event event = {.type = RL_EV_ACQUIRE};
    enter(lock);
    if (lock->ops[RL_OP_ACQUIRE].is_active || lock->ops[RL_OP_RELEASE].is_active ||
        is_holding(lock) || lock->is_lost_queue) {
        return false;
    }
    note(lock, (struct sim_note){.kind = SIM_NOTE_ACQUIRE, .a = acquire->ttl_ms});
    submit(lock, RL_OP_ACQUIRE);
    sim_check_wanted(lock, acquire);
    event.u.acquire = *acquire;
    sim_votes_step(lock, &event);
    return true;
}

bool sim_lock_extend(struct sim_lock *lock, uint32_t ttl_ms) {
    struct rl_event event = {.type = RL_EV_EXTEND};
    enter(lock);
    if (lock->ops[RL_OP_EXTEND].is_active || lock->core.state != RL_HELD) {
        return false;
    }
    note(lock, (struct sim_note){.kind = SIM_NOTE_EXTEND, .a = ttl_ms});
    submit(lock, RL_OP_EXTEND);
    event.u.ttl_ms = ttl_ms;
    sim_votes_step(lock, &event);
    return true;
}

bool sim_lock_release(struct sim_lock *lock) {
    enter(lock);
    if (lock->ops[RL_OP_ACQUIRE].is_active || lock->ops[RL_OP_RELEASE].is_active ||
        (!is_holding(lock) && lock->core.state != RL_LOST)) {
        return false;
    }
    note(lock, (struct sim_note){.kind = SIM_NOTE_RELEASE});
    sim_check_let_go(lock);
    submit(lock, RL_OP_RELEASE);
    sim_votes_simple(lock, RL_EV_RELEASE);
    return true;
}

bool sim_lock_cancel(struct sim_lock *lock) {
    enter(lock);
    if (!rl_lock_is_acquiring(&lock->core) && lock->core.state != RL_EXTENDING) {
        return false;
    }
    note(lock, (struct sim_note){.kind = SIM_NOTE_CANCEL});
    sim_votes_simple(lock, RL_EV_CANCEL);
    return true;
}

/* redlock_lock_free(), but the object is used again. */
void sim_lock_abandon(struct sim_lock *lock) {
    note(lock, (struct sim_note){.kind = SIM_NOTE_ABANDON});
    sim_check_let_go(lock);
    sim_votes_simple(lock, RL_EV_ABANDON);
    sim_loop_schedule(lock->client);
}
