/* See judge.h. */
#include "judge.h"

#include <stdio.h>

/* 0, or -1 without memory. */
static int judge_slice(const struct rl_bench_records *records, enum rl_bench_kind kind, size_t i,
                       struct rl_bench_slice *slice) {
    const struct rl_bench_stretch *stretch = &records->stretches[i];
    slice->seconds = (double)(stretch->to_ns - stretch->from_ns) / 1e9;
    slice->cpu_us = stretch->cpu_us;
    slice->node_cpu_us = stretch->node_cpu_us;
    slice->attempts = stretch->attempts;
    slice->commands = stretch->commands;
    slice->executed = stretch->executed;
    rl_bench_timeline_slice(&records->timeline, kind, stretch->from_ns, stretch->to_ns, slice);
    return rl_bench_timeline_use(&records->timeline, stretch->from_ns, stretch->to_ns, slice);
}

/* 0, or -1 without memory. */
static int judge_kind(struct rl_bench_series *series, enum rl_bench_kind kind, const char *name,
                      const struct rl_bench_records *records) {
    const struct rl_bench_stretch *last = &records->stretches[records->n_stretches - 1];
    series->name = name;
    series->is_library = true;
    series->n = records->n_stretches;
    for (size_t i = 0; i < series->n; i++) {
        if (judge_slice(records, kind, i, &series->slices[i]) != 0) {
            return -1;
        }
    }
    return rl_bench_timeline_extremes(&records->timeline, kind, records->stretches[0].from_ns,
                                      last->to_ns, &series->least_grants, &series->most_grants);
}

int rl_bench_judge(struct rl_bench *bench, size_t side, const char *name,
                   struct rl_bench_records *records) {
    struct rl_bench_series *series = &bench->report.series[side];
    records->timeline.permits = (uint32_t)bench->options.permits;
    records->timeline.take = (uint32_t)bench->options.take;
    int result = rl_bench_timeline_open(&records->timeline);
    if (result == 0 && records->timeline.is_mixed && side == 0) {
        bench->report.is_mixed = true;
        result = judge_kind(&bench->report.series[0], RL_BENCH_READERS, "readers", records);
        result = result == 0
                     ? judge_kind(&bench->report.series[1], RL_BENCH_WRITERS, "writers", records)
                     : result;
    } else if (result == 0) {
        result = judge_kind(series, RL_BENCH_ALL, name, records);
    }
    if (result != 0) {
        snprintf(bench->error, sizeof(bench->error), "out of memory");
        return -1;
    }
    /* Separate locks may be held at the same time. */
    series->overlaps = bench->options.apart ? 0 : records->timeline.overlaps;
    if (side > 0 || bench->options.save_records == NULL) {
        return 0;
    }
    return rl_bench_records_save(records, bench->options.save_records, bench->error,
                                 sizeof(bench->error));
}

int rl_bench_judge_file(struct rl_bench *bench) {
    struct rl_bench_records records;
    int result =
        rl_bench_records_load(&records, bench->options.records, bench->error, sizeof(bench->error));
    if (result == 0) {
        records.timeline.slack_ns = (uint64_t)bench->options.distance_ms * 1000000;
        result = rl_bench_judge(bench, 0, "records", &records);
    }
    rl_bench_records_free(&records);
    return result;
}
