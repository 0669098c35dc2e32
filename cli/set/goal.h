/* What a change is to make of one set, by the words of the command:
 *
 *     replace OLD NEW          the nodes of OLD's set, with NEW in place of OLD
 *     resize [NAME] URL...     this list; NAME is needed if there are several sets
 *     add-set NAME URL...      a set of this name, with these nodes
 *     remove-set NAME          no nodes: the set is to go
 *
 * Happy path: rl_set_goal_read(), which adds the new nodes to those that are asked;
 * rl_set_look(); rl_set_goal_settle().
 *
 * Failure modes: there is no such set, or there is one already; a node belongs to another one. */
#ifndef RL_CLI_SET_GOAL_H
#define RL_CLI_SET_GOAL_H

#include "redis/config.h"

/* An only set without a name gets this one when another one comes. */
#define RL_SET_FIRST "first"

struct rl_set;

struct rl_set_goal {
    char name[RL_CONFIG_NAME_MAX + 1]; /* "": of the only set, which has none */
    uint32_t n;                        /* 0: it is to go */
    char urls[RL_CONFIG_SIDE_MAX + 1][RL_CONFIG_URL_MAX + 1];
};

/* Of the words of set->args. Both return 0 or an exit status. */
int rl_set_goal_read(struct rl_set *set, const struct rl_config *now, struct rl_set_goal *goal);
int rl_set_goal_settle(const struct rl_set *set, const struct rl_config *now,
                       struct rl_set_goal *goal);

/* The index of the set of this name in a stable configuration; or how many there are. */
uint32_t rl_set_goal_at(const struct rl_config *now, const char *name);

#endif
