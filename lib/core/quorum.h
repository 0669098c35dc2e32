/* The arithmetic of Redlock: how many nodes are a majority, and how long a majority's grant may be
 * relied on. Pure functions of their arguments.
 *
 * Why a majority of n / 2 + 1 excludes others: two sets of that size share a node, and that node
 * holds one token at a time. For even n, n / 2 + 1 is already a strict majority; n / 2 would not
 * be.
 *
 * Why validity is sent + ttl - drift: every key of the round was set after `sent`, so by the node's
 * clock it lives at least until sent + ttl. If that clock gains less than the drift allowance over
 * one ttl, no key of the round ends before validity does. The time that the round took need not be
 * measured: it is counted because validity starts at the sending (specification, step 3).
 */
#ifndef RL_CORE_QUORUM_H
#define RL_CORE_QUORUM_H

#include <stdint.h>

#define RL_NODES_MAX 31u /* node masks are uint32_t, and one bit is kept free */
#define RL_NEVER UINT64_MAX
#define RL_NS_PER_MS UINT64_C(1000000)

/* What does not change over the life of a client. */
struct rl_rules {
    uint32_t n;               /* nodes, 1 to RL_NODES_MAX */
    uint32_t drift_ppm;       /* drift_ratio in millionths, rounded up */
    uint64_t drift_ns;        /* the constant part of the drift */
    uint64_t node_timeout_ns; /* how long to wait for a vote */
    uint64_t lost_margin_ns;  /* how long before the end of validity the holder is notified */
    int16_t not_asked_reason; /* the driver's code for a vote that was not requested */
    int16_t timeout_reason;   /* ... for one that is missing */
    int16_t duplicate_reason; /* ... for a second vote of one server */
};

/* The smallest size at which any two sets of nodes share a node. */
uint32_t rl_quorum(uint32_t n);

/* A mask with one bit for each of n nodes. */
uint32_t rl_all_nodes(uint32_t n);

/* The drift allowance for a ttl: exact, since one ms times one ppm is one ns. */
uint64_t rl_drift_ns(const struct rl_rules *rules, uint32_t ttl_ms);

/* ttl minus drift, 0 if nothing is left. */
uint64_t rl_validity_ns(const struct rl_rules *rules, uint32_t ttl_ms);

#endif
