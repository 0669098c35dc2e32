/* The presets "lines", "phases" and "turns": see options.h. Derived over what is common to all
 * presets, from a stream of its own. Faults mostly come one at a time, to show the cost of each. */
#include "core/pending.h"
#include "mode/mode.h"
#include "redis/node.h"
#include "sim/options.h"
#include "sim/random.h"

#define MS RL_NS_PER_MS
#define GRACE_MS 250 /* a reservation's life */

/* Many processes with one lock each, or fewer with several. */
static void derive_crowd(struct sim_options *options, struct sim_random *random) {
    bool is_local = sim_chance(random, 40);
    uint64_t most = is_local ? SIM_CLIENTS_MAX / 4 : SIM_CLIENTS_MAX;
    options->clients = (uint32_t)sim_skewed(random, 2, most);
    options->locks = is_local ? sim_any(random, 2, SIM_LOCKS_MAX) : 1;
    options->resources = sim_chance(random, 70) ? 1 : sim_any(random, 2, 3);
    options->several_percent =
        options->resources > 1 && sim_chance(random, 50) ? sim_any(random, 20, 80) : 0;
    bool is_greedy = sim_chance(random, 50);
    options->think_max_ms = (uint32_t)sim_skewed(random, 1, is_greedy ? 3 : 300);
    options->hold_percent = (uint32_t)sim_skewed(random, 0, 20);
    options->extend_percent = sim_chance(random, 30) ? sim_any(random, 5, 50) : 0;
    options->watch_percent = sim_chance(random, 20) ? sim_any(random, 30, 100) : 0;
    options->patient_percent = sim_any(random, 50, 100);
    options->cancel_percent = sim_chance(random, 50) ? sim_any(random, 0, 20) : 0;
    options->query_percent = sim_chance(random, 20) ? 10 : 0;
    options->fence_percent = sim_chance(random, 50) ? 0 : options->fence_percent;
}

static void derive_times(struct sim_options *options, struct sim_random *random) {
    options->delay_min_ns = sim_between(random, 20000, MS);
    options->delay_max_ns = options->delay_min_ns + sim_skewed(random, 50000, 20 * MS);
    options->node_timeout_ms =
        sim_any(random, 50, 300) + (uint32_t)(3 * options->delay_max_ns / MS);
    options->connect_timeout_ms = sim_any(random, 100, 500);
    options->reconnect_min_ms = sim_any(random, 1, 50);
    options->reconnect_max_ms = sim_any(random, 50, 500);
    options->ttl_min_ms = sim_any(random, 500, 1500);
    options->ttl_max_ms = options->ttl_min_ms + (uint32_t)sim_skewed(random, 0, 2000);
    options->max_ttl_ms = options->ttl_max_ms;
    options->retention_ms = SIM_RETENTION_MS;
    options->fault_ns = sim_skewed(random, 20 * MS, 2000 * MS);
    options->fault_gap_ns = options->fault_ns / 100 * sim_between(random, 30, 500) + 20 * MS;
    options->clock_drift_ppm = 0;
    options->clock_wave_ns = 0;
    options->loss_ppm = options->split_percent = 0;
}

static void add_connections(struct sim_options *options, struct sim_random *random) {
    options->faults |= SIM_BIT(SIM_FAULT_RESET) | SIM_BIT(SIM_FAULT_STRAY) |
                       SIM_BIT(SIM_FAULT_HALF_OPEN) | SIM_BIT(SIM_FAULT_CLOG);
    options->loss_ppm = (uint32_t)sim_skewed(random, 0, 3000);
    options->split_percent = (uint32_t)sim_skewed(random, 0, 50);
    options->clog_ns = sim_skewed(random, 10 * MS, 1000 * MS);
}

static void add_nodes(struct sim_options *options) {
    options->faults |= SIM_BIT(SIM_FAULT_NODE_PAUSE) | SIM_BIT(SIM_FAULT_NODE_RESTART) |
                       SIM_BIT(SIM_FAULT_NODE_REFUSE) | SIM_BIT(SIM_FAULT_NODE_ERROR) |
                       SIM_BIT(SIM_FAULT_AMNESIA);
    options->guard = RL_GUARD_STRICT;
    options->walls_agree = true;
}

