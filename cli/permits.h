/* The permits of a key, as the nodes report them: how many there are, who has which slot.
 *
 * Happy path: rl_permits_ask(); the callback runs when the nodes have answered, and what is in use
 * is filled in. Who waits for permits: line.h.
 *
 * Failure modes: those of redlock_query_slots(). A node that forbids the commands for it is named
 * by `refused`. A permit that changes hands while it is asked for may be missing. Nodes may
 * disagree on how many there are: then the number is that of most of them. */
#ifndef RL_CLI_PERMITS_H
#define RL_CLI_PERMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "redlock/semaphore.h"
#include "token.h"

struct rl_permits;
typedef void (*rl_permits_cb)(struct rl_permits *permits, void *data);

struct rl_permits {
    rl_permits_cb on_done;
    void *data;
    size_t n_nodes;
    bool is_known;   /* a quorum answered */
    size_t answered; /* so many nodes did, of all their slots */
    int refused;     /* why not: of the first node that did not answer, REDLOCK_ERR_NODE_... */
    int32_t permits; /* how many there are; 0: no node says */
    int32_t kept[REDLOCK_NODES_MAX]; /* what each node says; 0: nothing */
    size_t held, reserved, n;        /* slots that a quorum has; of the n in use */
    size_t free;                     /* of the slots below `permits` */
    struct rl_permit {
        int32_t number;
        char who[RL_HOLDER_TEXT_MAX + 64]; /* the name, fit for a terminal; "" if it has none */
        char token[RL_TOKEN_TEXT_MAX];     /* as release wants it; "" if it is not of our kind */
        size_t votes;
        int64_t remaining_ms; /* 0: fewer than a quorum have it */
        uint64_t fence;       /* 0: none */
        bool is_reserved, is_held;
    } slots[REDLOCK_PERMITS_MAX];
};

/* Who has which permit of the key. permits lives until on_done. Returns what redlock_query_slots()
 * does. */
int rl_permits_ask(struct rl_permits *permits, redlock_client *client, size_t n_nodes,
                   redlock_bytes key, rl_permits_cb on_done, void *data);

/* Whether there is anything to show: the key is, or was recently, that of a semaphore. */
bool rl_permits_any(const struct rl_permits *permits);

#endif
