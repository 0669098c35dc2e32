/* redlock_metrics_format() on real nodes: what is counted, how it is written, whose labels. And the
 * latency of nodes: each one's own. */

#include "live/live.h"

#define TTL_MS 30000
#define TEXT_MAX 262144

/* -- Reading -- */

static char *format(const redlock_client *client, enum redlock_metrics_text text) {
    static char buffer[TEXT_MAX];
    const int length = redlock_metrics_format(client, text, buffer, sizeof buffer);
    assert_in_range(length, 1, TEXT_MAX - 1);
    assert_int_equal(strlen(buffer), length);
    return buffer;
}

/* Of the sample that begins so, braces and all; it must be there once. */
static const char *find_in(const char *text, const char *sample) {
    const size_t length = strlen(sample);
    const char *found = NULL;
    for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, sample, length) == 0 && at[length] == ' ') {
            assert_null(found);
            found = at + length;
        }
        if (*at == '\0') {
            break;
        }
    }
    if (found == NULL) {
        fail_msg("there is no sample %s in\n%s", sample, text);
    }
    return found;
}

/* A count. */
static long long value_in(const char *text, const char *sample) {
    char *end;
    const long long value = strtoll(find_in(text, sample), &end, 10);
    assert_int_equal(*end, '\n');
    return value;
}

static long long value(const redlock_client *client, const char *sample) {
    return value_in(format(client, REDLOCK_METRICS_PROMETHEUS), sample);
}

#define METRIC(name) "redlock_" name "{client=\"redlock\"}"
#define OUTCOME(name) "redlock_acquires_total{client=\"redlock\",outcome=\"" name "\"}"

static redlock_client *open_with_metrics(struct live *live, redlock_metrics_label_cb label) {
    redlock_client_options options = live_options(live);
    redlock_client *client;
    options.metrics = 1;
    options.metrics_label = label;
    LIVE_STATUS(live_open(live, &options, &client), 0);
    LIVE_UNTIL(live, live_up(client) == live->n);
    return client;
}

/* -- Counters and gauges -- */

LIVE_TEST_FIVE(counts) {
    redlock_client *other = open_with_metrics(live, NULL);
    redlock_lock *lock = live_lock(live->client, "counts"), *late = live_lock(other, "counts");
    redlock_acquire_options once = live_once(TTL_MS);
    live_hold(live, lock, &once);
    LIVE_STATUS(live_acquire(live, late, &once), REDLOCK_ERR_HELD);
    assert_int_equal(value(live->client, OUTCOME("granted")), 1);
    assert_int_equal(value(live->client, METRIC("held")), 1);
    assert_int_equal(value(live->client, METRIC("nodes_voting")), 5);
    assert_int_equal(value(live->client, METRIC("quorum")), 3);
    assert_int_equal(value(other, OUTCOME("held")), 1);
    assert_int_equal(value(other, OUTCOME("granted")), 0);
    LIVE_STATUS(live_release(live, lock), 0);
    assert_int_equal(value(live->client, METRIC("releases_total")), 1);
    assert_int_equal(value(live->client, METRIC("held")), 0);
    assert_null(strstr(format(live->client, REDLOCK_METRICS_PROMETHEUS), "_bucket"));
    assert_null(strstr(format(other, REDLOCK_METRICS_PROMETHEUS), "counts\""));
    live_close(live, other);
}

LIVE_TEST_FIVE(nodes) {
    char up[128], voting[128], commands[128];
    const char *name = strchr(live->urls[2], '/') + 2;
    snprintf(up, sizeof up, "redlock_node_up{client=\"redlock\",node=\"%s\"}", name);
    snprintf(voting, sizeof voting, "redlock_node_voting{client=\"redlock\",node=\"%s\"}", name);
    snprintf(commands, sizeof commands,
             "redlock_node_commands_total{client=\"redlock\",node=\"%s\"}", name);
    redlock_lock *lock = live_lock(live->client, "nodes");
    redlock_acquire_options once = live_once(TTL_MS);
    live_hold(live, lock, &once);
    assert_int_equal(value(live->client, up) == 1 && value(live->client, voting), 1);
    assert_true(value(live->client, commands) >= 1);
    live_kill(live, 2);
    LIVE_UNTIL(live, live_up(live->client) == 4);
    assert_int_equal(value(live->client, up) == 0 && value(live->client, voting), 0);
    assert_int_equal(value(live->client, METRIC("nodes_voting")), 4);
    assert_int_equal(value(live->client, METRIC("nodes")), 5);
    live_restart(live, 2); /* so that no pending release delays the end */
}

