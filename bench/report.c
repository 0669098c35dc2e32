/* The figures of a report: see report.h for what it is for, how it is used and how it fails. The
 * table is in report_table.c, JSON in report_json.c. */
#include "report.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "heap.h"

#define SLICES_MAX 1000 /* of options.c */

static double per_lock(const struct rl_bench_slice *slice, double total) {
    return slice->locks > 0 ? total / (double)slice->locks : RL_BENCH_NOT_MEASURED;
}

double rl_bench_locks_per_s(const struct rl_bench_slice *slice) {
    return (double)slice->locks / slice->seconds;
}

double rl_bench_cpu_us_per_lock(const struct rl_bench_slice *slice) {
    return per_lock(slice, slice->cpu_us);
}

double rl_bench_node_cpu_us_per_lock(const struct rl_bench_slice *slice) {
    return slice->node_cpu_us > 0 ? per_lock(slice, slice->node_cpu_us) : RL_BENCH_NOT_MEASURED;
}

double rl_bench_allocations_per_lock(const struct rl_bench_slice *slice) {
    return per_lock(slice, (double)slice->allocations);
}

double rl_bench_mallocs_per_lock(const struct rl_bench_slice *slice) {
    return rl_bench_heap_is_counted() ? per_lock(slice, (double)slice->mallocs)
                                      : RL_BENCH_NOT_MEASURED;
}

double rl_bench_attempts_per_grant(const struct rl_bench_slice *slice) {
    return per_lock(slice, (double)slice->attempts);
}

double rl_bench_commands_per_grant(const struct rl_bench_slice *slice) {
    return per_lock(slice, (double)slice->commands);
}

double rl_bench_commands_per_s(const struct rl_bench_slice *slice) {
    return (double)slice->commands / slice->seconds;
}

static double percent(uint64_t part, uint64_t whole) {
    return whole > 0 ? 100 * (double)part / (double)whole : RL_BENCH_NOT_MEASURED;
}

double rl_bench_parted_percent(const struct rl_bench_slice *slice) {
    return percent(slice->parted, slice->attempts);
}

double rl_bench_split_percent(const struct rl_bench_slice *slice) {
    return percent(slice->split, slice->attempts);
}

double rl_bench_raised_percent(const struct rl_bench_slice *slice) {
    return percent(slice->raised, slice->fenced);
}

double rl_bench_hand_overs_per_s(const struct rl_bench_slice *slice) {
    return (double)slice->hand_overs / slice->seconds;
}

static double percentile_us(const struct rl_bench_hist *hist, double q) {
    return hist->count > 0 ? (double)rl_bench_hist_percentile_ns(hist, q) / 1e3
                           : RL_BENCH_NOT_MEASURED;
}

double rl_bench_grant_p50_us(const struct rl_bench_slice *slice) {
    return percentile_us(&slice->grant, 0.5);
}

double rl_bench_grant_p99_us(const struct rl_bench_slice *slice) {
    return percentile_us(&slice->grant, 0.99);
}

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

double rl_bench_median(const struct rl_bench_series *series, rl_bench_metric *metric) {
    double values[SLICES_MAX];
    assert(series->n <= SLICES_MAX);
    for (size_t i = 0; i < series->n; i++) {
        values[i] = metric(&series->slices[i]);
    }
    return median_of(values, series->n);
}

double rl_bench_ratio(const struct rl_bench_report *report, rl_bench_metric *metric) {
    double values[SLICES_MAX];
    const struct rl_bench_series *ours = &report->series[0];
    const struct rl_bench_series *theirs = &report->series[1];
    size_t n = ours->n < theirs->n ? ours->n : theirs->n;
    assert(n <= SLICES_MAX);
    for (size_t i = 0; i < n; i++) {
        values[i] = metric(&ours->slices[i]) / metric(&theirs->slices[i]);
    }
    return median_of(values, n);
}

const struct rl_bench_hist *rl_bench_grant_of(const struct rl_bench_slice *slice) {
    return &slice->grant;
}

const struct rl_bench_hist *rl_bench_hand_over_of(const struct rl_bench_slice *slice) {
    return &slice->hand_over;
}

struct rl_bench_latency rl_bench_latency_of(const struct rl_bench_series *series,
                                            rl_bench_hist_of *hist_of) {
    static struct rl_bench_hist all; /* large for a stack */
    double p50[SLICES_MAX];
    double p99[SLICES_MAX];
    assert(series->n <= SLICES_MAX);
    rl_bench_hist_reset(&all);
    for (size_t i = 0; i < series->n; i++) {
        const struct rl_bench_hist *hist = hist_of(&series->slices[i]);
        p50[i] = percentile_us(hist, 0.5);
        p99[i] = percentile_us(hist, 0.99);
        rl_bench_hist_merge(&all, hist);
    }
    return (struct rl_bench_latency){
        .p50 = median_of(p50, series->n),
        .p99 = median_of(p99, series->n),
        .p999 = percentile_us(&all, 0.999),
        .max = all.count > 0 ? (double)all.max_ns / 1e3 : RL_BENCH_NOT_MEASURED,
    };
}
