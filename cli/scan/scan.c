/* Reads all nodes, and derives the list of locks from their keys, for redlock ls, top and metrics.
 *
 *     rl_scan_open() -> rl_scan_sweep(), again and again -> rl_sweep_free() -> rl_wires_close()
 *
 * Happy path: all nodes are read at the same time, each in its own thread, and then the nodes that
 * their configurations name (wire/wires.c); then the list is made. The result of a sweep lives
 * until the next sweep into the same struct, or rl_sweep_free(): to show one during the next, use
 * two structs.
 *
 * Failure modes: those of rl_wires_open(), which end the scan. A node that is down or slow is part
 * of the result: sweep->nodes[i].why. Each slice of answers may take four times --node-timeout, but
 * at least a second, as in doctor.
 *
 * It reads all keys of a node, and changes none: each step of SCAN returns some names, whose values
 * are then requested together, as many as fit into a socket. Each step visits 1000 keys on the
 * node, and reads only the beginning of a key (106 bytes of a value, the first of a line, some
 * readers): so the node is busy for a millisecond at a time, whatever it stores.
 *
 * Failure modes of one node: no connection, or SCAN is forbidden: node->why says so. More keys than
 * the limit: the keys read so far are there, and node->is_cut is set. A key that this user may not
 * read is counted, and left out. SCAN may return a key twice, or one that expires meanwhile: such
 * keys are dropped.
 *
 * The keys of a node are not a consistent snapshot, nor are the value and ttl of one key: a lock
 * that changes hands meanwhile may appear with one holder's name and the other's ttl.
 *
 * Whether a node votes is judged by the client's guard (core/guard.h) from this program's own
 * looks: at the first look, the uptime counts, with --guard strict. If TIME is forbidden, the clock
 * is unknown; if INFO is forbidden, everything else is. */
#include "scan/room.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redlock/redlock.h"
#include "say.h"

#define NS_PER_S UINT64_C(1000000000)

static const char *unfit_text(enum rl_standing standing) {
    return standing == RL_STANDING_REPLICA   ? "a replica"
           : standing == RL_STANDING_LOADING ? "loading"
                                             : "may evict keys";
}

/* Judges the node as a client does (lib/client/eligibility.c). */
static void judge(struct rl_seen_node *node, const struct rl_info *info) {
    const struct rl_args *args = node->wire->args;
    const int64_t quarantine_ms =
        args->client.max_ttl_ms + rl_args_drift_ms(args->client.max_ttl_ms);
    const struct rl_guard_rules rules = {.mode = (enum rl_guard_mode)args->guard,
                                         .quarantine_ns = (uint64_t)quarantine_ms * RL_NS_PER_MS};
    struct rl_server server = {
        .uptime_ns = info->uptime_s > 0 && info->uptime_s < UINT64_MAX / NS_PER_S
                         ? (info->uptime_s - 1) * NS_PER_S
                         : 0,
        .is_replica = info->is_replica,
        .is_loading = info->is_loading,
        .evicts = info->evicts,
    };
    uint64_t now_ns = redlock_now_ns();
    memcpy(server.run_id, info->run_id, sizeof server.run_id);
    memcpy(server.replid, info->replid, sizeof server.replid);
    if (rules.mode == RL_GUARD_OFF) {
        node->standing = RL_NODE_VOTES;
        return;
    }
    enum rl_standing standing = rl_guard_see(node->guard, &rules, &server, now_ns);
    if (standing != RL_STANDING_VOTES) {
        node->standing = RL_NODE_UNFIT;
        node->unfit = unfit_text(standing);
    } else if (!rl_guard_may_vote(node->guard, now_ns)) {
        node->standing = RL_NODE_IN_QUARANTINE;
        node->votes_in_ms =
            (int64_t)((node->guard->votes_ns - now_ns + RL_NS_PER_MS - 1) / RL_NS_PER_MS);
    } else {
        node->standing = RL_NODE_VOTES;
    }
}

/* Parses "db0:keys=12,expires=12,avg_ttl=25712"; INFO leaves out a database without keys. */
static int64_t read_stored(const struct rl_seen_node *node, const char *info) {
    const char *text = rl_wire_info_text(info, rl_text("db%u", node->wire->url.db));
    long long keys = 0;
    return sscanf(text, "keys=%lld", &keys) == 1 ? keys : 0;
}

static void read_info(struct rl_seen_node *node, const char *text) {
    rl_wire_info_read(text, &node->info);
    node->has_info = true;
    node->stored = read_stored(node, text);
    if (node->info.judged.problem == NULL) {
        judge(node, &node->info.judged);
    }
}

/* "cmdstat_zpopmin:calls=12,usec=30,..." */
static void read_turns(struct rl_seen_node *node, const char *text) {
    const char *found = rl_wire_info_text(text, "cmdstat_zpopmin");
    long long calls = 0;
    node->turns = sscanf(found, "calls=%lld", &calls) == 1 ? calls : 0;
}

