/* What redlock-bench is asked to do.
 *
 * Happy path: rl_bench_options_parse() fills in the defaults, reads the arguments and checks them
 * against each other.
 *
 * Failure modes: an argument that is unknown, out of range, without meaning for the workload or at
 * odds with another one is answered with one sentence on stderr that names it and the remedy.
 *
 * What it is for: main.c. */
#ifndef RL_BENCH_OPTIONS_H
#define RL_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "redlock/redlock.h"

enum rl_bench_workload {
    RL_BENCH_CYCLE,
    RL_BENCH_CONTEND,
    RL_BENCH_STOPPED,
    RL_BENCH_MEMORY,
    RL_BENCH_KEEP,
    RL_BENCH_LINE,
    RL_BENCH_WORKLOADS
};

enum rl_bench_baseline {
    RL_BENCH_BASELINE_NONE,
    RL_BENCH_BASELINE_FORMATTED, /* each command formatted once for all nodes */
    RL_BENCH_BASELINE_ARGV,      /* ... for each node */
};

/* An option of the library that is on, off, or both in turn, to be compared. */
enum rl_bench_switch { RL_BENCH_OFF, RL_BENCH_ON, RL_BENCH_BOTH };

struct rl_bench_options {
    enum rl_bench_workload workload;
    enum rl_bench_baseline baseline;
    enum rl_bench_switch tie_break;
    enum rl_bench_switch fencing;
    enum redlock_guard guard;
    bool json;
    char *nodes[REDLOCK_NODES_MAX]; /* of --nodes */
    size_t n_nodes;                 /* 0: start nodes here */
    const char *server;             /* NULL: see local_nodes.h */
    long long node_count;
    long long stop_nodes;
    long long in_flight;
    long long clients;
    long long locks;
    long long slices;
    long long ttl_ms;
    long long hold_ms;
    long long delay_ms;
    long long jitter_ms;
    long long distance_ms; /* 0: none */
    double seconds;
    double warmup;
};

enum rl_bench_parsed {
    RL_BENCH_PARSED,
    RL_BENCH_PARSED_DONE, /* --help or --version was answered */
    RL_BENCH_PARSED_BAD   /* said so on stderr */
};

enum rl_bench_parsed rl_bench_options_parse(struct rl_bench_options *options, int argc,
                                            char **argv);

/* Whether the library is compared with itself: slices with an option and without it, in turn. */
bool rl_bench_options_compare(const struct rl_bench_options *options);

/* What side number 0 or 1 of the report has: the first is the one with the option. */
bool rl_bench_options_has(enum rl_bench_switch which, size_t side);

const char *rl_bench_workload_name(enum rl_bench_workload workload);

/* The text of --help in pieces, NULL behind the last. */
extern const char *const rl_bench_help[];

#endif /* RL_BENCH_OPTIONS_H */
