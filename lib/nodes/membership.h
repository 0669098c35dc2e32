/* The set's configuration (redis/config.h), as a client keeps to it.
 *
 * Nodes without one: the client's nodes are those of its options, as they have always been. If any
 * node has one, the client's own list is only where it begins to look:
 *   - the first one that is read is adopted when all nodes of the options have been reached or have
 *     failed, or are members of it and a majority has it; a later epoch at once, in the next turn.
 *     Nodes that it names are connected to; others are left, and get nothing but releases until no
 *     key of ours can be there;
 *   - a node's vote counts if its connection has read exactly the client's configuration. Attempts
 *     and extensions that are under way when one is adopted end, and begin again: they must not ask
 *     on connections that have read the new one. Holds go on, and their next extension asks the
 *     nodes that the new configuration names;
 *   - a node that has an earlier one, another change of the same epoch, none, or one of another
 *     set, is up and has no vote; the message says which it is;
 *   - options that name nodes of two sets give no node a vote: two clients with that list might
 *     choose differently. `config_id` says which set is meant. When the last texts that were read
 *     are of one set again, that is adopted.
 *
 * Can a vote be counted that was given under an earlier configuration? Only by a round that began
 * under it (core/lock.h, 9). Can a hold be lost by a change? An extension needs, while both sides
 * count, a majority of each; where those are up it goes on (core/lock.h, 9).
 */
#ifndef RL_NODES_MEMBERSHIP_H
#define RL_NODES_MEMBERSHIP_H

#include "client/state.h"

/* In each handshake with a node. config: valid within the call; NULL: it has none. Returns 0, or
 * why the node must not be up. */
int16_t rl_membership_read(struct rl_node *node, const struct rl_config *config,
                           char detail[RL_DETAIL_MAX]);

/* Whether a connection that has read this is one whose messages count. */
bool rl_membership_is_ours(const redlock_client *client, const struct rl_config *config);

/* Whether the node's votes count, and it is one of the set. */
bool rl_membership_counts(const struct rl_client_node *member);

/* Why a node's votes do not count, a clause without its name. */
void rl_membership_explain(const struct rl_client_node *member, char *text, size_t size);

#endif
