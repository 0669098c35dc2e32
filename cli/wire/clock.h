/* A node's clock, and how long an answer takes.
 *
 * Each question is sent when the one before it has been answered, so that what is measured is the
 * node's own time and not that of a queue. The answer that came fastest tells the clock most
 * exactly.
 *
 * Failure mode: TIME is forbidden, or is not answered as Redis does: nothing is known, or no more
 * than before. */
#ifndef RL_CLI_WIRE_CLOCK_H
#define RL_CLI_WIRE_CLOCK_H

#include "wire/wire.h"

#define RL_WIRE_SAMPLES 5

struct rl_wire_clock {
    bool is_known;
    double latency_ms, latency_max_ms; /* of the samples: the fastest, the slowest */
    double samples_ms[RL_WIRE_SAMPLES];
    int n_samples;
    double ahead_ms; /* of this machine's, from the fastest sample */
    double error_ms; /* half of its round trip */
};

/* Asks n times, at most RL_WIRE_SAMPLES. */
void rl_wire_clock(struct rl_wire *wire, int n, struct rl_wire_clock *clock);

#endif
