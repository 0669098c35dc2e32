/* The report as one JSON object for machines. See report.h for what it is for, how it is used and
 * how it fails. Strings are constants of ours, so that nothing needs escaping. */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "report.h"

static void print_number(const char *key, double value) {
    if (isfinite(value)) {
        printf("\"%s\":%.10g", key, value);
    } else {
        printf("\"%s\":null", key);
    }
}

static void print_member(const char *key, double value) {
    printf(",\n  ");
    print_number(key, value);
}

static void print_latency(const char *key, const struct rl_bench_series *series,
                          rl_bench_hist_of *hist_of) {
    struct rl_bench_latency latency = rl_bench_latency_of(series, hist_of);
    printf(",\n  \"%s\":{", key);
    print_number("p50", latency.p50);
    printf(",");
    print_number("p99", latency.p99);
    printf(",");
    print_number("p999", latency.p999);
    printf(",");
    print_number("max", latency.max);
    printf("}");
}

static void print_slice(const struct rl_bench_series *series, size_t i) {
    const struct rl_bench_slice *slice = &series->slices[i];
    printf("%s\n    {\"side\":\"%s\",\"index\":%zu,\"locks\":%llu,\"failed\":%llu,",
           i == 0 ? "" : ",", series->name, i, (unsigned long long)slice->locks,
           (unsigned long long)slice->failed);
    print_number("seconds", slice->seconds);
    printf(",");
    print_number("locks_per_s", rl_bench_locks_per_s(slice));
    printf(",");
    print_number("grant_p50_us", rl_bench_grant_p50_us(slice));
    printf(",");
    print_number("grant_p99_us", rl_bench_grant_p99_us(slice));
    printf(",");
    print_number("client_cpu_us_per_lock", rl_bench_cpu_us_per_lock(slice));
    printf("}");
}

static void print_slices(const struct rl_bench_report *report) {
    printf(",\n  \"slices\":[");
    for (size_t side = 0; side < 2; side++) {
        const struct rl_bench_series *series = &report->series[side];
        printf("%s", side == 1 && series->n > 0 ? "," : "");
        for (size_t i = 0; i < series->n; i++) {
            print_slice(series, i);
        }
    }
    printf("\n  ]");
}

static void print_failed(const struct rl_bench_series *series) {
    uint64_t failed = 0;
    for (size_t i = 0; i < series->n; i++) {
        failed += series->slices[i].failed;
    }
    print_member("failed", (double)failed);
}

static void print_ours(const struct rl_bench_report *report) {
    const struct rl_bench_series *ours = &report->series[0];
    print_member("locks_per_s", rl_bench_median(ours, rl_bench_locks_per_s));
    print_latency("grant_us", ours, rl_bench_grant_of);
    print_member("client_cpu_us_per_lock", rl_bench_median(ours, rl_bench_cpu_us_per_lock));
    print_member("node_cpu_us_per_lock", rl_bench_median(ours, rl_bench_node_cpu_us_per_lock));
    print_member("allocations_per_lock", rl_bench_median(ours, rl_bench_allocations_per_lock));
    print_member("mallocs_per_lock", rl_bench_median(ours, rl_bench_mallocs_per_lock));
    print_member("attempts_per_grant", rl_bench_median(ours, rl_bench_attempts_per_grant));
    print_failed(ours);
}

static void print_raw(const struct rl_bench_report *report) {
    const struct rl_bench_series *raw = &report->series[1];
    bool cycle = report->options->baseline != RL_BENCH_BASELINE_NONE;
    print_member("ratio_to_raw",
                 cycle ? rl_bench_ratio(report, rl_bench_locks_per_s) : RL_BENCH_NOT_MEASURED);
    print_member("cpu_ratio_to_raw",
                 cycle ? rl_bench_ratio(report, rl_bench_cpu_us_per_lock) : RL_BENCH_NOT_MEASURED);
    print_member("grant_p50_ratio_to_raw",
                 cycle ? rl_bench_ratio(report, rl_bench_grant_p50_us) : RL_BENCH_NOT_MEASURED);
    if (cycle) {
        print_member("raw_locks_per_s", rl_bench_median(raw, rl_bench_locks_per_s));
        print_latency("raw_wait_for_all_us", raw, rl_bench_grant_of);
        print_member("raw_client_cpu_us_per_lock", rl_bench_median(raw, rl_bench_cpu_us_per_lock));
        print_member("raw_node_cpu_us_per_lock",
                     rl_bench_median(raw, rl_bench_node_cpu_us_per_lock));
        print_member("raw_mallocs_per_lock", rl_bench_median(raw, rl_bench_mallocs_per_lock));
    }
}

static void print_stopped(const struct rl_bench_report *report) {
    const struct rl_bench_series *healthy = &report->series[1];
    print_member("stopped_nodes", (double)report->options->stop_nodes);
    print_latency("healthy_grant_us", healthy, rl_bench_grant_of);
    print_member("healthy_locks_per_s", rl_bench_median(healthy, rl_bench_locks_per_s));
    print_member("p99_ratio_to_healthy", rl_bench_ratio(report, rl_bench_grant_p99_us));
}

