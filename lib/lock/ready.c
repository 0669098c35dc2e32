/* See ready.h. */
#include "lock/ready.h"

#include "lock/lock_life.h"

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
    assert(lock->waiting.has_turn || lock->is_notified || lock->queueing.call != RL_LINE_CALL_NONE);
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
