/* See report_json.h. */
#include "report_json.h"

#include <stdio.h>

#include "figures.h"
#include "tool/json.h"

/* What a side has come to. */
static void put_side(struct tool_json *json, const struct rl_bench_report *report, size_t side) {
    const struct rl_bench_series *series = &report->series[side];
    uint64_t failed = 0;
    for (size_t i = 0; i < series->n; i++) {
        failed += series->slices[i].failed;
    }
    tool_json_open(json, NULL, '{');
    tool_json_text(json, "side", series->name);
    for (size_t i = 0; i < rl_bench_figures_count; i++) {
        const struct rl_bench_figure *figure = &rl_bench_figures[i];
        if (rl_bench_figure_is_shown(figure, report)) {
            tool_json_real(json, figure->key, rl_bench_figure_value(figure, report, side));
        }
    }
    tool_json_number(json, "failed", (int64_t)failed);
    if (report->options->workload == RL_BENCH_CONTEND) {
        tool_json_number(json, "least_grants_of_a_waiter", (int64_t)series->least_grants);
        tool_json_number(json, "most_grants_of_a_waiter", (int64_t)series->most_grants);
    }
    if (report->options->workload == RL_BENCH_CONTEND ||
        report->options->workload == RL_BENCH_SHELLS) {
        tool_json_number(json, "overlaps", (int64_t)series->overlaps);
    }
    tool_json_close(json, '}');
}

/* Of the first side to the second. */
static void put_ratios(struct tool_json *json, const struct rl_bench_report *report) {
    tool_json_open(json, "ratios", '{');
    for (size_t i = 0; i < rl_bench_figures_count; i++) {
        const struct rl_bench_figure *figure = &rl_bench_figures[i];
        if (rl_bench_figure_is_shown(figure, report) && figure->of_slice != NULL) {
            tool_json_real(json, figure->key, rl_bench_figure_ratio(figure, report));
        }
    }
    tool_json_close(json, '}');
}

static void put_slice(struct tool_json *json, const struct rl_bench_report *report, size_t side,
                      size_t number) {
    const struct rl_bench_slice *slice = &report->series[side].slices[number];
    tool_json_open(json, NULL, '{');
    tool_json_text(json, "side", report->series[side].name);
    tool_json_number(json, "index", (int64_t)number);
    tool_json_number(json, "locks", (int64_t)slice->locks);
    tool_json_number(json, "failed", (int64_t)slice->failed);
    tool_json_real(json, "seconds", slice->seconds);
    for (size_t i = 0; i < rl_bench_figures_count; i++) {
        const struct rl_bench_figure *figure = &rl_bench_figures[i];
        if (rl_bench_figure_is_shown(figure, report) && figure->of_slice != NULL) {
            tool_json_real(json, figure->key, figure->of_slice(slice));
        }
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
    tool_json_number(json, "locks", (int64_t)figures->locks);
    tool_json_real(json, "seconds", figures->seconds);
    tool_json_real(json, "renewals_per_s", figures->renewals_per_s);
    tool_json_real(json, "cpu_share", figures->cpu_share);
    tool_json_real(json, "bytes_per_lock", figures->bytes_per_lock);
    tool_json_number(json, "unknown", (int64_t)figures->unknown);
    tool_json_number(json, "lost", (int64_t)figures->lost);
    tool_json_number(json, "notified_in_time", (int64_t)figures->told_before.count);
    tool_json_real(json, "notice_p50_ms",
                   (double)rl_bench_hist_percentile_ns(&figures->told_before, 0.5) / 1e6);
    tool_json_real(json, "notice_p1_ms",
                   (double)rl_bench_hist_percentile_ns(&figures->told_before, 0.01) / 1e6);
    tool_json_number(json, "notified_late", (int64_t)figures->told_after.count);
    tool_json_real(json, "notified_late_max_ms", (double)figures->told_after.max_ns / 1e6);
}

static void put_contenders(struct tool_json *json, const struct rl_bench_report *report) {
    const struct rl_bench_options *options = report->options;
    const struct rl_bench_hist *late = &report->late;
    if (options->workload == RL_BENCH_SHELLS) {
        tool_json_number(json, "shells", options->shells);
        tool_json_number(json, "work_ms", options->work_ms);
    } else {
        tool_json_number(json, "processes", options->processes);
        tool_json_text(json, "waiters_per_process", options->waiters);
        tool_json_number(json, "hold_ms", options->hold_ms);
        tool_json_number(json, "readers_percent", options->readers);
    }
    if (late->count > 0) {
        tool_json_real(json, "late_p50_ms", (double)rl_bench_hist_percentile_ns(late, 0.5) / 1e6);
        tool_json_real(json, "late_p99_ms", (double)rl_bench_hist_percentile_ns(late, 0.99) / 1e6);
    }
}

void rl_bench_report_print_json(const struct rl_bench_report *report) {
    const struct rl_bench_options *options = report->options;
    struct tool_json json = {.file = stdout};
    tool_json_open(&json, NULL, '{');
    tool_json_text(&json, "workload", rl_bench_workload_name(options->workload));
    tool_json_text(&json, "version", redlock_version());
    tool_json_number(&json, "nodes", (int64_t)report->n_nodes);
    tool_json_number(&json, "ttl_ms", options->ttl_ms);
    if (options->permits > 0) {
        tool_json_number(&json, "permits", options->permits);
        tool_json_number(&json, "take", options->take);
    }
    if (options->workload == RL_BENCH_CONTEND || options->workload == RL_BENCH_SHELLS) {
        put_contenders(&json, report);
    } else {
        tool_json_number(&json, "in_flight", options->in_flight);
    }
    if (options->workload == RL_BENCH_KEEP) {
        put_keep(&json, &report->keep);
    } else {
        put_slices(&json, report);
    }
    tool_json_close(&json, '}');
    tool_json_end(&json);
}
