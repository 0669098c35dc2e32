/* The report as a table for people: one row per figure, one column per series, and the ratio. See
 * report.h for what it is for, how it is used and how it fails. */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "report.h"

#define COLUMN 15

static bool has_two(const struct rl_bench_report *report) {
    return report->series[0].n > 0 && report->series[1].n > 0;
}

/* A number with as many digits as one reads. */
static void print_cell(double value) {
    if (!isfinite(value)) {
        printf("%*s", COLUMN, "-");
    } else {
        printf("%*.*f", COLUMN, value >= 100 ? 0 : value >= 10 ? 1 : 2, value);
    }
}

static void print_ratio(double ratio) {
    if (isfinite(ratio)) {
        printf("%*.2f", COLUMN, ratio);
    }
}

static void print_metric(const struct rl_bench_report *report, const char *name,
                         rl_bench_metric *metric, bool only_library) {
    printf("%-28s", name);
    for (size_t i = 0; i < 2 && report->series[i].n > 0; i++) {
        const struct rl_bench_series *series = &report->series[i];
        print_cell(only_library && !series->is_library ? RL_BENCH_NOT_MEASURED
                                                       : rl_bench_median(series, metric));
    }
    if (has_two(report) && !only_library) {
        print_ratio(rl_bench_ratio(report, metric));
    }
    printf("\n");
}

static void print_row(const char *name, double left, double right, double ratio, bool two) {
    printf("%-28s", name);
    print_cell(left);
    if (two) {
        print_cell(right);
        print_ratio(ratio);
    }
    printf("\n");
}

/* what: "grant", "wait" */
static void print_latency(const struct rl_bench_report *report, const char *what) {
    struct rl_bench_latency left = rl_bench_latency_of(&report->series[0], rl_bench_grant_of);
    struct rl_bench_latency right = rl_bench_latency_of(&report->series[1], rl_bench_grant_of);
    bool two = has_two(report);
    char name[40];
    snprintf(name, sizeof(name), "%s p50, us", what);
    print_row(name, left.p50, right.p50, rl_bench_ratio(report, rl_bench_grant_p50_us), two);
    snprintf(name, sizeof(name), "%s p99, us", what);
    print_row(name, left.p99, right.p99, rl_bench_ratio(report, rl_bench_grant_p99_us), two);
    snprintf(name, sizeof(name), "%s p99.9, us", what);
    print_row(name, left.p999, right.p999, RL_BENCH_NOT_MEASURED, two);
    snprintf(name, sizeof(name), "%s max, us", what);
    print_row(name, left.max, right.max, RL_BENCH_NOT_MEASURED, two);
}

/* "1 node", "5 nodes" */
static void print_count(long long count, const char *what) {
    printf("%lld %s%s", count, what, count == 1 ? "" : "s");
}

static void print_head(const struct rl_bench_report *report) {
    const struct rl_bench_options *options = report->options;
    printf("redlock-bench %s: %s, ", redlock_version(), rl_bench_workload_name(options->workload));
    print_count((long long)report->n_nodes, "node");
    printf("%s, ", options->n_nodes == 0 ? " started here" : "");
    if (options->workload == RL_BENCH_CONTEND) {
        print_count(options->clients, "client");
        if (options->in_flight > 1) {
            printf(" with %lld locks each", options->in_flight);
        }
        printf(", held for %lld ms, ttl %lld ms", options->hold_ms, options->ttl_ms);
    } else if (options->workload == RL_BENCH_LINE) {
        printf("ttl %lld ms", options->ttl_ms);
    } else {
        printf("%lld in flight, ttl %lld ms", options->in_flight, options->ttl_ms);
    }
    if (options->distance_ms > 0) {
        printf(", each connection 0 to %lld ms away", options->distance_ms);
    }
    if (options->workload <= RL_BENCH_STOPPED) {
        printf(", %lld x %g s", options->slices, options->seconds);
    }
    printf("\n\n");
}

