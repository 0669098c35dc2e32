/* redlock metrics: prints metrics of the nodes once.
 *
 * Happy path: it reads all nodes at once (scan/scan.c), and prints Prometheus's text format, for
 * node_exporter's textfile collector, or a pipe. It is not a server: a timer runs it.
 *
 * Failure modes: for a node that is down, redlock_node_up is 0; values that a node does not report
 * are left out. Fewer than a quorum were read: RL_EXIT_NO_QUORUM; the text is still printed,
 * without the locks. */
#include "commands.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "redlock/redlock.h"
#include "say.h"
#include "scan/room.h"
#include "wire/room.h"

#define UNKNOWN ((double)NAN) /* the sample is left out */

/* -- Writing -- */

static void describe(const char *name, const char *type, const char *help) {
    printf("# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Prints a label. Escapes what could end the line or the value: INFO may contain any text. */
static void print_label(const char *name, const char *value) {
    printf("%s=\"", name);
    for (const char *at = value; *at != '\0'; at++) {
        printf(*at == '\n' ? "\\n" : *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    }
    putchar('"');
}

static void print_value(double value) {
    printf(fabs(value) < 1e6 ? " %.9g\n" : " %.0f\n", value); /* nanoseconds; whole bytes */
}

static void print_one(const char *name, const char *type, const char *help, double value) {
    describe(name, type, help);
    printf("%s", name);
    print_value(value);
}

/* -- Nodes: in the words of lib/watch/metrics.c, where a metric is in both -- */

static const struct {
    const char *name, *type, *help;
} metrics[] = {
    {"redlock_node_up", "gauge", "1 if the node answers"},
    {"redlock_node_voting", "gauge", "1 if the node may vote"},
    {"redlock_node_quarantine_seconds", "gauge", "Until the node votes, if it is in quarantine"},
    {"redlock_node_ping_seconds", "gauge", "The fastest round trip of a few"},
    {"redlock_node_clock_offset_seconds", "gauge", "How far the node's clock is ahead of ours"},
    {"redlock_node_clock_error_seconds", "gauge", "How inexact that is"},
    {"redlock_node_uptime_seconds", "gauge", "Since the node's start"},
    {"redlock_node_clients", "gauge", "Connections of clients"},
    {"redlock_node_memory_bytes", "gauge", "Memory used"},
    {"redlock_node_memory_limit_bytes", "gauge", "maxmemory, 0: none"},
    {"redlock_node_processed_commands_total", "counter", "Commands since the node's start"},
    {"redlock_node_turns_total", "counter", "Hand-overs to the next in line (ZPOPMIN)"},
    {"redlock_node_keys", "gauge", "Keys of the database"},
    {"redlock_node_read", "gauge", "1 if all keys could be read, up to --max-keys"},
};

#define METRICS (sizeof metrics / sizeof metrics[0])

static double seconds(double ms) {
    return ms / 1e3;
}

/* In the order of the table. */
static void values_of(const struct rl_seen_node *node, double values[METRICS]) {
    const bool has_clock = node->is_up && node->clock.is_known;
    const bool has_info = node->is_up && node->has_info;
    const bool votes = node->is_up && node->is_member && node->standing == RL_NODE_VOTES;
    const double all[METRICS] = {
        node->is_up ? 1 : 0,
        votes ? 1 : 0,
        node->is_up && node->standing == RL_NODE_IN_QUARANTINE ? seconds((double)node->votes_in_ms)
                                                               : 0,
        has_clock ? seconds(node->clock.latency_ms) : UNKNOWN,
        has_clock ? seconds(node->clock.ahead_ms) : UNKNOWN,
        has_clock ? seconds(node->clock.error_ms) : UNKNOWN,
        has_info ? (double)node->info.uptime_s : UNKNOWN,
        has_info ? (double)node->info.clients : UNKNOWN,
        has_info ? (double)node->info.used_memory : UNKNOWN,
        has_info ? (double)node->info.maxmemory : UNKNOWN,
        has_info ? (double)node->info.commands : UNKNOWN,
        has_info ? (double)node->turns : UNKNOWN,
        has_info && node->stored >= 0 ? (double)node->stored : UNKNOWN,
        node->is_whole && !node->is_cut ? 1 : 0,
    };
    memcpy(values, all, sizeof all);
}

/* Two databases of a server have one name: two samples with it would be an error to Prometheus. */
static bool is_again(const struct rl_sweep *sweep, size_t node) {
    size_t i = 0;
    while (strcmp(sweep->nodes[i].wire->url.name, sweep->nodes[node].wire->url.name) != 0) {
        i++;
    }
    return i < node;
}

static void print_versions(const struct rl_sweep *sweep) {
    describe("redlock_node_version_info", "gauge", "The server and its version");
    for (size_t i = 0; i < sweep->n; i++) {
        const struct rl_seen_node *node = &sweep->nodes[i];
        if (node->is_up && node->has_info && !is_again(sweep, i)) {
            printf("redlock_node_version_info{");
            print_label("node", node->wire->url.name);
            printf(",");
            print_label("server", node->info.server);
            printf(",");
            print_label("version", node->info.version);
            printf("} 1\n");
        }
    }
}

static void print_nodes(const struct rl_sweep *sweep) {
    static double values[REDLOCK_NODES_MAX][METRICS];
    double voting = 0;
    assert(sweep->n <= REDLOCK_NODES_MAX);
    for (size_t i = 0; i < sweep->n; i++) {
        values_of(&sweep->nodes[i], values[i]);
        voting += values[i][1];
    }
    print_one("redlock_nodes", "gauge", "Nodes", (double)rl_bits_count(sweep->members->all));
    print_one("redlock_quorum", "gauge", "Nodes that must vote for a grant",
              (double)rl_members_needed(sweep->members));
    print_one("redlock_nodes_voting", "gauge", "Nodes that may vote", voting);
    for (size_t metric = 0; metric < METRICS; metric++) {
        describe(metrics[metric].name, metrics[metric].type, metrics[metric].help);
        for (size_t i = 0; i < sweep->n; i++) {
            if (!isnan(values[i][metric]) && !is_again(sweep, i)) {
                printf("%s{", metrics[metric].name);
                print_label("node", sweep->nodes[i].wire->url.name);
                printf("}");
                print_value(values[i][metric]);
            }
        }
    }
    print_versions(sweep);
}

/* -- Locks -- */

static void print_locks(const struct rl_list *list) {
    static const struct {
        enum rl_lock_class class;
        const char *state;
    } states[] = {{RL_LOCK_HELD, "held"},
                  {RL_LOCK_FREE, "wanted"},
                  {RL_LOCK_LEFTOVER, "leftover"},
                  {RL_LOCK_FOREIGN, "foreign"}};
    int64_t longest_ms = 0;
    for (size_t i = 0; i < list->n; i++) {
        longest_ms = list->locks[i].waited_ms > longest_ms ? list->locks[i].waited_ms : longest_ms;
    }
    describe("redlock_locks", "gauge", "Locks on the nodes, by what a quorum says of them");
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        printf("redlock_locks{state=\"%s\"} %zu\n", states[i].state, list->counts[states[i].class]);
    }
    print_one("redlock_waiters", "gauge", "Clients in lines", (double)list->waiting);
    print_one("redlock_longest_wait_seconds", "gauge", "Of the one that has waited longest",
              seconds((double)longest_ms));
}

/* -- The command -- */

static int print(struct rl_sweep *sweep, void *data) {
    (void)data;
    print_nodes(sweep);
    if (!rl_sweep_has_quorum(sweep, "")) {
        return RL_EXIT_NO_QUORUM;
    }
    print_locks(&sweep->list);
    return RL_EXIT_OK;
}

int rl_cmd_metrics(struct rl_args *args) {
    return rl_scan_once(args, RL_WIRE_SAMPLES, print, NULL);
}
