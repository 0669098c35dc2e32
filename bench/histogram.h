/* A histogram of durations with an error below 0.4 %, whatever their size.
 *
 * Happy path: reset, record any number of nanoseconds, ask for percentiles; several histograms add
 * up by merge. Values below 256 have a bucket each; above, each power of two is cut into 128
 * buckets, and a percentile is the middle of its bucket. Recording is one increment.
 *
 * Failure modes: a value above RL_BENCH_HIST_MAX_NS (about 73 minutes) counts as that value; the
 * maximum is kept separately and is exact. Nothing allocates, nothing fails.
 *
 * Used for grant latencies and waits of redlock-bench. */
#ifndef RL_BENCH_HISTOGRAM_H
#define RL_BENCH_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define RL_BENCH_HIST_MAX_NS ((UINT64_C(1) << 42) - 1)
#define RL_BENCH_HIST_BUCKETS (36 * 128)

struct rl_bench_hist {
    uint64_t count;
    uint64_t max_ns; /* exact */
    uint64_t buckets[RL_BENCH_HIST_BUCKETS];
};

void rl_bench_hist_reset(struct rl_bench_hist *hist);
void rl_bench_hist_record(struct rl_bench_hist *hist, uint64_t value_ns);
void rl_bench_hist_merge(struct rl_bench_hist *into, const struct rl_bench_hist *from);

/* The duration that the share q (0 to 1) of all values does not exceed; 0 without values. */
uint64_t rl_bench_hist_percentile_ns(const struct rl_bench_hist *hist, double q);

#endif /* RL_BENCH_HISTOGRAM_H */
