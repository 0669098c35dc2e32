/* The simulated world: nodes, network, processes, their clocks, and their faults. It drives the
 * library as shipped, from the public interface down to hiredis's reader, on simulated streams
 * (base/world.h). One seed replays one history.
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
 *   1. the earliest event is taken from the queue, and true time moves to it. Ties: queue.h;
 *   2. an event whose target cannot take it (a paused node or process, a cut link) is put back for
 *      the time at which it can, with its old place among its equals; this is not counted as a
 *      step;
 *   3. the event happens. Bytes that reach a process run no user code: its turn is an event of
 *      its own, so anything can happen in between;
 *   4. the checker looks at the whole world (check.h). The first violation ends the history.
 *
 * One history, in this order:
 *   safety     users use, faults strike, for options.steps steps;
 *   liveness   all faults are healed but those of a minority of the nodes; all locks are given up;
 *              each process acquires once more and must succeed within sim_world_bound_ns();
 *   drain      the longest ttl passes; then no key and no pending release may be left;
 *   closing    every client is closed; no memory and no stream may be left.
 *
 * Nothing here depends on the machine: integers only, no clock, no pointer is compared. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/quorum.h"
#include "sim/check.h"
#include "sim/client.h"
#include "sim/members.h"
#include "sim/net.h"
#include "sim/node.h"
#include "sim/options.h"
#include "sim/plain.h"
#include "sim/queue.h"
#include "sim/random.h"
#include "sim/trace.h"
#include "sim/wire.h"

#ifndef RL_NS_PER_MS
#define RL_NS_PER_MS UINT64_C(1000000)
#endif

#define SIM_HANDOVERS_MAX 4

enum sim_phase { SIM_SAFETY, SIM_LIVENESS, SIM_DRAIN, SIM_CLOSE, SIM_OVER };

/* Sums of one history. */
struct sim_stats {
    uint64_t steps;
    uint64_t time_ns;
    uint64_t grants;
    uint64_t losses;
    uint64_t renewals;
    uint64_t releases;
    uint64_t attempts;
    uint64_t late_votes;
    uint64_t repairs;
    uint64_t owed;   /* releases that became pending */
    uint64_t repaid; /* ... and were answered */
    uint64_t dropped;
    uint64_t late_sets; /* ran after the release that was to undo them */
    uint64_t watched;   /* extensions by watchdogs */
    uint64_t silent;    /* losses for lack of signs of life */
    uint64_t fenced;    /* grants with a fence */
    uint64_t raised;    /* attempts that needed a second round for it */
    uint64_t quarantines;
    uint64_t joined;   /* grants of what the owner has */
    uint64_t adopted;  /* tokens that were taken over */
    uint64_t notified; /* candidates that tried at once instead of after the pause */
    uint64_t elected;
    uint64_t leaders_told;
    uint64_t queries;
    uint64_t changes;      /* of the set's nodes, that were brought to their end */
    uint64_t closed;       /* clients */
    uint64_t splits;       /* of what was sent */
    uint64_t short_writes; /* streams that accepted less than all */
    uint64_t evicted;      /* keys */
    uint64_t overlaps;     /* where they are excused */
    uint64_t passed;       /* times that a later client was granted it first */
    uint64_t overtaken;    /* ... where the line guarantees order */
    uint64_t unpaid;       /* ... and no excuse was found */
    uint64_t turns_taken;
    uint64_t turns_missed;
    uint64_t leases;  /* that nodes gave to readers */
    uint64_t readers; /* grants to read */
    uint64_t downgrades;
    uint64_t upgrades;
    uint64_t permits;                /* in grants */
    uint64_t permits_full;           /* steps at which none was left */
    uint64_t resized;                /* numbers of permits that were asked for */
    uint64_t odd;                    /* acquires that failed since another number is in use */
    uint64_t plain_grants;           /* to clients of other libraries */
    uint64_t commands[SIM_COMMANDS]; /* that nodes have run */
    uint64_t faults[SIM_FAULTS];
};

struct sim_world {
    struct sim_options options;
    uint64_t now_ns; /* true time */
    enum sim_phase phase;
    uint64_t until_ns;  /* of the phase: liveness, drain, closing */
    uint32_t reachable; /* nodes that are healed after the safety phase, as a mask */
    uint32_t probing;   /* probes that have not succeeded yet */
    struct sim_queue queue;
    struct sim_net net;
    struct sim_node nodes[SIM_NODES_MAX];
    struct sim_client clients[SIM_CLIENTS_MAX];
    struct sim_handover handovers[SIM_HANDOVERS_MAX];
    struct sim_submitted *submitted;
    struct sim_check check;
    struct sim_stats stats;
    struct sim_trace trace;
    struct sim_random net_random;
    struct sim_random fault_random;
    struct sim_random user_random;
    struct sim_random core_random; /* options of the library */
    struct sim_random clock_random;
    struct sim_random past_random;  /* state of replicas */
    struct sim_random fence_random; /* fences and wall clocks */
    struct sim_random plain_random; /* clients of other libraries */
    struct sim_random kind_random;  /* kind.c */
    struct sim_random life_random;  /* signs of life */
    struct sim_plain plain[SIM_PLAIN_MAX];
    struct sim_members members;
    uint32_t permits; /* of the semaphore, as it was asked for last */
    uint64_t longest_stall_ns;
    uint64_t servers; /* identities given so far */
};

struct sim_world *sim_world_new(const struct sim_options *options);

/* False when the history is over, or a check failed. */
bool sim_world_step(struct sim_world *world);

void sim_world_free(struct sim_world *world);

/* How long a waiting client may take to acquire once a quorum is healed: the longest ttl of others'
 * keys, delays on clogged links, detection of dead connections, reconnecting, and retries. */
uint64_t sim_world_bound_ns(const struct sim_world *world);

/* The longest ttl that a process may ask for. */
uint32_t sim_world_max_ttl_ms(const struct sim_world *world, uint32_t client);

#endif
