/* redlock-sim: simulated histories of the production library, one for each seed.
 *
 * Happy path: every history holds; one line of summary; exit status 0. Failure: the first violation
 * ends the run: the seed's options, its last events, the violation, the command that replays it;
 * exit status 1. With --expect, the reverse: the run must find a violation, and reports how many
 * seeds that took. Wrong arguments: exit status 2. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/arguments.h"
#include "sim/world.h"

struct totals {
    struct sim_stats sum;
    uint64_t histories;
    uint64_t hash; /* of all that happened */
    uint64_t longest_stall_ns;
    uint64_t stall_seed;
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

/* Commands that nodes have run, and how many of them for a grant. */
static void print_line(const struct totals *totals) {
    static const char *const names[SIM_COMMANDS] = {"SET",   "raise", "extend",  "release",
                                                    "TAKE",  "SHARE", "upgrade", "JOIN",
                                                    "LEAVE", "peek",  "resize"};
    const struct sim_stats *sum = &totals->sum;
    uint64_t commands = 0;
    for (uint32_t i = 0; i < SIM_COMMANDS; i++) {
        printf("%" PRIu64 " %s%s", sum->commands[i], names[i], i + 1 < SIM_COMMANDS ? ", " : "; ");
        commands += sum->commands[i];
    }
    double grants = sum->grants > 0 ? (double)sum->grants : 1;
    printf("%.2f commands and %.3f attempts for a grant; %" PRIu64 " turns taken, %" PRIu64
           " missed; %" PRIu64 " waiters passed by, %" PRIu64 " overtaken, %" PRIu64
           " of these unpaid; ",
           (double)commands / grants, (double)sum->attempts / grants, sum->turns_taken,
           sum->turns_missed, sum->passed, sum->overtaken, sum->unpaid);
    printf("%" PRIu64 " grants to others; %" PRIu64 " to readers, %" PRIu64 " leases, %" PRIu64
           " downgrades, %" PRIu64 " upgrades; nobody served for %.3f ms (seed %" PRIu64 "); ",
           sum->plain_grants, sum->readers, sum->leases, sum->downgrades, sum->upgrades,
           (double)totals->longest_stall_ns / 1e6, totals->stall_seed);
}

static void print_permits(const struct sim_stats *sum) {
    if (sum->permits > 0) {
        printf("%" PRIu64 " permits, %" PRIu64 " steps with none left, %" PRIu64
               " changes of their number, %" PRIu64 " acquires refused for it; ",
               sum->permits, sum->permits_full, sum->resized, sum->odd);
    }
}

static void print_summary(const struct sim_arguments *arguments, const struct totals *totals) {
    const struct sim_stats *sum = &totals->sum;
    double seconds = seconds_since(&totals->began);
    printf("%s: %" PRIu64 " histories, %" PRIu64 " steps, %.1f simulated hours; ",
           sim_preset_name((enum sim_preset)arguments->preset), totals->histories, sum->steps,
           (double)sum->time_ns / 3.6e12);
    printf("%" PRIu64 " grants, %" PRIu64 " renewals (%" PRIu64 " by watchdogs), %" PRIu64
           " losses (%" PRIu64 " for silence), %" PRIu64 " releases; ",
           sum->grants, sum->renewals, sum->watched, sum->losses, sum->silent, sum->releases);
    printf("%" PRIu64 " attempts, %" PRIu64 " late votes, %" PRIu64 " repairs, %" PRIu64
           " releases pending, %" PRIu64 " retried, %" PRIu64 " dropped, %" PRIu64 " late SETs; ",
           sum->attempts, sum->late_votes, sum->repairs, sum->owed, sum->repaid, sum->dropped,
           sum->late_sets);
    printf("%" PRIu64 " fences (%" PRIu64 " attempts raised them), %" PRIu64 " quarantines; ",
           sum->fenced, sum->raised, sum->quarantines);
    printf("%" PRIu64 " joined, %" PRIu64 " adopted, %" PRIu64 " notified, %" PRIu64
           " elected, %" PRIu64 " words of leaders, %" PRIu64 " queries, %" PRIu64
           " clients closed, %" PRIu64 " changes of nodes; ",
           sum->joined, sum->adopted, sum->notified, sum->elected, sum->leaders_told, sum->queries,
           sum->closed, sum->changes);
    printf("%" PRIu64 " splits, %" PRIu64 " short writes, %" PRIu64 " keys evicted; ", sum->splits,
           sum->short_writes, sum->evicted);
    printf("%" PRIu64 " overlaps excused; ", sum->overlaps);
    print_line(totals);
    print_permits(sum);
    print_faults(sum);
    printf("trace %016" PRIx64 "; ", totals->hash);
    printf("%.0f histories/s, %.0f steps/s\n", (double)totals->histories / seconds,
           (double)sum->steps / seconds);
}

