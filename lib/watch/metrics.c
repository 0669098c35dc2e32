/* See metrics.h. */
#include "watch/metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "client/env.h"
#include "nodes/sets.h"

static_assert(REDLOCK_METRICS_LABELS_MAX <= UINT8_MAX, "a lock keeps its label in a byte");

/* 1, 2.5 and 5 times each power of ten, from 100 us to 1000 s, which suits a node's answer, a wait
 * and a hold. */
const uint64_t rl_metrics_bounds_us[RL_METRICS_BOUNDS] = {
    100,      250,      500,       1000,      2500,      5000,      10000,   25000,
    50000,    100000,   250000,    500000,    1000000,   2500000,   5000000, 10000000,
    25000000, 50000000, 100000000, 250000000, 500000000, 1000000000};

bool rl_metrics_init(redlock_client *client, const redlock_client_options *o) {
    const size_t n_labels = o->metrics_label != NULL ? REDLOCK_METRICS_LABELS_MAX : 1;
    assert(client->metrics == NULL);
    if (!o->metrics) {
        return true;
    }
    struct rl_metrics *metrics = rl_alloc(&client->memory, 1,
                                          sizeof *metrics + n_labels * sizeof metrics->labels[0] +
                                              RL_NODES_MAX * sizeof *metrics->latency);
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

void rl_metrics_joined(redlock_client *client, uint32_t node) {
    if (client->metrics != NULL) {
        client->metrics->latency[node] = (struct rl_histogram){.sum_us = 0};
    }
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

void rl_metrics_answered(struct rl_client_node *member, const struct rl_request *request) {
    const redlock_client *client = member->client;
    assert(client->metrics != NULL && request->kind != RL_COMMAND_HANDSHAKE);
    count(&client->metrics->latency[member->index],
          rl_request_latency_ns(request, rl_io_step_ns(&client->io)));
}

/* redlock_metrics_format(): see redlock/metrics.h.
 *
 * Both formats require one description for each metric, followed by all of its samples, so for
 * nodes and labels the outer loop is over the metrics. Numbers are formatted by hand where a locale
 * could insert a comma. Metrics that `redlock metrics` also prints have the same description there,
 * since node_exporter drops a metric with two descriptions.
 */

/* The text, and its full length even if the buffer is too small. */
struct text {
    const redlock_client *client;
    char *buffer;
    size_t size;
    size_t length;
    bool is_open; /* OpenMetrics */
};

/* -- Writing -- */

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *text, const char *format, ...) {
    const bool has_room = text->length < text->size;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(has_room ? text->buffer + text->length : NULL,
                                 has_room ? text->size - text->length : 0, format, arguments);
    va_end(arguments);
    assert(length >= 0); /* it formats only bytes and integers */
    text->length += length > 0 ? (size_t)length : 0;
}

/* Writes a label's value, escaped. */
static void put_escaped(struct text *text, const char *value) {
    for (const char *at = value; *at != '\0'; at++) {
        if (*at == '\n') {
            put(text, "\\n");
        } else {
            put(text, "%s%c", *at == '"' || *at == '\\' ? "\\" : "", *at);
        }
    }
}

/* name: a counter's name without _total, which OpenMetrics has only in the samples. */
static void describe(struct text *text, const char *name, const char *type, const char *help) {
    const char *end = strcmp(type, "counter") == 0 && !text->is_open ? "_total" : "";
    assert(strstr(name, "_total") == NULL);
    put(text, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, end, help, name, end, type);
}

/* "name{client="...",node="...",", without the brace at its end; label: NULL for none. */
static void begin(struct text *text, const char *name, const char *label, const char *value) {
    const char *own = text->client->client_name;
    put(text, "%s{client=\"", name);
    put_escaped(text, own);
    put(text, "\"");
    if (label != NULL) {
        put(text, ",%s=\"", label);
        put_escaped(text, value);
        put(text, "\"");
    }
}

static void put_seconds(struct text *text, uint64_t us) {
    put(text, "%" PRIu64, us / 1000000);
    if (us % 1000000 != 0) {
        put(text, ".%06u", (unsigned)(us % 1000000));
    }
}

static void put_count(struct text *text, const char *name, uint64_t value) {
    begin(text, name, NULL, NULL);
    put(text, "} %" PRIu64 "\n", value);
}

/* Both formats need cumulative counts of the buckets. */
static void put_histogram(struct text *text, const char *name, const char *label, const char *value,
                          const struct rl_histogram *histogram) {
    static const char *const parts[] = {"_bucket", "_sum", "_count"};
    char full[64];
    uint64_t sum = 0;
    assert(strlen(name) + sizeof "_bucket" <= sizeof full);
    snprintf(full, sizeof full, "%s%s", name, parts[0]);
    for (uint32_t i = 0; i <= RL_METRICS_BOUNDS; i++) {
        sum += histogram->counts[i];
        begin(text, full, label, value);
        put(text, ",le=\"");
        if (i < RL_METRICS_BOUNDS) {
            put_seconds(text, rl_metrics_bounds_us[i]);
        } else {
            put(text, "+Inf");
        }
        put(text, "\"} %" PRIu64 "\n", sum);
    }
    snprintf(full, sizeof full, "%s%s", name, parts[1]);
    begin(text, full, label, value);
    put(text, "} ");
    put_seconds(text, histogram->sum_us);
    snprintf(full, sizeof full, "%s%s", name, parts[2]);
    put(text, "\n");
    begin(text, full, label, value);
    put(text, "} %" PRIu64 "\n", sum);
}

/* -- Metrics of the client -- */

struct scalar {
    const char *name; /* of a counter without _total */
    const char *help; /* NULL: the same metric as before, with another label value */
    size_t offset;    /* in redlock_stats */
    const char *label, *value;
    bool is_gauge;
};

#define FIELD(name) offsetof(redlock_stats, name)

static const struct scalar scalars[] = {
    {"redlock_acquires_submitted", "Acquires that the program has asked for", FIELD(acquires), NULL,
     NULL, false},
    {"redlock_acquires", "Acquires that ended, by outcome", FIELD(granted), "outcome", "granted",
     false},
    {"redlock_acquires", NULL, FIELD(held_by_another), "outcome", "held", false},
    {"redlock_acquires", NULL, FIELD(no_quorum), "outcome", "no_quorum", false},
    {"redlock_acquires", NULL, FIELD(expired), "outcome", "expired", false},
    {"redlock_acquires", NULL, FIELD(deadline), "outcome", "deadline", false},
    {"redlock_acquires", NULL, FIELD(canceled), "outcome", "canceled", false},
    {"redlock_attempts", "Attempts to acquire, each one round to the nodes", FIELD(attempts), NULL,
     NULL, false},
    {"redlock_losses", "Holds that ended by themselves, by cause", FIELD(lost_expired), "cause",
     "expired", false},
    {"redlock_losses", NULL, FIELD(lost_gone), "cause", "gone", false},
    {"redlock_losses", NULL, FIELD(lost_max_hold), "cause", "max_hold", false},
    {"redlock_losses", NULL, FIELD(lost_silent), "cause", "silent", false},
    {"redlock_extensions", "Extensions that ended, by outcome", FIELD(renewed), "outcome",
     "renewed", false},
    {"redlock_extensions", NULL, FIELD(extend_failed), "outcome", "failed", false},
    {"redlock_extensions_late", "Extensions with less than a quarter of the validity left",
     FIELD(renewed_late), NULL, NULL, false},
    {"redlock_releases", "Releases that a quorum has confirmed", FIELD(released), NULL, NULL,
     false},
    {"redlock_releases_retried", "Pending releases that were answered", FIELD(releases_retried),
     NULL, NULL, false},
    {"redlock_releases_dropped", "Pending releases given up", FIELD(releases_dropped), NULL, NULL,
     false},
    {"redlock_repairs", "Keys restored on nodes", FIELD(repaired), NULL, NULL, false},
    {"redlock_late_votes", "Answers to rounds that were over", FIELD(late_votes), NULL, NULL,
     false},
    {"redlock_fences", "Acquires granted with a fence", FIELD(fenced), NULL, NULL, false},
    {"redlock_fence_rounds", "Fences that needed a second round", FIELD(raised), NULL, NULL, false},
    {"redlock_shared_holds", "Acquires that joined a hold of their owner", FIELD(shared), NULL,
     NULL, false},
    {"redlock_handoffs", "Turns passed to the next lock of this client", FIELD(handoffs), NULL,
     NULL, false},
    {"redlock_joins", "Places taken in lines of all clients", FIELD(joins), NULL, NULL, false},
    {"redlock_turns", "Turns that came in lines of all clients", FIELD(turns), NULL, NULL, false},
    {"redlock_turns_missed", "Turns that did not end in a grant", FIELD(turns_missed), NULL, NULL,
     false},
    {"redlock_lock_objects", "Lock objects", FIELD(locks), NULL, NULL, true},
    {"redlock_held", "Locks held", FIELD(held), NULL, NULL, true},
    {"redlock_waiting", "Acquires that wait behind others", FIELD(waiting), NULL, NULL, true},
    {"redlock_places", "Places in lines of all clients", FIELD(places), NULL, NULL, true},
    {"redlock_pending_releases", "Releases that a node has not answered", FIELD(pending_releases),
     NULL, NULL, true},
    {"redlock_nodes_up", "Nodes that can be sent to", FIELD(nodes_up), NULL, NULL, true},
    {"redlock_nodes_voting", "Nodes that may vote", FIELD(nodes_voting), NULL, NULL, true},
};

static void put_scalars(struct text *text, const redlock_stats *stats) {
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++) {
        const struct scalar *metric = &scalars[i];
        char name[64];
        uint64_t value;
        if (metric->help != NULL) {
            describe(text, metric->name, metric->is_gauge ? "gauge" : "counter", metric->help);
        }
        assert(metric->offset + sizeof value <= sizeof *stats);
        memcpy(&value, (const char *)stats + metric->offset, sizeof value);
        snprintf(name, sizeof name, "%s%s", metric->name, metric->is_gauge ? "" : "_total");
        begin(text, name, metric->label, metric->value);
        put(text, "} %" PRIu64 "\n", value);
    }
}

