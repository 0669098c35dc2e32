/* The parameters of one history. Everything is derived from a preset and one 64-bit seed, so that
 * the seed replays the history; sim_options_print() shows the derived values.
 *
 * Presets, each within the assumptions of docs/guarantees.md:
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
 * Within a part of the assumptions:
 *     fenced    swarm, with nodes' clocks that step forward by more than a ttl, and any wall
 *               clocks: holds may overlap, but fences must be in order (core/fence.h)
 *     leaders   kept, with holds that outlast the counters of fences, and any wall clocks: fences
 *               must be in order as long as nodes keep their counters
 *
 * Outside of the assumptions, for the assumption controls:
 *     amnesia   nodes restart without memory, and nothing guards their vote
 *     stale     replicas take the place of nodes, and nothing guards their vote
 *     steps     nodes' clocks step forward by more than a ttl
 *
 * In each preset some acquires ask for a fence; within the assumptions, half of the histories have
 * a guard.
 *
 * The client's additions to the protocol, each in the swarm of faults:
 *     shared    owners that share their holds (reentrancy), of one resource and of several
 *     lines     many clients that want one resource, or a few, and go by the line; one class of
 *               faults in each history, by the seed: enum sim_trouble
 *     several   locks of several resources, which overlap
 *     adopted   tokens that are handed from process to process: disown, adopt, release by token
 *     elected   candidates and observers of elections
 *     lingering locks that linger after their release, and are acquired again meanwhile
 *     slow      nodes that read and answer a few bytes at a time, and streams with little room
 *     readers   locks that are read by some and written by others, and change from one to the other
 *     phases    the same in a line: as lines, with readers
 *     permits   permits of one semaphore, one or several for each holder; in some histories their
 *               number changes, and nodes forget
 *     turns     the same in a line: as lines, with permits
 *     evicting  nodes that evict keys for a while, by the policy that they start with or are told:
 *               the guard keeps them out */
#ifndef SIM_OPTIONS_H
#define SIM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/guard.h"

#define SIM_NODES_MAX 7
#define SIM_CLIENTS_MAX 16
#define SIM_CLIENTS_USUAL 6 /* at most, where no line is checked */
#define SIM_PLAIN_MAX 3     /* clients of other libraries */
#define SIM_LOCKS_MAX 6     /* of one client */
#define SIM_ELECTIONS_MAX 2 /* the same */
#define SIM_SLOTS_MAX (SIM_LOCKS_MAX + SIM_ELECTIONS_MAX)
#define SIM_RESOURCES_MAX 8   /* or slots of the semaphore */
#define SIM_RESOURCES_USUAL 4 /* at most, where they are not slots */
#define SIM_TAKE_MAX 3        /* permits of one lock */

#define SIM_RETENTION_MS 86400000u /* of counters: longer than any history */

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
    SIM_SHARED_HOLDS,
    SIM_LINES,
    SIM_SEVERAL,
    SIM_ADOPTED,
    SIM_ELECTED,
    SIM_LINGERING,
    SIM_SLOW,
    SIM_EVICTING,
    SIM_READERS,
    SIM_PHASES,
    SIM_PERMITS,
    SIM_TURNS,
    SIM_MEMBERS,
    SIM_SETS, /* as members, with several sets */
    SIM_AMNESIA,
    SIM_STALE,
    SIM_STEPS,
    SIM_PRESETS
};

/* Kinds of faults. Momentary ones are in the order of fault.c's table. */
#define SIM_FAULT_MAP(X)                                                                           \
    X(RESET, "reset")                /* a connection is reset */                                   \
    X(STRAY, "stray commands")       /* the same, but its commands still arrive, much later */     \
    X(HALF_OPEN, "half-open")        /* a connection silently swallows everything */               \
    X(PARTITION, "partition")        /* a link carries nothing, in one direction or both */        \
    X(FOREVER, "partition for good") /* the same, until the end of the safety phase */             \
    X(CLOG, "clog")                  /* a link is slow */                                          \
    X(NODE_PAUSE, "node pause")     /* a node is stopped; what it received runs when it goes on */ \
    X(NODE_RESTART, "node restart") /* down for a moment, memory kept */                           \
    X(NODE_REFUSE, "node down")     /* down for long, memory kept */                               \
    X(NODE_ERROR, "node errors")    /* SETs (OOM) or all commands (LOADING, READONLY) fail */      \
    X(NODE_BACK, "clock back")      /* a node's clock steps back */                                \
    X(NODE_FROZEN, "clock frozen")  /* a node's clock stands for a while */                        \
    X(CLIENT_PAUSE, "client pause") /* SIGSTOP */                                                  \
    X(CLIENT_SUSPEND, "client suspend") /* its machine sleeps */                                   \
    X(CLIENT_ANEW, "client anew")       /* a client starts again, and has not seen any node yet */ \
    X(CLIENT_KILL, "client killed")     /* the same, but it dies silently */                       \
    X(AMNESIA, "amnesia")     /* a node restarts empty: within the assumptions with a guard */     \
    X(STALE, "stale replica") /* a stale replica takes a node's place: the same */                 \
    X(DRIP, "dripping")       /* a wire carries a few bytes at a time */                           \
    X(EVICT, "eviction")      /* a node evicts keys from now on, or no longer does */              \
    X(STEP, "clock step")    /* a node's clock steps beyond the ttl: outside of the assumptions */ \
    X(LOSS, "loss")          /* a message is lost, and its connection with it */                   \
    X(BLOCK, "blocked loop") /* a callback blocks the client's loop */                             \
    X(GRANT_PAUSE, "pause at a grant") /* a client is stopped between quorum and callback */       \
    X(NO_TOKEN, "no randomness")       /* the system has no random bytes */                        \
    X(NO_DIAL, "no descriptor")        /* the system has no descriptor for a connection */         \
    X(PREEMPT, "stop inside")          /* a process is stopped inside of the library */

