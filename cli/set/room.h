/* The nodes of a set, what they have, and a change of them. */
#ifndef RL_CLI_SET_ROOM_H
#define RL_CLI_SET_ROOM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "args.h"
#include "redis/config.h"
#include "wire/room.h"

/* -- nodes.c -- */

#define RL_SET_VOTE_KEY RL_CONFIG_KEY ":vote"
#define RL_SET_VOTE_MAX 24

struct rl_set_node {
    struct rl_wire *wire;
    char url[RL_CONFIG_URL_MAX + 1];   /* as in a configuration text: without user, password and
                                          database */
    char alias[RL_CONFIG_URL_MAX + 1]; /* the name it was given by, if that is not its URL; or "" */
    bool is_given;                     /* on the command line */
    bool is_up, is_asked;
    bool is_known;              /* its text, by the last answer */
    char why[RL_WIRE_TEXT_MAX]; /* why it is not */
    struct rl_config config;    /* epoch 0: it has none, or an invalid one */
    char vote[RL_SET_VOTE_MAX]; /* on its text's change; "": none */

    struct rl_wire_info info;

    uint64_t cut_ns;    /* when its connections were cut, after the text was there; 0: they were
                           not */
    uint64_t cut_epoch; /* of that text */
};

struct rl_set {
    const struct rl_args *args;
    size_t n;
    struct rl_set_node nodes[REDLOCK_NODES_MAX];
};

/* "redis://host:port" of any URL; without a scheme, that of the set's first node is used. Returns
 * 0, or reports an error and returns an exit status. */
int rl_set_url(const struct rl_set *set, const char *text, const char *from,
               char url[RL_CONFIG_URL_MAX + 1]);

/* Opens the nodes of the command line; set: zeroed. Returns 0 or an exit status; call
 * rl_set_close() in any case. */
int rl_set_open(struct rl_set *set, const struct rl_args *args);
void rl_set_close(struct rl_set *set);

/* Adds a node by its URL, with the credentials of the first node if it has none; a URL that is
 * there already is not added again. Returns 0 or an exit status. */
int rl_set_add(struct rl_set *set, const char *text);
void rl_set_drop(struct rl_set *set, size_t i);

/* The node's index, by its URL or its alias; n: not found. */
size_t rl_set_find(const struct rl_set *set, const char *url);

/* The nodes that answered the last question. */
rl_mask rl_set_known(const struct rl_set *set);

/* Runs ask() for those of these nodes that have a connection, in a thread each. */
typedef void rl_set_ask(struct rl_set_node *node, void *data);
void rl_set_each(struct rl_set *set, rl_mask which, rl_set_ask *ask, void *data);

/* The reply; or NULL, and node->why says why. */
struct redisReply *rl_set_checked(struct rl_set_node *node, struct redisReply *reply);

/* "127.0.0.1:7001, 127.0.0.1:7002", to be freed. */
char *rl_set_names(const struct rl_set *set, rl_mask which);
const char *rl_set_name(const struct rl_set_node *node);

/* -- texts.c -- */

/* Reads all nodes, and the nodes that their texts name. Returns 0 or an exit status: it is an error
 * if nodes belong to different sets. */
int rl_set_look(struct rl_set *set);

/* The configuration with the latest epoch that was read; of several changes at that epoch, the one
 * that most of its old nodes have. NULL: no node has a configuration. */
const struct rl_config *rl_set_latest(const struct rl_set *set);

/* Whether the node had this text when it was last read. */
bool rl_set_has(const struct rl_set_node *node, const struct rl_config *config);

/* Whether it has met the text: it has it, and has no connection from before it. See change.c. */
bool rl_set_has_met(const struct rl_set_node *node, const struct rl_config *config);

/* The index of the member with this URL; config->n: no member has it. */
uint32_t rl_set_member_at(const struct rl_config *config, const char *url);

/* The members on these sides; the members of one set. */
rl_mask rl_set_members(const struct rl_set *set, const struct rl_config *config, int sides);
rl_mask rl_set_members_of(const struct rl_set *set, const struct rl_config *config,
                          enum rl_config_side side, uint32_t which);
/* Of these nodes, those that have the text; those that have met it. */
rl_mask rl_set_having(const struct rl_set *set, const struct rl_config *config, rl_mask which);
rl_mask rl_set_met(const struct rl_set *set, const struct rl_config *config, rl_mask which);

/* Whether these nodes are a majority of each set on this side. */
bool rl_set_is_majority(const struct rl_set *set, const struct rl_config *config,
                        enum rl_config_side side, rl_mask which);

/* Checks that the user may cut connections: a text without that is worse than none. Returns 0 or an
 * exit status. */
int rl_set_check_rights(struct rl_set *set);

/* Writes the text, and cuts the connections. A node that has a later text, or another one of the
 * same epoch, keeps that: check with rl_set_has(). */
