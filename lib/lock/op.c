/* See op.h. */
#include "lock/op.h"

#include <assert.h>

#include "base/require.h"
#include "lock/ready.h"

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
    {RL_RESULT_PERMITS, REDLOCK_ERR_PERMITS},
};

int rl_lock_status(enum rl_result result) {
    assert(result >= RL_RESULT_OK && result <= RL_RESULT_PERMITS);
    assert(results[result - 1].result == result);
    return results[result - 1].status;
}

void rl_lock_note(redlock_lock *lock, int status, enum rl_words words) {
    lock->last.status = (int16_t)status;
    lock->last.words = (uint8_t)words;
    lock->last.refusal = NULL;
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
    assert(!lock->ops[kind].is_active);
    lock->ops[kind] = (struct rl_op){.callback = callback, .data = data, .is_active = true};
}

void rl_op_end(redlock_lock *lock, enum rl_op_kind kind, int status, enum rl_words words) {
    struct rl_op *op = &lock->ops[kind];
    RL_REQUIRE(op->is_active);
    RL_REQUIRE(!op->is_done);
    op->is_done = true;
    op->status = status;
    op->words = (uint8_t)words;
    rl_ready_done(lock);
}
