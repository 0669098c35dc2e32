/* Several sets in one configuration (redis/config.h): the votes that a lock needs.
 *
 * A lock's electorate follows from the names of its resources and the client's configuration. All
 * locks with one electorate and the same seats (seats.h) are a group: they share their cores'
 * rules, so a lock costs no more than without sets. A client of one set, or of none, has no groups:
 * its locks use the client's own rules.
 *
 * Can two clients hold a lock, by different sets? No: each counts a majority of the resource's set,
 * by exactly the configuration under which the votes were given; while the sets are being changed,
 * a majority of its old set and of its new one. For one resource that is a change of nodes as in
 * redis/config.h, whatever happens to other resources: its old set is the old electorate, its new
 * set the new one (test/model/proof/sets.py).
 *
 * When another configuration is adopted, all locks, also held ones, get their new electorates
 * before any lock is stepped. So a hold that moves needs both its sets, and then its new one. Nodes
 * on which it left keys are in its may_hold, and get its releases.
 *
 * A lock of several resources needs them all in one set. If they move to two sets while it is held
 * or waits, it needs both. An electorate has at most two sides, so with more sets the lock fails.
 */
#ifndef RL_NODES_SETS_H
#define RL_NODES_SETS_H

#include "client/state.h"

/* -- The configuration -- */

/* Makes the sets of a configuration, without nodes; *sets is NULL if it has one set. False: no
 * memory. */
bool rl_sets_make(redlock_client *client, const struct rl_config *config, struct rl_sets **sets);

/* Sets which of the client's nodes a member of the configuration is. */
void rl_sets_place(struct rl_sets *sets, const struct rl_config *config, uint32_t member,
                   uint32_t node);

/* Gives the client these sets (NULL: one), which it then owns, and binds all locks again. False: no
 * memory; the client is unchanged, and the caller still owns the sets. */
bool rl_sets_adopt(redlock_client *client, struct rl_sets *sets);

/* Frees sets that no client has; NULL: none. */
void rl_sets_drop(redlock_client *client, struct rl_sets *sets);

void rl_sets_free(redlock_client *client);

/* -- Who decides -- */

/* Gives a lock its rules and its seats. False: no memory. */
bool rl_sets_bind(redlock_lock *lock);

/* How many seats a new lock has; more while nodes are being changed from one set to another. */
uint32_t rl_sets_seats(const redlock_client *client);

/* The nodes that decide about this resource. */
struct rl_sides rl_sets_sides(const redlock_client *client, const void *resource, size_t length);

/* Whether these nodes are a majority of each set; or of some set, so that some locks can be
 * granted. While sets are being changed, this applies to old sets and new ones. */
enum rl_sets_which { RL_SETS_EACH, RL_SETS_SOME };
bool rl_sets_are_quorum(const redlock_client *client, rl_mask nodes, enum rl_sets_which which);

/* The most votes that any lock needs from a side. */
uint32_t rl_sets_votes_needed(const redlock_client *client);

/* Whether the lock's resources are in several sets. *resource: one that is not in the first one's
 * set; names: the two sets. */
bool rl_sets_are_apart(const redlock_lock *lock, uint32_t *resource, const char *names[2]);

#endif
