/* The results of redlock-bench, to be shown as a table or as JSON.
 *
 * Happy path: a workload fills in one or two series of slices, or the figures of keep; main.c
 * prints the report (show.c) by one table of figures (figures.h).
 *
 * Used by main.c and the workloads. */
#ifndef RL_BENCH_REPORT_H
#define RL_BENCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "slice.h"

struct rl_bench_series {
    const char *name;                   /* in the table */
    size_t n;                           /* slices measured so far */
    bool is_library;                    /* it has library allocations and attempts */
    struct rl_bench_slice *slices;      /* options.slices of them */
    uint64_t least_grants, most_grants; /* contend: of one waiter */
    uint64_t overlaps;                  /* two holders at the same time */
};

struct rl_bench_keep_figures {
    size_t locks;
    double seconds;
    double bytes_per_lock; /* of the library's allocator, pending requests included */
    double cpu_share;      /* of one processor */
    double renewals_per_s;
    uint64_t unknown;                 /* renewals with an unknown outcome */
    uint64_t lost;                    /* while the nodes answered */
    struct rl_bench_hist told_before; /* on_lost before the end of validity, all nodes stopped */
    struct rl_bench_hist told_after;  /* ... and after it, which must not be */
};

struct rl_bench_report {
    const struct rl_bench_options *options;
    size_t n_nodes;
    /* [0]: the library. [1]: its comparison: the bare fan-out, the library without an option,
     * flock(1), or no slices. */
    struct rl_bench_series series[2];
    bool is_mixed;             /* contend: [0] are the readers, [1] the writers, of one run */
    struct rl_bench_hist late; /* what --distance-ms added to the distance */
    struct rl_bench_keep_figures keep;
};

/* -- show.c -- */

/* One row per figure, one column per series, and the ratio. */
void rl_bench_report_print_table(const struct rl_bench_report *report);

/* One JSON object. */
void rl_bench_report_print_json(const struct rl_bench_report *report);

#endif /* RL_BENCH_REPORT_H */