/* One side of a comparison. */
static void print_side(const char *key, const struct rl_bench_series *series) {
    const struct {
        const char *key;
        rl_bench_metric *metric;
    } figures[] = {
        {"grants_per_s", rl_bench_locks_per_s},
        {"hand_overs_per_s", rl_bench_hand_overs_per_s},
        {"attempts_per_grant", rl_bench_attempts_per_grant},
        {"commands_per_grant", rl_bench_commands_per_grant},
        {"commands_per_s", rl_bench_commands_per_s},
        {"won_a_part_percent", rl_bench_parted_percent},
        {"split_votes_percent", rl_bench_split_percent},
        {"second_rounds_percent", rl_bench_raised_percent},
        {"wait_p50_us", rl_bench_grant_p50_us},
        {"wait_p99_us", rl_bench_grant_p99_us},
    };
    printf(",\n  \"%s\":{", key);
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        print_number(figures[i].key, rl_bench_median(series, figures[i].metric));
        printf(",");
    }
    print_number("wait_max_us", rl_bench_latency_of(series, rl_bench_grant_of).max);
    if (series->most_grants > 0) { /* contend */
        printf(",");
        print_number("least_grants_of_a_client", (double)series->least_grants);
        printf(",");
        print_number("most_grants_of_a_client", (double)series->most_grants);
    }
    printf("}");
}

static void print_contend(const struct rl_bench_report *report) {
    const struct rl_bench_series *ours = &report->series[0];
    print_member("clients", (double)report->options->clients);
    print_member("hand_overs_per_s", rl_bench_median(ours, rl_bench_hand_overs_per_s));
    print_latency("wait_us", ours, rl_bench_grant_of);
    print_latency("hand_over_us", ours, rl_bench_hand_over_of);
    print_member("least_grants_of_a_client", (double)ours->least_grants);
    print_member("most_grants_of_a_client", (double)ours->most_grants);
    print_member("violations", (double)report->violations);
    if (rl_bench_options_compare(report->options)) {
        print_side("with", ours);
        print_side("without", &report->series[1]);
        print_member("wait_p99_ratio", rl_bench_ratio(report, rl_bench_grant_p99_us));
        print_member("attempts_ratio", rl_bench_ratio(report, rl_bench_attempts_per_grant));
    }
}

static void print_memory(const struct rl_bench_memory_figures *figures) {
    bool counted = figures->client_heap_bytes > 0;
    print_member("locks", (double)figures->locks);
    print_member("resource_bytes", (double)figures->key_length);
    print_member("bytes_per_client", figures->client_bytes);
    print_member("bytes_per_lock_object", figures->lock_bytes);
    print_member("bytes_per_held_lock", figures->held_bytes);
    print_member("heap_bytes_per_client",
                 counted ? figures->client_heap_bytes : RL_BENCH_NOT_MEASURED);
    print_member("heap_bytes_per_held_lock",
                 counted ? figures->held_heap_bytes : RL_BENCH_NOT_MEASURED);
}

static void print_keep(const struct rl_bench_keep_figures *figures) {
    print_member("locks", (double)figures->locks);
    print_member("seconds", figures->seconds);
    print_member("renewals_per_s", figures->renewals_per_s);
    print_member("cpu_share", figures->cpu_share);
    print_member("bytes_per_lock", figures->bytes_per_lock);
    print_member("unknown", (double)figures->unknown);
    print_member("lost", (double)figures->lost);
    print_member("told_in_time", (double)figures->told_before.count);
    print_member("told_before_p50_ms",
                 (double)rl_bench_hist_percentile_ns(&figures->told_before, 0.5) / 1e6);
    print_member("told_before_p1_ms",
                 (double)rl_bench_hist_percentile_ns(&figures->told_before, 0.01) / 1e6);
    print_member("told_late", (double)figures->told_after.count);
    print_member("told_late_max_ms", (double)figures->told_after.max_ns / 1e6);
}

static void print_line(const struct rl_bench_line_figures *figures) {
    print_member("waiters", (double)figures->waiters);
    print_member("hand_overs_per_s", figures->hand_overs_per_s);
    print_member("commands_per_hand_over", figures->commands_per_hand_over);
    print_member("cpu_us_per_hand_over", figures->cpu_us_per_hand_over);
}

void rl_bench_report_print_json(const struct rl_bench_report *report) {
    const struct rl_bench_options *options = report->options;
    printf("{\n  \"workload\":\"%s\",\n  \"version\":\"%s\"",
           rl_bench_workload_name(options->workload), redlock_version());
    print_member("nodes", (double)report->n_nodes);
    print_member("in_flight", (double)options->in_flight);
    print_member("ttl_ms", (double)options->ttl_ms);
    if (options->workload == RL_BENCH_MEMORY) {
        print_memory(&report->memory);
    } else if (options->workload == RL_BENCH_KEEP) {
        print_keep(&report->keep);
    } else if (options->workload == RL_BENCH_LINE) {
        print_line(&report->line);
    } else {
        print_ours(report);
        print_raw(report);
    }
    if (options->workload == RL_BENCH_CYCLE && rl_bench_options_compare(options)) {
        print_side("with", &report->series[0]);
        print_side("without", &report->series[1]);
        print_member("locks_ratio", rl_bench_ratio(report, rl_bench_locks_per_s));
        print_member("grant_p50_ratio", rl_bench_ratio(report, rl_bench_grant_p50_us));
    }
    if (options->workload == RL_BENCH_STOPPED) {
        print_stopped(report);
    } else if (options->workload == RL_BENCH_CONTEND) {
        print_contend(report);
    }
    if (options->workload <= RL_BENCH_STOPPED) {
        print_slices(report);
    }
    printf("\n}\n");
}
