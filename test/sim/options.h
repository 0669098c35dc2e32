/* What one history is made of. Everything is derived from a preset and one 64-bit seed, so that the
 * seed replays the history; sim_options_print() shows what was derived.
 *
 * Presets, each within what design.md section 1 promises under:
 *     quiet     nothing goes wrong but contention
 *     network   delays, losses, resets, partitions, clogging, half-open connections, late commands
 *     clocks    drift up to the whole allowance, periodic error, nodes' clocks frozen or set back,
 *               clients stopped and suspended
 *     restarts  nodes refuse, pause, answer errors, restart with their memory
 *     swarm     a random subset of all of these, in random strength
 *     kept      the same, with watchdogs and limits of holding
 *     forgetful the same, with nodes that restart without memory and stale replicas that take
 *               their place: the guard keeps them from voting (core/guard.h)
 *
 * Within a part of the promise:
 *     fenced    swarm, and nodes' clocks step forward by more than a ttl, wall clocks show
 *               anything: holds overlap, which is excused, but fences must be in order
 *               (core/fence.h)
 *     leaders   kept, with holds that last longer than the counters of fences are kept, and wall
 *               clocks that show anything: fences must be in order as far as counters were kept
 *
 * And what is not promised, for the assumption controls:
 *     amnesia   nodes restart without memory, and nothing guards their vote
 *     stale     replicas take the place of nodes, and nothing guards their vote
 *     steps     nodes' clocks step forward by more than a ttl
 *
 * All have fences and ties that are broken in a share of the acquires, and those within the promise
 * a guard in half of the histories.
 */
#ifndef SIM_OPTIONS_H
#define SIM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/guard.h"

#define SIM_NODES_MAX 7
#define SIM_CLIENTS_MAX 6
#define SIM_LOCKS_MAX 3 /* of one client */
#define SIM_RESOURCES_MAX 3

enum sim_preset {
    SIM_QUIET,
    SIM_NETWORK,
    SIM_CLOCKS,
    SIM_RESTARTS,
    SIM_SWARM,
    SIM_KEPT, /* as swarm, with watchdogs and limits of holding */
    SIM_FORGETFUL,
    SIM_FENCED,
    SIM_LEADERS,
    SIM_AMNESIA,
    SIM_STALE,
    SIM_STEPS,
    SIM_STORY, /* no randomness: golden.h */
    SIM_PRESETS
};

/* Kinds of faults. The ones that strike at one moment are in the order of fault.c's table. */
enum sim_fault {
    SIM_FAULT_RESET,        /* a connection is reset */
    SIM_FAULT_STRAY,        /* a connection is reset, but its commands still arrive, much later */
    SIM_FAULT_HALF_OPEN,    /* a connection swallows everything, and nobody is told */
    SIM_FAULT_PARTITION,    /* a link carries nothing, in one direction or both */
    SIM_FAULT_FOREVER,      /* the same, until the end of the safety phase */
    SIM_FAULT_CLOG,         /* a link is slow */
    SIM_FAULT_NODE_PAUSE,   /* a node is stopped; what it received runs when it goes on */
    SIM_FAULT_NODE_RESTART, /* down for a moment, memory kept */
    SIM_FAULT_NODE_REFUSE,  /* down for long, memory kept */
    SIM_FAULT_NODE_ERROR,   /* SETs (OOM) or all commands (LOADING, READONLY) are answered errors */
    SIM_FAULT_NODE_BACK,    /* a node's clock steps back */
    SIM_FAULT_NODE_FROZEN,  /* a node's clock stands for a while */
    SIM_FAULT_CLIENT_PAUSE, /* SIGSTOP */
    SIM_FAULT_CLIENT_SUSPEND, /* its machine sleeps */
    SIM_FAULT_CLIENT_ANEW,    /* a client starts again, and has not seen any node yet */
    SIM_FAULT_AMNESIA,        /* a node restarts empty: within the promise of a guard */
    SIM_FAULT_STALE,          /* a stale replica takes a node's place: the same */
    SIM_FAULT_STEP,           /* a node's clock steps beyond the ttl: outside of the promise */
    SIM_FAULT_LOSS,           /* a message is lost, and its connection with it */
    SIM_FAULT_BLOCK,          /* a callback blocks the client's loop */
    SIM_FAULT_GRANT_PAUSE,    /* a client is stopped between the quorum and the callback */
    SIM_FAULT_NO_TOKEN,       /* the system has no randomness for a token */
    SIM_FAULTS
};

#define SIM_FAULTS_STRIKING SIM_FAULT_LOSS /* below this: scheduled by fault.c */

