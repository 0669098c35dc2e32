/* What redlock-bench has found out, as a table for people or as JSON for machines.
 *
 * Happy path: a workload fills in one or two series of slices, or the memory figures; main.c prints
 * the report.
 *
 * Failure modes: a number that was not measured is "-" in the table and null in JSON.
 *
 * What it is for: main.c and the workloads. A figure is the median over the slices; a ratio is
 * the median over pairs of neighbouring slices, so that a disturbance of the machine that lasts
 * longer than a pair falls out of it. */
#ifndef RL_BENCH_REPORT_H
#define RL_BENCH_REPORT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "slice.h"

/* A number that there is not. */
#define RL_BENCH_NOT_MEASURED ((double)NAN)

struct rl_bench_series {
    const char *name;                   /* for people */
    size_t n;                           /* slices measured so far */
    bool is_library;                    /* it has library allocations and attempts */
    struct rl_bench_slice *slices;      /* options.slices of them */
    uint64_t least_grants, most_grants; /* contend: of one client */
};

struct rl_bench_memory_figures {
    size_t locks;
    size_t key_length;
    double client_bytes; /* of the library's allocator, after opening */
    double client_heap_bytes;
    double lock_bytes; /* per lock object */
    double held_bytes; /* per held lock, its object included */
    double held_heap_bytes;
};

struct rl_bench_keep_figures {
    size_t locks;
    double seconds;
    double bytes_per_lock; /* of the library's allocator, requests under way included */
    double cpu_share;      /* of one processor */
    double renewals_per_s;
    uint64_t unknown;                 /* renewals of which nobody knows */
    uint64_t lost;                    /* while the nodes answered */
    struct rl_bench_hist told_before; /* on_lost before the end of validity, all nodes stopped */
    struct rl_bench_hist told_after;  /* ... and after it, which must not be */
};

struct rl_bench_line_figures {
    size_t waiters;
    double hand_overs_per_s;
    double commands_per_hand_over; /* that one node saw */
    double cpu_us_per_hand_over;   /* of this process */
};

struct rl_bench_report {
    const struct rl_bench_options *options;
    size_t n_nodes;
    /* [0]: the library (stopped: with nodes stopped). [1]: what it is compared with: the bare
     * fan-out, the library without an option (stopped: with all nodes), or no slices. */
    struct rl_bench_series series[2];
    uint64_t violations; /* two holders at one time */
    struct rl_bench_memory_figures memory;
    struct rl_bench_keep_figures keep;
    struct rl_bench_line_figures line;
};

typedef double rl_bench_metric(const struct rl_bench_slice *slice);

rl_bench_metric rl_bench_locks_per_s;
rl_bench_metric rl_bench_cpu_us_per_lock;
rl_bench_metric rl_bench_node_cpu_us_per_lock;
rl_bench_metric rl_bench_allocations_per_lock;
rl_bench_metric rl_bench_mallocs_per_lock;
rl_bench_metric rl_bench_attempts_per_grant;
rl_bench_metric rl_bench_commands_per_grant;
rl_bench_metric rl_bench_commands_per_s;
rl_bench_metric rl_bench_parted_percent;
rl_bench_metric rl_bench_split_percent;
rl_bench_metric rl_bench_raised_percent;
rl_bench_metric rl_bench_hand_overs_per_s;
rl_bench_metric rl_bench_grant_p50_us;
rl_bench_metric rl_bench_grant_p99_us;

/* RL_BENCH_NOT_MEASURED without slices. */
double rl_bench_median(const struct rl_bench_series *series, rl_bench_metric *metric);

/* series[0] / series[1], slice by slice; RL_BENCH_NOT_MEASURED without both. */
double rl_bench_ratio(const struct rl_bench_report *report, rl_bench_metric *metric);

/* The four figures of a latency, in microseconds. p50 and p99 are the medians of the
 * slices' percentiles; p999 and max are of all slices together, since a slice alone has too few of
 * the rare. */
struct rl_bench_latency {
    double p50, p99, p999, max;
};

typedef const struct rl_bench_hist *rl_bench_hist_of(const struct rl_bench_slice *slice);

rl_bench_hist_of rl_bench_grant_of;
rl_bench_hist_of rl_bench_hand_over_of;

struct rl_bench_latency rl_bench_latency_of(const struct rl_bench_series *series,
                                            rl_bench_hist_of *hist_of);

void rl_bench_report_print_table(const struct rl_bench_report *report);
void rl_bench_report_print_json(const struct rl_bench_report *report);

#endif /* RL_BENCH_REPORT_H */