static redisReply *next(struct rl_seen_node *node) {
    redisReply *reply = rl_wire_checked(node->wire, rl_wire_reply(node->wire));
    if (reply != NULL && reply->str == NULL) {
        freeReplyObject(reply);
        return NULL;
    }
    return reply;
}

static void ask_facts(struct rl_seen_node *node) {
    rl_wire_clock(node->wire, node->scan->samples, &node->clock);
    node->asked += node->clock.n_samples + 2;
    rl_wire_ask(node->wire, "INFO");
    rl_wire_ask(node->wire, "INFO commandstats");
    redisReply *info = next(node);
    if (info == NULL) {
        memcpy(node->no_info, node->wire->failure, sizeof node->no_info);
    } else {
        read_info(node, info->str);
        freeReplyObject(info);
    }
    redisReply *stats = next(node);
    if (stats != NULL) {
        read_turns(node, stats->str);
        freeReplyObject(stats);
    }
}

#define READ_COUNT 1000
#define PREFIX_MAX 1024

static const char *prefix_of(const struct rl_args *args) {
    return args->prefix != NULL ? args->prefix : "";
}

/* Reads the keys that a step of SCAN returned. */
static bool read_named(struct rl_slice *slice, const redisReply *names) {
    const char *prefix = prefix_of(slice->node->wire->args);
    const size_t length = strlen(prefix);
    for (size_t i = 0; i < names->elements; i++) {
        const redisReply *name = names->element[i];
        struct rl_key key;
        if (name->str == NULL) {
            continue;
        }
        rl_key_read(name->str, name->len, &key);
        slice->node->keys++;
        if (key.kind != RL_KEY_BESIDE && key.length <= REDLOCK_RESOURCE_MAX &&
            key.length >= length && memcmp(key.resource, prefix, length) == 0 &&
            !rl_slice_add(slice, &key, name)) {
            return false;
        }
    }
    return rl_slice_end(slice);
}

/* -- SCAN -- */

/* A pattern that matches all keys of resources with this prefix, and few others. */
static void make_pattern(const char *prefix, char out[2 * PREFIX_MAX + 3]) {
    size_t used = 0;
    out[used++] = '*';
    for (const char *at = prefix; *at != '\0'; at++) {
        if (strchr("*?[]\\", *at) != NULL) {
            out[used++] = '\\';
        }
        out[used++] = *at;
    }
    out[used++] = '*';
    out[used] = '\0';
    assert(used < 2 * PREFIX_MAX + 3);
}

/* Runs one step of SCAN from the cursor, and advances it. */
static bool step(struct rl_slice *slice, const char *pattern, char cursor[RL_WIRE_CURSOR_MAX]) {
    struct rl_seen_node *node = slice->node;
    struct rl_wire *wire = node->wire;
    const bool is_all = strcmp(pattern, "**") == 0; /* matching doubles the cost for the node */
    redisReply *reply = rl_wire_checked(
        wire,
        is_all ? rl_wire_command(wire, "SCAN %s COUNT %d", cursor, READ_COUNT)
               : rl_wire_command(wire, "SCAN %s MATCH %s COUNT %d", cursor, pattern, READ_COUNT));
    bool is_good = reply != NULL && rl_wire_is_scan(reply);
    if (is_good) {
        node->calls++;
        node->asked++;
        snprintf(cursor, RL_WIRE_CURSOR_MAX, "%s", reply->element[0]->str);
        is_good = read_named(slice, reply->element[1]);
    } else {
        snprintf(node->why, sizeof node->why, "%s",
                 reply == NULL ? wire->failure : "protocol error: unexpected reply");
    }
    freeReplyObject(reply);
    return is_good;
}

static void scan(struct rl_slice *slice) {
    struct rl_seen_node *node = slice->node;
    const uint64_t keys_max = (uint64_t)node->wire->args->keys_max;
    char cursor[RL_WIRE_CURSOR_MAX] = "0", pattern[2 * PREFIX_MAX + 3];
    make_pattern(prefix_of(node->wire->args), pattern);
    do {
        if (!step(slice, pattern, cursor)) {
            return;
        }
    } while (strcmp(cursor, "0") != 0 && node->keys < keys_max &&
             node->calls * READ_COUNT < keys_max);
    node->is_cut = strcmp(cursor, "0") != 0;
    node->is_whole = true;
}

static void forget(struct rl_seen_node *node) {
    rl_memory_free(&node->memory);
    *node = (struct rl_seen_node){.wire = node->wire,
                                  .scan = node->scan,
                                  .guard = node->guard,
                                  .seen = node->seen,
                                  .room = node->room,
                                  .standing = RL_NODE_UNKNOWN,
                                  .stored = -1};
}