enum sim_fault {
#define ROW(name, text) SIM_FAULT_##name,
    SIM_FAULT_MAP(ROW)
#undef ROW
        SIM_FAULTS
};

#define SIM_BIT(fault) (UINT32_C(1) << (fault))

#define SIM_FAULTS_STRIKING SIM_FAULT_LOSS /* below this: scheduled by fault.c */

/* Defects outside of the library, for the negative controls. Behind these are those of servers
 * (server_break_name()); defects in the library are patches (broken/). */
enum sim_break {
    SIM_BREAK_NONE,
    SIM_BREAK_STOPPED_CLOCK, /* validity on a clock that stops in suspend */
    SIM_BREAK_LONG_TTL,      /* every second client thinks that the longest ttl is a short one */
    SIM_BREAK_WALLS_APART,   /* wall clocks that should agree differ by five times as much */
    SIM_BREAK_FLUSHALL,      /* a node forgets without a restart: the guard cannot see that */
    SIM_BREAK_MEMBERS_UNCUT, /* connections are not cut when a configuration is written */
    SIM_BREAK_MEMBERS_UNMET, /* one node with the joint configuration is enough */
    SIM_BREAK_MEMBERS_IMPATIENT, /* the longest ttl is not waited out */
    SIM_BREAKS
};

/* The faults in the presets "lines", "phases" and "turns": one class of faults in each history, by
 * the seed. */
enum sim_trouble {
    SIM_TROUBLE_NONE,
    SIM_TROUBLE_CONNECTIONS, /* they break, silently or not, and are slow */
    SIM_TROUBLE_NODES,       /* they stand still, are away, come back empty */
    SIM_TROUBLE_CLIENTS,     /* they are killed, stopped, closed, and exit after a release */
    SIM_TROUBLE_PLAIN,       /* clients of other libraries poll beside them */
    SIM_TROUBLE_PARTITIONS,  /* of a client and a node: clients disagree about the home */
    SIM_TROUBLE_CLOCKS,      /* of nodes, set back; all of them drift */
    SIM_TROUBLE_ALL,
    SIM_TROUBLES
};

struct sim_options {
    uint64_t seed;
    enum sim_preset preset;
    enum sim_trouble trouble;
    uint32_t broken; /* enum sim_break, or behind it */
    uint32_t steps;  /* of the safety phase */
    uint32_t nodes;
    uint32_t clients;
    uint32_t plain;     /* clients of other libraries */
    uint32_t locks;     /* of each client */
    uint32_t resources; /* or slots, if there are permits */
    uint32_t permits;   /* of the semaphore, in the beginning; 0: there is none */

    uint32_t drift_ppm; /* the library's allowance */
    uint32_t drift_ms;
    uint32_t node_timeout_ms;
    uint32_t connect_timeout_ms;
    uint32_t reconnect_min_ms;
    uint32_t reconnect_max_ms;
    uint32_t lost_margin_ms;

    uint32_t requests_max; /* without an answer from one node; more are refused as busy */
    uint32_t unsent_max;   /* bytes that a node has not accepted; beyond them it is busy */
    uint32_t owed_max;     /* pending releases of one node; more are dropped */

    uint64_t delay_min_ns; /* of a message, one way */
    uint64_t delay_max_ns;
    uint64_t loop_lag_ns;   /* at most, from polling to the rest of the turn */
    uint64_t timer_lag_ns;  /* at most, how late a timer fires; libuv counts milliseconds */
    uint32_t loss_ppm;      /* of the messages */
    uint64_t clog_ns;       /* at most, how much later a message comes on a clogged link */
    uint64_t drip_ns;       /* at most, between two pieces on a wire that drips */
    uint32_t split_percent; /* of pieces that are split somewhere, again and again */
    uint32_t room;          /* bytes that a stream takes before the node has read them */
    uint32_t names_percent; /* of processes that know the nodes by name */
    uint64_t resolve_ns;    /* at most, how long looking one up takes */

