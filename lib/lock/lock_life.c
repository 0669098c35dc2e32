/* See lock_life.h. */
#include "lock/lock_life.h"

#include <assert.h>

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
    assert(!lock->waiting.is_in_line || client->phase == RL_CLIENT_GONE);
    assert(lock->reentry.followers.first == NULL || client->phase == RL_CLIENT_GONE);
    assert(client->lock_count > 0);
    rl_deadlines_set(&client->deadlines, &lock->deadline, RL_NEVER);
    rl_deadlines_set(&client->ends, &lock->end, RL_NEVER);
    rl_list_remove(&lock->link);
    client->lock_count--;
    client->user_count--;
    rl_free(&client->memory, lock->last.refusal_text);
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        rl_resource_put(&client->resources, lock->resources[i]);
    }
    rl_free(&client->memory, lock);
}

void rl_lock_ref(redlock_lock *lock) {
    RL_REQUIRE(lock->references > 0); /* one that goes cannot be kept */
    lock->references++;
}

void rl_lock_unref(redlock_lock *lock) {
    RL_REQUIRE(lock->references > 0);
    if (--lock->references == 0) {
        rl_lock_destroy(lock);
    }
}
