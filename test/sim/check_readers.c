/* See check_readers.h. */
#include "sim/check_readers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/world.h"

#define NOTE_MS 5000 /* at most is an intent, and what an upgrade notes, kept */

static struct sim_leases *leases_of(struct sim_world *world, uint32_t node, uint32_t resource) {
    return &world->check.leases[node][resource];
}

static const struct server_key *key_at(const struct sim_world *world, uint32_t node,
                                       uint32_t resource, const char *prefix, const char *suffix) {
    char name[64];
    int length = snprintf(name, sizeof name, "%sr%u%s", prefix, (unsigned)resource + 1, suffix);
    return server_keys_find(&world->nodes[node].server->keys, 0, name, (size_t)length);
}

/* -- State of the nodes -- */

static void see_end(const struct sim_node *node, struct sim_lease *lease, uint64_t ends_ms) {
    lease->ends_ms = ends_ms;
    lease->ends_ns = sim_clock_when(&node->clock, ends_ms * RL_NS_PER_MS);
}

static struct sim_lease *lease_of(struct sim_leases *leases, uint32_t token) {
    for (uint32_t i = 0; i < leases->count; i++) {
        if (leases->items[i].token == token) {
            return &leases->items[i];
        }
    }
    return NULL;
}

static void see(struct sim_world *world, uint32_t node, struct sim_leases *leases,
                const struct server_member *member, struct sim_lease found) {
    if (member->name.length < 40) {
        return;
    }
    found.token = sim_check_token(world, member->name.data);
    struct sim_lease *lease = lease_of(leases, found.token);
    if (lease == NULL && leases->count < SIM_LEASES_MAX) {
        lease = &leases->items[leases->count++];
        *lease = found;
        world->stats.leases++;
    }
    if (lease == NULL) {
        sim_check_fail(world, SIM_STATE, "n%u has more leases than there are locks",
                       (unsigned)node + 1);
        return;
    }
    see_end(&world->nodes[node], lease, (uint64_t)member->score);
    lease->is_seen = true;
}

static void look_at(struct sim_world *world, uint32_t node, uint32_t resource,
                    struct sim_lease found) {
    struct sim_leases *leases = leases_of(world, node, resource);
    const struct server_key *key = key_at(world, node, resource, "libredlock:readers:{", "}");
    struct server_member member;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < leases->count; i++) {
        leases->items[i].is_seen = false;
    }
    for (uint32_t i = 0; server_line_at(key, i, &member); i++) {
        see(world, node, leases, &member, found);
    }
    for (uint32_t i = 0; i < leases->count; i++) {
        if (leases->items[i].is_seen) {
            leases->items[kept++] = leases->items[i];
        }
    }
    leases->count = kept;
}

void sim_check_readers_look(struct sim_world *world, uint32_t node, uint32_t conn, bool is_stale) {
    if (!sim_options_reads(&world->options)) {
        return;
    }
    const struct sim_lease found = {.ran_ns = world->now_ns, .conn = conn, .is_stale = is_stale};
    for (uint32_t r = 0; r < world->options.resources; r++) {
        look_at(world, node, r, found);
    }
}

void sim_check_readers_clock(struct sim_world *world, uint32_t node) {
    for (uint32_t r = 0; r < world->options.resources; r++) {
        struct sim_leases *leases = leases_of(world, node, r);
        for (uint32_t i = 0; i < leases->count; i++) {
            see_end(&world->nodes[node], &leases->items[i], leases->items[i].ends_ms);
        }
    }
}

/* When the key ends, if it is one of readers; else 0. */
static uint64_t shared_until(const struct sim_world *world, uint32_t node, uint32_t resource) {
    const struct sim_seen *key = &world->check.seen[node][resource];
    return key->is_shared && world->now_ns < key->expires_ns ? key->expires_ns : 0;
}

