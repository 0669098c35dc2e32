/* Several sets in one configuration (redis/config.h): whose votes a lock needs.
 *
 * A lock's electorate follows from the names of its resources and from the configuration that the
 * client has. All locks with one electorate, and the same seats (seats.h), are a group: they share
 * the rules that their cores refer to, so a lock costs nothing more than without sets. A client of
 * one set, or of none, has no groups: its locks refer to the client's own rules.
 *
 * Can two clients hold a lock, by different sets? Each counts a majority of the set that the
 * resource belongs to by exactly the configuration that the votes were given under; while the sets
 * are being changed, a majority of its old set and of its new one. For one resource that is a
 * change of nodes as redis/config.h has it, whatever becomes of other resources: the old set of the
 * resource is the old electorate, its new set is the new one (test/model/proof/sets.py).
 *
 * When another configuration is adopted, all locks are bound to their electorates by it, the held
 * ones too, before any of them is stepped. So a hold that moves needs both its sets, and then its
 * new one. Nodes on which it left keys are sent its releases: they are in its may_hold.
 *
 * A lock of several resources needs them in one set. If they come to be in two sets while it is
 * held or waits, it needs both. An electorate has no more than two sides, so in more sets it fails.
 */
#ifndef RL_NODES_SETS_H
#define RL_NODES_SETS_H

#include "client/state.h"

/* -- The configuration -- */

/* The sets of a configuration, without nodes; *sets is NULL if it has one. False: no memory. */
bool rl_sets_make(redlock_client *client, const struct rl_config *config, struct rl_sets **sets);

/* A member of the configuration is this node of the client. */
void rl_sets_place(struct rl_sets *sets, const struct rl_config *config, uint32_t member,
                   uint32_t node);

/* From now on the client has these sets (NULL: one), which belong to it; all locks are bound anew.
 * False: no memory; the client has not changed, and the sets are still the caller's. */
bool rl_sets_adopt(redlock_client *client, struct rl_sets *sets);

/* Frees sets that no client has; NULL: none. */
void rl_sets_drop(redlock_client *client, struct rl_sets *sets);

void rl_sets_free(redlock_client *client);

/* -- Who decides -- */

/* Gives a lock its rules and its seats. False: no memory. */
bool rl_sets_bind(redlock_lock *lock);

/* How many seats a lock has that is made now; with two sets, while nodes are changed, more. */
uint32_t rl_sets_seats(const redlock_client *client);

/* Who decides about this resource. */
struct rl_sides rl_sets_sides(const redlock_client *client, const void *resource, size_t length);

/* Whether these nodes are a majority of each set; or of some set, so that some locks can be
 * granted. While sets are changed, of old sets and of new ones. */
enum rl_sets_which { RL_SETS_EACH, RL_SETS_SOME };
bool rl_sets_are_quorum(const redlock_client *client, rl_mask nodes, enum rl_sets_which which);

/* The most votes that any lock needs of a side. */
uint32_t rl_sets_votes_needed(const redlock_client *client);

/* Whether the lock's resources are in several sets; then which of them is not in the set of the
 * first one, and the names of the two sets. */
bool rl_sets_are_apart(const redlock_lock *lock, uint32_t *resource, const char *names[2]);

#endif
