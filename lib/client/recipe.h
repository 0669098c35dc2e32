/* What recipes (lib/any, lib/election, lib/blocking) may use of a client besides the public
 * interface: a list of objects that end with the client, a deadline, release notifications, and its
 * environment (env.h).
 *
 * A recipe is a struct whose first member is this one.
 */
#ifndef RL_CLIENT_RECIPE_H
#define RL_CLIENT_RECIPE_H

#include "client/env.h"

struct rl_recipe {
    redlock_client *client;
    struct rl_link link;
    struct rl_deadline deadline;
    struct rl_watcher watcher;
    void (*end)(struct rl_recipe *recipe); /* the client is closed: frees the recipe */
    void (*due)(struct rl_recipe *recipe,
                uint64_t now_ns);               /* its deadline has come, and is unset */
    void (*notified)(struct rl_recipe *recipe); /* a release was notified */
};

/* Allocates a recipe of so many bytes and adds it to the client's list, with `client` set; NULL: no
 * memory. rl_recipe_free() removes it from the list, and ends its deadline and watch. */
struct rl_recipe *rl_recipe_new(redlock_client *client, size_t size);
void rl_recipe_free(struct rl_recipe *recipe);

/* The check at the start of every public function: 0, FORKED or CLOSED. In a debug build a call
 * from another thread ends the program. */
int rl_recipe_enter(const redlock_client *client, const char *function);
/* Makes the calling thread the one that runs the client's loop, for threads that hand over the
 * loop. */
void rl_recipe_take_over(redlock_client *client);
bool rl_recipe_is_open(const redlock_client *client);

/* Sets the deadline; RL_NEVER: none. */
void rl_recipe_at(struct rl_recipe *recipe, uint64_t at_ns);

/* Starts and stops watching for releases of the lock's first resource; nothing is received while no
 * node accepts the subscription. */
void rl_recipe_watch(struct rl_recipe *recipe, redlock_lock *lock);
void rl_recipe_unwatch(struct rl_recipe *recipe);
/* Makes the lock announce its releases to watchers. Call this once, before the lock is used. */
void rl_recipe_announce(redlock_lock *lock);
/* Makes a lock that pauses between two attempts start the next one soon. */
void rl_recipe_hurry(redlock_lock *lock);

/* Keeps the lock's memory, even if the user frees the lock, until it is dropped or the client
 * ends. */
void rl_recipe_keep(redlock_lock *lock);
void rl_recipe_drop(redlock_lock *lock);
bool rl_recipe_is_freed(const redlock_lock *lock);

/* Makes a lock of the same resources, holder and permits in either mode. */
int rl_recipe_another(const redlock_lock *lock, enum redlock_mode mode, redlock_lock **out);

/* Checks options as redlock_acquire() would: 0, or INVALID and a message of the lock. */
int rl_recipe_check_acquire(redlock_lock *lock, const redlock_acquire_options *options);

/* For the client: a recipe's deadline has come; ends all its recipes. */
void rl_recipe_due(struct rl_deadline *item, uint64_t now_ns);
void rl_recipe_end_all(redlock_client *client);

#endif
