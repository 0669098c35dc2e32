/* See report_table.h. */
#include "report_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "figures.h"

#define COLUMN 15

static bool has_two(const struct rl_bench_report *report) {
    return report->series[0].n > 0 && report->series[1].n > 0;
}

/* A number with a readable number of digits. */
static void print_cell(double value) {
    if (!isfinite(value)) {
        printf("%*s", COLUMN, "-");
    } else {
        printf("%*.*f", COLUMN, value >= 100 ? 0 : value >= 10 ? 1 : 2, value);
    }
}

static void print_figure(const struct rl_bench_figure *figure,
                         const struct rl_bench_report *report) {
    printf("%-28s", figure->label);
    print_cell(rl_bench_figure_value(figure, report, 0));
    if (has_two(report)) {
        double ratio = rl_bench_figure_ratio(figure, report);
        print_cell(rl_bench_figure_value(figure, report, 1));
        if (isfinite(ratio) && !report->is_mixed) {
            printf("%*.2f", COLUMN, ratio);
        }
    }
    printf("\n");
}

/* "1 node", "5 nodes" */
static void print_count(int64_t count, const char *what) {
    printf("%" PRId64 " %s%s", count, what, count == 1 ? "" : "s");
}

static void print_contenders(const struct rl_bench_options *options) {
    print_count(options->processes, "client");
    if (strcmp(options->waiters, "1") != 0) {
        printf(" with %s waiters each", options->waiters);
    }
    if (options->readers > 0) {
        printf(", %" PRId64 " %% of them readers", options->readers);
    }
    if (options->permits > 0) {
        printf(", %" PRId64 " of %" PRId64 " permits", options->take, options->permits);
    }
    if (options->idle) {
        printf(", the first one holds, ttl %" PRId64 " ms", options->ttl_ms);
        return;
    }
    printf("%s, held for %" PRId64 " ms, ttl %" PRId64 " ms, ",
           options->apart ? ", each a lock of its own" : "", options->hold_ms, options->ttl_ms);
    if (options->think_ms > 0) {
        printf("%" PRId64 " ms of thought", options->think_ms);
    } else {
        printf("greedy%s", options->again == RL_BENCH_AGAIN_AT_ONCE ? " (at once)" : "");
    }
}

static void print_head(const struct rl_bench_report *report) {
    const struct rl_bench_options *options = report->options;
    printf("redlock-bench %s: %s, ", redlock_version(), rl_bench_workload_name(options->workload));
    print_count((int64_t)report->n_nodes, "node");
    printf("%s, ", options->nodes.n == 0 ? " started here" : "");
    if (options->workload == RL_BENCH_CONTEND) {
        print_contenders(options);
    } else if (options->workload == RL_BENCH_SHELLS) {
        print_count(options->shells, "shell");
        printf(" %" PRId64 " ms apart, work %" PRId64 " ms", options->spacing_ms, options->work_ms);
    } else {
        printf("%" PRId64 " in flight, ", options->in_flight);
        if (options->permits > 0) {
            printf("%" PRId64 " of %" PRId64 " permits, ", options->take, options->permits);
        }
        printf("ttl %" PRId64 " ms", options->ttl_ms);
    }
    if (options->distance_ms > 0) {
        printf(", each client 0 to %" PRId64 " ms away from each node", options->distance_ms);
    }
    if (options->workload == RL_BENCH_SHELLS) {
        printf(", %" PRId64 " rounds", options->slices);
    } else if (options->workload != RL_BENCH_KEEP) {
        printf(", %" PRId64 " x %g s", options->slices, (double)options->slice_ms / 1e3);
    }
    printf("\n\n");
}

static void print_figures(const struct rl_bench_report *report) {
    printf("%-28s%*s", "", COLUMN, report->series[0].name);
    if (has_two(report)) {
        printf("%*s%*s", COLUMN, report->series[1].name, report->is_mixed ? 0 : COLUMN,
               report->is_mixed ? "" : "ratio");
    }
    printf("\n");
    for (size_t i = 0; i < rl_bench_figures_count; i++) {
        if (rl_bench_figure_is_shown(&rl_bench_figures[i], report)) {
            print_figure(&rl_bench_figures[i], report);
        }
    }
}