    int64_t clock_drift_ppm; /* at most, of a node plus of a client */
    uint64_t clock_wave_ns;  /* at most, of a node and of a client each */

    uint32_t faults;         /* kinds that strike, as a mask */
    uint32_t forget_percent; /* of faults are of the kinds that only a guard handles */
    uint64_t fault_gap_ns;   /* on average between two */
    uint64_t fault_ns;       /* at most, how long one lasts */

    enum rl_guard_mode guard;
    uint32_t max_ttl_ms;   /* as configured for the guard; ttl_max_ms */
    uint32_t retention_ms; /* of fence counters */
    uint32_t wall_percent; /* of reads of a wall clock before which it steps */
    bool walls_agree;      /* to within max_ttl_ms */
    bool walls_stand;      /* all alike: only the counters order the fences */

    uint32_t ttl_min_ms;
    uint32_t ttl_max_ms;
    uint32_t think_max_ms;
    uint32_t extend_percent;  /* of what holders do */
    uint32_t hold_percent;    /* of what is left of validity, at most, before a holder does it */
    uint32_t watch_percent;   /* of acquires that have a watchdog */
    uint32_t silence_percent; /* of these, that need signs of life */
    uint32_t linger_percent;  /* of acquires whose locks linger */
    uint32_t fence_percent;   /* of acquires that ask for a fence */
    uint32_t block_percent;   /* of callbacks that block the loop */
    uint32_t grant_percent;   /* of votes after which the process is stopped */
    uint32_t preempt_looks;   /* at the clock, on average until it is stopped there; 0: never */
    uint32_t owner_percent;   /* of acquires that are for an owner */
    uint32_t owners;          /* of each process */
    uint32_t several_percent; /* of locks that are of several resources */
    uint32_t patient_percent; /* of acquires that wait for as long as it takes */
    uint32_t cancel_percent;  /* of acquires that are cancelled, if they last */
    uint32_t exit_percent;    /* of releases behind which the process ends */
    uint32_t adopt_percent;   /* of what holders do: they disown */
    uint32_t reader_percent;  /* of locks that are acquired to be read */
    uint32_t change_percent;  /* of what holders do: they downgrade, or try to upgrade */
    uint32_t take_most;       /* permits of one lock, at most */
    uint32_t resize_percent;  /* of users' actions while they think: set another number of
                                 permits */
    uint32_t odd_percent;     /* of locks that have another number of permits */
    uint32_t elections;       /* of each process, candidates and observers */
    uint32_t query_percent;   /* of users' actions while they think: query the holder */
    uint8_t kinds[SIM_NODES_MAX]; /* enum server_native */
    uint32_t kind_percent;        /* of starts of nodes: another kind */
    uint32_t forbid_percent;      /* of errors of nodes: they forbid native releases as well */
    bool same_ttl;                /* a lock is extended by the ttl that it was acquired with */
};

/* nodes, steps: 0 to derive them. */
struct sim_options sim_options_derive(enum sim_preset preset, uint64_t seed, uint32_t nodes,
                                      uint32_t steps);

/* options_permits.c: the presets "permits" and "turns". */
void sim_options_permits(struct sim_options *options);
uint32_t sim_options_slots(const struct sim_options *options);

/* options_lines.c: the presets "lines", "phases" and "turns", with this trouble. Other options are
 * kept. */
void sim_options_lines(struct sim_options *options, enum sim_trouble trouble);

/* The longest time for which an available lock may not be granted to any waiting client:
 * check_line.c. */
uint64_t sim_options_stall_ns(const struct sim_options *options);

void sim_options_print(const struct sim_options *options);

/* Whether the assumptions hold in such histories, even without a guard: then each hold has a quorum
 * of keys all the time. */
bool sim_options_within_promise(const struct sim_options *options);

/* Whether two must not hold one lock at once. */
bool sim_options_is_exclusive(const struct sim_options *options);

/* Whether some read. */
bool sim_options_reads(const struct sim_options *options);

/* Whether administrators change the nodes meanwhile. */
bool sim_options_changes(const struct sim_options *options);

/* Whether histories are about lines: their users are a crowd, and there is always a client to be
 * served. */
bool sim_options_has_lines(const struct sim_options *options);

/* Whether fences must be in order, at least while counters are kept. */
bool sim_options_is_fenced(const struct sim_options *options);

/* How long counters are kept after the sending of a command that set one: RL_NEVER if that does not
 * matter, since histories are shorter, or wall clocks agree. */
uint64_t sim_options_kept_ns(const struct sim_options *options);

const char *sim_preset_name(enum sim_preset preset);
const char *sim_fault_name(enum sim_fault fault);
const char *sim_trouble_name(enum sim_trouble trouble);
const char *sim_break_name(uint32_t broken); /* NULL: there are no more */
const char *sim_guard_name(enum rl_guard_mode guard);

#endif
