/* How a client follows the set's configuration (redis/config.h).
 *
 * If no node has one, the client's options name its nodes. If any node has one, the client's own
 * list is only where it starts:
 *   - the client adopts the first configuration that it reads when all nodes of the options have
 *     been reached or have failed, or are members of it and a majority has it. It adopts a later
 *     epoch in the next turn. It connects to the nodes that the configuration names, and leaves the
 *     others, which get only releases until no key of ours can be there;
 *   - a node's vote counts if its connection has read exactly the client's configuration. When the
 *     client adopts a new one, pending attempts and extensions end and begin again, since they must
 *     not ask on connections that have read the new one. Holds go on, and their next extension asks
 *     the nodes that the new configuration names;
 *   - a node with an earlier configuration, another change of the same epoch, none, or that of
 *     another set, is up but has no vote; the message says which;
 *   - options that name nodes of two sets give no node a vote, since two clients with that list
 *     might choose differently. `config_id` says which set is meant. When all nodes' last texts are
 *     of one set again, the client adopts it.
 *
 * Can a vote be counted that was given under an earlier configuration? Only by a round that began
 * under it (core/lock.h, 9). Can a change lose a hold? While both sides count, an extension needs a
 * majority of each; if those are up, the hold goes on (core/lock.h, 9).
 */
#ifndef RL_NODES_MEMBERSHIP_H
#define RL_NODES_MEMBERSHIP_H

#include "client/state.h"

/* Called in each handshake with a node. config: valid within the call; NULL: the node has none.
 * Returns 0, or why the node must not be up. */
int16_t rl_membership_read(struct rl_node *node, const struct rl_config *config,
                           char detail[RL_DETAIL_MAX]);

/* Whether messages count on a connection that has read this configuration. */
bool rl_membership_is_ours(const redlock_client *client, const struct rl_config *config);

/* Whether the node is in the set and its votes count. */
bool rl_membership_counts(const struct rl_client_node *member);

/* Formats why a node's votes do not count: a clause without the node's name. */
void rl_membership_explain(const struct rl_client_node *member, char *text, size_t size);

#endif
