/* Checks that what the code does are steps of the proved rules (docs/proof.md): replays histories
 * of the simulator, which drives the production library, as steps of these rules.
 *
 *     replay                      every preset that keeps the assumptions, and the controls; TAP
 *     replay PRESET SEED          one history, its steps printed
 *     replay PRESET FIRST LAST    many
 *
 * A control breaks the servers, the library or an assumption. The replay must then refuse a step of
 * its kind, perhaps after others. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/replay_watch.h"
#include "seed.h"
#include "sim/world.h"

#define SEEDS 30
#define CONTROL_SEEDS 1000

struct control {
    const char *name;
    const char *refused; /* how the refusal begins */
    enum sim_preset preset;
    const char *servers; /* how they are broken: server_break() */
    enum watch_breaks watch;
    bool without_guard;
    bool without_promise; /* of the preset */
};

static const struct control controls[] = {
    {"an extension shortens", "extend: ", SIM_SWARM, .servers = "extend-shortens"},
    {"TAKE overwrites any key", "take: ", SIM_LINES, .servers = "take-any"},
    {"TAKE leaves a reservation's life", "take: ", SIM_LINES, .servers = "take-keeps"},
    {"LEAVE deletes any key", "release: ", SIM_SWARM, .servers = "leave-blind"},
    {"a release does not compare", "release: ", SIM_SWARM, .servers = "blind-release"},
    {"a pass does not compare", "release: ", SIM_SWARM, .servers = "pass-blind"},
    {"a raise compares nothing", "raise: ", SIM_LEADERS, .servers = "raise-blind"},
    {"what is handed on counts nothing up", "vote: ", SIM_LEADERS, .servers = "counter-left"},
    {"a counter ends with its key", "vote: ", SIM_SWARM, .servers = "counter-ttl"},
    {"an extension counts earlier votes", "count: ", SIM_SWARM, .watch = WATCH_BREAKS_VOTES},
    {"a lock relies on more than it has", "c", SIM_QUIET, .watch = WATCH_BREAKS_VALIDITY},
    {"a pass is valid from its arrival", "count: ", SIM_CLOCKS, .watch = WATCH_BREAKS_START},
    {"a fence that no quorum has", "tell: the fence", SIM_SWARM, .watch = WATCH_BREAKS_FENCE},
    {"one vote is enough", "tell: ", SIM_SWARM, .watch = WATCH_BREAKS_QUORUM},
    {"a reader overwrites any key", "share: ", SIM_READERS, .servers = "share-any"},
    {"a writer overwrites readers", "take: ", SIM_PHASES, .servers = "take-any"},
    {"readers have one life", "expire: ", SIM_READERS, .servers = "share-shortens"},
    {"a reader's release is for all", "expire: ", SIM_READERS, .servers = "share-ends"},
    {"an upgrade looks at nobody", "upgrade: ", SIM_READERS, .servers = "upgrade-blind"},
    {"nodes count permits", "n", SIM_PERMITS, .servers = "permits-counted"},
    {"a slot is taken that is held", "take: ", SIM_PERMITS, .servers = "take-any"},
    {"nodes' clocks step", "expire: ", SIM_STEPS, .without_promise = true},
    {"no guard", "count: ", SIM_FORGETFUL, .without_guard = true},
};

struct totals {
    uint64_t histories;
    uint64_t steps[32];
};

static void add(struct totals *totals, const struct steps *steps) {
    totals->histories++;
    for (uint32_t i = 0; steps_names[i] != NULL; i++) {
        totals->steps[i] += steps_taken(steps)[i];
    }
}

/* "" if the replay allowed each step, or the options break an assumption; else the refusal. */
static const char *run(enum sim_preset preset, uint64_t seed, const struct control *control,
                       bool prints, struct totals *totals) {
    static char refused[512];
    struct sim_options options = sim_options_derive(preset, seed, 0, 0);
    refused[0] = '\0';
    if (control->without_guard) {
        options.guard = RL_GUARD_OFF;
    } else if (!control->without_promise && !sim_options_is_exclusive(&options)) {
        return refused;
    }
    struct sim_world *world = sim_world_new(&options);
    for (uint32_t n = 0; n < options.nodes; n++) {
        world->nodes[n].server->broken =
            control->servers != NULL ? server_break(control->servers) : 0;
    }
    watch_begin(world, control->watch, prints);
    world->check.only = control->name != NULL ? SIM_VIOLATIONS : SIM_FINE; /* checker off */
    while (watch_refused()[0] == '\0' && sim_world_step(world)) {
    }
    if (watch_refused()[0] != '\0') {
        snprintf(refused, sizeof refused, "%s (%s, seed %" PRIu64 ", %.3f ms)", watch_refused(),
                 sim_preset_name(preset), seed, (double)world->now_ns / 1e6);
    }
    sim_world_free(world);
    struct steps *steps = watch_end();
    add(totals, steps);
    steps_free(steps);
    return refused;
}

