/* Which nodes decide about a resource: a majority of its set, by the configuration that the nodes
 * have (redis/config.h), as a client chooses them (nodes/sets.h); while sets are being changed, a
 * majority of its old set and one of its new set. Without a configuration all nodes decide about
 * everything. Pure.
 *
 * Happy path: rl_members_begin() with the configuration, rl_members_place() for each of its
 * members; or rl_members_none(). A node is a bit, by its number.
 *
 * Failure modes: none. Nodes that are no members decide about nothing. */
#ifndef RL_CLI_WIRE_MEMBERS_H
#define RL_CLI_WIRE_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/quorum.h"
#include "redis/config.h"

struct rl_members {
    struct rl_config config;             /* epoch 0: there is none */
    rl_mask sets[2][RL_CONFIG_SETS_MAX]; /* the nodes of the old sets, and of the new ones */
    rl_mask all;                         /* of any set */
};

void rl_members_none(struct rl_members *members, size_t n_nodes);
void rl_members_begin(struct rl_members *members, const struct rl_config *config);
/* This member of the configuration is this node. */
void rl_members_place(struct rl_members *members, uint32_t member, uint32_t node);

/* Who decides about the resource. */
struct rl_sides rl_members_of(const struct rl_members *members, const void *resource,
                              size_t length);

/* Whether there is more than one set, so that a name says something. */
bool rl_members_have_names(const struct rl_members *members);
/* The name of the set of a resource, and of a node; while sets are being changed that of the new
 * one. "": the sets have no names, or the node is no member. */
const char *rl_members_set_of(const struct rl_members *members, const void *resource,
                              size_t length);
const char *rl_members_set_at(const struct rl_members *members, uint32_t node);

/* Nodes of which a majority must be there: those of a set. */
struct rl_node_group {
    char name[RL_CONFIG_NAME_MAX + 16]; /* "set b", "the old nodes"; "": there is no other */
    rl_mask nodes;
};

#define RL_GROUPS_MAX (2 * RL_CONFIG_SETS_MAX)

/* Each of them once: the sets, then old ones of other nodes. Returns how many there are. */
size_t rl_members_groups(const struct rl_members *members,
                         struct rl_node_group groups[RL_GROUPS_MAX]);

/* The first group of which these nodes are no majority. False: there is none. */
bool rl_members_lack(const struct rl_members *members, rl_mask nodes, struct rl_node_group *group);

/* How many votes any resource needs, at most, of one group. */
uint32_t rl_members_needed(const struct rl_members *members);

#endif
