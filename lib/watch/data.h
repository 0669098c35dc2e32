/* What lib/watch keeps in a client and in its locks. No functions. */
#ifndef RL_WATCH_DATA_H
#define RL_WATCH_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "redlock/redlock.h"

/* Identifies an acquire and its hold in traces and metrics: see span.h. */
struct rl_lock_span {
    uint64_t id;    /* redlock_event.acquire_id */
    uint32_t round; /* the last one before the acquire */
    bool joins;     /* the acquire was submitted during a hold, and has no span of its own */
    uint8_t label;  /* of metrics */
};

/* -- Metrics, see metrics.h -- */

#define RL_METRICS_BOUNDS 22

struct rl_histogram {
    uint64_t counts[RL_METRICS_BOUNDS + 1]; /* of each bucket alone */
    uint64_t sum_us;
};

struct rl_metrics_label {
    char name[REDLOCK_METRICS_LABEL_MAX + 1];
    struct rl_histogram wait, hold;
};

struct rl_metrics {
    redlock_metrics_label_cb label; /* NULL: all locks have the first label */
    void *label_data;
    uint32_t n_labels;                /* in use */
    struct rl_histogram *latency;     /* one for each node, behind the labels */
    struct rl_metrics_label labels[]; /* the first is for locks without another */
};

#endif
