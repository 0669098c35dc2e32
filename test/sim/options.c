/* See options.h. */
#include "sim/options.h"

#include "core/pending.h"
#include "core/quorum.h"
#include "redis/node.h"
#include "sim/kind.h"
#include "sim/random.h"

#define MS RL_NS_PER_MS

#define FORGETTING \
    (SIM_BIT(SIM_FAULT_AMNESIA) | SIM_BIT(SIM_FAULT_STALE) | SIM_BIT(SIM_FAULT_EVICT))

bool sim_options_within_promise(const struct sim_options *options) {
    return !(options->faults & (FORGETTING | SIM_BIT(SIM_FAULT_STEP))) &&
           !sim_options_changes(options); /* a quorum of which nodes? */
}

bool sim_options_is_exclusive(const struct sim_options *options) {
    bool remembers = !(options->faults & FORGETTING) || options->guard != RL_GUARD_OFF;
    return remembers && !(options->faults & SIM_BIT(SIM_FAULT_STEP));
}

bool sim_options_changes(const struct sim_options *options) {
    return options->preset == SIM_MEMBERS || options->preset == SIM_SETS;
}

bool sim_options_reads(const struct sim_options *options) {
    return options->reader_percent > 0;
}

bool sim_options_has_lines(const struct sim_options *options) {
    return options->preset == SIM_LINES || options->preset == SIM_PHASES ||
           options->preset == SIM_TURNS;
}

bool sim_options_is_fenced(const struct sim_options *options) {
    if (options->faults & FORGETTING) {
        return options->walls_agree && options->guard != RL_GUARD_OFF;
    }
    return true;
}

uint64_t sim_options_kept_ns(const struct sim_options *options) {
    if (options->walls_agree || options->retention_ms == SIM_RETENTION_MS) {
        return RL_NEVER;
    }
    uint64_t fast_ns = options->retention_ms * MS / 1000000 * (uint64_t)options->clock_drift_ppm;
    return options->retention_ms * MS - fast_ns - 2 * options->clock_wave_ns - MS;
}

/* -- Deriving -- */

#define NETWORK                                                                           \
    (SIM_BIT(SIM_FAULT_RESET) | SIM_BIT(SIM_FAULT_STRAY) | SIM_BIT(SIM_FAULT_HALF_OPEN) | \
     SIM_BIT(SIM_FAULT_PARTITION) | SIM_BIT(SIM_FAULT_FOREVER) | SIM_BIT(SIM_FAULT_CLOG))
#define CLOCKS                                                       \
    (SIM_BIT(SIM_FAULT_NODE_BACK) | SIM_BIT(SIM_FAULT_NODE_FROZEN) | \
     SIM_BIT(SIM_FAULT_CLIENT_PAUSE) | SIM_BIT(SIM_FAULT_CLIENT_SUSPEND))
#define RESTARTS                                                       \
    (SIM_BIT(SIM_FAULT_NODE_PAUSE) | SIM_BIT(SIM_FAULT_NODE_RESTART) | \
     SIM_BIT(SIM_FAULT_NODE_REFUSE) | SIM_BIT(SIM_FAULT_NODE_ERROR))

static void derive_size(struct sim_options *options, struct sim_random *random) {
    static const uint32_t sizes[] = {1, 2, 3, 3, 3, 4, 5, 5, 5, 6, 7};
    uint32_t size = sizes[sim_pick(random, sizeof sizes / sizeof sizes[0])];
    options->nodes = options->nodes == 0 ? size : options->nodes;
    options->clients = (uint32_t)sim_skewed(random, 2, SIM_CLIENTS_USUAL + 1);
    options->clients -= options->clients > SIM_CLIENTS_USUAL;
    options->locks = sim_any(random, 1, 3);
    options->resources = sim_any(random, 1, 3);
}