static uint32_t n_members(const redlock_client *client) {
    return rl_bits_count(rl_sides_all(&client->membership.sides));
}

static void put_client(struct text *text) {
    const redlock_client *client = text->client;
    redlock_stats stats = REDLOCK_STATS_INIT;
    const int status = redlock_client_stats(client, &stats);
    assert(status == 0);
    (void)status;
    describe(text, "redlock_build_info", "gauge", "The version of the library");
    begin(text, "redlock_build_info", "version", redlock_version());
    put(text, "} 1\n");
    describe(text, "redlock_nodes", "gauge", "Nodes");
    put_count(text, "redlock_nodes", n_members(client));
    describe(text, "redlock_quorum", "gauge", "Nodes that must vote for a grant");
    put_count(text, "redlock_quorum", rl_sets_votes_needed(client));
    put_scalars(text, &stats);
    describe(text, "redlock_handover_seconds", "counter", "From turns to their grants, summed up");
    begin(text, "redlock_handover_seconds_total", NULL, NULL);
    put(text, "} ");
    put_seconds(text, stats.handover_us);
    put(text, "\n");
}

/* -- Metrics of the nodes -- */

static const struct {
    const char *name; /* of a counter without _total */
    const char *help;
    bool is_gauge;
    uint8_t digits; /* 3: in thousandths */
} node_metrics[] = {
    {"redlock_node_up", "1 if the node answers", true, 0},
    {"redlock_node_voting", "1 if the node may vote", true, 0},
    {"redlock_node_quarantine_seconds", "Until the node votes, if it is in quarantine", true, 3},
    {"redlock_node_connects", "Handshakes that succeeded", false, 0},
    {"redlock_node_failures", "Connections that failed or were lost", false, 0},
    {"redlock_node_commands", "Commands sent", false, 0},
    {"redlock_node_outstanding", "Commands without an answer", true, 0},
    {"redlock_node_pending_releases", "Releases that the node has not answered", true, 0},
};

