/* What is seen only by comparing sweeps: how much the nodes do in a second (but for us), how many
 * locks are handed on, and how long answers take in the long run. Pure.
 *
 * Hand-overs are those that nodes have made of locks and to readers: the calls of ZPOPMIN, by which
 * home takes the first one out of the line. Those of semaphores are not counted, nor is a lock that
 * was passed to who is first no longer. Programs that use ZPOPMIN on the same nodes are.
 *
 * Failure modes: a node restarted, or was not read: it has no rate until it was read twice more. */
#ifndef RL_CLI_TOP_RATES_H
#define RL_CLI_TOP_RATES_H

#include "scan/scan.h"

#define RL_RATES_LATENCIES 256 /* the last ones of each node */

struct rl_rates {
    struct rl_rate {
        char run_id[RL_WIRE_TEXT_MAX]; /* of the server that this was: "" none */
        int64_t commands, turns, asked;
        uint64_t at_ns;
        double commands_per_s, turns_per_s; /* below 0: not known */
        double latencies_ms[RL_RATES_LATENCIES];
        size_t n_latencies; /* ever */
    } nodes[REDLOCK_NODES_MAX];
    double turns_per_s; /* of all; below 0: not known */
};

/* rates: zero at first. */
void rl_rates_add(struct rl_rates *rates, const struct rl_sweep *sweep, uint64_t now_ns);

/* The latency that this part of the node's last answers does not exceed; below 0: not known. */
double rl_rates_latency_ms(const struct rl_rates *rates, size_t node, double part);

#endif