static void derive_times(struct sim_options *options, struct sim_random *random) {
    options->node_timeout_ms = (uint32_t)sim_skewed(random, 20, 300);
    options->connect_timeout_ms = sim_any(random, 50, 1000);
    options->reconnect_min_ms = sim_any(random, 1, 50);
    options->reconnect_max_ms = sim_any(random, 50, 2000);
    options->lost_margin_ms = 2;
    options->delay_min_ns = sim_between(random, 20000, MS);
    options->delay_max_ns = options->delay_min_ns + sim_skewed(random, 50000, 40 * MS);
    options->loop_lag_ns = 50000;
    options->timer_lag_ns = MS;
    options->ttl_min_ms = sim_any(random, 60, 500);
    options->ttl_max_ms = options->ttl_min_ms + (uint32_t)sim_skewed(random, 0, 5000);
    options->think_max_ms = (uint32_t)sim_skewed(random, 10, 1000);
    options->extend_percent = sim_any(random, 30, 95);
    options->hold_percent = (uint32_t)sim_skewed(random, 2, 125);
}

static void derive_network(struct sim_options *options, struct sim_random *random) {
    options->loss_ppm = (uint32_t)sim_skewed(random, 0, 20000);
    options->split_percent = (uint32_t)sim_skewed(random, 0, 50);
    options->clog_ns = sim_skewed(random, 10 * MS, 4000 * MS);
}

static void derive_clocks(struct sim_options *options, struct sim_random *random) {
    options->clock_drift_ppm = options->drift_ppm; /* the whole of it */
    options->clock_wave_ns = sim_between(random, 0, MS * 3 / 10);
}

/* A subset: faults that always come together hide each other. */
static void derive_swarm(struct sim_options *options, struct sim_random *random) {
    options->faults = (NETWORK | CLOCKS | RESTARTS) & (uint32_t)sim_random(random);
    if (sim_chance(random, 50)) {
        derive_network(options, random);
    }
    if (options->faults & SIM_BIT(SIM_FAULT_CLOG) && options->clog_ns == 0) {
        options->clog_ns = sim_skewed(random, 10 * MS, 4000 * MS);
    }
    if (sim_chance(random, 60)) {
        derive_clocks(options, random);
    }
    if (sim_chance(random, 30)) {
        options->block_percent = sim_any(random, 1, 10);
        options->grant_percent = sim_any(random, 0, 10);
    }
}

/* Clients' loops block, and they are stopped. */
static void derive_stops(struct sim_options *options, struct sim_random *random) {
    options->block_percent = sim_any(random, 0, 5);
    options->grant_percent = sim_any(random, 0, 10);
    derive_clocks(options, random);
}

static void derive_kept(struct sim_options *options, struct sim_random *random) {
    derive_swarm(options, random);
    options->watch_percent = sim_any(random, 30, 100);
    options->silence_percent = options->preset == SIM_KEPT ? 40 : 0;
}

static void derive_forgetful(struct sim_options *options, struct sim_random *random) {
    derive_swarm(options, random);
    options->faults |= sim_chance(random, 50)
                           ? FORGETTING
                           : SIM_BIT(SIM_FAULT_AMNESIA) | SIM_BIT(SIM_FAULT_CLIENT_ANEW);
}

static void derive_fenced(struct sim_options *options, struct sim_random *random) {
    derive_swarm(options, random);
    options->faults |= SIM_BIT(SIM_FAULT_STEP) | SIM_BIT(SIM_FAULT_CLIENT_PAUSE);
}

static void derive_changed(struct sim_options *options, struct sim_random *random) {
    derive_swarm(options, random);
    options->faults &= ~(SIM_BIT(SIM_FAULT_NODE_BACK) | SIM_BIT(SIM_FAULT_NODE_FROZEN));
}

/* Small in some histories, so that a node is too busy for a request, or has too many pending
 * releases. As in the client, the pending releases fit into an idle node's limit. */
static void derive_limits(struct sim_options *options) {
    struct sim_random random = sim_random_stream(options->seed, 6);
    if (sim_chance(&random, 40)) {
        uint32_t least = sim_chance(&random, 50) ? 2 : 4;
        options->requests_max = (uint32_t)sim_skewed(&random, least, 64);
        options->owed_max = options->requests_max / 2;
    }
    if (sim_chance(&random, 30)) {
        options->owed_max = sim_any(&random, 1, options->owed_max < 24 ? options->owed_max : 24);
    }
}

