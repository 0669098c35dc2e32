/* What nodes do with readers' leases: a part of replay_node.c. It reads a node's leases from its
 * server, because the checker reads them only after the command. */
#include <stdio.h>
#include <string.h>

#include "model/replay_state.h"

static const struct sim_seen *seen_at(uint32_t node, uint32_t resource) {
    return &watched.world->check.seen[node][resource];
}

static const struct server_key *leases_at(uint32_t node, uint32_t resource) {
    char name[40];
    int length = snprintf(name, sizeof name, "libredlock:readers:{r%u}", (unsigned)resource + 1);
    return server_keys_find(&watched.world->nodes[node].server->keys, 0, name, (size_t)length);
}

/* Lease number i under a readers' key of the node. */
static bool lease_at(uint32_t node, uint32_t resource, uint32_t i, uint32_t *token,
                     uint64_t *ends_ms) {
    struct server_member member;
    if (!seen_at(node, resource)->is_shared ||
        !server_line_at(leases_at(node, resource), i, &member)) {
        return false;
    }
    *token = sim_check_token(watched.world, member.name.data);
    *ends_ms = (uint64_t)member.score;
    return true;
}

/* 0: the token has none. */
static uint64_t lease_of(uint32_t node, uint32_t resource, uint32_t token) {
    uint32_t other;
    uint64_t ends_ms;
    for (uint32_t i = 0; lease_at(node, resource, i, &other, &ends_ms); i++) {
        if (other == token) {
            return ends_ms;
        }
    }
    return 0;
}

/* Drops the leases that the node no longer has, except this token's. until_ms: only those that had
 * expired by then; the command ended the others. */
static void drop_ended(uint32_t node, uint32_t resource, uint32_t but, uint64_t until_ms) {
    const struct sim_world *world = watched.world;
    uint32_t token, i = 0;
    uint64_t ends_ms;
    while (steps_lease_at(watched.steps, node, resource, i, &token, &ends_ms)) {
        if (token == but || ends_ms > until_ms || lease_of(node, resource, token) != 0) {
            i++;
            continue;
        }
        uint64_t true_ns = sim_clock_when(&world->nodes[node].clock, ends_ms * RL_NS_PER_MS);
        true_ns = true_ns < world->now_ns ? true_ns : world->now_ns;
        watch_say("n%u: the lease of token %u ends", node + 1, token);
        steps_lease_ends(watched.steps, node, resource, token, true_ns);
    }
}

static void put(uint32_t node, const struct watch_sent *sent, const struct sim_ran *what,
                uint32_t resource, uint64_t least_ms) {
    const struct sim_seen *seen = seen_at(node, resource);
    uint64_t ends_ms = lease_of(node, resource, sent->token);
    if (ends_ms != 0 && what->command != SIM_UPGRADE) {
        steps_share(watched.steps, what->command == SIM_SHARE, node, sent->round, sent->token,
                    resource, ends_ms, least_ms);
    } else if (seen->token == sent->token && what->command != SIM_SHARE) {
        steps_upgrade(watched.steps, node, sent->round, sent->token, resource, seen->expires_ms,
                      least_ms);
    } else {
        steps_refuse(watched.steps, "n%u says yes to token %u, which has nothing under r%u",
                     node + 1, sent->token, resource + 1);
    }
}

void watch_leases_put(uint32_t node, const struct watch_sent *sent, const struct sim_ran *what,
                      uint64_t now_ms) {
    watch_say("n%u: %s of round %u of token %u", node + 1,
              what->command == SIM_UPGRADE ? "upgrade"
              : what->command == SIM_SHARE ? "share"
                                           : "extension",
              sent->round, sent->token);
    for (uint32_t r = 0; r < watched.world->options.resources; r++) {
        if (sent->wants >> r & 1) {
            put(node, sent, what, r, now_ms + what->ttl_ms);
        }
    }
    steps_agreed(watched.steps, node, sent->round, watched.world->now_ns);
}

void watch_leases_before(uint32_t node, const struct sim_ran *what, uint32_t token,
                         uint64_t now_ms) {
    const bool ends = what->command == SIM_RELEASE, upgrades = what->command == SIM_UPGRADE;
    const bool writes = upgrades || what->command == SIM_SET || what->command == SIM_TAKE;
    const uint64_t until_ms = writes ? now_ms : UINT64_MAX;
    for (uint32_t r = 0; r < watched.world->options.resources; r++) {
        drop_ended(node, r, ends || upgrades ? token : 0, until_ms);
        if (ends && token != 0 && steps_lease(watched.steps, node, r, token) != 0 &&
            lease_of(node, r, token) == 0) {
            watch_say("n%u: the lease of token %u is released", node + 1, token);
            steps_unlease(watched.steps, node, r, token);
        }
    }
}

/* Updates the machine to the node's leases. */
void watch_leases_behind(uint32_t node) {
    uint32_t token;
    uint64_t ends_ms;
    for (uint32_t r = 0; r < watched.world->options.resources; r++) {
        bool shared = steps_at(watched.steps, node, r).value == STEPS_SHARED;
        if (shared != seen_at(node, r)->is_shared) {
            steps_refuse(watched.steps, "n%u: r%u is %sread", node + 1, r + 1,
                         shared ? "not " : "");
        }
        for (uint32_t i = 0; lease_at(node, r, i, &token, &ends_ms); i++) {
            if (steps_lease(watched.steps, node, r, token) != ends_ms) {
                steps_refuse(watched.steps, "n%u: the lease of token %u has another end", node + 1,
                             token);
            }
        }
    }
}

void watch_leases_found(uint32_t node) {
    uint32_t token;
    uint64_t ends_ms;
    for (uint32_t r = 0; r < watched.world->options.resources; r++) {
        for (uint32_t i = 0; lease_at(node, r, i, &token, &ends_ms); i++) {
            steps_found(watched.steps, node, r, token, ends_ms);
        }
    }
}
