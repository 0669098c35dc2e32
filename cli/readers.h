/* Who reads a key, as the nodes report it.
 *
 * Happy path: rl_readers_look(); then the readers are filled in, those that a quorum has first.
 *
 * Failure modes: those of redlock_query_readers(). A node that forbids the commands for it is named
 * by `refused`. A reader that renews while it is asked for may be missing. */
#ifndef RL_CLI_READERS_H
#define RL_CLI_READERS_H

#include <stdbool.h>
#include <stdint.h>

#include "redlock/token.h"
#include "session.h"
#include "token.h"

#define RL_READERS_MAX 200 /* that are listed; the others are counted */

struct rl_readers {
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

/* One look at who reads a key, waited for. Returns the query's status. */
int rl_readers_look(struct rl_readers *readers, struct rl_session *session, redlock_bytes key);

#endif
