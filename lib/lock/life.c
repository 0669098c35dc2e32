/* See life.h. */
#include "lock/life.h"

#include <assert.h>
#include <string.h>

#include "base/require.h"

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
    {RL_RESULT_SILENT, REDLOCK_ERR_SILENT},
};

int rl_lock_status(enum rl_result result) {
    assert(result >= RL_RESULT_OK && result <= RL_RESULT_SILENT);
    assert(results[result - 1].result == result);
    return results[result - 1].status;
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
    RL_REQUIRE(!op->is_active); /* or its callback would be missed */
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

redlock_lock *rl_ready_take_done(redlock_client *client) {
    struct rl_queued *item = rl_queue_take(&client->done);
    return RL_CONTAINER_OR_NULL(item, redlock_lock, done);
}

redlock_lock *rl_ready_take_lost(redlock_client *client) {
    struct rl_queued *item = rl_queue_take(&client->lost);
    return RL_CONTAINER_OR_NULL(item, redlock_lock, loss.queued);
}

redlock_lock *rl_ready_take_step(redlock_client *client) {
    struct rl_queued *item = rl_queue_take(&client->ready);
    return RL_CONTAINER_OR_NULL(item, redlock_lock, ready);
}

bool rl_ready_has_callbacks(const redlock_client *client) {
    return client->lost.first != NULL || client->done.first != NULL ||
           client->answered.first != NULL;
}
