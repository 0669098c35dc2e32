/* Keys of one node that are read together, and the answers.
 *
 *     rl_slice_add() for each key, rl_slice_end()
 *
 * Happy path: the commands are gathered until there are many, go out at once, and the answers are
 * read in their order. It reads the first bytes of a value, the first client of a line, and the
 * readers that stay longest.
 *
 * Failure modes: an answer that does not come in time: false, and node->why says so. A
 * key that may not be read is counted and left out; so is one that ended meanwhile. */
#ifndef RL_CLI_SCAN_SLICE_H
#define RL_CLI_SCAN_SLICE_H

#include "scan/seen.h"

#define RL_SLICE_MAX 512

struct redisReply;

struct rl_slice {
    struct rl_seen_node *node;
    double now_us; /* by the node's clock */

    const struct redisReply *names[RL_SLICE_MAX]; /* of the keys whose answers are waited for */
    size_t first, n;                              /* the same, in node->seen */
    size_t bytes;
    uint64_t until_ns;
};

/* name, the whole key, lives until the slice ends. */
bool rl_slice_add(struct rl_slice *s, const struct rl_key *key, const struct redisReply *name);
/* Reads the remaining answers. Drops keys without information from node->seen. */
bool rl_slice_end(struct rl_slice *s);

#endif
