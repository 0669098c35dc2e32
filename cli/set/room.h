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
    char url[RL_CONFIG_URL_MAX + 1];   /* as in a text: without user, password and database */
    char alias[RL_CONFIG_URL_MAX + 1]; /* as it was named, if that is not its URL; or "" */
    bool is_given;                     /* on the command line */
    bool is_up, is_asked;
    bool is_known;              /* its text, by the last question */
    char why[RL_WIRE_TEXT_MAX]; /* it is not */
    struct rl_config config;    /* epoch 0: it has none, or one with a problem */
    char vote[RL_SET_VOTE_MAX]; /* of its text's change; "": none */

    struct rl_wire_info info;

    uint64_t cut_ns;    /* when its connections were cut, with our text there; 0: they were not */
    uint64_t cut_epoch; /* of that text */
};

struct rl_set {
    const struct rl_args *args;
    size_t n;
    struct rl_set_node nodes[REDLOCK_NODES_MAX];
};

/* "redis://host:port" of any URL; without a scheme it has that of the set's first node. Returns 0,
 * or says why not and returns an exit status. */
int rl_set_url(const struct rl_set *set, const char *text, const char *from,
               char url[RL_CONFIG_URL_MAX + 1]);

/* set: zero. With the nodes of the command line. Returns 0 or an exit status; rl_set_close() in any
 * case. */
int rl_set_open(struct rl_set *set, const struct rl_args *args);
void rl_set_close(struct rl_set *set);

/* Adds a node by its URL, with the credentials of the first one if it has none. The same node
 * twice is one. Returns 0 or an exit status. */
int rl_set_add(struct rl_set *set, const char *text);
void rl_set_drop(struct rl_set *set, size_t i);

/* Its place, by its URL or by its alias; or n. */
size_t rl_set_find(const struct rl_set *set, const char *url);

/* Those that have answered the last question. */
rl_mask rl_set_known(const struct rl_set *set);

/* Runs ask() for these nodes, a thread each, where there is a connection. */
typedef void rl_set_ask(struct rl_set_node *node, void *data);
void rl_set_each(struct rl_set *set, rl_mask which, rl_set_ask *ask, void *data);

/* The answer, or NULL: node->why says why. */
struct redisReply *rl_set_checked(struct rl_set_node *node, struct redisReply *reply);

/* "127.0.0.1:7001, 127.0.0.1:7002", to be freed. */
char *rl_set_names(const struct rl_set *set, rl_mask which);
const char *rl_set_name(const struct rl_set_node *node);

/* -- texts.c -- */

/* Reads all nodes, and those that their texts name. Returns 0 or an exit status: it is an error if
 * nodes belong to different sets. */
int rl_set_look(struct rl_set *set);

/* The configuration of the latest epoch that was read; of several changes at that epoch, the one
 * that most of the nodes it leaves have. NULL: no node has any. */
const struct rl_config *rl_set_latest(const struct rl_set *set);

/* Whether the node has this text, as last read. */
bool rl_set_has(const struct rl_set_node *node, const struct rl_config *config);

/* ... and has had no connection that was made before it: see change.c. */
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
    bool is_waiting;   /* which was said */
    atomic_int caught; /* a signal, which another thread sets; 0: none */
};

void rl_steps_done(struct rl_steps *steps, const char *name, const char *text);
void rl_steps_free(struct rl_steps *steps);

/* Waits so long, or until a signal has come; text: for what. */
void rl_steps_wait(struct rl_steps *steps, int64_t ms, const char *text);

/* RL_EXIT_SIGNAL plus the signal, or 0. */
int rl_steps_caught(struct rl_steps *steps);

/* -- carry.c -- */

/* from: old nodes that have met the joint text. Whether a majority of the old nodes was read, and
 * all of that was written to a majority of the new ones, of each set. */
bool rl_carry(struct rl_set *set, struct rl_steps *steps, const struct rl_config *joint,
              rl_mask from);

/* -- goal.c -- */

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

enum rl_change_end { RL_CHANGE_DONE, RL_CHANGE_BACK };

/* From the sets as they are to the goal; `change` is drawn by the caller. */
void rl_change_joint(struct rl_config *joint, const struct rl_config *now,
                     const struct rl_set_goal *goal, const char *change);

/* Whether it changes nothing. */
bool rl_change_is_none(const struct rl_config *joint);

/* The text that ends it. */
void rl_change_stable(struct rl_config *stable, const struct rl_config *joint,
                      enum rl_change_end end);

/* How it has ended, by a later text. False: that is another change's. */
bool rl_change_is_end(const struct rl_config *later, const struct rl_config *joint,
                      enum rl_change_end *end);

/* How long it waits, in ms. */
int64_t rl_change_wait_ms(const struct rl_config *joint);

/* -- change.c -- */

/* All steps, towards *end, which becomes the one that was decided. Returns 0 or an exit status. */
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
    bool is_needed; /* false: if too few nodes grant it, work without */
    struct rl_steps *steps;
};

/* Returns an exit status. */
typedef int rl_set_work(void *data);

/* Runs work(data), and returns what it returns, or why it was not run. */
int rl_set_locked(struct rl_args *args, const struct rl_set_lock *lock, rl_set_work *work,
                  void *data);

/* All nodes as they were read. Returns the exit status: RL_EXIT_OK if they agree. */
int rl_set_show(const struct rl_set *set);

/* What a change is going to do. wait_ms: before its first step, until new nodes may vote. */
void rl_set_show_plan(const struct rl_set *set, const struct rl_config *joint, int64_t wait_ms);

/* The one object of --json. name: of the subcommand. */
void rl_set_show_outcome(const struct rl_set *set, const struct rl_steps *steps, const char *name,
                         int exit_status);

#endif