/* Losses by deleted keys and by max_hold_ms, and a renewal that came late. */
LIVE_TEST_FIVE(losses) {
    redlock_acquire_options options = live_once(2000);
    redlock_lock *lock = live_lock(live->client, "gone");
    live_hold(live, lock, &options);
    LIVE_STATUS(live_extend(live, lock, 0), 0);
    assert_int_equal(live_stats(live->client).renewed_late, 0);
    live_block_until(redlock_lock_valid_until_ns(lock) - 300 * LIVE_MS);
    if (live_extend(live, lock, 0) == 0) { /* unless the machine stalled */
        assert_int_equal(live_stats(live->client).renewed_late, 1);
        assert_int_equal(value(live->client, METRIC("extensions_late_total")), 1);
        live_tell_all(live, "DEL gone");
        LIVE_STATUS(live_extend(live, lock, 0), REDLOCK_ERR_LOST);
    }
    options.auto_extend = 1;
    options.max_hold_ms = 50;
    redlock_lock *brief = live_lock(live->client, "brief");
    live_hold(live, brief, &options);
    LIVE_UNTIL(live, live_stats(live->client).lost == 2);
    const redlock_stats stats = live_stats(live->client);
    assert_int_equal(stats.lost_gone + stats.lost_expired, 1);
    assert_int_equal(stats.lost_max_hold, 1);
    assert_true(
        value(live->client, "redlock_losses_total{client=\"redlock\",cause=\"max_hold\"}") == 1);
}

/* -- The text -- */

LIVE_TEST_FIVE(contract) {
    redlock_client *client = open_with_metrics(live, NULL);
    const int length = redlock_metrics_format(client, REDLOCK_METRICS_OPENMETRICS, NULL, 0);
    assert_in_range(length, 1000, 32767);
    char *whole = malloc((size_t)length + 1), *part = malloc((size_t)length + 2);
    assert_non_null(whole);
    assert_non_null(part);
    assert_int_equal(
        redlock_metrics_format(client, REDLOCK_METRICS_OPENMETRICS, whole, (size_t)length + 1),
        length);
    assert_int_equal(strlen(whole), length);
    for (size_t size = 1; size <= (size_t)length + 1; size += size < 300 ? 1 : 97) {
        memset(part, '@', (size_t)length + 2);
        assert_int_equal(redlock_metrics_format(client, REDLOCK_METRICS_OPENMETRICS, part, size),
                         length);
        assert_int_equal(part[size - 1], '\0');
        assert_int_equal(part[size], '@');
        assert_memory_equal(part, whole, size - 1);
    }
    free(whole);
    free(part);
    const enum redlock_metrics_text no_text = (enum redlock_metrics_text)2;
    LIVE_STATUS(redlock_metrics_format(client, no_text, NULL, 0), REDLOCK_ERR_INVALID);
    live_close(live, client);
}

/* Each metric is described once and before its samples, which follow each other; a counter's
 * samples end in _total, and in OpenMetrics alone its description does not; the end is marked. */
static void check_text(char *text, bool is_open) {
    char seen[100][64], name[64] = "", type[16] = "";
    size_t n = 0;
    char *rest = text;
    bool has_ended = false;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        assert_false(has_ended);
        if (strcmp(line, "# EOF") == 0) {
            has_ended = true;
        } else if (sscanf(line, "# HELP %63s", name) == 1) {
            for (size_t i = 0; i < n; i++) {
                assert_string_not_equal(seen[i], name);
            }
            assert_true(n < 100);
            memcpy(seen[n++], name, sizeof name);
            type[0] = '\0';
        } else if (strncmp(line, "# TYPE ", 7) == 0) {
            char typed[64];
            assert_int_equal(sscanf(line, "# TYPE %63s %15s", typed, type), 2);
            assert_string_equal(typed, name);
            const bool counts = strcmp(type, "counter") == 0;
            assert_true((strstr(name, "_total") != NULL) == (counts && !is_open));
        } else {
            const size_t length = strlen(name), end = strcspn(line, "{ ");
            const bool counts = strcmp(type, "counter") == 0;
            assert_true(type[0] != '\0' && end < sizeof name);
            assert_memory_equal(line, name, length);
            assert_true(end == length || counts || strcmp(type, "histogram") == 0);
            assert_true(!counts || strncmp(line + end - 6, "_total", 6) == 0);
            assert_non_null(strchr(line, '}'));
        }
    }
    assert_true(has_ended == is_open);
    assert_true(n > 35);
}

