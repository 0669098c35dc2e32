/* The simulated world: nodes, network, clients, their clocks, and everything that goes wrong with
 * them, driving the production lib/core. One seed replays one history.
 *
 * How to use it:
 *
 *     struct sim_options options = sim_options_derive(SIM_SWARM, seed, 0, 0);
 *     struct sim_world *world = sim_world_new(&options);
 *     while (sim_world_step(world)) {
 *     }
 *     if (world->check.found != SIM_FINE) { ... world->check.message, sim_trace_print() ... }
 *     sim_world_free(world);
 *
 * One step, in this order:
 *   1. the earliest event is taken from the queue, and true time moves to it. Ties: the
 *   continuation of
 *      an interrupted loop turn first, then in the order of scheduling (queue.h);
 *   2. an event whose target cannot take it (a paused node or client, a cut link) is put back for
 *   the
 *      time at which it can, with its old place among its equals; this is not counted as a step;
 *   3. the event happens. A client that is polled runs no user code; the rest of its turn
 *   (deadlines,
 *      on_lost, callbacks, flush, timer) is an event of its own, so anything can happen between;
 *   4. the checker looks at the whole world (check.h). The first violation ends the history.
 *
 * One history, in this order:
 *   safety     users use, faults strike, for options.steps steps;
 *   liveness   all faults are healed but those of a minority of the nodes; all locks are given up;
 *   each
 *              client acquires once more and must succeed within sim_world_bound_ns();
 *   drain      the longest ttl passes; then no key and no debt may be left.
 *
 * Nothing here depends on the machine: integers only, no clock, no pointer is compared.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/check.h"
#include "sim/client.h"
#include "sim/net.h"
#include "sim/node.h"
#include "sim/options.h"
#include "sim/queue.h"
#include "sim/random.h"
#include "sim/trace.h"

enum sim_phase { SIM_SAFETY, SIM_LIVENESS, SIM_DRAIN, SIM_OVER };

/* Sums of one history. */
struct sim_stats {
    uint64_t steps;
    uint64_t time_ns;
    uint64_t grants;
    uint64_t losses;
    uint64_t renewals;
    uint64_t releases;
    uint64_t late_votes;
    uint64_t repairs;
    uint64_t owed;
    uint64_t repaid;
    uint64_t dropped;   /* debts that were too many */
    uint64_t busy;      /* commands that a node was too busy for */
    uint64_t left_out;  /* of attempts: silent nodes */
    uint64_t late_sets; /* ran after the release that was to undo them */
    uint64_t watched;   /* extensions by watchdogs */
    uint64_t fenced;    /* grants with a fence */
    uint64_t raised;    /* attempts that needed a second round for it */
    uint64_t alone;     /* attempts that asked one node first */
    uint64_t quarantines;
    uint64_t withheld; /* votes of attempts, by quarantine */
    uint64_t overlaps; /* where they are excused */
    uint64_t results[RL_RESULT_MAX_HOLD + 1];
    uint64_t faults[SIM_FAULTS];
};

struct sim_world {
    struct sim_options options;
    uint64_t now_ns; /* true time */
    enum sim_phase phase;
    uint64_t until_ns;  /* of the phase: liveness and drain */
    uint32_t reachable; /* nodes that are healed after the safety phase, as a mask */
    uint32_t probing;   /* probes that have not succeeded yet */
    struct sim_queue queue;
    struct sim_net net;
    struct sim_node nodes[SIM_NODES_MAX];
    struct sim_client clients[SIM_CLIENTS_MAX];
    struct sim_check check;
    struct sim_stats stats;
    struct sim_trace trace;
    void (*story)(struct sim_world *world, uint32_t line); /* SIM_EV_STORY */
    const void *story_data;
    struct sim_random net_random;
    struct sim_random fault_random;
    struct sim_random user_random;
    struct sim_random core_random; /* the library's jitter */
    struct sim_random clock_random;
    struct sim_random past_random;  /* what replicas have */
    struct sim_random fence_random; /* fences, ties and wall clocks */
    uint32_t servers;               /* identities given so far */
};

struct sim_world *sim_world_new(const struct sim_options *options);

/* False when the history is over, or a check failed. */
bool sim_world_step(struct sim_world *world);

void sim_world_free(struct sim_world *world);

/* How long a waiting client may take to acquire once a quorum is healed: the longest ttl that
 * others' keys may have, what is late on clogged links, noticing dead connections, reconnecting,
 * and retries. */
uint64_t sim_world_bound_ns(const struct sim_world *world);

#endif