static void add_clients(struct sim_options *options, struct sim_random *random) {
    options->faults |= SIM_BIT(SIM_FAULT_CLIENT_PAUSE) | SIM_BIT(SIM_FAULT_CLIENT_ANEW) |
                       SIM_BIT(SIM_FAULT_CLIENT_KILL);
    options->exit_percent = sim_any(random, 0, 20);
}

static void add_partitions(struct sim_options *options) {
    options->faults |= SIM_BIT(SIM_FAULT_PARTITION) | SIM_BIT(SIM_FAULT_FOREVER);
}

static void add_clocks(struct sim_options *options, struct sim_random *random) {
    options->faults |= SIM_BIT(SIM_FAULT_NODE_BACK);
    options->clock_drift_ppm = options->drift_ppm;
    options->clock_wave_ns = sim_between(random, 0, MS * 3 / 10);
}

static void derive_trouble(struct sim_options *options, struct sim_random *random) {
    bool all = options->trouble == SIM_TROUBLE_ALL;
    options->faults = 0;
    if (!all) { /* a node that is too busy is a separate trouble */
        options->requests_max = RL_NODE_REQUESTS_MAX;
        options->owed_max = RL_PENDING_MAX;
    }
    if (all || options->trouble == SIM_TROUBLE_CONNECTIONS) {
        add_connections(options, random);
    }
    if (all || options->trouble == SIM_TROUBLE_NODES) {
        add_nodes(options);
    }
    if (all || options->trouble == SIM_TROUBLE_CLIENTS) {
        add_clients(options, random);
    }
    if (options->trouble == SIM_TROUBLE_PLAIN || (all && sim_chance(random, 50))) {
        options->plain = sim_any(random, 1, SIM_PLAIN_MAX);
        options->faults &= ~SIM_BIT(SIM_FAULT_AMNESIA); /* they have no guard */
    }
    if (all || options->trouble == SIM_TROUBLE_PARTITIONS) {
        add_partitions(options);
    }
    if (options->trouble == SIM_TROUBLE_CLOCKS) {
        add_clocks(options, random);
    }
}

void sim_options_lines(struct sim_options *options, enum sim_trouble trouble) {
    struct sim_random random = sim_random_stream(options->seed, 14);
    options->trouble = trouble;
    options->plain = options->exit_percent = 0;
    derive_crowd(options, &random);
    derive_times(options, &random);
    derive_trouble(options, &random);
    if (options->permits > 0) {
        options->resources = sim_options_slots(options);
        options->several_percent = options->plain = 0;
    }
}

/* The longest delay, if nothing else fails meanwhile. A client's own poll, once per ttl, makes up
 * for a turn or a message to the heir that was lost; if many faults fall into a ttl, two polls. A
 * home that dies silently is given up after the node's timeout, and reconnected. */
uint64_t sim_options_stall_ns(const struct sim_options *options) {
    uint64_t notice_ms = 2 * options->node_timeout_ms + options->connect_timeout_ms;
    uint64_t quiet_ms = 4 * GRACE_MS + options->node_timeout_ms;
    bool all_vote = options->guard == RL_GUARD_OFF; /* else home may not vote, and turns are
                                                       missed */
    if (options->trouble == SIM_TROUBLE_NONE && all_vote) {
        /* A turn that was missed; of several resources one after the other. */
        const uint64_t missed = options->several_percent > 0 ? 2 : 1;
        return missed * GRACE_MS * 3 / 2 * MS + 10 * options->delay_max_ns;
    }
    if (options->trouble == SIM_TROUBLE_NONE) {
        return quiet_ms * MS + 20 * options->delay_max_ns;
    }
    uint32_t polls = 10 * options->fault_gap_ns < options->ttl_max_ms * MS ? 2 : 1;
    if (options->trouble >= SIM_TROUBLE_PARTITIONS) {
        polls = 3; /* one behind the other, each cut off */
    }
    /* A reader that is permanently cut off from home's messages stands in no line, and the intent
     * of a dead writer keeps it out. */
    bool is_kept_out = options->reader_percent > 0 && options->trouble >= SIM_TROUBLE_PARTITIONS;
    quiet_ms += is_kept_out ? RL_MODE_INTENT_MS : 0;
    return (quiet_ms + notice_ms + options->reconnect_max_ms + polls * options->ttl_max_ms) * MS +
           options->fault_ns + options->clog_ns + 20 * options->delay_max_ns;
}