uint64_t sim_check_readers_until(const struct sim_world *world, uint32_t node, uint32_t resource,
                                 uint32_t token) {
    const uint64_t until_ns = shared_until(world, node, resource);
    const struct sim_leases *leases = &world->check.leases[node][resource];
    for (uint32_t i = 0; i < leases->count; i++) {
        const struct sim_lease *lease = &leases->items[i];
        if (lease->token == token && world->now_ns < lease->ends_ns) {
            return lease->ends_ns < until_ns ? lease->ends_ns : until_ns;
        }
    }
    return 0;
}

void sim_check_readers_print(const struct sim_world *world, uint32_t node, uint32_t resource) {
    const struct sim_leases *leases = &world->check.leases[node][resource];
    printf("read by");
    for (uint32_t i = 0; i < leases->count; i++) {
        printf("%s token %u (c%u)", i > 0 ? "," : "", (unsigned)leases->items[i].token,
               world->check.tokens[leases->items[i].token].client + 1u);
    }
}

/* -- Checks after every step -- */

/* The key of readers ends with the last of them. */
static void check_end(struct sim_world *world, uint32_t node, uint32_t resource) {
    const struct sim_leases *leases = leases_of(world, node, resource);
    const struct sim_seen *key = &world->check.seen[node][resource];
    uint64_t last_ms = 0;
    for (uint32_t i = 0; i < leases->count; i++) {
        last_ms = leases->items[i].ends_ms > last_ms ? leases->items[i].ends_ms : last_ms;
    }
    bool is_there = shared_until(world, node, resource) > 0;
    if (is_there && key->expires_ms != last_ms) {
        sim_check_fail(world, SIM_STATE,
                       "n%u: r%u is read until %" PRIu64 ", and its last lease ends at %" PRIu64,
                       (unsigned)node + 1, (unsigned)resource + 1, key->expires_ms, last_ms);
    }
}

/* Keys that keep others out without a hold expire by themselves. */
static void check_note(struct sim_world *world, uint32_t node, uint32_t resource,
                       const char *prefix) {
    const struct server_key *key = key_at(world, node, resource, prefix, "}");
    const struct sim_node *me = &world->nodes[node];
    uint64_t now_ms = sim_clock_read(&me->clock, world->now_ns) / RL_NS_PER_MS;
    if (key != NULL && !me->is_slow && key->expires_ms > now_ms + NOTE_MS) {
        sim_check_fail(world, SIM_STATE, "n%u keeps %sr%u} for longer than %u ms",
                       (unsigned)node + 1, prefix, (unsigned)resource + 1, NOTE_MS);
    }
}

static void check_lease(struct sim_world *world, uint32_t node, const struct sim_lease *lease) {
    if (world->now_ns < lease->ends_ns) {
        sim_check_key(world, node,
                      &(struct sim_seen){.token = lease->token,
                                         .conn = lease->conn,
                                         .ran_ns = lease->ran_ns,
                                         .expires_ns = lease->ends_ns,
                                         .is_stale = lease->is_stale});
    }
}

void sim_check_readers_step(struct sim_world *world) {
    const bool evicts = world->options.faults & 1u << SIM_FAULT_EVICT;
    if (!sim_options_reads(&world->options)) {
        return;
    }
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        for (uint32_t r = 0; r < world->options.resources; r++) {
            const struct sim_leases *leases = leases_of(world, n, r);
            for (uint32_t i = 0; i < leases->count; i++) {
                check_lease(world, n, &leases->items[i]);
            }
            if (!evicts && !world->nodes[n].is_slow) {
                check_end(world, n, r);
                check_note(world, n, r, "libredlock:intent:{");
                check_note(world, n, r, "libredlock:upgrade:{");
            }
        }
    }
}

/* -- When everything is over -- */

void sim_check_readers_over(struct sim_world *world) {
    for (uint32_t n = 0; n < world->options.nodes && sim_options_reads(&world->options); n++) {
        for (uint32_t r = 0; r < world->options.resources && !world->nodes[n].is_slow; r++) {
            if (shared_until(world, n, r) > 0) {
                sim_check_fail(world, SIM_LEFTOVER, "n%u still has readers of r%u", (unsigned)n + 1,
                               (unsigned)r + 1);
            }
        }
    }
}
