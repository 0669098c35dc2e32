/* redlock-sim: simulated histories of the production core, one for each seed.
 *
 * Happy path: every history holds; one line of summary; exit status 0.
 * Failure: the first violation ends the run: the seed's options, its last events, what was
 * violated, the command that replays it; exit status 1. With --expect, the other way round: the run
 * must find a violation, and says how many seeds that took. Wrong arguments: exit status 2.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/world.h"

struct arguments {
    uint64_t first_seed;
    uint64_t last_seed;
    uint32_t nodes;
    uint32_t steps;
    enum sim_preset preset;
    enum sim_break broken;
    enum sim_violation only; /* SIM_FINE: any counts */
    enum rl_guard_mode guard;
    bool is_guard_given;
    bool is_expected; /* a violation is */
    bool is_quiet;
};

static const char usage[] =
    "usage: redlock-sim [options]\n"
    "  --seed S            one history, its options printed\n"
    "  --seeds A..B        the histories of these seeds (default 1..1000)\n"
    "  --preset NAME       quiet, network, clocks, restarts, swarm (default), kept (swarm\n"
    "                      with watchdogs), forgetful (with a guard), fenced (for fences\n"
    "                      alone), leaders (fences of long holds); amnesia, stale, steps:\n"
    "                      outside of the promise\n"
    "  --steps N           of the safety phase (default: 500 to 5000, by the seed)\n"
    "  --nodes N           1 to 7 (default: by the seed)\n"
    "  --break NAME        one-token, blind-release, drop-owed, stopped-clock, extend-shortens,\n"
    "                      raise-blind, raise-anywhere, raise-larger, counter-ttl, uptime,\n"
    "                      long-ttl, walls-apart, flushall, retention, counter-left\n"
    "  --guard MODE        off, observed or strict (default: by the seed)\n"
    "  --expect NAME       a violation of this name (check.h), or any, must be found\n"
    "  --no-progress       no line on stderr\n";

/* -- Arguments -- */

static bool parse_number(const char *text, uint64_t most, uint64_t *out) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value > most || text[0] == '-') {
        return false;
    }
    *out = value;
    return true;
}

static bool parse_seeds(const char *text, struct arguments *arguments) {
    char first[32];
    const char *dots = strstr(text, "..");
    if (dots == NULL || (size_t)(dots - text) >= sizeof first) {
        return false;
    }
    memcpy(first, text, (size_t)(dots - text));
    first[dots - text] = '\0';
    return parse_number(first, UINT64_MAX, &arguments->first_seed) &&
           parse_number(dots + 2, UINT64_MAX, &arguments->last_seed) &&
           arguments->first_seed <= arguments->last_seed;
}