/* Nodes forget, within the assumptions: clients have a guard, and wall clocks agree. */
static bool forgets(const struct sim_options *options) {
    return options->preset == SIM_FORGETFUL || options->preset == SIM_EVICTING ||
           (options->preset == SIM_PERMITS && (options->faults & FORGETTING) != 0);
}

/* A restarted client must not trust nodes that it has not seen before: it needs the strict
 * guard. */
static enum rl_guard_mode derive_guard(const struct sim_options *options,
                                       struct sim_random *random) {
    bool some = sim_chance(random, 50), strict = sim_chance(random, 50);
    bool anew = options->faults & SIM_BIT(SIM_FAULT_CLIENT_ANEW);
    if (options->preset >= SIM_AMNESIA) {
        return RL_GUARD_OFF;
    }
    if (!some && !forgets(options)) {
        return RL_GUARD_OFF;
    }
    return strict || anew ? RL_GUARD_STRICT : RL_GUARD_OBSERVED;
}

/* Far away, but not so far that a lock is over before it is granted, in two rounds. */
static void derive_distance(struct sim_options *options, uint64_t far_ns) {
    uint64_t most_ns = options->ttl_max_ms * MS / 8;
    options->delay_max_ns = options->delay_min_ns + (far_ns < most_ns ? far_ns : most_ns);
}

/* Nodes that forget and are reconnected while others are still asked. */
static void derive_far_nodes(struct sim_options *options, struct sim_random *random) {
    options->resources = 1;
    derive_distance(options, sim_skewed(random, 5 * MS, 100 * MS));
    options->node_timeout_ms += (uint32_t)(3 * options->delay_max_ns / MS);
    options->reconnect_min_ms = sim_any(random, 1, 10);
    options->reconnect_max_ms = sim_any(random, 50, 200);
}

static uint64_t least_retention_ms(const struct sim_options *options) {
    uint64_t least_ms = options->max_ttl_ms * UINT64_C(21) / 10 + 10;
    return least_ms > 1000 ? least_ms : 1000;
}

/* Counters that end while locks are still acquired need wall clocks that agree, and so do nodes
 * that forget. If nodes forget too often, no lock is granted. */
static void derive_memory(struct sim_options *options) {
    struct sim_random random = sim_random_stream(options->seed, 9);
    options->max_ttl_ms = options->ttl_max_ms;
    options->retention_ms = SIM_RETENTION_MS;
    options->guard = derive_guard(options, &random);
    options->fence_percent = sim_any(&random, 30, 100);
    options->wall_percent = (uint32_t)sim_skewed(&random, 0, 50);
    options->walls_agree = sim_chance(&random, 40) || forgets(options);
    uint64_t least_ms = least_retention_ms(options);
    uint32_t short_ms = sim_any(&random, least_ms, 4 * least_ms);
    bool steps = options->faults & SIM_BIT(SIM_FAULT_STEP);
    if (options->walls_agree && !steps && sim_chance(&random, 50)) {
        options->retention_ms = short_ms;
    }
    uint64_t gap_ns = options->max_ttl_ms * MS / 100 * sim_between(&random, 3, 60);
    if (options->preset == SIM_EVICTING) {
        options->fault_gap_ns = gap_ns + MS;
    }
    if (options->preset == SIM_FORGETFUL || (options->preset == SIM_PERMITS && forgets(options))) {
        options->forget_percent = 50;
        options->fault_gap_ns = gap_ns + MS;
        if (options->preset == SIM_FORGETFUL && sim_chance(&random, 50)) {
            derive_far_nodes(options, &random);
        }
    }
}

/* Fences that only the counters keep in order, keys that expire while they are raised, and late
 * raises. */
