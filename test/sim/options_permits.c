/* The presets "permits" and "turns": see options.h. */
#include "sim/options.h"
#include "sim/random.h"

/* Nodes may restart or evict, and forget everything: the guard keeps them out. A restarted client
 * cannot detect a stale replica. */
static void derive_forgetting(struct sim_options *options, struct sim_random *random) {
    const uint32_t forgetting =
        SIM_BIT(SIM_FAULT_AMNESIA) | SIM_BIT(SIM_FAULT_STALE) | SIM_BIT(SIM_FAULT_EVICT);
    const uint32_t anew = SIM_BIT(SIM_FAULT_CLIENT_ANEW) | SIM_BIT(SIM_FAULT_CLIENT_KILL);
    const uint32_t part = sim_pick(random, 10);
    options->faults |= part < 2   ? forgetting
                       : part < 4 ? SIM_BIT(SIM_FAULT_AMNESIA) | SIM_BIT(SIM_FAULT_CLIENT_ANEW)
                       : part < 7 ? anew
                                  : 0;
}

/* In some histories any user may change the number, all the time. */
uint32_t sim_options_slots(const struct sim_options *options) {
    bool changes = options->resize_percent > 0 || options->odd_percent > 0;
    return changes ? SIM_RESOURCES_MAX : options->permits;
}

void sim_options_permits(struct sim_options *options) {
    struct sim_random random = sim_random_stream(options->seed, 16);
    bool is_line = sim_options_has_lines(options);
    options->permits = (uint32_t)sim_skewed(&random, 1, SIM_RESOURCES_MAX);
    options->take_most = sim_chance(&random, 40) ? 1 : sim_any(&random, 2, SIM_TAKE_MAX);
    options->resize_percent =
        sim_chance(&random, is_line ? 15 : 35) ? (uint32_t)sim_skewed(&random, 1, 20) : 0;
    options->odd_percent = sim_chance(&random, is_line ? 5 : 15) ? sim_any(&random, 1, 10) : 0;
    options->resources = sim_options_slots(options);
    if (!is_line) {
        options->locks = sim_any(&random, 1, SIM_LOCKS_MAX);
        options->watch_percent = sim_chance(&random, 50) ? sim_any(&random, 20, 100) : 0;
        options->adopt_percent = sim_chance(&random, 20) ? sim_any(&random, 10, 50) : 0;
        derive_forgetting(options, &random);
    }
}
