/* See figures.h. */
#include "figures.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "heap.h"

/* -- Of one slice -- */

static double per_lock(const struct rl_bench_slice *slice, double total) {
    return slice->locks > 0 ? total / (double)slice->locks : RL_BENCH_NOT_MEASURED;
}

double rl_bench_locks_per_s(const struct rl_bench_slice *slice) {
    return (double)slice->locks / slice->seconds;
}

static double cpu_us_per_lock(const struct rl_bench_slice *slice) {
    return slice->cpu_us > 0 ? per_lock(slice, slice->cpu_us) : RL_BENCH_NOT_MEASURED;
}

static double node_cpu_us_per_lock(const struct rl_bench_slice *slice) {
    return slice->node_cpu_us > 0 ? per_lock(slice, slice->node_cpu_us) : RL_BENCH_NOT_MEASURED;
}

static double allocations_per_lock(const struct rl_bench_slice *slice) {
    return slice->is_by_threads ? RL_BENCH_NOT_MEASURED
                                : per_lock(slice, (double)slice->allocations);
}

static double mallocs_per_lock(const struct rl_bench_slice *slice) {
    return rl_bench_heap_is_counted() && !slice->is_by_threads
               ? per_lock(slice, (double)slice->mallocs)
               : RL_BENCH_NOT_MEASURED;
}

/* A client that waits for a lock sends commands: 0 means not measured. */
static double attempts_per_grant(const struct rl_bench_slice *slice) {
    return slice->attempts > 0 ? per_lock(slice, (double)slice->attempts) : RL_BENCH_NOT_MEASURED;
}

static double commands_per_grant(const struct rl_bench_slice *slice) {
    return slice->commands > 0 ? per_lock(slice, (double)slice->commands) : RL_BENCH_NOT_MEASURED;
}

static double commands_per_s(const struct rl_bench_slice *slice) {
    return (double)slice->commands / slice->seconds;
}

static double executed_per_grant(const struct rl_bench_slice *slice) {
    return slice->executed > 0 ? per_lock(slice, (double)slice->executed) : RL_BENCH_NOT_MEASURED;
}

static double executed_per_s(const struct rl_bench_slice *slice) {
    return slice->executed > 0 ? (double)slice->executed / slice->seconds : RL_BENCH_NOT_MEASURED;
}

static double percent(uint64_t part, uint64_t whole) {
    return whole > 0 ? 100 * (double)part / (double)whole : RL_BENCH_NOT_MEASURED;
}

static double raised_percent(const struct rl_bench_slice *slice) {
    return percent(slice->raised, slice->fenced);
}

static double overtakers_percent(const struct rl_bench_slice *slice) {
    return percent(slice->overtakers, slice->locks);
}

static double overtakings_per_grant(const struct rl_bench_slice *slice) {
    return per_lock(slice, (double)slice->overtakings);
}

static double phases_per_grant(const struct rl_bench_slice *slice) {
    return per_lock(slice, (double)slice->phases);
}

static double permits_in_use(const struct rl_bench_slice *slice) {
    return slice->used_s / slice->seconds;
}

static double permits_in_use_percent(const struct rl_bench_slice *slice) {
    return slice->crowded_s > 0 ? 100 * slice->crowded_share_s / slice->crowded_s
                                : RL_BENCH_NOT_MEASURED;
}

static double tau(const struct rl_bench_slice *slice) {
    return slice->tau;
}

static double hand_overs_per_s(const struct rl_bench_slice *slice) {
    return (double)slice->hand_overs / slice->seconds;
}

static double percentile_us(const struct rl_bench_hist *hist, double q) {
    return hist->count > 0 ? (double)rl_bench_hist_percentile_ns(hist, q) / 1e3
                           : RL_BENCH_NOT_MEASURED;
}

static double grant_p50_us(const struct rl_bench_slice *slice) {
    return percentile_us(&slice->grant, 0.5);
}

static double grant_p99_us(const struct rl_bench_slice *slice) {
    return percentile_us(&slice->grant, 0.99);
}