static void derive_rough_fences(struct sim_options *options) {
    struct sim_random random = sim_random_stream(options->seed, 10);
    if (options->preset != SIM_FENCED || sim_chance(&random, 40)) {
        return;
    }
    const uint32_t rough = SIM_BIT(SIM_FAULT_STEP) | SIM_BIT(SIM_FAULT_CLIENT_PAUSE) |
                           SIM_BIT(SIM_FAULT_STRAY) | SIM_BIT(SIM_FAULT_CLOG) |
                           SIM_BIT(SIM_FAULT_PARTITION) | SIM_BIT(SIM_FAULT_NODE_PAUSE);
    options->faults = SIM_BIT(SIM_FAULT_STEP) | (rough & (uint32_t)sim_random(&random));
    options->walls_agree = false;
    options->walls_stand = sim_chance(&random, 80);
    options->guard = RL_GUARD_OFF;
    options->retention_ms = SIM_RETENTION_MS;
    options->resources = 1;
    options->clients = sim_any(&random, 3, SIM_CLIENTS_USUAL);
    options->hold_percent = (uint32_t)sim_skewed(&random, 0, 50);
    options->think_max_ms = (uint32_t)sim_skewed(&random, 1, 100);
    options->fence_percent = 100;
    options->clog_ns = sim_skewed(&random, 10 * MS, 500 * MS);
    derive_distance(options, sim_skewed(&random, MS, 100 * MS));
    options->node_timeout_ms += (uint32_t)(3 * options->delay_max_ns / MS);
    options->node_timeout_ms += (uint32_t)sim_skewed(&random, 0, 1000);
    options->fault_ns = sim_skewed(&random, 20 * MS, 1000 * MS);
    options->fault_gap_ns = sim_skewed(&random, MS, 300 * MS);
}

/* Few clients that hold one lock for long, and counters that last as long as an extension keeps
 * them. */
static void derive_leaders(struct sim_options *options) {
    struct sim_random random = sim_random_stream(options->seed, 11);
    if (options->preset != SIM_LEADERS) {
        return;
    }
    options->clients = sim_any(&random, 2, 4);
    options->locks = options->resources = 1;
    options->ttl_min_ms = options->ttl_max_ms / 2 + 1;
    derive_distance(options, sim_skewed(&random, MS, 30 * MS));
    options->node_timeout_ms += (uint32_t)(3 * options->delay_max_ns / MS);
    options->extend_percent = sim_any(&random, 80, 96);
    options->fence_percent = 100;
    options->walls_agree = false;
    options->walls_stand = sim_chance(&random, 50);
    options->retention_ms =
        (uint32_t)sim_skewed(&random, least_retention_ms(options), 4 * least_retention_ms(options));
}

/* -- What the client adds to the protocol -- */

static void derive_shared(struct sim_options *options, struct sim_random *random) {
    options->owner_percent = sim_any(random, 50, 100);
    options->owners = sim_any(random, 1, 3);
    options->locks = sim_any(random, 2, SIM_LOCKS_MAX);
    options->resources = sim_any(random, 1, 2);
    options->several_percent = options->resources > 1 ? sim_any(random, 0, 60) : 0;
    options->watch_percent = sim_any(random, 0, 80);
}

static void derive_several(struct sim_options *options, struct sim_random *random) {
    options->resources = sim_any(random, 2, SIM_RESOURCES_USUAL);
    options->several_percent = sim_any(random, 50, 100);
}

static void derive_adopted(struct sim_options *options, struct sim_random *random) {
    options->adopt_percent = sim_any(random, 20, 60);
    options->resources = sim_any(random, 1, 2);
    options->query_percent = sim_any(random, 0, 40);
    options->ttl_min_ms += 500;
    options->ttl_max_ms += 1000;
    options->faults |= SIM_BIT(SIM_FAULT_CLIENT_ANEW) & (uint32_t)sim_random(random);
    options->watch_percent = sim_any(random, 0, 80);
}

static void derive_elected(struct sim_options *options, struct sim_random *random) {
    options->elections = sim_any(random, 1, SIM_ELECTIONS_MAX);
    options->node_timeout_ms += (uint32_t)(3 * options->delay_max_ns / MS); /* all must answer */
    options->locks = 1;
    options->resources = SIM_RESOURCES_USUAL; /* locks have other resources: r1 is the election's */
    options->query_percent = sim_any(random, 0, 20);
    options->ttl_min_ms = options->ttl_max_ms / 2 + 100;
    options->ttl_max_ms += 200;
    options->faults |= SIM_BIT(SIM_FAULT_CLIENT_ANEW) & (uint32_t)sim_random(random);
}

