/* The nodes of a set, for `redlock set`: those that are named on the command line, and those that
 * their configurations name. One connection to each, which is kept.
 *
 * Happy path: rl_set_open(), rl_set_each() for what texts.h asks, rl_set_close().
 *
 * A node is a bit in a mask, by its place in the array. Nodes are asked in threads of their own.
 *
 * Failure modes: a node is down, or refuses a command: is_known is false, and `why` says why. A
 * connection that was cut (by another administrator's CLIENT KILL) is made again once. A node
 * that has restarted since its connections were cut has not met the text any more (cut_ns). */
#ifndef RL_CLI_SET_NODES_H
#define RL_CLI_SET_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "args.h"
#include "redis/config.h"
#include "wire/wire.h"

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

    char run_id[RL_WIRE_TEXT_MAX]; /* these are of INFO */
    bool is_replica;
    int64_t uptime_s;

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

/* With the nodes of the command line. Returns 0 or an exit status; rl_set_close() in any case. */
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

#endif
