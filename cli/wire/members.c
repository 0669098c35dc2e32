/* Which nodes decide about a resource: a majority of its set, by the configuration that the nodes
 * have (redis/config.h), as a client chooses them (nodes/sets.h); while sets are being changed, a
 * majority of its old set and one of its new set. Without a configuration all nodes decide about
 * everything. Pure.
 *
 * Happy path: rl_members_begin() with the configuration, rl_members_place() for each of its
 * members; or rl_members_none(). A node is a bit, by its number.
 *
 * Failure modes: none. Nodes that are not members decide about nothing. */
#include "wire/room.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { OLD, NEW };

static const enum rl_config_side sides[] = {[OLD] = RL_CONFIG_OLD, [NEW] = RL_CONFIG_NEW};

void rl_members_none(struct rl_members *members, size_t n_nodes) {
    memset(members, 0, sizeof *members);
    members->all = rl_bits_below((uint32_t)n_nodes);
    members->sets[OLD][0] = members->sets[NEW][0] = members->all;
}

void rl_members_begin(struct rl_members *members, const struct rl_config *config) {
    assert(config->key.epoch != 0);
    memset(members, 0, sizeof *members);
    members->config = *config;
}

void rl_members_place(struct rl_members *members, uint32_t member, uint32_t node) {
    const struct rl_config *config = &members->config;
    members->all |= rl_bit(node);
    for (int side = OLD; side <= NEW; side++) {
        for (uint32_t set = 0; set < rl_config_count(config, sides[side]); set++) {
            const bool is_in = rl_config_is_in(config, member, sides[side], set);
            members->sets[side][set] |= is_in ? rl_bit(node) : 0;
        }
    }
}

static rl_mask side_of(const struct rl_members *members, int side, const void *resource,
                       size_t length) {
    return members->sets[side][rl_config_set_of(&members->config, sides[side], resource, length)];
}

struct rl_sides rl_members_of(const struct rl_members *members, const void *resource,
                              size_t length) {
    return (struct rl_sides){
        {side_of(members, OLD, resource, length), side_of(members, NEW, resource, length)}};
}

/* -- Names -- */

/* Whether there is more than one set, so that names are useful. */
static bool have_names(const struct rl_members *members) {
    return rl_config_count(&members->config, RL_CONFIG_OLD) > 1 ||
           rl_config_count(&members->config, RL_CONFIG_NEW) > 1;
}

const char *rl_members_set_of(const struct rl_members *members, const void *resource,
                              size_t length) {
    const struct rl_config *config = &members->config;
    return have_names(members)
               ? rl_config_name(config, RL_CONFIG_NEW,
                                rl_config_set_of(config, RL_CONFIG_NEW, resource, length))
               : "";
}

const char *rl_members_set_at(const struct rl_members *members, uint32_t node) {
    const struct rl_config *config = &members->config;
    for (int side = NEW; side >= OLD && have_names(members); side--) {
        for (uint32_t set = 0; set < rl_config_count(config, sides[side]); set++) {
            if (members->sets[side][set] & rl_bit(node)) {
                return rl_config_name(config, sides[side], set);
            }
        }
    }
    return "";
}

/* -- Groups -- */

/* A set without a name is called old or new during a change; otherwise it is the only group. */
static void name_group(const struct rl_members *members, int side, uint32_t set,
                       struct rl_node_group *group) {
    const struct rl_config *config = &members->config;
    const char *name = rl_config_name(config, sides[side], set);
    const char *prefix = side == OLD ? "old " : "";
    if (name[0] != '\0' && have_names(members)) {
        snprintf(group->name, sizeof group->name, "%sset %s", prefix, name);
    } else if (config->is_joint) {
        snprintf(group->name, sizeof group->name, "the %s nodes", side == OLD ? "old" : "new");
    }
}

static bool has_group(const struct rl_node_group *groups, size_t n, rl_mask nodes) {
    for (size_t i = 0; i < n; i++) {
        if (groups[i].nodes == nodes) {
            return true;
        }
    }
    return false;
}

size_t rl_members_groups(const struct rl_members *members,
                         struct rl_node_group groups[RL_GROUPS_MAX]) {
    size_t n = 0;
    for (int side = NEW; side >= OLD; side--) {
        for (uint32_t set = 0; set < rl_config_count(&members->config, sides[side]); set++) {
            const rl_mask nodes = members->sets[side][set];
            if (!has_group(groups, n, nodes)) {
                groups[n] = (struct rl_node_group){.nodes = nodes};
                name_group(members, side, set, &groups[n++]);
            }
        }
    }
    return n;
}

bool rl_members_lack(const struct rl_members *members, rl_mask nodes, struct rl_node_group *group) {
    struct rl_node_group groups[RL_GROUPS_MAX];
    const size_t n = rl_members_groups(members, groups);
    for (size_t i = 0; i < n; i++) {
        if (!rl_is_majority(groups[i].nodes, nodes)) {
            *group = groups[i];
            return true;
        }
    }
    return false;
}

uint32_t rl_members_needed(const struct rl_members *members) {
    struct rl_node_group groups[RL_GROUPS_MAX];
    const size_t n = rl_members_groups(members, groups);
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t needed = rl_quorum(rl_bits_count(groups[i].nodes));
        most = needed > most ? needed : most;
    }
    return most;
}
