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
 * In place of "nodes" there may be several sets, each with a name and nodes of its own, and in
 * place of "old" as many lines as there were sets before:
 *
 *     old a redis://10.0.0.1:6379 ...
 *     set a redis://10.0.0.1:6379 ...
 *     set b redis://10.0.1.1:6379 ...
 *
 * Then a resource belongs to the set whose name weighs most for it (core/home.h), of the old sets
 * and of the new ones, and a lock of it needs a majority of each of these two. If a part of the
 * resource's name is in {braces}, the first such part that is not empty stands for the whole.
 *
 * Can two clients hold a lock while nodes are changed, or by different lists of nodes? No, if each
 * vote came on a connection whose handshake has read exactly the configuration that the client has
 * (same id, epoch and change), and changes are made as cli/set/change.c says:
 * test/model/proof/sets.py proves it. The rules of a client are in nodes/membership.h.
 */
#ifndef RL_REDIS_CONFIG_H
#define RL_REDIS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/memory.h"

#define RL_CONFIG_KEY "libredlock:config"
#define RL_CONFIG_TEXT_MAX 32768                /* with a zero */
#define RL_CONFIG_CLIENT_MAX (RL_MASK_BITS - 1) /* nodes that a client can be connected to */
#define RL_CONFIG_SETS_MAX 31                   /* on a side */
#define RL_CONFIG_SIDE_MAX 7                    /* nodes of a set */
#define RL_CONFIG_MEMBERS_MAX 160               /* nodes of all sets, on both sides */
#define RL_CONFIG_NAME_MAX 32 /* of a set: letters, digits, and ".", "_" and "-" */
#define RL_CONFIG_URL_MAX 271 /* rediss://, a name of 253, a port */
#define RL_CONFIG_ID_LEN 16
#define RL_CONFIG_CHANGE_LEN 8

/* Identifies a configuration. */
struct rl_config_key {
    uint64_t epoch; /* 0: there is no configuration */
    char id[RL_CONFIG_ID_LEN + 1];
    char change[RL_CONFIG_CHANGE_LEN + 1];
};

enum rl_config_side { RL_CONFIG_OLD = 1, RL_CONFIG_NEW = 2 };

struct rl_config_member {
    char url[RL_CONFIG_URL_MAX + 1];
    uint8_t sides;            /* enum rl_config_side, or both */
    uint8_t old_set, new_set; /* an index of the side's sets, if it is on that side */
};

/* The sets of a side. */
struct rl_config_sets {
    uint32_t n; /* 0: one set, without a name */
    char names[RL_CONFIG_SETS_MAX][RL_CONFIG_NAME_MAX + 1];
};

struct rl_config {
    struct rl_config_key key;
    uint32_t max_ttl_ms;
    uint32_t n;
    uint32_t self; /* index of a member */
    bool is_joint;
    const char *problem;                      /* a clause; NULL: all of the above is known */
    struct rl_config_sets old_sets, new_sets; /* old: of a joint one */
    struct rl_config_member members[RL_CONFIG_MEMBERS_MAX];
};

/* Returns whether there is no problem. */
bool rl_config_parse(struct rl_config *config, const char *text, size_t length);

/* For a client, which keeps a configuration only while it reads it, since it is large. */
struct rl_config_read {
    const redlock_allocator *memory;
    struct rl_config *config; /* NULL: there is a problem */
    const char *problem;      /* as above */
};

void rl_config_read(struct rl_config_read *read, const char *text, size_t length);
/* Frees it, and sets this problem, or NULL for none. */
void rl_config_unread(struct rl_config_read *read, const char *problem);

/* Writes the text for the member `self`, and a zero. Returns its length; 0: it is too long. */
size_t rl_config_format(const struct rl_config *config, uint32_t self,
                        char text[RL_CONFIG_TEXT_MAX]);

/* -- Sets -- */

/* Whether this is a valid name of a set. */
bool rl_config_is_name(const char *name, size_t length);

/* How many sets there are on the side; 1 if they have no names. The two sides of a stable
 * configuration are the same. */
uint32_t rl_config_count(const struct rl_config *config, enum rl_config_side side);

/* The set's name; "": it has none. */
const char *rl_config_name(const struct rl_config *config, enum rl_config_side side, uint32_t set);

/* Whether a member is one of the set's nodes. */
bool rl_config_is_in(const struct rl_config *config, uint32_t member, enum rl_config_side side,
                     uint32_t set);

/* Which set of that side the resource belongs to. */
uint32_t rl_config_set_of(const struct rl_config *config, enum rl_config_side side,
                          const void *resource, size_t length);

/* Finds the part of a resource's name that determines its set. Returns its length. */
size_t rl_config_part(const void *resource, size_t length, const char **part);

/* The index of the resource's set among sets given by the hashes of their names (core/home.h), at
 * most RL_CONFIG_SETS_MAX. */
uint32_t rl_config_choose(const uint64_t *names, uint32_t n, const void *resource, size_t length);

/* Whether a client can be connected to all nodes of both sides at once. Otherwise the text must not
 * be written: clients refuse it with a message. */
bool rl_config_fits(const struct rl_config *config);

enum rl_config_order {
    RL_CONFIG_SAME,
    RL_CONFIG_NEWER,   /* the second one must be adopted */
    RL_CONFIG_OLDER,   /* the second one is of an earlier epoch, or missing */
    RL_CONFIG_RIVAL,   /* another change of the same epoch */
    RL_CONFIG_FOREIGN, /* of another set */
};

enum rl_config_order rl_config_compare(const struct rl_config_key *ours,
                                       const struct rl_config_key *theirs);

#endif