#define NODE_METRICS (sizeof node_metrics / sizeof node_metrics[0])

/* In the order of the table. */
static void node_values(const redlock_client *client, uint32_t node, uint64_t values[NODE_METRICS],
                        const char **name) {
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    const int status = redlock_client_node(client, node, &info);
    assert(status == 0 && info.votes_in_ms >= 0);
    (void)status;
    const uint64_t all[NODE_METRICS] = {
        (uint64_t)info.up, (uint64_t)info.voting, (uint64_t)info.votes_in_ms,
        info.connects,     info.failures,         info.requests,
        info.outstanding,  info.pending_releases};
    memcpy(values, all, sizeof all);
    *name = info.node;
}

static void put_nodes(struct text *text) {
    const redlock_client *client = text->client;
    uint64_t values[RL_NODES_MAX][NODE_METRICS];
    const char *names[RL_NODES_MAX];
    const uint32_t n = n_members(client);
    for (uint32_t node = 0; node < n; node++) {
        node_values(client, node, values[node], &names[node]);
    }
    for (size_t i = 0; i < NODE_METRICS; i++) {
        const bool is_gauge = node_metrics[i].is_gauge;
        char name[64];
        describe(text, node_metrics[i].name, is_gauge ? "gauge" : "counter", node_metrics[i].help);
        snprintf(name, sizeof name, "%s%s", node_metrics[i].name, is_gauge ? "" : "_total");
        for (uint32_t node = 0; node < n; node++) {
            begin(text, name, "node", names[node]);
            put(text, "} ");
            put_seconds(text, values[node][i] * (node_metrics[i].digits == 3 ? 1000 : 1000000));
            put(text, "\n");
        }
    }
}

