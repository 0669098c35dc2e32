/* The figures of slices: one table, which the report's table and its JSON both show.
 *
 * A figure is the median over the slices; a ratio is the median over pairs of neighbouring slices,
 * so that a disturbance of the machine that lasts longer than a pair cancels out. Rare values
 * (p99.9 and the maximum) are taken over all slices together, since a single slice has too few, and
 * have no ratio.
 *
 * Failure modes: a number that was not measured is RL_BENCH_NOT_MEASURED: "-" in the table and null
 * in JSON. */
#ifndef RL_BENCH_FIGURES_H
#define RL_BENCH_FIGURES_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "report.h"

#define RL_BENCH_NOT_MEASURED ((double)NAN)

struct rl_bench_figure {
    const char *key;   /* in JSON */
    const char *label; /* in the table */
    /* For one slice; or, if NULL, for a series. */
    double (*of_slice)(const struct rl_bench_slice *slice);
    double (*of_series)(const struct rl_bench_series *series);
    bool in_cycle, in_contend, in_shells;
    bool of_library; /* the bare fan-out has none, and there is no ratio */
    bool of_fences;  /* only where some acquires are fenced */
    bool of_permits; /* only with --permits */
    bool in_mixed;   /* shown for readers and writers separately */
    bool of_mixed;   /* shown only for these */
};

extern const struct rl_bench_figure rl_bench_figures[];
extern const size_t rl_bench_figures_count;

/* Whether the report shows it. */
bool rl_bench_figure_is_shown(const struct rl_bench_figure *figure,
                              const struct rl_bench_report *report);

/* The figure of side 0 or 1. */
double rl_bench_figure_value(const struct rl_bench_figure *figure,
                             const struct rl_bench_report *report, size_t side);

/* Side 0 / side 1, slice by slice. */
double rl_bench_figure_ratio(const struct rl_bench_figure *figure,
                             const struct rl_bench_report *report);

/* For progress messages. */
double rl_bench_locks_per_s(const struct rl_bench_slice *slice);

#endif /* RL_BENCH_FIGURES_H */