static void print_steps(const struct totals *totals) {
    printf("# %" PRIu64 " histories", totals->histories);
    for (uint32_t i = 0; steps_names[i] != NULL; i++) {
        printf(", %" PRIu64 " %s", totals->steps[i], steps_names[i]);
    }
    printf("\n");
}

static bool run_many(enum sim_preset preset, uint64_t first, uint64_t last, bool prints) {
    struct totals totals = {.histories = 0};
    const char *refused = "";
    for (uint64_t seed = first; seed <= last && refused[0] == '\0'; seed++) {
        refused = run(preset, seed, &(struct control){.name = NULL}, prints, &totals);
    }
    if (refused[0] != '\0') {
        printf("# no step: %s\n", refused);
    }
    print_steps(&totals);
    return refused[0] == '\0';
}

static bool is_caught(const struct control *control, uint64_t first) {
    struct totals totals = {.histories = 0};
    for (uint64_t seed = first; seed < first + CONTROL_SEEDS; seed++) {
        const char *refused = run(control->preset, seed, control, false, &totals);
        if (strncmp(refused, control->refused, strlen(control->refused)) == 0) {
            printf("# %s\n", refused);
            return true;
        }
    }
    return false;
}

/* Histories that the replay once refused, by a bug of its own or of the code. */
static bool run_known(void) {
    static const struct {
        enum sim_preset preset;
        uint64_t seed;
    } known[] = {
        {SIM_SLOW, 54},                      /* each extension of a refused batch is sent again */
        {SIM_EVICTING, 2606856352764237720}, /* a key is evicted when a command is refused */
    };
    bool all = true;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        all = run_many(known[i].preset, known[i].seed, known[i].seed, false) && all;
    }
    return all;
}

static int run_suite(void) {
    static const enum sim_preset presets[] = {
        SIM_QUIET,   SIM_NETWORK,   SIM_CLOCKS,  SIM_RESTARTS,     SIM_SWARM,
        SIM_KEPT,    SIM_FORGETFUL, SIM_LEADERS, SIM_SHARED_HOLDS, SIM_LINES,
        SIM_SEVERAL, SIM_ADOPTED,   SIM_ELECTED, SIM_SLOW,         SIM_EVICTING,
        SIM_PERMITS, SIM_TURNS,     SIM_READERS, SIM_PHASES};
    const uint32_t n_presets = sizeof presets / sizeof presets[0];
    const uint32_t n_controls = sizeof controls / sizeof controls[0];
    bool all = run_known();
    const uint64_t first = random_seed() >> 2; /* a refusal prints its seed */
    printf("1..%u\n", (unsigned)(n_presets + n_controls + 1));
    printf("%sok 1 - what was refused once\n", all ? "" : "not ");
    for (uint32_t i = 0; i < n_presets; i++) {
        bool fine = run_many(presets[i], first, first + SEEDS - 1, false);
        printf("%sok %u - each step of %s is one of the rules\n", fine ? "" : "not ", i + 2,
               sim_preset_name(presets[i]));
        all = all && fine;
    }
    for (uint32_t i = 0; i < n_controls; i++) {
        bool fine = is_caught(&controls[i], first);
        printf("%sok %u - refused: %s\n", fine ? "" : "not ", n_presets + i + 2, controls[i].name);
        all = all && fine;
    }
    return all ? 0 : 1;
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 1) {
        return run_suite();
    }
    for (uint32_t i = 0; argc >= 3 && i < SIM_PRESETS; i++) {
        if (strcmp(sim_preset_name((enum sim_preset)i), argv[1]) == 0) {
            uint64_t first = strtoull(argv[2], NULL, 10);
            uint64_t last = argc > 3 ? strtoull(argv[3], NULL, 10) : first;
            return run_many((enum sim_preset)i, first, last, argc == 3) ? 0 : 1;
        }
    }
    fprintf(stderr, "replay [PRESET FIRST [LAST]]\n");
    return 2;
}
