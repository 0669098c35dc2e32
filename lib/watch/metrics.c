/* See metrics.h. */
#include "watch/metrics.h"

#include <assert.h>
#include <string.h>

static_assert(REDLOCK_METRICS_LABELS_MAX <= UINT8_MAX, "a lock keeps its label in a byte");

/* 1, 2.5 and 5 of each power of ten, from 100 us to 1000 s: a node's answer, a wait and a hold all
 * have their buckets there. */
const uint64_t rl_metrics_bounds_us[RL_METRICS_BOUNDS] = {
    100,      250,      500,       1000,      2500,      5000,      10000,   25000,
    50000,    100000,   250000,    500000,    1000000,   2500000,   5000000, 10000000,
    25000000, 50000000, 100000000, 250000000, 500000000, 1000000000};

bool rl_metrics_init(redlock_client *client, const redlock_client_options *o) {
    const size_t n_labels = o->metrics_label != NULL ? REDLOCK_METRICS_LABELS_MAX : 1;
    const size_t n_nodes = o->n_nodes;
    assert(client->metrics == NULL);
    if (!o->metrics) {
        return true;
    }
    struct rl_metrics *metrics = rl_alloc(&client->memory, 1,
                                          sizeof *metrics + n_labels * sizeof metrics->labels[0] +
                                              n_nodes * sizeof *metrics->latency);
    if (metrics == NULL) {
        return false;
    }
    metrics->label = o->metrics_label;
    metrics->label_data = o->metrics_label_data;
    metrics->latency = (struct rl_histogram *)(void *)(metrics->labels + n_labels);
    metrics->n_labels = 1;
    memcpy(metrics->labels[0].name, "other", sizeof "other");
    client->metrics = metrics;
    return true;
}

static uint8_t label_number(struct rl_metrics *metrics, const char *name) {
    const size_t length = name != NULL ? strnlen(name, REDLOCK_METRICS_LABEL_MAX + 1) : 0;
    if (length < 1 || length > REDLOCK_METRICS_LABEL_MAX) {
        return 0;
    }
    for (uint32_t i = 0; i < metrics->n_labels; i++) {
        if (strcmp(metrics->labels[i].name, name) == 0) {
            return (uint8_t)i;
        }
    }
    if (metrics->n_labels == REDLOCK_METRICS_LABELS_MAX) {
        return 0;
    }
    memcpy(metrics->labels[metrics->n_labels].name, name, length + 1);
    return (uint8_t)metrics->n_labels++;
}

void rl_metrics_label(redlock_lock *lock, const redlock_bytes *resource) {
    struct rl_metrics *metrics = lock->client->metrics;
    assert(resource->length > 0 && lock->span.label == 0);
    if (metrics != NULL && metrics->label != NULL) {
        const char *name = metrics->label(resource->data, resource->length, metrics->label_data);
        lock->span.label = label_number(metrics, name);
    }
}

static void count(struct rl_histogram *histogram, uint64_t ns) {
    uint32_t i = 0;
    while (i < RL_METRICS_BOUNDS && ns > rl_metrics_bounds_us[i] * 1000) {
        i++;
    }
    histogram->counts[i]++;
    histogram->sum_us += ns / 1000;
}

static struct rl_metrics_label *label_of(const redlock_lock *lock) {
    struct rl_metrics *metrics = lock->client->metrics;
    assert(metrics != NULL && lock->span.label < metrics->n_labels);
    return &metrics->labels[lock->span.label];
}

void rl_metrics_waited(redlock_lock *lock, uint64_t ns) {
    count(&label_of(lock)->wait, ns);
}

void rl_metrics_held(redlock_lock *lock, uint64_t ns) {
    count(&label_of(lock)->hold, ns);
}

void rl_metrics_answered(struct rl_client_node *place, const struct rl_request *request) {
    const redlock_client *client = place->client;
    assert(client->metrics != NULL && request->kind != RL_COMMAND_HANDSHAKE);
    count(&client->metrics->latency[place->index],
          rl_request_latency_ns(request, rl_io_step_ns(&client->io)));
}
