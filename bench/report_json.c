/* See report_json.h. */
#include "report_json.h"

#include <stdio.h>

#include "figures.h"
#include "tool/json.h"

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
    tool_json_close(json, '}');
}

/* Of the first side to the second. */
static void put_ratios(struct tool_json *json, const struct rl_bench_report *report) {
    tool_json_open(json, "ratios", '{');
    for (size_t i = 0; i < rl_bench_figures_count; i++) {
        const struct rl_bench_figure *figure = &rl_bench_figures[i];
        tool_json_put(json,
                      JSON_IF(rl_bench_figure_is_shown(figure, report) && figure->of_slice != NULL,
                              JSON_REAL(figure->key, rl_bench_figure_ratio(figure, report))));
    }
    tool_json_close(json, '}');
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
    tool_json_close(json, '}');
}

static void put_slices(struct tool_json *json, const struct rl_bench_report *report) {
    tool_json_open(json, "sides", '[');
    for (size_t side = 0; side < 2 && report->series[side].n > 0; side++) {
        put_side(json, report, side);
    }
    tool_json_close(json, ']');
    if (report->series[1].n > 0 && !report->is_mixed) {
        put_ratios(json, report);
    }
    tool_json_open(json, "slices", '[');
    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < report->series[side].n; i++) {
            put_slice(json, report, side, i);
        }
    }
    tool_json_close(json, ']');
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
    struct tool_json json = {.file = stdout};
    tool_json_open(&json, NULL, '{');
    tool_json_put(&json, JSON_TEXT("workload", rl_bench_workload_name(options->workload)),
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
    tool_json_close(&json, '}');
    tool_json_end(&json);
}
