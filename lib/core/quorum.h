/* The arithmetic of Redlock: how many nodes are a majority, and for how long a client may rely on a
 * majority's grant. Pure functions.
 *
 * Why a majority of n / 2 + 1 excludes others: two sets of that size share a node, and that node
 * holds one token at a time. For even n, n / 2 would not be a majority.
 *
 * Why validity is sent + ttl - drift: every key of the round was set after `sent`, so by the node's
 * clock it lives at least until sent + ttl. If that clock gains less than the drift allowance over
 * one ttl, no key of the round ends before validity does. Nobody needs to measure how long the
 * round took: validity starts at the sending, which includes it (specification, step 3).
 */
#ifndef RL_CORE_QUORUM_H
#define RL_CORE_QUORUM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/units.h"

/* The nodes that decide: a majority of each side, a mask of nodes. Both sides are the same nodes,
 * except while the nodes are being changed: then one is the old nodes, the other the new ones. */
struct rl_electorate {
    uint32_t sides[2]; /* seats, see base/bits.h */
};

/* An electorate by the numbers that a client gives its nodes. */
struct rl_sides {
    rl_mask of[2];
};

/* The rules of a client. */
struct rl_rules {
    struct rl_electorate electorate; /* of each round that begins from now on */
    uint32_t drift_ppm;              /* drift_ratio in millionths, rounded up */
    uint64_t drift_ns;               /* the constant part of the drift */
    uint64_t node_timeout_ns;        /* how long to wait for a vote */
    uint64_t lost_margin_ns;  /* how long before the end of validity the holder is notified */
    int16_t not_asked_reason; /* the driver's code for a vote that was not requested */
    int16_t timeout_reason;   /* its code for a vote that is missing */
    int16_t duplicate_reason; /* its code for a second vote of one server */
    int16_t changed_reason;   /* its code for a vote that a change of the electorate cut off */
};

/* The smallest size at which any two sets of nodes share a node. */
uint32_t rl_quorum(uint32_t n);

/* The electorate of n nodes, numbered from 0. */
struct rl_electorate rl_electorate_of(uint32_t n);

/* All nodes of both sides. */
static inline uint32_t rl_electors(const struct rl_electorate *electorate) {
    return electorate->sides[0] | electorate->sides[1];
}

/* Whether `nodes` include a majority of the side. */
bool rl_is_majority(rl_mask side, rl_mask nodes);

/* Whether these nodes include a majority of each side. */
bool rl_is_quorum(const struct rl_electorate *electorate, uint32_t nodes);

/* The size of the majority of the larger side: how many votes a message asks for. */
uint32_t rl_votes_needed(const struct rl_electorate *electorate);

/* A mask with one bit for each of n nodes. */
uint32_t rl_all_nodes(uint32_t n);

/* -- By a client's numbers -- */

static inline rl_mask rl_sides_all(const struct rl_sides *sides) {
    return sides->of[0] | sides->of[1];
}

bool rl_sides_quorum(const struct rl_sides *sides, rl_mask nodes);
/* The least number of nodes that a quorum still lacks. */
uint32_t rl_sides_lack(const struct rl_sides *sides, rl_mask nodes);
uint32_t rl_sides_votes_needed(const struct rl_sides *sides);

/* -- Times -- */

/* The drift allowance for a ttl; exact, since one ms times one ppm is one ns. */
uint64_t rl_drift_ns(const struct rl_rules *rules, uint32_t ttl_ms);

/* ttl minus drift, 0 if nothing is left. */
uint64_t rl_validity_ns(const struct rl_rules *rules, uint32_t ttl_ms);

#endif
