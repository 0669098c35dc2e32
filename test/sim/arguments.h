/* The arguments of redlock-sim, by tool's table of options. The names of presets, controls and
 * violations are those of their enums, so that a new one needs no change here.
 *
 * Failure modes: a sentence on stderr that names the argument. */
#ifndef SIM_ARGUMENTS_H
#define SIM_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

struct sim_arguments {
    int64_t seed; /* of --seed */
    const char *seeds;
    uint64_t first_seed;
    uint64_t last_seed;
    bool is_fresh;    /* the seeds were drawn */
    int64_t nodes;    /* 0: by the seed */
    int64_t steps;    /* 0: by the seed */
    int64_t requests; /* 0: by the seed */
    int64_t last;     /* events to be printed of a failure */
    int preset;       /* enum sim_preset */
    int broken;       /* of sim_break_name() */
    int expected;     /* enum sim_violation; SIM_FINE: any counts */
    int guard;        /* enum rl_guard_mode */
    int trouble;      /* enum sim_trouble */
    bool is_guard_given;
    bool is_trouble_given;
    bool is_expected; /* a violation is */
    bool is_quiet;
};

enum sim_parsed { SIM_PARSED, SIM_PARSED_DONE, SIM_PARSED_BAD };

enum sim_parsed sim_arguments_parse(struct sim_arguments *arguments, int argc, char **argv);

#endif