/* -- Histograms -- */

static void put_labels(struct text *text, const char *name, bool is_wait) {
    const struct rl_metrics *metrics = text->client->metrics;
    assert(metrics->n_labels >= 1 && metrics->n_labels <= REDLOCK_METRICS_LABELS_MAX);
    for (uint32_t i = 0; i < metrics->n_labels; i++) {
        const struct rl_metrics_label *label = &metrics->labels[i];
        put_histogram(text, name, metrics->label != NULL ? "label" : NULL, label->name,
                      is_wait ? &label->wait : &label->hold);
    }
}

static void put_histograms(struct text *text) {
    const redlock_client *client = text->client;
    assert(client->metrics != NULL);
    describe(text, "redlock_wait_seconds", "histogram", "How long granted acquires waited");
    put_labels(text, "redlock_wait_seconds", true);
    describe(text, "redlock_hold_seconds", "histogram", "How long locks were held");
    put_labels(text, "redlock_hold_seconds", false);
    describe(text, "redlock_node_latency_seconds", "histogram",
             "From a command's writing to its answer, of each node alone");
    for (uint32_t i = 0; i < n_members(client); i++) {
        const uint32_t node = rl_bits_nth(rl_sides_all(&client->membership.sides), i);
        put_histogram(text, "redlock_node_latency_seconds", "node",
                      client->nodes[node]->node.url.name, &client->metrics->latency[node]);
    }
}

int redlock_metrics_format(const redlock_client *client, enum redlock_metrics_text format,
                           char *buffer, size_t size) {
    const int kind = (int)format;
    if (client == NULL || (buffer == NULL && size != 0) ||
        (kind != REDLOCK_METRICS_PROMETHEUS && kind != REDLOCK_METRICS_OPENMETRICS)) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(client, __func__);
    struct text text = {.client = client,
                        .buffer = buffer,
                        .size = size,
                        .is_open = kind == REDLOCK_METRICS_OPENMETRICS};
    put_client(&text);
    put_nodes(&text);
    if (client->metrics != NULL) {
        put_histograms(&text);
    }
    if (text.is_open) {
        put(&text, "# EOF\n");
    }
    assert(text.length <= INT32_MAX);
    return (int)text.length;
}