static void print_failures(const struct rl_bench_report *report) {
    uint64_t failed = 0;
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < report->series[i].n; j++) {
            failed += report->series[i].slices[j].failed;
        }
    }
    if (failed > 0) {
        printf("\n%llu locks were not granted, not released by a quorum, or lost.\n",
               (unsigned long long)failed);
    }
}

static void print_cycle(const struct rl_bench_report *report) {
    print_figures(report);
    if (report->options->has_baseline) {
        printf(
            "\nbare fan-out: the same commands to all nodes over hiredis and its libuv "
            "adapter,\nwaiting for every node, without lock logic. Its grant is the wait for the "
            "last answer\nto SET. Ratios: median over %" PRId64 " pairs of slices.\n",
            report->options->slices);
    }
}

static void print_contend(const struct rl_bench_report *report) {
    print_figures(report);
    printf("\n");
    for (size_t i = 0; i < 2 && report->series[i].n > 0; i++) {
        const struct rl_bench_series *series = &report->series[i];
        printf("%s: grants of one waiter: %llu to %llu. ", series->name,
               (unsigned long long)series->least_grants, (unsigned long long)series->most_grants);
        if (report->is_mixed && i == 1) {
            printf("\n"); /* the first line is of both */
        } else if (series->overlaps == 0) {
            printf("%s at one time: never.\n", report->is_mixed ? "A writer and another holder"
                                               : report->options->permits > 0
                                                   ? "Two holders of a slot"
                                                   : "Two holders");
        } else {
            printf("TWO HOLDERS AT ONE TIME: %llu times.\n", (unsigned long long)series->overlaps);
        }
    }
    if (report->late.count > 0) {
        printf("The distance was longer than it should be by %.3f ms, p99 %.3f ms.\n",
               (double)rl_bench_hist_percentile_ns(&report->late, 0.5) / 1e6,
               (double)rl_bench_hist_percentile_ns(&report->late, 0.99) / 1e6);
    }
}

static void print_keep(const struct rl_bench_report *report) {
    const struct rl_bench_keep_figures *f = &report->keep;
    printf("%zu locks that renew themselves, kept for %.0f s\n\n", f->locks, f->seconds);
    printf("%-34s%12.0f\n", "renewals per second", f->renewals_per_s);
    printf("%-34s%12.1f\n", "client CPU, % of one processor", f->cpu_share * 100);
    printf("%-34s%12.0f\n", "bytes per lock", f->bytes_per_lock);
    printf("%-34s%12llu\n", "renewals with unknown outcome", (unsigned long long)f->unknown);
    printf("%-34s%12llu\n", "lost", (unsigned long long)f->lost);
    if (f->told_before.count + f->told_after.count > 0) {
        const struct rl_bench_hist *before = &f->told_before;
        printf("\nThen all nodes were stopped. on_lost ran before the end of validity by\n");
        printf("%-34s%12.2f\n", "  median, ms",
               (double)rl_bench_hist_percentile_ns(before, 0.5) / 1e6);
        printf("%-34s%12.2f\n", "  1 % of the locks less than, ms",
               (double)rl_bench_hist_percentile_ns(before, 0.01) / 1e6);
        printf("%-34s%12llu\n", "notified too late", (unsigned long long)f->told_after.count);
        printf("%-34s%12.2f\n", "  by at most, ms", (double)f->told_after.max_ns / 1e6);
    }
}

void rl_bench_report_print_table(const struct rl_bench_report *report) {
    print_head(report);
    int workload = report->options->workload;
    if (workload == RL_BENCH_CONTEND || workload == RL_BENCH_SHELLS) {
        print_contend(report);
    } else if (report->options->workload == RL_BENCH_KEEP) {
        print_keep(report);
    } else {
        print_cycle(report);
    }
    print_failures(report);
}
