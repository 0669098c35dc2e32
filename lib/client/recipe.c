/* See recipe.h. */
#include "client/recipe.h"

#include <assert.h>
#include <string.h>

#include "client/options.h"
#include "lock/life.h"
#include "nodes/notification.h"

void rl_recipe_due(struct rl_deadline *item, uint64_t now_ns) {
    struct rl_recipe *recipe = RL_CONTAINER(item, struct rl_recipe, deadline);
    assert(recipe->due != NULL);
    rl_recipe_at(recipe, RL_NEVER);
    recipe->due(recipe, now_ns);
}

static void on_notified(struct rl_watcher *watcher) {
    struct rl_recipe *recipe = RL_CONTAINER(watcher, struct rl_recipe, watcher);
    assert(recipe->notified != NULL);
    recipe->notified(recipe);
}

struct rl_recipe *rl_recipe_new(redlock_client *client, size_t size) {
    assert(size >= sizeof(struct rl_recipe));
    struct rl_recipe *recipe = NULL;
    if (rl_reserve_deadline(client)) {
        recipe = rl_alloc(&client->memory, 1, size);
    }
    if (recipe != NULL) {
        recipe->client = client;
        recipe->watcher.told = on_notified;
        rl_deadline_init(&recipe->deadline, RL_WAITS_RECIPE);
        rl_list_add(&client->recipes, &recipe->link);
        client->user_count++;
    }
    return recipe;
}

void rl_recipe_free(struct rl_recipe *recipe) {
    redlock_client *client = recipe->client;
    assert(client->user_count > 0);
    rl_recipe_at(recipe, RL_NEVER);
    rl_recipe_unwatch(recipe);
    rl_list_remove(&recipe->link);
    client->user_count--;
    rl_free(&client->memory, recipe);
}

int rl_recipe_enter(const redlock_client *client, const char *function) {
    rl_own(client, function);
    if (rl_io_is_forked(&client->io)) {
        return REDLOCK_ERR_FORKED;
    }
    return rl_recipe_is_open(client) ? 0 : REDLOCK_ERR_CLOSED;
}

void rl_recipe_take_over(redlock_client *client) {
    assert(client != NULL);
    rl_own_turn(client);
}

bool rl_recipe_is_open(const redlock_client *client) {
    return client->phase == RL_CLIENT_OPEN;
}

void rl_recipe_at(struct rl_recipe *recipe, uint64_t at_ns) {
    rl_deadlines_set(&recipe->client->deadlines, &recipe->deadline, at_ns);
}

void rl_recipe_watch(struct rl_recipe *recipe, redlock_lock *lock) {
    assert(lock->client == recipe->client);
    if (recipe->watcher.subscription == NULL) {
        rl_notification_watch(recipe->client, &recipe->watcher,
                              rl_ticket_resource(&lock->tickets[0]));
    }
}

void rl_recipe_unwatch(struct rl_recipe *recipe) {
    rl_notification_unwatch(recipe->client, &recipe->watcher);
}

void rl_recipe_announce(redlock_lock *lock) {
    assert(lock->core.state == RL_IDLE); /* all its releases are of one kind */
    lock->target.notifies = true;
}

void rl_recipe_hurry(redlock_lock *lock) {
    if (lock->core.state == RL_BACKOFF && rl_recipe_is_open(lock->client)) {
        lock->is_notified = true;
        rl_ready_step(lock);
    }
}

void rl_recipe_keep(redlock_lock *lock) {
    rl_lock_ref(lock);
}

void rl_recipe_drop(redlock_lock *lock) {
    rl_lock_unref(lock);
}

bool rl_recipe_is_freed(const redlock_lock *lock) {
    return lock->is_freed;
}

int rl_recipe_another(const redlock_lock *lock, enum redlock_mode mode, redlock_lock **out) {
    const struct rl_target *target = &lock->target;
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_bytes names[REDLOCK_RESOURCES_MAX];
    char holder[REDLOCK_HOLDER_MAX + 1] = "";
    for (uint32_t i = 0; i < target->n; i++) {
        names[i] = (redlock_bytes){target->resources[i].data, target->resources[i].length};
    }
    memcpy(holder, target->holder, target->holder_length);
    options.resources = names;
    options.n_resources = target->n;
    options.holder = target->holder_length > 0 ? holder : NULL;
    options.mode = mode;
    options.permits = target->permits;
    options.take = target->take;
    return redlock_lock_new_with(lock->client, &options, out, NULL, 0);
}

int rl_recipe_check_acquire(redlock_lock *lock, const redlock_acquire_options *options) {
    redlock_acquire_options full;
    struct rl_acquire ignored;
    char why[REDLOCK_MESSAGE_MAX];
    const int status = rl_options_acquire(lock, options, &ignored, &full, why);
    if (status != 0) {
        rl_lock_refused(lock, why, true);
    }
    return status;
}

void rl_recipe_end_all(redlock_client *client) {
    struct rl_link *first;
    while ((first = client->recipes.first) != NULL) {
        struct rl_recipe *recipe = RL_CONTAINER(first, struct rl_recipe, link);
        recipe->end(recipe);
        assert(client->recipes.first != first);
    }
}
