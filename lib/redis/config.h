/* The configuration of a set of nodes, which each of its nodes keeps as a text under
 * RL_CONFIG_KEY, and clients read in the handshake of every connection.
 *
 *     libredlock-config 1
 *     id 6f1c02d7a9b34e55          drawn when the set was made, never changes
 *     epoch 7                      grows with every change
 *     change 91d0c4ee              drawn by the command that wrote it
 *     max_ttl 30000                no client may ask for a longer ttl
 *     old redis://10.0.0.1:6379 ...   while the nodes are being changed: those of before
 *     nodes redis://10.0.0.1:6379 redis://10.0.0.2:6379 redis://10.0.0.3:6379
 *     self redis://10.0.0.2:6379   which member this node is
 *
 * With "old" a lock needs a majority of the old nodes and one of the new ones. The text is the same
 * on all nodes, but for "self".
 *
 * Can two clients hold a lock while nodes are changed, or by different lists of nodes? No, if each
 * vote came on a connection whose handshake has read exactly the configuration that the client has
 * (same id, epoch and change), and changes are made as cli/set/change.h says:
 * test/model/proof/sets.py proves it. The rules of a client are in nodes/membership.h.
 */
#ifndef RL_REDIS_CONFIG_H
#define RL_REDIS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RL_CONFIG_KEY "libredlock:config"
#define RL_CONFIG_TEXT_MAX 6144
#define RL_CONFIG_SIDE_MAX 7                           /* nodes on a side */
#define RL_CONFIG_MEMBERS_MAX (2 * RL_CONFIG_SIDE_MAX) /* on both */
#define RL_CONFIG_URL_MAX 271                          /* rediss://, a name of 253, a port */
#define RL_CONFIG_ID_LEN 16
#define RL_CONFIG_CHANGE_LEN 8

/* By which configurations are told apart. */
struct rl_config_key {
    uint64_t epoch; /* 0: there is no configuration */
    char id[RL_CONFIG_ID_LEN + 1];
    char change[RL_CONFIG_CHANGE_LEN + 1];
};

enum rl_config_side { RL_CONFIG_OLD = 1, RL_CONFIG_NEW = 2 };

struct rl_config_member {
    char url[RL_CONFIG_URL_MAX + 1];
    uint8_t sides; /* enum rl_config_side, or both */
};

struct rl_config {
    struct rl_config_key key;
    uint32_t max_ttl_ms;
    uint32_t n;
    uint32_t self; /* index of a member */
    bool is_joint;
    const char *problem; /* a clause; NULL: all of the above is known */
    struct rl_config_member members[RL_CONFIG_MEMBERS_MAX];
};

/* Returns whether there is no problem. */
bool rl_config_parse(struct rl_config *config, const char *text, size_t length);

/* Writes the text for the member `self`, and a zero. Returns its length. */
size_t rl_config_format(const struct rl_config *config, uint32_t self,
                        char text[RL_CONFIG_TEXT_MAX]);

enum rl_config_order {
    RL_CONFIG_SAME,
    RL_CONFIG_NEWER,   /* the second one is to be adopted */
    RL_CONFIG_OLDER,   /* the second one is of an earlier epoch, or missing */
    RL_CONFIG_RIVAL,   /* another change of the same epoch */
    RL_CONFIG_FOREIGN, /* of another set */
};

enum rl_config_order rl_config_compare(const struct rl_config_key *ours,
                                       const struct rl_config_key *theirs);

#endif
