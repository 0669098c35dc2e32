/* See rates.h. */
#include "top/rates.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void add_latencies(struct rl_rate *rate, const struct rl_wire_clock *clock) {
    for (int i = 0; i < clock->n_samples; i++) {
        rate->latencies_ms[rate->n_latencies++ % RL_RATES_LATENCIES] = clock->samples_ms[i];
    }
}

static void add_node(struct rl_rate *rate, const struct rl_seen_node *node, uint64_t now_ns) {
    bool is_known = node->is_up && node->has_info;
    bool is_same = is_known && rate->run_id[0] != '\0' && strcmp(rate->run_id, node->run_id) == 0 &&
                   node->commands >= rate->commands && node->turns >= rate->turns &&
                   now_ns > rate->at_ns;
    double seconds = is_same ? (double)(now_ns - rate->at_ns) / 1e9 : 1;
    int64_t commands = node->commands - rate->commands - rate->asked;
    rate->commands_per_s = is_same ? (double)(commands > 0 ? commands : 0) / seconds : -1;
    rate->turns_per_s = is_same ? (double)(node->turns - rate->turns) / seconds : -1;
    rate->run_id[0] = '\0';
    if (is_known) {
        memcpy(rate->run_id, node->run_id, sizeof rate->run_id);
        rate->commands = node->commands;
        rate->turns = node->turns;
        rate->asked = node->asked; /* nearly all of it after INFO, and as much as each time */
        rate->at_ns = now_ns;
        add_latencies(rate, &node->clock);
    }
}

void rl_rates_add(struct rl_rates *rates, const struct rl_sweep *sweep, uint64_t now_ns) {
    assert(sweep->n <= REDLOCK_NODES_MAX);
    rates->turns_per_s = -1;
    for (size_t i = 0; i < sweep->n; i++) {
        struct rl_rate *rate = &rates->nodes[i];
        add_node(rate, &sweep->nodes[i], now_ns);
        if (rate->turns_per_s >= 0) {
            rates->turns_per_s =
                (rates->turns_per_s > 0 ? rates->turns_per_s : 0) + rate->turns_per_s;
        }
    }
}

static int compare(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

double rl_rates_latency_ms(const struct rl_rates *rates, size_t node, double part) {
    const struct rl_rate *rate = &rates->nodes[node];
    size_t n = rate->n_latencies < RL_RATES_LATENCIES ? rate->n_latencies : RL_RATES_LATENCIES;
    double sorted[RL_RATES_LATENCIES];
    if (n == 0) {
        return -1;
    }
    memcpy(sorted, rate->latencies_ms, n * sizeof sorted[0]);
    qsort(sorted, n, sizeof sorted[0], compare);
    size_t at = (size_t)(part * (double)n);
    return sorted[at < n ? at : n - 1];
}