/* Few clients, which are often back before another one waits. */
static void derive_lingering(struct sim_options *options, struct sim_random *random) {
    options->linger_percent = sim_any(random, 50, 100);
    options->resources = sim_any(random, 1, 2);
    options->clients = sim_any(random, 2, 3);
    options->think_max_ms = (uint32_t)sim_skewed(random, 1, 500);
    options->watch_percent = sim_any(random, 0, 60);
    options->owner_percent = sim_chance(random, 30) ? 50 : 0, options->owners = 2;
    options->faults |= SIM_BIT(SIM_FAULT_CLIENT_ANEW) & (uint32_t)sim_random(random);
}

static void derive_slow(struct sim_options *options, struct sim_random *random) {
    options->faults |= SIM_BIT(SIM_FAULT_DRIP) | SIM_BIT(SIM_FAULT_NODE_PAUSE);
    options->drip_ns = sim_skewed(random, MS / 10, 50 * MS);
    options->split_percent = sim_any(random, 10, 80);
    options->room = (uint32_t)sim_skewed(random, 600, 4000); /* a handshake has 4 KiB */
    options->node_timeout_ms += (uint32_t)(20 * options->delay_max_ns / MS);
    options->unsent_max = (uint32_t)sim_skewed(random, 1000, 100000);
    options->locks = sim_any(random, 1, SIM_LOCKS_MAX);
    options->names_percent = sim_any(random, 0, 100);
    options->resolve_ns = sim_skewed(random, 0, 500 * MS);
    options->faults |= SIM_BIT(SIM_FAULT_CLIENT_ANEW) & (uint32_t)sim_random(random);
}

static void derive_readers(struct sim_options *options, struct sim_random *random) {
    options->reader_percent = sim_any(random, 20, 90);
    options->change_percent =
        sim_chance(random, options->preset == SIM_PHASES ? 20 : 70) ? sim_any(random, 5, 50) : 0;
    options->resources = sim_chance(random, 60) ? 1 : sim_any(random, 2, 3);
    options->several_percent =
        options->resources > 1 && sim_chance(random, 50) ? sim_any(random, 20, 80) : 0;
    options->locks = sim_any(random, 1, SIM_LOCKS_MAX);
    options->watch_percent = sim_chance(random, 50) ? sim_any(random, 20, 100) : 0;
    options->query_percent = sim_chance(random, 20) ? 10 : 0;
}

static void derive_permits(struct sim_options *options, struct sim_random *random) {
    (void)random; /* it has a stream of its own */
    sim_options_permits(options);
}

static void derive_members(struct sim_options *options, struct sim_random *random) {
    const bool is_sets = options->preset == SIM_SETS;
    options->nodes = sim_any(random, is_sets ? 4 : 2, SIM_NODES_MAX);
    if (is_sets) {
        options->resources = sim_any(random, 1, SIM_RESOURCES_USUAL);
    }
    options->watch_percent = sim_any(random, 0, 80);
    options->faults |= SIM_BIT(SIM_FAULT_CLIENT_ANEW) & (uint32_t)sim_random(random);
}

static void derive_evicting(struct sim_options *options, struct sim_random *random) {
    options->faults |= SIM_BIT(SIM_FAULT_EVICT);
    options->locks = sim_any(random, 1, SIM_LOCKS_MAX);
}

/* -- The presets -- */

typedef void derive(struct sim_options *options, struct sim_random *random);

/* The faults that strike in any case; what derives the others, and what their strength is; what
 * derives the use of the client's additions. */