/* Reads one node, and discards what was read before. */
static void read_node(void *item) {
    struct rl_seen_node *node = item;
    struct rl_wire *wire = node->wire;
    uint64_t began_ns = redlock_now_ns();
    forget(node);
    if (wire->socket.context == NULL && !(rl_wire_connect(wire) && rl_wire_hello(wire))) {
        rl_wire_disconnect(wire);
        snprintf(node->why, sizeof node->why, "%s", wire->failure);
        return;
    }
    node->is_up = true;
    ask_facts(node);
    struct rl_slice *slice = rl_must_alloc(1, sizeof *slice);
    slice->node = node;
    slice->now_us = (double)rl_when_now_us() + node->clock.ahead_ms * 1e3;
    scan(slice);
    free(slice);
    if (rl_socket_has_failed(&wire->socket) || !node->scan->stays) {
        node->is_up = !rl_socket_has_failed(&wire->socket);
        rl_wire_disconnect(wire);
    }
    node->took_ms = (double)(redlock_now_ns() - began_ns) / 1e6;
    rl_list_prepare(node);
}

int rl_scan_open(struct rl_scan *scan, const struct rl_args *args, int samples, bool stays) {
    *scan = (struct rl_scan){.samples = samples, .stays = stays};
    static_assert(PREFIX_MAX >= REDLOCK_RESOURCE_MAX, "a name of a resource is a prefix, too");
    if (strlen(prefix_of(args)) > REDLOCK_RESOURCE_MAX) {
        return rl_usage("--prefix is longer than %d bytes", REDLOCK_RESOURCE_MAX);
    }
    for (size_t i = 0; i < REDLOCK_NODES_MAX; i++) {
        rl_guard_init(&scan->guards[i]);
    }
    return rl_wires_open(&scan->wires, args);
}

void rl_scan_sweep(struct rl_scan *scan, struct rl_sweep *sweep) {
    uint64_t began_ns = redlock_now_ns();
    rl_list_free(&sweep->list);
    if (sweep->nodes == NULL) {
        sweep->nodes = rl_must_alloc(REDLOCK_NODES_MAX, sizeof *sweep->nodes);
    }
    for (size_t i = 0; i < REDLOCK_NODES_MAX; i++) {
        sweep->nodes[i].guard = &scan->guards[i];
        sweep->nodes[i].scan = scan;
    }
    rl_wires_each(&scan->wires, sweep->nodes, sizeof sweep->nodes[0], read_node);
    sweep->n = scan->wires.n;
    sweep->members = &scan->wires.members;
    sweep->are_divided = scan->wires.are_divided;
    sweep->whole = 0;
    for (size_t i = 0; i < sweep->n; i++) {
        sweep->nodes[i].is_member = (sweep->members->all & rl_bit((uint32_t)i)) != 0;
        sweep->whole += sweep->nodes[i].is_whole;
    }
    rl_list_merge(&sweep->list, sweep->nodes, sweep->n, sweep->members, rl_when_now_us());
    sweep->took_ms = (double)(redlock_now_ns() - began_ns) / 1e6;
}

void rl_sweep_free(struct rl_sweep *sweep) {
    rl_list_free(&sweep->list);
    for (size_t i = 0; sweep->nodes != NULL && i < REDLOCK_NODES_MAX; i++) {
        rl_memory_free(&sweep->nodes[i].memory);
        free(sweep->nodes[i].seen);
    }
    free(sweep->nodes);
    *sweep = (struct rl_sweep){0};
}

int rl_scan_once(const struct rl_args *args, int samples,
                 int (*show)(struct rl_sweep *sweep, void *data), void *data) {
    struct rl_scan scan;
    struct rl_sweep sweep = {0};
    int status = rl_scan_open(&scan, args, samples, false);
    if (status == 0) {
        rl_scan_sweep(&scan, &sweep);
        status = show(&sweep, data);
    }
    rl_sweep_free(&sweep);
    rl_wires_close(&scan.wires);
    return status;
}

bool rl_sweep_has_quorum(const struct rl_sweep *sweep, const char *purpose) {
    struct rl_node_group group;
    rl_mask whole = 0;
    for (size_t i = 0; i < sweep->n; i++) {
        whole |= sweep->nodes[i].is_whole ? rl_bit((uint32_t)i) : 0;
    }
    if (!rl_members_lack(sweep->members, whole, &group)) {
        return true;
    }
    const uint32_t n = rl_bits_count(group.nodes);
    rl_say("%s%s%u of %u nodes could be read, %u are needed%s", group.name,
           group.name[0] != '\0' ? ": " : "", (unsigned)rl_bits_count(whole & group.nodes),
           (unsigned)n, (unsigned)rl_quorum(n), purpose);
    return false;
}