static double wait_p50_ms(const struct rl_bench_slice *slice) {
    return grant_p50_us(slice) / 1e3;
}

static double wait_p99_ms(const struct rl_bench_slice *slice) {
    return grant_p99_us(slice) / 1e3;
}

static double gap_p50_ms(const struct rl_bench_slice *slice) {
    return percentile_us(&slice->gap, 0.5) / 1e3;
}

static double gap_p99_ms(const struct rl_bench_slice *slice) {
    return percentile_us(&slice->gap, 0.99) / 1e3;
}

/* -- Of all slices of a series -- */

static double grant_p999_us(const struct rl_bench_series *series) {
    static struct rl_bench_hist all; /* large for a stack */
    rl_bench_hist_reset(&all);
    for (size_t i = 0; i < series->n; i++) {
        rl_bench_hist_merge(&all, &series->slices[i].grant);
    }
    return percentile_us(&all, 0.999);
}

static double grant_max_us(const struct rl_bench_series *series) {
    double max_us = RL_BENCH_NOT_MEASURED;
    for (size_t i = 0; i < series->n; i++) {
        max_us = fmax(max_us, (double)series->slices[i].grant.max_ns / 1e3);
    }
    return max_us;
}

static double wait_max_ms(const struct rl_bench_series *series) {
    double max_ms = RL_BENCH_NOT_MEASURED;
    for (size_t i = 0; i < series->n; i++) {
        max_ms = fmax(max_ms, (double)series->slices[i].longest_wait_ns / 1e6);
    }
    return max_ms;
}

static double most_overtaken(const struct rl_bench_series *series) {
    uint64_t most = 0;
    for (size_t i = 0; i < series->n; i++) {
        most = series->slices[i].most_overtaken > most ? series->slices[i].most_overtaken : most;
    }
    return (double)most;
}

static double most_phases(const struct rl_bench_series *series) {
    uint64_t most = 0;
    for (size_t i = 0; i < series->n; i++) {
        most = series->slices[i].most_phases > most ? series->slices[i].most_phases : most;
    }
    return (double)most;
}

/* -- The table -- */

#define CONTENTION .in_contend = true, .in_shells = true

const struct rl_bench_figure rl_bench_figures[] = {
    {"locks_per_s", "locks/s", rl_bench_locks_per_s, .in_cycle = true},
    {"grant_p50_us", "grant p50, us", grant_p50_us, .in_cycle = true},
    {"grant_p99_us", "grant p99, us", grant_p99_us, .in_cycle = true},
    {"grant_p999_us", "grant p99.9, us", .of_series = grant_p999_us, .in_cycle = true},
    {"grant_max_us", "grant max, us", .of_series = grant_max_us, .in_cycle = true},
    {"hand_overs_per_s", "hand-overs/s", hand_overs_per_s, CONTENTION},
    {"grants_per_s", "grants/s", rl_bench_locks_per_s, .in_mixed = true, CONTENTION},
    {"permits_in_use", "permits in use", permits_in_use, .in_contend = true, .of_permits = true},
    {"permits_in_use_percent", "... while more wait, %", permits_in_use_percent, .in_contend = true,
     .of_permits = true},
    {"gap_p50_ms", "gap p50, ms", gap_p50_ms, CONTENTION},
    {"gap_p99_ms", "gap p99, ms", gap_p99_ms, CONTENTION},
    {"wait_p50_ms", "wait p50, ms", wait_p50_ms, .in_mixed = true, CONTENTION},
    {"wait_p99_ms", "wait p99, ms", wait_p99_ms, .in_mixed = true, CONTENTION},
    {"wait_max_ms", "wait max, ms", .of_series = wait_max_ms, .in_mixed = true, CONTENTION},
    {"phases_per_grant", "phases of others per wait", phases_per_grant, .in_mixed = true,
     .of_mixed = true, .in_contend = true},
    {"most_phases", "... in one wait", .of_series = most_phases, .in_mixed = true, .of_mixed = true,
     .in_contend = true},
    {"tau", "tau against arrival", tau, .in_shells = true},
    {"overtakings_per_grant", "overtaken per grant", overtakings_per_grant, CONTENTION},
    {"overtakers_percent", "grants that overtook, %", overtakers_percent, CONTENTION},
    {"most_overtaken", "one wait was overtaken by", .of_series = most_overtaken, CONTENTION},
    {"client_cpu_us_per_lock", "client CPU, us/lock", cpu_us_per_lock, .in_cycle = true,
     CONTENTION},
    {"node_cpu_us_per_lock", "CPU of all nodes, us/lock", node_cpu_us_per_lock, .in_cycle = true,
     CONTENTION},
    {"allocations_per_lock", "library allocations/lock", allocations_per_lock, .in_cycle = true,
     .of_library = true},
    {"mallocs_per_lock", "mallocs/lock, all", mallocs_per_lock, .in_cycle = true},
    {"attempts_per_grant", "attempts/grant", attempts_per_grant, .in_cycle = true,
     .in_contend = true, .of_library = true},
    {"commands_per_grant", "commands sent/grant", commands_per_grant, .in_cycle = true,
     .in_contend = true},
    {"commands_per_s", "commands sent/s", commands_per_s, .in_contend = true},
    {"executed_per_grant", "commands executed/grant", executed_per_grant, CONTENTION},
    {"executed_per_s", "commands executed/s", executed_per_s, CONTENTION},
    {"second_rounds_percent", "second rounds, % of fences", raised_percent, .in_cycle = true,
     .in_contend = true, .of_library = true, .of_fences = true},
};
const size_t rl_bench_figures_count = sizeof(rl_bench_figures) / sizeof(rl_bench_figures[0]);

