/* Shared by the workloads of redlock-bench.
 *
 * Happy path: main.c parses the options, starts nodes if necessary, makes the loop and calls one
 * workload; the workload opens its clients, measures its slices into the report and closes what it
 * opened.
 *
 * Failure modes: a workload that fails puts a sentence into error and returns -1; it has still
 * closed what it opened.
 *
 * Used by main.c and one file per workload. */
#ifndef RL_BENCH_BENCH_H
#define RL_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "options.h"
#include "progress.h"
#include "relay.h"
#include "report.h"
#include "slice.h"
#include "tool/local_nodes.h"

struct rl_bench {
    struct rl_bench_options options;
    struct rl_local_nodes *local; /* NULL with --nodes */
    struct rl_bench_relay *relay; /* NULL without --distance-ms */
    const char *const *nodes;
    size_t n_nodes;
    uv_loop_t loop;
    struct rl_bench_run run;
    struct rl_bench_progress progress;
    char key_prefix[48]; /* its own for each run of redlock-bench */
    char error[1024];
    bool is_bad_argument; /* error is about --nodes */
    struct rl_bench_report report;
};

/* The workloads: each in a file of its name. 0, or -1. */
int rl_bench_contend(struct rl_bench *bench);
int rl_bench_cycle(struct rl_bench *bench);
int rl_bench_keep(struct rl_bench *bench);
int rl_bench_shells(struct rl_bench *bench);

#endif /* RL_BENCH_BENCH_H */