static void print_columns(const struct rl_bench_report *report) {
    printf("%-28s%*s", "", COLUMN, report->series[0].name);
    if (has_two(report)) {
        printf("%*s%*s", COLUMN, report->series[1].name, COLUMN, "ratio");
    }
    printf("\n");
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

static void print_costs(const struct rl_bench_report *report) {
    print_metric(report, "client CPU, us/lock", rl_bench_cpu_us_per_lock, false);
    if (report->options->n_nodes == 0) {
        print_metric(report, "CPU of all nodes, us/lock", rl_bench_node_cpu_us_per_lock, false);
    }
    print_metric(report, "library allocations/lock", rl_bench_allocations_per_lock, true);
    print_metric(report, "mallocs/lock, all", rl_bench_mallocs_per_lock, false);
    print_metric(report, "attempts/grant", rl_bench_attempts_per_grant, true);
}

static void print_fences(const struct rl_bench_report *report) {
    if (report->options->fencing != RL_BENCH_OFF) {
        print_metric(report, "second rounds, % of fences", rl_bench_raised_percent, true);
    }
}

static void print_cycle(const struct rl_bench_report *report) {
    print_columns(report);
    print_metric(report, "locks/s", rl_bench_locks_per_s, false);
    print_latency(report, "grant");
    print_costs(report);
    print_fences(report);
    if (report->options->baseline != RL_BENCH_BASELINE_NONE) {
        printf(
            "\nbare fan-out: the same commands to all nodes over hiredis and its libuv "
            "adapter,\nwaiting for every node, without lock logic. Its grant is the wait for the "
            "last answer\nto SET. Ratios: median over %lld pairs of slices.\n",
            report->options->slices);
    }
    if (report->options->workload == RL_BENCH_STOPPED) {
        printf(
            "\nstopped: by SIGSTOP, they accept connections and never answer. Ratios: median "
            "over\n%lld pairs of slices.\n",
            report->options->slices);
    }
}

static void print_contend(const struct rl_bench_report *report) {
    struct rl_bench_latency left = rl_bench_latency_of(&report->series[0], rl_bench_hand_over_of);
    struct rl_bench_latency right = rl_bench_latency_of(&report->series[1], rl_bench_hand_over_of);
    print_columns(report);
    print_metric(report, "hand-overs/s", rl_bench_hand_overs_per_s, false);
    print_metric(report, "grants/s", rl_bench_locks_per_s, false);
    print_latency(report, "wait");
    print_row("hand-over p50, us", left.p50, right.p50, RL_BENCH_NOT_MEASURED, has_two(report));
    print_row("hand-over p99, us", left.p99, right.p99, RL_BENCH_NOT_MEASURED, has_two(report));
    print_costs(report);
    print_metric(report, "commands/grant, all nodes", rl_bench_commands_per_grant, false);
    print_metric(report, "commands/s, all nodes", rl_bench_commands_per_s, false);
    print_metric(report, "won a part, % of attempts", rl_bench_parted_percent, false);
    print_metric(report, "split votes, % of attempts", rl_bench_split_percent, false);
    print_fences(report);
    printf("\n");
    for (size_t i = 0; i < 2 && report->series[i].n > 0; i++) {
        const struct rl_bench_series *series = &report->series[i];
        printf("%s: grants of one client: %llu to %llu. ", series->name,
               (unsigned long long)series->least_grants, (unsigned long long)series->most_grants);
    }
    printf("\n");
    if (report->violations == 0) {
        printf("Two holders at one time: never.\n");
    } else {
        printf("TWO HOLDERS AT ONE TIME: %llu times.\n", (unsigned long long)report->violations);
    }
}

static void print_bytes(const char *name, double library, double heap) {
    printf("%-28s%*.0f", name, COLUMN, library);
    if (isfinite(heap)) {
        printf("%*.0f", COLUMN, heap);
    }
    printf("\n");
}

static void print_memory(const struct rl_bench_report *report) {
    const struct rl_bench_memory_figures *figures = &report->memory;
    bool counted = figures->client_heap_bytes > 0;
    printf("%-28s%*s", "bytes", COLUMN, "libredlock");
    if (counted) {
        printf("%*s", COLUMN, "whole process");
    }
    printf("\n");
    print_bytes("per client, idle", figures->client_bytes,
                counted ? figures->client_heap_bytes : RL_BENCH_NOT_MEASURED);
    print_bytes("per lock object, not held", figures->lock_bytes, RL_BENCH_NOT_MEASURED);
    print_bytes("per held lock", figures->held_bytes,
                counted ? figures->held_heap_bytes : RL_BENCH_NOT_MEASURED);
    printf(
        "\n%zu locks held at one time, resources of %zu bytes. libredlock: what it asked its\n"
        "allocator for.%s\n",
        figures->locks, figures->key_length,
        counted ? " Whole process: hiredis, libuv and the heap's own overhead included." : "");
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
        printf("%-34s%12llu\n", "told too late", (unsigned long long)f->told_after.count);
        printf("%-34s%12.2f\n", "  by at most, ms", (double)f->told_after.max_ns / 1e6);
    }
}

static void print_line(const struct rl_bench_report *report) {
    const struct rl_bench_line_figures *f = &report->line;
    printf("%zu locks of one client wait for one resource\n\n", f->waiters);
    printf("%-34s%12.0f\n", "hand-overs per second", f->hand_overs_per_s);
    printf("%-34s%12.3f\n", "commands per hand-over on a node", f->commands_per_hand_over);
    printf("%-34s%12.1f\n", "client CPU, us per hand-over", f->cpu_us_per_hand_over);
}

void rl_bench_report_print_table(const struct rl_bench_report *report) {
    print_head(report);
    switch (report->options->workload) {
        case RL_BENCH_CONTEND:
            print_contend(report);
            break;
        case RL_BENCH_MEMORY:
            print_memory(report);
            break;
        case RL_BENCH_KEEP:
            print_keep(report);
            break;
        case RL_BENCH_LINE:
            print_line(report);
            break;
        default:
            print_cycle(report);
            break;
    }
    print_failures(report);
}