void rl_set_write(struct rl_set *set, rl_mask which, const struct rl_config *config);

/* Asks one node to vote on how a change ends; a node that has voted keeps its vote. The vote is in
 * node->vote; "": the node no longer has the joint text. */
void rl_set_vote(struct rl_set *set, size_t i, const struct rl_config *joint, const char *wish);

/* -- show.c -- */

struct rl_step {
    const char *name; /* one word */
    char *text;       /* owned */
    int64_t at_ms;    /* since 1970 */
};

struct rl_steps {
    bool json;
    struct rl_step *items; /* done */
    size_t n, room;
    bool is_waiting;   /* the wait was reported */
    atomic_int caught; /* a signal, set by another thread; 0: none */
};

void rl_steps_done(struct rl_steps *steps, const char *name, const char *text);
void rl_steps_free(struct rl_steps *steps);

/* Waits for this time, or until a signal arrives; text: what for. */
void rl_steps_wait(struct rl_steps *steps, int64_t ms, const char *text);

/* RL_EXIT_SIGNAL plus the caught signal, or 0. */
int rl_steps_caught(struct rl_steps *steps);

/* -- carry.c -- */

/* from: old nodes that have met the joint text. Returns whether a majority of the old nodes was
 * read, and everything was written to a majority of the new ones, of each set. */
bool rl_carry(struct rl_set *set, struct rl_steps *steps, const struct rl_config *joint,
              rl_mask from);

/* -- goal.c -- */

/* A single set without a name gets this one when a second set is added. */
#define RL_SET_FIRST "first"

struct rl_set;

struct rl_set_goal {
    char name[RL_CONFIG_NAME_MAX + 1]; /* "": the only set, which has no name */
    uint32_t n;                        /* 0: the set is to be removed */
    char urls[RL_CONFIG_SIDE_MAX + 1][RL_CONFIG_URL_MAX + 1];
};

/* Read the goal from the words of set->args. Both return 0 or an exit status. */
int rl_set_goal_read(struct rl_set *set, const struct rl_config *now, struct rl_set_goal *goal);
int rl_set_goal_settle(const struct rl_set *set, const struct rl_config *now,
                       struct rl_set_goal *goal);

/* The index of the set with this name in a stable configuration; the number of sets: not found. */
uint32_t rl_set_goal_at(const struct rl_config *now, const char *name);

enum rl_change_end { RL_CHANGE_DONE, RL_CHANGE_BACK };

/* Makes the joint text from the sets as they are to the goal; the caller generates `change`. */
void rl_change_joint(struct rl_config *joint, const struct rl_config *now,
                     const struct rl_set_goal *goal, const char *change);

/* Whether the joint text changes nothing. */
bool rl_change_is_none(const struct rl_config *joint);

/* Makes the stable text that ends the change. */
void rl_change_stable(struct rl_config *stable, const struct rl_config *joint,
                      enum rl_change_end end);

/* How the change has ended, according to a later text. False: that text is of another change. */
bool rl_change_is_end(const struct rl_config *later, const struct rl_config *joint,
                      enum rl_change_end *end);

/* How long the change waits, in ms. */
int64_t rl_change_wait_ms(const struct rl_config *joint);

/* -- change.c -- */

/* Runs all steps, aiming at *end, which becomes the end that was decided. Returns 0 or an exit
 * status. */
int rl_change_run(struct rl_set *set, struct rl_steps *steps, const struct rl_config *joint,
                  enum rl_change_end *end);

/* Writes a stable text to those of its members that lack it, until a majority has it. Returns 0 or
 * an exit status. */
int rl_change_spread(struct rl_set *set, struct rl_steps *steps, const struct rl_config *stable);

/* -- lock.c -- */

struct rl_set_lock {
    const char *name; /* of the subcommand */
    const char *id;
    int64_t max_ttl_ms;
    bool is_needed; /* false: if too few nodes grant the lock, work without it */
    struct rl_steps *steps;
};

/* Returns an exit status. */
typedef int rl_set_work(void *data);

/* Runs work(data), and returns its exit status, or the exit status that says why it was not run. */
int rl_set_locked(struct rl_args *args, const struct rl_set_lock *lock, rl_set_work *work,
                  void *data);

/* Shows all nodes as they were read. Returns the exit status: RL_EXIT_OK if they agree. */
int rl_set_show(const struct rl_set *set);

/* Shows what a change is going to do. wait_ms: the wait before its first step, until new nodes may
 * vote. */
void rl_set_show_plan(const struct rl_set *set, const struct rl_config *joint, int64_t wait_ms);

/* Prints the one object of --json. name: of the subcommand. */
void rl_set_show_outcome(const struct rl_set *set, const struct rl_steps *steps, const char *name,
                         int exit_status);

#endif
