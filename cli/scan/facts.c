/* See facts.h. */
#include "scan/facts.h"

#include <hiredis/hiredis.h>
#include <string.h>

#include "redis/info.h"
#include "redlock/redlock.h"
#include "wire/connection.h"
#include "wire/info.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

static const char *unfit_text(enum rl_standing standing) {
    return standing == RL_STANDING_REPLICA   ? "a replica"
           : standing == RL_STANDING_LOADING ? "loading"
                                             : "may evict keys";
}

/* As a client does it (lib/nodes/eligibility.c). */
static void judge(struct rl_seen_node *node, const struct rl_info *info) {
    const struct rl_args *args = node->wire->args;
    const int64_t quarantine_ms = args->max_ttl_ms + rl_args_drift_ms(args->max_ttl_ms);
    const struct rl_guard_rules rules = {.mode = (enum rl_guard_mode)args->guard,
                                         .quarantine_ns = (uint64_t)quarantine_ms * NS_PER_MS};
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
        node->votes_in_ms = (int64_t)((node->guard->votes_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS);
    } else {
        node->standing = RL_NODE_VOTES;
    }
}

/* "db0:keys=12,expires=12,avg_ttl=25712"; a database without keys is not named. */
static int64_t read_stored(const struct rl_seen_node *node, const char *info) {
    char name[32], text[RL_WIRE_TEXT_MAX];
    long long keys = 0;
    snprintf(name, sizeof name, "db%u", node->wire->url.db);
    rl_wire_info_text(info, name, text);
    return sscanf(text, "keys=%lld", &keys) == 1 ? keys : 0;
}

static void read_info(struct rl_seen_node *node, const char *text) {
    struct rl_info info;
    rl_info_read(&info, text, strlen(text));
    rl_wire_info_server(text, node->server, node->version);
    rl_wire_info_text(text, "run_id", node->run_id);
    node->has_info = true;
    node->uptime_s = rl_wire_info_number(text, "uptime_in_seconds");
    node->clients = rl_wire_info_number(text, "connected_clients");
    node->memory_bytes = rl_wire_info_number(text, "used_memory");
    node->memory_max_bytes = rl_wire_info_number(text, "maxmemory");
    node->commands = rl_wire_info_number(text, "total_commands_processed");
    node->commands_per_s = rl_wire_info_number(text, "instantaneous_ops_per_sec");
    node->stored = read_stored(node, text);
    if (info.problem == NULL) {
        judge(node, &info);
    }
}

/* "cmdstat_zpopmin:calls=12,usec=30,..." */
static void read_turns(struct rl_seen_node *node, const char *text) {
    char found[RL_WIRE_TEXT_MAX];
    long long calls = 0;
    rl_wire_info_text(text, "cmdstat_zpopmin", found);
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

void rl_facts_ask(struct rl_seen_node *node, int samples) {
    node->has_info = false;
    node->standing = RL_NODE_UNKNOWN;
    node->unfit = NULL;
    node->votes_in_ms = 0;
    node->stored = -1;
    node->no_info[0] = '\0';
    rl_wire_clock(node->wire, samples, &node->clock);
    node->asked += node->clock.n_samples + 2;
    redisAppendCommand(node->wire->context, "INFO");
    redisAppendCommand(node->wire->context, "INFO commandstats");
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