/* Wrong drivers and clocks for the negative controls; those in the core are patches (broken/). */
enum sim_break {
    SIM_BREAK_NONE,
    SIM_BREAK_ONE_TOKEN,       /* one token for all attempts of a lock */
    SIM_BREAK_BLIND_RELEASE,   /* nodes delete without comparing */
    SIM_BREAK_DROP_OWED,       /* what a node is owed is forgotten when it is connected again */
    SIM_BREAK_STOPPED_CLOCK,   /* validity on a clock that stops in suspend */
    SIM_BREAK_EXTEND_SHORTENS, /* the extend script sets a shorter life, too: a late one then cuts
                                * short what a later one gave */
    SIM_BREAK_RAISE_BLIND,     /* a raise compares nothing */
    SIM_BREAK_RAISE_ANYWHERE,  /* a raise does not compare the token */
    SIM_BREAK_RAISE_LARGER,    /* a raise is content with a larger counter */
    SIM_BREAK_COUNTER_TTL,     /* a counter ends with its key */
    SIM_BREAK_UPTIME,          /* a second of the uptime that has begun counts as over */
    SIM_BREAK_LONG_TTL,        /* locks ask for more than max_ttl_ms */
    SIM_BREAK_WALLS_APART,     /* wall clocks that should agree differ by five times as much */
    SIM_BREAK_FLUSHALL,        /* a node forgets without a restart: the guard cannot see that */
    SIM_BREAK_RETENTION,       /* counters are kept no longer than the longest ttl */
    SIM_BREAK_COUNTER_LEFT,    /* an extension leaves the counters alone */
    SIM_BREAKS
};

struct sim_options {
    uint64_t seed;
    enum sim_preset preset;
    enum sim_break broken;
    uint32_t steps; /* of the safety phase */
    uint32_t nodes;
    uint32_t clients;
    uint32_t locks; /* of each client */
    uint32_t resources;

    uint32_t drift_ppm; /* the library's allowance */
    uint32_t drift_ms;
    uint32_t node_timeout_ms;
    uint32_t connect_timeout_ms;
    uint32_t reconnect_min_ms;
    uint32_t reconnect_max_ms;
    uint32_t lost_margin_ms;

    uint32_t requests_max; /* without an answer from one node; more are refused as busy */
    uint32_t owed_max;     /* debts of one node; more are not kept */

    uint64_t delay_min_ns; /* of a message, one way */
    uint64_t delay_max_ns;
    uint64_t loop_lag_ns;  /* at most, from polling to the rest of the turn */
    uint64_t timer_lag_ns; /* at most, how late a timer fires; libuv counts milliseconds */
    uint32_t loss_ppm;     /* of the messages */
    uint64_t clog_ns;      /* at most, how much later a message comes on a clogged link */

    int64_t clock_drift_ppm; /* at most, of a node plus of a client */
    uint64_t clock_wave_ns;  /* at most, of a node and of a client each */

    uint32_t faults;         /* kinds that strike, as a mask */
    uint32_t forget_percent; /* of faults are of the kinds that are against the guard */
    uint64_t fault_gap_ns;   /* on average between two */
    uint64_t fault_ns;       /* at most, how long one lasts */

    enum rl_guard_mode guard;
    uint32_t max_ttl_ms;   /* as the guard is told; ttl_max_ms */
    uint32_t retention_ms; /* of fence counters */
    uint32_t wall_percent; /* of looks at a wall clock before which it steps */
    bool walls_agree;      /* to within max_ttl_ms */
    bool walls_stand;      /* all alike: only the counters order the fences */

    uint32_t ttl_min_ms;
    uint32_t ttl_max_ms;
    uint32_t think_max_ms;
    uint32_t extend_percent; /* of what holders do */
    uint32_t hold_percent;   /* of what is left of validity, at most, before a holder does it */
    uint32_t watch_percent;  /* of acquires that have a watchdog */
    uint32_t fence_percent;  /* of acquires that ask for a fence */
    uint32_t ties_percent;   /* of acquires that break ties */
    uint32_t block_percent;  /* of callbacks that block the loop */
    uint32_t grant_percent;  /* of grants at which the client is stopped */
    bool same_ttl;           /* a lock is extended by the ttl that it was acquired with */
};

/* nodes, steps: 0 to derive them. */
struct sim_options sim_options_derive(enum sim_preset preset, uint64_t seed, uint32_t nodes,
                                      uint32_t steps);

/* Something in such a history is built wrongly. */
void sim_options_break(struct sim_options *options, enum sim_break broken);

void sim_options_print(const struct sim_options *options);

/* Whether the promise's assumptions hold in such histories, also without a guard: then each hold
 * has a quorum of keys all the time. */
bool sim_options_within_promise(const struct sim_options *options);

/* Whether no two may hold one lock at once. */
bool sim_options_is_exclusive(const struct sim_options *options);

/* Whether fences must be in order, at least while counters are kept. */
bool sim_options_is_fenced(const struct sim_options *options);

/* How long that is from the sending of a command that set one: RL_NEVER if it is of no matter,
 * since histories are shorter, or wall clocks agree. */
uint64_t sim_options_kept_ns(const struct sim_options *options);

const char *sim_preset_name(enum sim_preset preset);
const char *sim_fault_name(enum sim_fault fault);
const char *sim_break_name(enum sim_break broken);
const char *sim_guard_name(enum rl_guard_mode guard);

#endif
