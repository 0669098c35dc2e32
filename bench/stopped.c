/* The workload stopped: what it costs that some nodes hang, neither dead nor answering.
 *
 * Happy path: pairs of slices of uncontested cycles, one with all nodes, one after SIGSTOP to the
 * last J of them; after it they go on and everything that they missed is waited for. A node that
 * was stopped may run an old SET so late that nobody releases it; so each pair has resources of its
 * own, and begins with healthy nodes. A slice with stopped nodes contains the moment of stopping.
 *
 * Failure modes: as the workload cycle; nodes that do not come back within SETTLE_MS end it.
 *
 * What it is for: redlock-bench --workload stopped: no grant may wait for a node's timeout. */
#include <assert.h>
#include <stdio.h>

#include "bench.h"
#include "cycle_load.h"

#define SETTLE_MS 20000

/* Stops the last J nodes, or lets them go on. */
static int stop_nodes(struct rl_bench *bench, bool stop) {
    size_t n = bench->n_nodes;
    for (size_t i = n - (size_t)bench->options.stop_nodes; i < n; i++) {
        int result =
            stop ? rl_local_nodes_pause(bench->local, i) : rl_local_nodes_resume(bench->local, i);
        if (result != 0) {
            snprintf(bench->error, sizeof(bench->error), "node %zu, %s, has ended by itself", i,
                     bench->nodes[i]);
            return -1;
        }
    }
    return 0;
}

static int measure(struct rl_bench *bench, struct rl_bench_cycle_load *load, size_t side,
                   size_t i) {
    struct rl_bench_series *series = &bench->report.series[side];
    struct rl_bench_slice *slice = &series->slices[i];
    assert(series->n == i);
    rl_bench_progress_label(&bench->progress, "slice %zu of %lld, %s", i + 1, bench->options.slices,
                            series->name);
    if (rl_bench_cycle_load_slice(load, slice, bench->options.seconds) != 0) {
        return -1;
    }
    series->n++;
    rl_bench_progress_note(&bench->progress,
                           "slice %zu of %lld, %s: grant p99 %.0f us, max %.0f us", i + 1,
                           bench->options.slices, series->name, rl_bench_grant_p99_us(slice),
                           (double)slice->grant.max_ns / 1e3);
    return 0;
}

static int measure_pair(struct rl_bench *bench, struct rl_bench_cycle_load *load, size_t i) {
    if (rl_bench_cycle_load_rename(load) != 0 || measure(bench, load, 1, i) != 0 ||
        stop_nodes(bench, true) != 0) {
        return -1;
    }
    int result = measure(bench, load, 0, i);
    if (stop_nodes(bench, false) != 0 || result != 0) {
        return -1;
    }
    rl_bench_progress_label(&bench->progress, "waiting until all nodes are up again");
    return rl_bench_session_settle(rl_bench_cycle_load_session(load), SETTLE_MS);
}

int rl_bench_stopped(struct rl_bench *bench) {
    assert(bench->local != NULL);
    static char name[32];
    struct rl_bench_cycle_load *load;
    snprintf(name, sizeof(name), "%lld of %zu stopped", bench->options.stop_nodes, bench->n_nodes);
    bench->report.series[0].name = name;
    bench->report.series[1].name = "all nodes up";
    bench->report.series[0].is_library = true;
    bench->report.series[1].is_library = true;
    int result = rl_bench_cycle_load_open(&load, bench);
    if (result == 0 && bench->options.warmup > 0) {
        rl_bench_progress_label(&bench->progress, "warming up");
        result = rl_bench_cycle_load_slice(load, &bench->report.series[0].slices[0],
                                           bench->options.warmup);
    }
    for (size_t i = 0; i < (size_t)bench->options.slices && result == 0; i++) {
        result = measure_pair(bench, load, i);
    }
    rl_bench_cycle_load_close(load);
    return result;
}
