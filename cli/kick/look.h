/* Whether there are notes of kicks of a name, and how long they live, asked for on the connections
 * that a client has: a look at their key, which costs a node one script. What they say is in
 * notes.h, and takes connections of its own.
 *
 * Failure modes: those of redlock_query_holder(). The key of a name of more than 1005
 * bytes is longer than a resource may be (REDLOCK_ERR_INVALID): as if there were no notes. */
#ifndef RL_CLI_KICK_LOOK_H
#define RL_CLI_KICK_LOOK_H

#include <stdint.h>

#include "redlock/token.h"

struct rl_kick_look;
typedef void (*rl_kick_look_cb)(struct rl_kick_look *look, void *data);

struct rl_kick_look {
    rl_kick_look_cb on_done;
    void *data;
    size_t n_nodes;
    int64_t left_ms; /* until the notes end, a day after the last kick; 0: there are none */
};

/* look lives until on_done. Returns what redlock_query_holder() does. */
int rl_kick_look_ask(struct rl_kick_look *look, redlock_client *client, size_t n_nodes,
                     redlock_bytes name, rl_kick_look_cb on_done, void *data);

#endif