/* The command that replays these histories. */
static void print_command(const struct sim_arguments *arguments, const char *what, uint64_t first,
                          uint64_t last) {
    printf("%s: redlock-sim --preset %s", what,
           sim_preset_name((enum sim_preset)arguments->preset));
    if (first == last) {
        printf(" --seed %" PRIu64, first);
    } else {
        printf(" --seeds %" PRIu64 "..%" PRIu64, first, last);
    }
    if (arguments->steps != 0) {
        printf(" --steps %" PRId64, arguments->steps);
    }
    if (arguments->nodes != 0) {
        printf(" --nodes %" PRId64, arguments->nodes);
    }
    if (arguments->requests != 0) {
        printf(" --requests %" PRId64, arguments->requests);
    }
    if (arguments->is_trouble_given) {
        printf(" --trouble %s", sim_trouble_name((enum sim_trouble)arguments->trouble));
    }
    if (arguments->is_guard_given) {
        printf(" --guard %s", sim_guard_name((enum rl_guard_mode)arguments->guard));
    }
    if (arguments->broken != SIM_BREAK_NONE) {
        printf(" --break %s", sim_break_name((uint32_t)arguments->broken));
    }
    printf("\n");
}

static void print_violation(const struct sim_arguments *arguments, const struct sim_world *world) {
    printf("\nthe last events, in ms of true time:\n");
    sim_trace_print(world, (uint32_t)arguments->last, stdout);
    printf("\nseed %" PRIu64 ", step %" PRIu64 ", %.3f ms: %s: %s\n", world->options.seed,
           world->stats.steps, (double)world->now_ns / 1e6, sim_violation_name(world->check.found),
           world->check.message);
    sim_check_line_print(world);
    print_command(arguments, "replay", world->options.seed, world->options.seed);
    if (arguments->is_fresh) {
        printf("add its options to test/sim/seeds.txt, so that the test \"seeds\" keeps it\n");
    }
}

/* One history. False if it ends the run. */
static bool run_seed(const struct sim_arguments *arguments, uint64_t seed, struct totals *totals) {
    struct sim_options options =
        sim_options_derive((enum sim_preset)arguments->preset, seed, (uint32_t)arguments->nodes,
                           (uint32_t)arguments->steps);
    options.broken = (uint32_t)arguments->broken;
    if (arguments->is_trouble_given && sim_options_has_lines(&options)) {
        sim_options_lines(&options, (enum sim_trouble)arguments->trouble);
    }
    if (arguments->requests != 0) {
        options.requests_max = (uint32_t)arguments->requests;
        options.owed_max = (uint32_t)arguments->requests / 2;
    }
    options.guard =
        arguments->is_guard_given ? (enum rl_guard_mode)arguments->guard : options.guard;
    bool single = arguments->first_seed == arguments->last_seed;
    if (single) {
        sim_options_print(&options);
    }
    struct sim_world *world = sim_world_new(&options);
    world->check.only = (enum sim_violation)arguments->expected;
    while (sim_world_step(world)) {
    }
    add(totals, &world->stats);
    if (world->longest_stall_ns > totals->longest_stall_ns) {
        totals->longest_stall_ns = world->longest_stall_ns;
        totals->stall_seed = seed;
    }
    enum sim_violation found = world->check.found;
    totals->hash = (totals->hash ^ world->trace.hash) * UINT64_C(0x100000001b3);
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

static void progress(const struct sim_arguments *arguments, uint64_t seed,
                     const struct totals *totals) {
    if (!arguments->is_quiet && totals->histories % 500 == 0) {
        fprintf(stderr, "\r%" PRIu64 "..%" PRIu64 ": seed %" PRIu64 ", %" PRIu64 " steps ",
                arguments->first_seed, arguments->last_seed, seed, totals->sum.steps);
        fflush(stderr);
    }
}

int main(int argc, char **argv) {
    struct sim_arguments arguments;
    struct totals totals = {.histories = 0};
    enum sim_parsed parsed = sim_arguments_parse(&arguments, argc, argv);
    if (parsed != SIM_PARSED) {
        return parsed == SIM_PARSED_DONE ? 0 : 2;
    }
    if (arguments.is_fresh) {
        print_command(&arguments, "drawn", arguments.first_seed, arguments.last_seed);
        fflush(stdout); /* an assertion that fails leaves no other trace */
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