static bool parse_preset(const char *text, enum sim_preset *out) {
    for (enum sim_preset i = SIM_QUIET; i < SIM_STORY; i++) {
        if (strcmp(text, sim_preset_name(i)) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static bool parse_break(const char *text, enum sim_break *out) {
    for (enum sim_break i = SIM_BREAK_NONE; i < SIM_BREAKS; i++) {
        if (strcmp(text, sim_break_name(i)) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static bool parse_guard(const char *text, struct arguments *arguments) {
    for (enum rl_guard_mode i = RL_GUARD_OFF; i <= RL_GUARD_STRICT; i++) {
        if (strcmp(text, sim_guard_name(i)) == 0) {
            arguments->guard = i;
            arguments->is_guard_given = true;
            return true;
        }
    }
    return false;
}

static bool parse_expect(const char *text, struct arguments *arguments) {
    arguments->is_expected = true;
    if (strcmp(text, "any") == 0) {
        return true;
    }
    for (enum sim_violation i = SIM_FINE + 1; i < SIM_VIOLATIONS; i++) {
        if (strcmp(text, sim_violation_name(i)) == 0) {
            arguments->only = i;
            return true;
        }
    }
    return false;
}

static bool parse_option(const char *name, const char *value, struct arguments *arguments) {
    uint64_t number = 0;
    bool ok = true;
    if (strcmp(name, "--seed") == 0) {
        ok = parse_number(value, UINT64_MAX, &number);
        arguments->first_seed = arguments->last_seed = number;
    } else if (strcmp(name, "--seeds") == 0) {
        ok = parse_seeds(value, arguments);
    } else if (strcmp(name, "--steps") == 0) {
        ok = parse_number(value, UINT32_MAX, &number);
        arguments->steps = (uint32_t)number;
    } else if (strcmp(name, "--nodes") == 0) {
        ok = parse_number(value, SIM_NODES_MAX, &number);
        arguments->nodes = (uint32_t)number;
    } else if (strcmp(name, "--preset") == 0) {
        ok = parse_preset(value, &arguments->preset);
    } else if (strcmp(name, "--break") == 0) {
        ok = parse_break(value, &arguments->broken);
    } else if (strcmp(name, "--guard") == 0) {
        ok = parse_guard(value, arguments);
    } else if (strcmp(name, "--expect") == 0) {
        ok = parse_expect(value, arguments);
    } else {
        ok = false;
    }
    return ok;
}

static bool parse(int argc, char **argv, struct arguments *arguments) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--no-progress") == 0) {
            arguments->is_quiet = true;
        } else if (i + 1 < argc && parse_option(argv[i], argv[i + 1], arguments)) {
            i++;
        } else {
            fprintf(stderr, "redlock-sim: %s is not understood\n%s", argv[i], usage);
            return false;
        }
    }
    return true;
}

/* -- Running -- */

struct totals {
    struct sim_stats sum;
    uint64_t histories;
    struct timespec began;
};

static double seconds_since(const struct timespec *began) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - began->tv_sec) + (double)(now.tv_nsec - began->tv_nsec) / 1e9;
}

static void add(struct totals *totals, const struct sim_stats *one) {
    /* All fields are uint64_t. */
    uint64_t *sum = (uint64_t *)(void *)&totals->sum;
    const uint64_t *more = (const uint64_t *)(const void *)one;
    for (size_t i = 0; i < sizeof *one / sizeof *more; i++) {
        sum[i] += more[i];
    }
    totals->histories++;
}

static void print_faults(const struct sim_stats *sum) {
    const char *comma = "faults: ";
    for (uint32_t i = 0; i < SIM_FAULTS; i++) {
        if (sum->faults[i] > 0) {
            printf("%s%" PRIu64 " %s", comma, sum->faults[i], sim_fault_name((enum sim_fault)i));
            comma = ", ";
        }
    }
    printf("%s", sum->faults[0] + sum->steps > 0 && comma[0] == ',' ? "; " : "");
}

static void print_summary(const struct arguments *arguments, const struct totals *totals) {
    const struct sim_stats *sum = &totals->sum;
    double seconds = seconds_since(&totals->began);
    printf("%s: %" PRIu64 " histories, %" PRIu64 " steps, %.1f simulated hours; ",
           sim_preset_name(arguments->preset), totals->histories, sum->steps,
           (double)sum->time_ns / 3.6e12);
    printf("%" PRIu64 " grants, %" PRIu64 " renewals (%" PRIu64 " by watchdogs), %" PRIu64
           " losses, %" PRIu64 " releases; ",
           sum->grants, sum->renewals, sum->watched, sum->losses, sum->releases);
    printf("%" PRIu64 " late votes, %" PRIu64 " repairs, %" PRIu64 " owed, %" PRIu64
           " repaid, %" PRIu64 " late SETs; ",
           sum->late_votes, sum->repairs, sum->owed, sum->repaid, sum->late_sets);
    printf("%" PRIu64 " dropped, %" PRIu64 " not sent, %" PRIu64 " left out; ", sum->dropped,
           sum->busy, sum->left_out);
    printf("%" PRIu64 " fences (%" PRIu64 " attempts raised them), %" PRIu64
           " quarantines, %" PRIu64 " votes withheld, %" PRIu64 " asked one first, ",
           sum->fenced, sum->raised, sum->quarantines, sum->withheld, sum->alone);
    printf("%" PRIu64 " overlaps excused; ", sum->overlaps);
    print_faults(sum);
    printf("%.0f histories/s, %.0f steps/s\n", (double)totals->histories / seconds,
           (double)sum->steps / seconds);
}

static void print_violation(const struct arguments *arguments, const struct sim_world *world) {
    printf("\nthe last events, in ms of true time:\n");
    sim_trace_print(world, 60, stdout);
    printf("\nseed %" PRIu64 ", step %" PRIu64 ", %.3f ms: %s: %s\n", world->options.seed,
           world->stats.steps, (double)world->now_ns / 1e6, sim_violation_name(world->check.found),
           world->check.message);
    printf("replay: redlock-sim --preset %s --seed %" PRIu64, sim_preset_name(arguments->preset),
           world->options.seed);
    if (arguments->steps != 0) {
        printf(" --steps %" PRIu32, arguments->steps);
    }
    if (arguments->nodes != 0) {
        printf(" --nodes %" PRIu32, arguments->nodes);
    }
    if (arguments->is_guard_given) {
        printf(" --guard %s", sim_guard_name(arguments->guard));
    }
    if (arguments->broken != SIM_BREAK_NONE) {
        printf(" --break %s", sim_break_name(arguments->broken));
    }
    printf("\n");
}

/* One history. False if it ends the run. */
static bool run_seed(const struct arguments *arguments, uint64_t seed, struct totals *totals) {
    struct sim_options options =
        sim_options_derive(arguments->preset, seed, arguments->nodes, arguments->steps);
    sim_options_break(&options, arguments->broken);
    options.guard = arguments->is_guard_given ? arguments->guard : options.guard;
    bool single = arguments->first_seed == arguments->last_seed;
    if (single) {
        sim_options_print(&options);
    }
    struct sim_world *world = sim_world_new(&options);
    world->check.only = arguments->only;
    while (sim_world_step(world)) {
    }
    add(totals, &world->stats);
    enum sim_violation found = world->check.found;
    if (found != SIM_FINE && arguments->is_expected) {
        printf("caught as %s after %" PRIu64 " seeds: %s\n", sim_violation_name(found),
               totals->histories, world->check.message);
    } else if (found != SIM_FINE) {
        if (!single) {
            sim_options_print(&options);
        }
        print_violation(arguments, world);
    }
    sim_world_free(world);
    return found == SIM_FINE;
}

static void progress(const struct arguments *arguments, uint64_t seed,
                     const struct totals *totals) {
    if (!arguments->is_quiet && totals->histories % 500 == 0) {
        fprintf(stderr, "\r%" PRIu64 "..%" PRIu64 ": seed %" PRIu64 ", %" PRIu64 " steps ",
                arguments->first_seed, arguments->last_seed, seed, totals->sum.steps);
        fflush(stderr);
    }
}

int main(int argc, char **argv) {
    struct arguments arguments = {.first_seed = 1, .last_seed = 1000, .preset = SIM_SWARM};
    struct totals totals = {.histories = 0};
    if (!parse(argc, argv, &arguments)) {
        return 2;
    }
    clock_gettime(CLOCK_MONOTONIC, &totals.began);
    bool fine = true;
    for (uint64_t seed = arguments.first_seed; fine; seed++) {
        fine = run_seed(&arguments, seed, &totals);
        progress(&arguments, seed, &totals);
        if (seed == arguments.last_seed) {
            break;
        }
    }
    if (!arguments.is_quiet && totals.histories >= 500) {
        fprintf(stderr, "\n");
    }
    print_summary(&arguments, &totals);
    if (arguments.is_expected && fine) {
        printf("not caught in %" PRIu64 " seeds\n", totals.histories);
    }
    return fine != arguments.is_expected ? 0 : 1;
}