LIVE_TEST_FIVE(text_is_in_order) {
    redlock_client *client = open_with_metrics(live, NULL);
    check_text(format(client, REDLOCK_METRICS_PROMETHEUS), false);
    check_text(format(client, REDLOCK_METRICS_OPENMETRICS), true);
    live_close(live, client);
}

/* -- Histograms -- */

/* Of one with these labels: its count; the buckets do not decrease, and the last has all. */
static long long check_histogram(const redlock_client *client, const char *name, const char *labels,
                                 double least_seconds, double most_seconds) {
    const char *text = format(client, REDLOCK_METRICS_PROMETHEUS);
    char sample[256];
    long long before = 0;
    size_t n = 0;
    snprintf(sample, sizeof sample, "\n%s_bucket{%s,le=\"", name, labels);
    for (const char *at = text; (at = strstr(at, sample)) != NULL; at++, n++) {
        const long long count = strtoll(strchr(at, '}') + 1, NULL, 10);
        assert_true(count >= before);
        before = count;
    }
    assert_int_equal(n, 23);
    snprintf(sample, sizeof sample, "%s_bucket{%s,le=\"+Inf\"}", name, labels);
    assert_true(value_in(text, sample) == before);
    snprintf(sample, sizeof sample, "%s_count{%s}", name, labels);
    assert_true(value_in(text, sample) == before);
    snprintf(sample, sizeof sample, "%s_sum{%s}", name, labels);
    const double sum = strtod(find_in(text, sample), NULL);
    assert_true(sum >= least_seconds && sum <= most_seconds);
    return before;
}

LIVE_TEST_FIVE(histograms) {
    redlock_client *client = open_with_metrics(live, NULL);
    redlock_lock *lock = live_lock(client, "histograms");
    redlock_acquire_options once = live_once(TTL_MS);
    const char *own = "client=\"redlock\"";
    for (int i = 0; i < 3; i++) {
        live_hold(live, lock, &once);
        live_run_for(live, 20);
        LIVE_STATUS(live_release(live, lock), 0);
    }
    LIVE_UNTIL(live, live_is_quiet(client, 5));
    assert_true(check_histogram(client, "redlock_wait_seconds", own, 0.000001, 30) == 3);
    assert_true(check_histogram(client, "redlock_hold_seconds", own, 0.05, 30) == 3);
    for (size_t i = 0; i < 5; i++) {
        char labels[128];
        snprintf(labels, sizeof labels, "%s,node=\"%s\"", own, strchr(live->urls[i], '/') + 2);
        assert_true(check_histogram(client, "redlock_node_latency_seconds", labels, 0.000001, 30) ==
                    (long long)live_node(client, i).requests);
    }
    live_hold(live, lock, &once);
    live_tell_all(live, "DEL histograms");
    LIVE_STATUS(live_extend(live, lock, 0), REDLOCK_ERR_LOST);
    LIVE_UNTIL(live, live_stats(client).lost == 1);
    assert_true(check_histogram(client, "redlock_hold_seconds", own, 0.05, 30) == 4);
    live_close(live, client);
}

/* -- Labels -- */

/* "kind:rest" is of this kind. */
static const char *kind_of(const void *resource, size_t length, void *data) {
    static char kind[REDLOCK_RESOURCE_MAX + 1];
    const char *colon = memchr(resource, ':', length);
    if (colon == NULL) {
        return NULL;
    }
    memcpy(kind, resource, (size_t)(colon - (const char *)resource));
    kind[colon - (const char *)resource] = '\0';
    return kind;
}

static void hold_once(struct live *live, redlock_client *client, const char *resource) {
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *lock = live_lock(client, resource);
    LIVE_STATUS(live_acquire(live, lock, &once), 0);
    LIVE_STATUS(live_release(live, lock), 0);
    redlock_lock_free(lock);
}