static const struct {
    const char *name;
    uint32_t faults;
    derive *strength, *client;
} presets[SIM_PRESETS] = {
    [SIM_QUIET] = {"quiet", 0, NULL, NULL},
    [SIM_NETWORK] = {"network", NETWORK, derive_network, NULL},
    [SIM_CLOCKS] = {"clocks", CLOCKS, derive_stops, NULL},
    [SIM_RESTARTS] = {"restarts", RESTARTS, NULL, NULL},
    [SIM_SWARM] = {"swarm", 0, derive_swarm, NULL},
    [SIM_KEPT] = {"kept", 0, derive_kept, NULL},
    [SIM_FORGETFUL] = {"forgetful", 0, derive_forgetful, NULL},
    [SIM_FENCED] = {"fenced", 0, derive_fenced, NULL},
    [SIM_LEADERS] = {"leaders", 0, derive_kept, NULL},
    [SIM_SHARED_HOLDS] = {"shared", 0, derive_swarm, derive_shared},
    [SIM_LINES] = {"lines", 0, NULL, NULL}, /* sim_options_lines() */
    [SIM_SEVERAL] = {"several", 0, derive_swarm, derive_several},
    [SIM_ADOPTED] = {"adopted", 0, derive_swarm, derive_adopted},
    [SIM_ELECTED] = {"elected", 0, derive_swarm, derive_elected},
    [SIM_LINGERING] = {"lingering", 0, derive_swarm, derive_lingering},
    [SIM_SLOW] = {"slow", 0, derive_swarm, derive_slow},
    [SIM_EVICTING] = {"evicting", 0, derive_swarm, derive_evicting},
    [SIM_READERS] = {"readers", 0, derive_swarm, derive_readers},
    [SIM_PHASES] = {"phases", 0, NULL, derive_readers},
    [SIM_PERMITS] = {"permits", 0, derive_swarm, derive_permits},
    [SIM_TURNS] = {"turns", 0, NULL, derive_permits},
    [SIM_MEMBERS] = {"members", 0, derive_changed, derive_members},
    [SIM_SETS] = {"sets", 0, derive_changed, derive_members},
    [SIM_AMNESIA] = {"amnesia", SIM_BIT(SIM_FAULT_AMNESIA), NULL, NULL},
    [SIM_STALE] = {"stale", SIM_BIT(SIM_FAULT_STALE), NULL, NULL},
    [SIM_STEPS] = {"steps", SIM_BIT(SIM_FAULT_STEP), NULL, NULL},
};

const char *sim_preset_name(enum sim_preset preset) {
    return presets[preset].name;
}

static void derive_faults(struct sim_options *options, struct sim_random *random) {
    options->faults = presets[options->preset].faults;
    if (presets[options->preset].strength != NULL) {
        presets[options->preset].strength(options, random);
    }
    options->fault_ns = sim_skewed(random, 20 * MS, 5000 * MS);
    options->fault_gap_ns = options->fault_ns / sim_between(random, 1, 20) + MS;
}

static void derive_client(struct sim_options *options) {
    struct sim_random random = sim_random_stream(options->seed, 12);
    options->room = 1 << 20;
    if (presets[options->preset].client != NULL) {
        presets[options->preset].client(options, &random);
    }
    if (options->grant_percent > 0 && sim_chance(&random, 50)) {
        options->preempt_looks = sim_any(&random, 200, 5000);
    }
}

struct sim_options sim_options_derive(enum sim_preset preset, uint64_t seed, uint32_t nodes,
                                      uint32_t steps) {
    struct sim_options options = {.seed = seed,
                                  .preset = preset,
                                  .steps = steps,
                                  .nodes = nodes,
                                  .drift_ppm = 10000,
                                  .drift_ms = 2,
                                  .requests_max = RL_NODE_REQUESTS_MAX,
                                  .unsent_max = RL_NODE_UNSENT_MAX,
                                  .owed_max = RL_PENDING_MAX,
                                  .cancel_percent = 15};
    static const uint32_t drifts_ppm[] = {2000, 10000, 10000, 20000};
    struct sim_random random = sim_random_stream(seed, 0);
    options.drift_ppm = drifts_ppm[sim_pick(&random, 4)];
    options.same_ttl = sim_chance(&random, 30);
    options.steps = steps == 0 ? sim_any(&random, 500, 5000) : steps;
    derive_size(&options, &random);
    derive_times(&options, &random);
    derive_faults(&options, &random);
    derive_limits(&options);
    derive_client(&options);
    derive_memory(&options);
    derive_rough_fences(&options);
    derive_leaders(&options);
    sim_kind_derive(&options);
    if (sim_options_has_lines(&options)) {
        sim_options_lines(&options, (enum sim_trouble)(seed % SIM_TROUBLES));
    }
    return options;
}