bool rl_bench_figure_is_shown(const struct rl_bench_figure *figure,
                              const struct rl_bench_report *report) {
    int workload = report->options->workload;
    bool is_in = workload == RL_BENCH_CYCLE    ? figure->in_cycle
                 : workload == RL_BENCH_SHELLS ? figure->in_shells
                                               : figure->in_contend;
    is_in = is_in && (report->is_mixed ? figure->in_mixed : !figure->of_mixed);
    is_in = is_in && (report->options->permits > 0 || !figure->of_permits);
    return is_in && (report->options->fencing != RL_BENCH_OFF || !figure->of_fences);
}

/* -- Medians -- */

static int compare(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Sorts the values; those that are not numbers are left out. */
static double median_of(double *values, size_t n) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(values[i])) {
            values[kept++] = values[i];
        }
    }
    if (kept == 0) {
        return RL_BENCH_NOT_MEASURED;
    }
    qsort(values, kept, sizeof(*values), compare);
    return (values[(kept - 1) / 2] + values[kept / 2]) / 2;
}

double rl_bench_figure_value(const struct rl_bench_figure *figure,
                             const struct rl_bench_report *report, size_t side) {
    const struct rl_bench_series *series = &report->series[side];
    double values[RL_BENCH_SLICES_MAX];
    assert(series->n <= RL_BENCH_SLICES_MAX);
    if (figure->of_library && !series->is_library) {
        return RL_BENCH_NOT_MEASURED;
    }
    if (figure->of_slice == NULL) {
        return figure->of_series(series);
    }
    for (size_t i = 0; i < series->n; i++) {
        values[i] = figure->of_slice(&series->slices[i]);
    }
    return median_of(values, series->n);
}

double rl_bench_figure_ratio(const struct rl_bench_figure *figure,
                             const struct rl_bench_report *report) {
    const struct rl_bench_series *ours = &report->series[0], *theirs = &report->series[1];
    size_t n = ours->n < theirs->n ? ours->n : theirs->n;
    double values[RL_BENCH_SLICES_MAX];
    assert(n <= RL_BENCH_SLICES_MAX);
    if (figure->of_slice == NULL || (figure->of_library && !theirs->is_library)) {
        return RL_BENCH_NOT_MEASURED;
    }
    for (size_t i = 0; i < n; i++) {
        values[i] = figure->of_slice(&ours->slices[i]) / figure->of_slice(&theirs->slices[i]);
    }
    return median_of(values, n);
}