#define WAITS(label) "redlock_wait_seconds_count{client=\"redlock\",label=\"" label "\"}"

LIVE_TEST_FIVE(labels) {
    redlock_client *client = open_with_metrics(live, kind_of);
    hold_once(live, client, "invoice:1");
    hold_once(live, client, "invoice:2");
    hold_once(live, client, "a \"b\"\\:1");
    hold_once(live, client, "without");
    hold_once(live, client, ":empty");
    hold_once(live, client,
              "a-label-that-is-longer-than-the-63-characters-which-a-label-may-have-at-most:1");
    assert_int_equal(value(client, WAITS("invoice")), 2);
    assert_int_equal(value(client, WAITS("a \\\"b\\\"\\\\")), 1);
    assert_int_equal(value(client, WAITS("other")), 3);
    for (int i = 0; i < 20; i++) {
        char resource[16];
        snprintf(resource, sizeof resource, "kind%d:x", i);
        hold_once(live, client, resource);
    }
    assert_int_equal(value(client, WAITS("kind12")), 1); /* the 15th that is not "other" */
    assert_null(strstr(format(client, REDLOCK_METRICS_PROMETHEUS), "kind13"));
    assert_true(value(client, WAITS("other")) == 3 + 7);
    live_close(live, client);
}

#define LONGEST (3 << 20) /* redlock/metrics.h */

static const char *another(const void *resource, size_t length, void *data) {
    static char label[REDLOCK_METRICS_LABEL_MAX + 1] = "a";
    memset(label + 1, '"', REDLOCK_METRICS_LABEL_MAX - 1);
    label[0]++;
    return label;
}

/* 31 nodes with long paths, none of which is there, and labels that have to be escaped; a client
 * that finds 127 nodes with names of 263 bytes has three times as much. */
LIVE_TEST(the_longest_names) {
    char urls[REDLOCK_NAMED_MAX][128], name[65];
    const char *nodes[REDLOCK_NAMED_MAX];
    redlock_client_options options = live_options(live);
    for (int i = 0; i < REDLOCK_NAMED_MAX; i++) {
        snprintf(urls[i], sizeof urls[i], "unix:///%0106d", i);
        nodes[i] = urls[i];
    }
    memset(name, '"', 64);
    name[64] = '\0';
    options.nodes = nodes;
    options.n_nodes = REDLOCK_NAMED_MAX;
    options.client_name = name;
    options.metrics = 1;
    options.metrics_label = another;
    LIVE_STATUS(live_open(live, &options, &live->client), REDLOCK_ERR_NO_QUORUM);
    for (int i = 0; i < REDLOCK_METRICS_LABELS_MAX; i++) {
        redlock_lock_free(live_lock(live->client, "r"));
    }
    const int length = redlock_metrics_format(live->client, REDLOCK_METRICS_OPENMETRICS, NULL, 0);
    assert_in_range(length, LONGEST / 6, LONGEST / 3);
}

/* -- Latency -- */

/* The program works between its call and the loop's turn. That counts against the validity, but not
 * as the nodes' latency. */
LIVE_TEST_FIVE(latency_is_the_nodes_own) {
    redlock_lock *lock = live_lock(live->client, "latency");
    redlock_acquire_options once = live_once(TTL_MS);
    struct live_done done = {0};
    const uint64_t validity_ns = (uint64_t)(TTL_MS - TTL_MS / 100 - 2) * LIVE_MS;
    assert_int_equal(redlock_acquire(lock, &once, live_lock_cb, &done), 0);
    const uint64_t submitted_ns = redlock_now_ns();
    live_block_until(submitted_ns + 1000 * LIVE_MS);
    const uint64_t sent_ns = redlock_now_ns();
    LIVE_UNTIL(live, done.count == 1 && live_is_quiet(live->client, 5));
    const uint64_t took_us = (redlock_now_ns() - sent_ns) / 1000;
    LIVE_STATUS(done.status, 0);
    for (size_t i = 0; i < 5; i++) {
        assert_in_range(live_outcome(lock, i).latency_us, 1, took_us);
    }
    assert_true(redlock_lock_valid_until_ns(lock) <= submitted_ns + validity_ns);
}
