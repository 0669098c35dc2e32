/* Prints the report (report.h), by the figures of figures.h. */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "figures.h"
#include "tool/json.h"

/* -- As a table -- */

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
    if (options->records != NULL) {
        printf("the records of %s\n\n", options->records);
        return;
    }
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
            printf("\n"); /* both sides have the first line */
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

/* -- As JSON -- */

/* The results of a side. */
static void put_side(struct tool_json *json, const struct rl_bench_report *report, size_t side) {
    const struct rl_bench_series *series = &report->series[side];
    uint64_t failed = 0;
    for (size_t i = 0; i < series->n; i++) {
        failed += series->slices[i].failed;
    }
    tool_json_open(json, NULL, '{');
    tool_json_put(json, JSON_TEXT("side", series->name));
    for (size_t i = 0; i < rl_bench_figures_count; i++) {
        const struct rl_bench_figure *figure = &rl_bench_figures[i];
        tool_json_put(json,
                      JSON_IF(rl_bench_figure_is_shown(figure, report),
                              JSON_REAL(figure->key, rl_bench_figure_value(figure, report, side))));
    }
    tool_json_put(json, JSON_INT("failed", failed),
                  JSON_IF(report->options->workload == RL_BENCH_CONTEND,
                          JSON_INT("least_grants_of_a_waiter", series->least_grants)),
                  JSON_IF(report->options->workload == RL_BENCH_CONTEND,
                          JSON_INT("most_grants_of_a_waiter", series->most_grants)),
                  JSON_IF(report->options->workload == RL_BENCH_CONTEND ||
                              report->options->workload == RL_BENCH_SHELLS,
                          JSON_INT("overlaps", series->overlaps)));
    tool_json_close(json);
}

/* The first side's to the second's. */
static void put_ratios(struct tool_json *json, const struct rl_bench_report *report) {
    tool_json_open(json, "ratios", '{');
    for (size_t i = 0; i < rl_bench_figures_count; i++) {
        const struct rl_bench_figure *figure = &rl_bench_figures[i];
        tool_json_put(json,
                      JSON_IF(rl_bench_figure_is_shown(figure, report) && figure->of_slice != NULL,
                              JSON_REAL(figure->key, rl_bench_figure_ratio(figure, report))));
    }
    tool_json_close(json);
}

static void put_slice(struct tool_json *json, const struct rl_bench_report *report, size_t side,
                      size_t number) {
    const struct rl_bench_slice *slice = &report->series[side].slices[number];
    tool_json_open(json, NULL, '{');
    tool_json_put(json, JSON_TEXT("side", report->series[side].name), JSON_INT("index", number),
                  JSON_INT("locks", slice->locks), JSON_INT("failed", slice->failed),
                  JSON_REAL("seconds", slice->seconds));
    for (size_t i = 0; i < rl_bench_figures_count; i++) {
        const struct rl_bench_figure *figure = &rl_bench_figures[i];
        tool_json_put(json,
                      JSON_IF(rl_bench_figure_is_shown(figure, report) && figure->of_slice != NULL,
                              JSON_REAL(figure->key, figure->of_slice(slice))));
    }
    tool_json_close(json);
}

static void put_slices(struct tool_json *json, const struct rl_bench_report *report) {
    tool_json_open(json, "sides", '[');
    for (size_t side = 0; side < 2 && report->series[side].n > 0; side++) {
        put_side(json, report, side);
    }
    tool_json_close(json);
    if (report->series[1].n > 0 && !report->is_mixed) {
        put_ratios(json, report);
    }
    tool_json_open(json, "slices", '[');
    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < report->series[side].n; i++) {
            put_slice(json, report, side, i);
        }
    }
    tool_json_close(json);
}

static void put_keep(struct tool_json *json, const struct rl_bench_keep_figures *figures) {
    tool_json_put(json, JSON_INT("locks", figures->locks), JSON_REAL("seconds", figures->seconds),
                  JSON_REAL("renewals_per_s", figures->renewals_per_s),
                  JSON_REAL("cpu_share", figures->cpu_share),
                  JSON_REAL("bytes_per_lock", figures->bytes_per_lock),
                  JSON_INT("unknown", figures->unknown), JSON_INT("lost", figures->lost),
                  JSON_INT("notified_in_time", figures->told_before.count),
                  JSON_REAL("notice_p50_ms",
                            (double)rl_bench_hist_percentile_ns(&figures->told_before, 0.5) / 1e6),
                  JSON_REAL("notice_p1_ms",
                            (double)rl_bench_hist_percentile_ns(&figures->told_before, 0.01) / 1e6),
                  JSON_INT("notified_late", figures->told_after.count),
                  JSON_REAL("notified_late_max_ms", (double)figures->told_after.max_ns / 1e6));
}

static void put_contenders(struct tool_json *json, const struct rl_bench_report *report) {
    const struct rl_bench_options *options = report->options;
    const struct rl_bench_hist *late = &report->late;
    if (options->workload == RL_BENCH_SHELLS) {
        tool_json_put(json, JSON_INT("shells", options->shells),
                      JSON_INT("work_ms", options->work_ms));
    } else {
        tool_json_put(json, JSON_INT("processes", options->processes),
                      JSON_TEXT("waiters_per_process", options->waiters),
                      JSON_INT("hold_ms", options->hold_ms),
                      JSON_INT("readers_percent", options->readers));
    }
    tool_json_put(
        json,
        JSON_IF(late->count > 0,
                JSON_REAL("late_p50_ms", (double)rl_bench_hist_percentile_ns(late, 0.5) / 1e6)),
        JSON_IF(late->count > 0,
                JSON_REAL("late_p99_ms", (double)rl_bench_hist_percentile_ns(late, 0.99) / 1e6)));
}

void rl_bench_report_print_json(const struct rl_bench_report *report) {
    const struct rl_bench_options *options = report->options;
    struct tool_json json =
        tool_json_begin(stdout, JSON_TEXT("workload", rl_bench_workload_name(options->workload)),
                        JSON_TEXT("version", redlock_version()), JSON_INT("nodes", report->n_nodes),
                        JSON_INT("ttl_ms", options->ttl_ms),
                        JSON_IF(options->permits > 0, JSON_INT("permits", options->permits)),
                        JSON_IF(options->permits > 0, JSON_INT("take", options->take)));
    if (options->workload == RL_BENCH_CONTEND || options->workload == RL_BENCH_SHELLS) {
        put_contenders(&json, report);
    } else {
        tool_json_put(&json, JSON_INT("in_flight", options->in_flight));
    }
    if (options->workload == RL_BENCH_KEEP) {
        put_keep(&json, &report->keep);
    } else {
        put_slices(&json, report);
    }
    tool_json_end(&json);
}
