/* See records.h. */
#include "records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAITERS_MAX 1000000

static int save(const struct rl_bench_records *records, const char *path, char *error,
                size_t error_size) {
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        snprintf(error, error_size, "%s: %s", path, strerror(errno));
        return -1;
    }
    for (size_t i = 0; i < records->n_stretches; i++) {
        const struct rl_bench_stretch *s = &records->stretches[i];
        fprintf(
            file, "slice %" PRIu64 " %" PRIu64 " %.0f %.0f %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
            s->from_ns, s->to_ns, s->cpu_us, s->node_cpu_us, s->attempts, s->commands, s->executed);
    }
    for (size_t i = 0; i < records->timeline.n; i++) {
        const struct rl_bench_wait *w = &records->timeline.waits[i];
        fprintf(file, "wait %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32 "%s",
                w->asked_ns, w->granted_ns, w->ended_ns, w->waiter, w->process,
                w->reads ? " 1" : "");
        if (w->slots != 0) {
            fprintf(file, " 0 %" PRIu64, w->slots);
        }
        fputc('\n', file);
    }
    if (fclose(file) != 0) {
        snprintf(error, error_size, "%s: %s", path, strerror(errno));
        return -1;
    }
    return 0;
}

/* Makes room for one more, doubling a full array. */
static void *grow(void *array, size_t n, size_t size) {
    bool is_full = (n & (n - 1)) == 0;
    return is_full ? realloc(array, (n > 0 ? 2 * n : 1) * size) : array;
}

static bool is_wait(const char *line, struct rl_bench_wait *w) {
    uint32_t reads = 0;
    *w = (struct rl_bench_wait){.asked_ns = 0};
    int fields = sscanf(
        line,
        "wait %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu64,
        &w->asked_ns, &w->granted_ns, &w->ended_ns, &w->waiter, &w->process, &reads, &w->slots);
    w->reads = reads == 1;
    return fields >= 5 && reads <= 1 && w->waiter < WAITERS_MAX &&
           (w->granted_ns == 0 || w->granted_ns >= w->asked_ns);
}

static bool is_stretch(const char *line, struct rl_bench_stretch *s) {
    *s = (struct rl_bench_stretch){.from_ns = 0};
    return sscanf(line, "slice %" SCNu64 " %" SCNu64 " %lf %lf %" SCNu64 " %" SCNu64 " %" SCNu64,
                  &s->from_ns, &s->to_ns, &s->cpu_us, &s->node_cpu_us, &s->attempts, &s->commands,
                  &s->executed) == 7 &&
           s->to_ns > s->from_ns;
}

/* 0, or -1: not a valid line, or no memory. */
static int take_line(struct rl_bench_records *records, const char *line) {
    struct rl_bench_timeline *timeline = &records->timeline;
    struct rl_bench_wait wait;
    struct rl_bench_stretch stretch;
    if (is_wait(line, &wait)) {
        struct rl_bench_wait *waits = grow(timeline->waits, timeline->n, sizeof(wait));
        if (waits == NULL) {
            return -1;
        }
        timeline->waits = waits;
        timeline->waits[timeline->n++] = wait;
        timeline->n_waiters =
            wait.waiter >= timeline->n_waiters ? wait.waiter + 1 : timeline->n_waiters;
        return 0;
    }
    if (is_stretch(line, &stretch) && records->n_stretches < RL_BENCH_SLICES_MAX) {
        void *grown = grow(records->stretches, records->n_stretches, sizeof(stretch));
        if (grown == NULL) {
            return -1;
        }
        records->stretches = grown;
        records->stretches[records->n_stretches++] = stretch;
        return 0;
    }
    return -1;
}

/* To be freed in any case. */
static int load(struct rl_bench_records *records, const char *path, char *error,
                size_t error_size) {
    char line[256];
    size_t number = 0;
    int result = 0;
    memset(records, 0, sizeof(*records));
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        snprintf(error, error_size, "%s: %s", path, strerror(errno));
        return -1;
    }
    while (result == 0 && fgets(line, sizeof(line), file) != NULL) {
        number++;
        result = take_line(records, line);
    }
    fclose(file);
    if (result != 0) {
        snprintf(error, error_size, "%s:%zu: neither a wait nor a slice", path, number);
    } else if (records->n_stretches == 0) {
        snprintf(error, error_size, "%s has no slice", path);
        result = -1;
    }
    return result;
}

void rl_bench_records_free(struct rl_bench_records *records) {
    free(records->stretches);
    free(records->timeline.waits);
    memset(records, 0, sizeof(*records));
}

/* -- Judging -- */

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
    return save(records, bench->options.save_records, bench->error, sizeof(bench->error));
}

int rl_bench_judge_file(struct rl_bench *bench) {
    struct rl_bench_records records;
    int result = load(&records, bench->options.records, bench->error, sizeof(bench->error));
    if (result == 0) {
        records.timeline.slack_ns = (uint64_t)bench->options.distance_ms * 1000000;
        result = rl_bench_judge(bench, 0, "records", &records);
    }
    rl_bench_records_free(&records);
    return result;
}
