/* The texts of a set's nodes (redis/config.h), and their votes: read, written, compared.
 *
 * Happy path: rl_set_look() reads the text of every node, and adds the nodes that it names; then
 * rl_set_write() and rl_set_vote(), whose outcome is in the nodes. */
#ifndef RL_CLI_SET_TEXTS_H
#define RL_CLI_SET_TEXTS_H

#include "set/nodes.h"

/* Reads all nodes, and those that their texts name. Returns 0 or an exit status: it is an error if
 * nodes belong to different sets. */
int rl_set_look(struct rl_set *set);

/* The configuration of the latest epoch that was read; of several changes at that epoch, the one
 * that most of the nodes it leaves have. NULL: no node has any. */
const struct rl_config *rl_set_latest(const struct rl_set *set);

/* Whether the node has this text, as last read. */
bool rl_set_has(const struct rl_set_node *node, const struct rl_config *config);

/* ... and has had no connection that was made before it: see change.h. */
bool rl_set_has_met(const struct rl_set_node *node, const struct rl_config *config);

/* The index of the member with this URL; how many there are: none has it. */
uint32_t rl_set_member_at(const struct rl_config *config, const char *url);

/* Those on one of these sides; those of a set. */
rl_mask rl_set_members(const struct rl_set *set, const struct rl_config *config, int sides);
rl_mask rl_set_members_of(const struct rl_set *set, const struct rl_config *config,
                          enum rl_config_side side, uint32_t which);
/* Of these, those that have the text; that have met it. */
rl_mask rl_set_having(const struct rl_set *set, const struct rl_config *config, rl_mask which);
rl_mask rl_set_met(const struct rl_set *set, const struct rl_config *config, rl_mask which);

/* Whether it is a majority of each set on this side. */
bool rl_set_is_majority(const struct rl_set *set, const struct rl_config *config,
                        enum rl_config_side side, rl_mask which);

/* Whether this user may cut connections, as a text that is written without that is worse than none.
 * Returns 0, or an exit status. */
int rl_set_check_rights(struct rl_set *set);

/* Writes the text, and cuts the connections. A node that has a later text, or another of the same
 * epoch, keeps it: rl_set_has() says which of both. */
void rl_set_write(struct rl_set *set, rl_mask which, const struct rl_config *config);

/* Asks one node to vote for the end of a change; it keeps the vote that it has. Its word is in
 * node->vote; "": it has not the joint text any more. */
void rl_set_vote(struct rl_set *set, size_t i, const struct rl_config *joint, const char *wish);

#endif
