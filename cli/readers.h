/* Who reads a key, as the nodes report it.
 *
 * Happy path: rl_readers_ask(); the callback runs when the nodes have answered, and the readers are
 * filled in, those that a quorum has first.
 *
 * Failure modes: those of redlock_query_readers(). A node that forbids the commands for it is named
 * by `refused`. A reader that renews while it is asked for may be missing. */
#ifndef RL_CLI_READERS_H
#define RL_CLI_READERS_H

#include <stdbool.h>
#include <stdint.h>

#include "redlock/token.h"
#include "token.h"

#define RL_READERS_MAX 200 /* that are listed; the others are counted */

struct rl_readers;
typedef void (*rl_readers_cb)(struct rl_readers *readers, void *data);

struct rl_readers {
    rl_readers_cb on_done;
    void *data;
    size_t n_nodes;
    bool is_known; /* a quorum answered */
    int refused;   /* why not: of the first node that did not answer, REDLOCK_ERR_NODE_... */
    size_t reading, n;
    size_t holding; /* those that a quorum has */
    struct rl_reader {
        char who[RL_HOLDER_TEXT_MAX + 64]; /* the name, fit for a terminal; "" if it has none */
        char token[RL_TOKEN_TEXT_MAX];     /* as release wants it; "" if it is not of our kind */
        size_t votes;
        int64_t remaining_ms; /* 0: fewer than a quorum have it */
    } readers[RL_READERS_MAX];
};

/* Who reads the key. readers lives until on_done. Returns what redlock_query_readers() does. */
int rl_readers_ask(struct rl_readers *readers, redlock_client *client, size_t n_nodes,
                   redlock_bytes key, rl_readers_cb on_done, void *data);

#endif
