/* A histogram of durations: see histogram.h for purpose, use and failure modes.
 *
 * The bucket of a value with its highest bit at position b >= 8 is found by shifting it right by
 * b - 7: what is left is 128 to 255, and 128 for each shift are added. */
#include "histogram.h"

#include <assert.h>
#include <string.h>

static unsigned shift_of(uint64_t value) {
    return value < 256 ? 0 : (unsigned)(63 - __builtin_clzll(value)) - 7;
}

static size_t bucket_of(uint64_t value) {
    unsigned shift = shift_of(value);
    return (size_t)shift * 128 + (size_t)(value >> shift);
}

static uint64_t middle_of(size_t bucket) {
    assert(bucket < RL_BENCH_HIST_BUCKETS);
    if (bucket < 256) {
        return bucket;
    }
    unsigned shift = (unsigned)(bucket / 128) - 1;
    uint64_t low = (uint64_t)(bucket - (size_t)shift * 128) << shift;
    return low + (UINT64_C(1) << shift) / 2;
}

void rl_bench_hist_reset(struct rl_bench_hist *hist) {
    assert(hist != NULL);
    memset(hist, 0, sizeof(*hist));
}

void rl_bench_hist_record(struct rl_bench_hist *hist, uint64_t value_ns) {
    uint64_t capped = value_ns < RL_BENCH_HIST_MAX_NS ? value_ns : RL_BENCH_HIST_MAX_NS;
    size_t bucket = bucket_of(capped);
    assert(bucket < RL_BENCH_HIST_BUCKETS);
    hist->buckets[bucket]++;
    hist->count++;
    hist->max_ns = value_ns > hist->max_ns ? value_ns : hist->max_ns;
}

void rl_bench_hist_merge(struct rl_bench_hist *into, const struct rl_bench_hist *from) {
    assert(into != NULL && from != NULL);
    assert(into != from);
    for (size_t i = 0; i < RL_BENCH_HIST_BUCKETS; i++) {
        into->buckets[i] += from->buckets[i];
    }
    into->count += from->count;
    into->max_ns = from->max_ns > into->max_ns ? from->max_ns : into->max_ns;
}

uint64_t rl_bench_hist_percentile_ns(const struct rl_bench_hist *hist, double q) {
    assert(q >= 0 && q <= 1);
    uint64_t rank = (uint64_t)(q * (double)hist->count + 0.999999);
    uint64_t seen = 0;
    for (size_t i = 0; i < RL_BENCH_HIST_BUCKETS && hist->count > 0; i++) {
        seen += hist->buckets[i];
        if (seen >= rank && seen > 0) {
            uint64_t value = middle_of(i);
            return value < hist->max_ns ? value : hist->max_ns;
        }
    }
    return 0;
}
