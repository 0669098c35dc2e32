/* See members.h. */
#include "sim/members.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "core/quorum.h"
#include "sim/world.h"

#define KEY_LEN (sizeof RL_CONFIG_KEY - 1)
#define GAP_NS (200 * RL_NS_PER_MS)

static struct sim_random *dice(struct sim_world *world) {
    return &world->members.random;
}

static uint64_t node_us(struct sim_world *world, uint32_t node) {
    return sim_clock_read(&world->nodes[node].clock, world->now_ns) / 1000;
}

static void later(struct sim_world *world, uint64_t most_ns) {
    struct sim_event event = {.at_ns = world->now_ns + sim_skewed(dice(world), 1, most_ns),
                              .kind = SIM_EV_MEMBERS};
    sim_queue_add(&world->queue, &event);
}

/* -- Texts -- */

static void name_node(char url[RL_CONFIG_URL_MAX + 1], uint32_t node) {
    snprintf(url, RL_CONFIG_URL_MAX + 1, "redis://10.0.0.%u:6379", (unsigned)node + 1);
}

static rl_mask nodes_of(const struct sim_sets *sets) {
    rl_mask nodes = 0;
    for (uint32_t i = 0; i < sets->n; i++) {
        nodes |= sets->nodes[i];
    }
    return nodes;
}

static rl_mask all_nodes(const struct sim_members *me) {
    return nodes_of(&me->old_sets) | nodes_of(&me->new_sets);
}

static bool are_same(const struct sim_sets *a, const struct sim_sets *b) {
    bool are_same = a->n == b->n;
    for (uint32_t i = 0; are_same && i < a->n; i++) {
        are_same = a->nodes[i] == b->nodes[i] && a->names[i] == b->names[i];
    }
    return are_same;
}

static void name_sets(const struct sim_sets *sets, struct rl_config_sets *names) {
    names->n = sets->names[0] != '\0' ? sets->n : 0;
    for (uint32_t i = 0; i < names->n; i++) {
        names->names[i][0] = sets->names[i];
    }
}

/* The index of the node's set; SIM_SETS_MAX: it is in none. */
static uint32_t set_with(const struct sim_sets *sets, uint32_t node) {
    uint32_t i = 0;
    while (i < sets->n && !(sets->nodes[i] & rl_bit(node))) {
        i++;
    }
    return i < sets->n ? i : SIM_SETS_MAX;
}

/* The present configuration, of which the node may be no member. */
static void describe(const struct sim_world *world, struct rl_config *config) {
    const struct sim_members *me = &world->members;
    const rl_mask nodes = all_nodes(me);
    *config = (struct rl_config){.key = me->key,
                                 .max_ttl_ms = world->options.max_ttl_ms,
                                 .is_joint = !are_same(&me->old_sets, &me->new_sets)};
    name_sets(&me->new_sets, &config->new_sets);
    if (config->is_joint) {
        name_sets(&me->old_sets, &config->old_sets);
    }
    for (uint32_t i = 0; nodes >> i != 0; i++) {
        if (nodes & rl_bit(i)) {
            struct rl_config_member *member = &config->members[config->n++];
            const uint32_t old = set_with(&me->old_sets, i), new = set_with(&me->new_sets, i);
            name_node(member->url, i);
            member->sides = (uint8_t)((new < SIM_SETS_MAX ? RL_CONFIG_NEW : 0) |
                                      (config->is_joint && old < SIM_SETS_MAX ? RL_CONFIG_OLD : 0));
            member->old_set = (uint8_t)(member->sides & RL_CONFIG_OLD ? old : 0);
            member->new_set = (uint8_t)(member->sides & RL_CONFIG_NEW ? new : 0);
        }
    }
}

static struct rl_config_key key_at(struct sim_world *world, uint32_t node) {
    const struct server_key *key =
        server_get(world->nodes[node].server, 0, RL_CONFIG_KEY, KEY_LEN, node_us(world, node));
    struct rl_config config = {.n = 0};
    if (key != NULL) {
        const bool is_read = rl_config_parse(&config, key->value.data, key->value.length);
        assert(is_read);
        (void)is_read;
    }
    return config.key;
}

/* Writes the present configuration over an earlier one, and cuts the node's connections. */
static void write_to(struct sim_world *world, uint32_t node) {
    const struct sim_members *me = &world->members;
    const struct rl_config_key there = key_at(world, node);
    const rl_mask nodes = all_nodes(me);
    static struct rl_config config;
    char text[RL_CONFIG_TEXT_MAX];
    if (world->nodes[node].is_down || rl_config_compare(&there, &me->key) != RL_CONFIG_NEWER) {
        return;
    }
    describe(world, &config);
    const size_t length =
        rl_config_format(&config, rl_bits_count(nodes & (rl_bit(node) - 1)), text);
    server_put(world->nodes[node].server, 0, RL_CONFIG_KEY, KEY_LEN, text, length, UINT64_MAX);
    if (world->options.broken != SIM_BREAK_MEMBERS_UNCUT) {
        sim_node_hang_up(world, node);
    }
}

/* Which nodes have it. */
static rl_mask written(struct sim_world *world) {
    const struct sim_members *me = &world->members;
    const rl_mask nodes = all_nodes(me);
    rl_mask found = 0;
    for (uint32_t i = 0; nodes >> i != 0; i++) {
        const struct rl_config_key there = key_at(world, i);
        found |= nodes & rl_bit(i) && rl_config_compare(&there, &me->key) == RL_CONFIG_SAME
                     ? rl_bit(i)
                     : 0;
    }
    return found;
}

/* -- Fences -- */

static uint64_t fence_at(struct sim_world *world, uint32_t node, const char *name) {
    const struct server_key *key =
        server_get(world->nodes[node].server, 0, name, strlen(name), node_us(world, node));
    uint64_t fence = 0;
    for (size_t i = 0; key != NULL && i < key->value.length; i++) {
        fence = 10 * fence + (uint64_t)(key->value.data[i] - '0');
    }
    return fence;
}

static void carry_fences(struct sim_world *world) {
    const struct sim_members *me = &world->members;
    const rl_mask old = nodes_of(&me->old_sets), new = nodes_of(&me->new_sets);
    for (uint32_t r = 0; r < world->options.resources; r++) {
        char name[48], text[24];
        uint64_t fence = 0;
        snprintf(name, sizeof name, "libredlock:fence:r%u", (unsigned)r + 1);
        for (uint32_t i = 0; old >> i != 0; i++) {
            const uint64_t there = old & rl_bit(i) ? fence_at(world, i, name) : 0;
            fence = there > fence ? there : fence;
        }
        const int length = snprintf(text, sizeof text, "%llu", (unsigned long long)fence);
        for (uint32_t i = 0; new >> i != 0 && fence > 0; i++) {
            if (new &rl_bit(i) && fence_at(world, i, name) < fence) {
                server_put(world->nodes[i].server, 0, name, strlen(name), text, (size_t)length,
                           UINT64_MAX);
            }
        }
    }
}

/* -- Steps -- */

static void next_key(struct sim_members *me, bool is_new) {
    me->key.epoch++;
    if (is_new) {
        snprintf(me->key.change, sizeof me->key.change, "%08x", (unsigned)me->key.epoch);
    }
}

static rl_mask any_nodes(struct sim_world *world) {
    const uint32_t count = (uint32_t)sim_between(dice(world), 1, world->options.nodes);
    rl_mask nodes = 0;
    while (rl_bits_count(nodes) < count) {
        nodes |= rl_bit(sim_pick(dice(world), world->options.nodes));
    }
    return nodes;
}

/* Each of the nodes in one of the sets, whose names are among four. */
static void any_sets(struct sim_world *world, struct sim_sets *sets) {
    const rl_mask nodes = any_nodes(world);
    const uint32_t count = rl_bits_count(nodes);
    *sets = (struct sim_sets){.n = 1, .nodes = {nodes}};
    if (world->options.preset == SIM_SETS) {
        const uint32_t first = sim_pick(dice(world), 4);
        *sets = (struct sim_sets){.n = (uint32_t)sim_between(
                                      dice(world), 1, count < SIM_SETS_MAX ? count : SIM_SETS_MAX)};
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t set = i < sets->n ? i : sim_pick(dice(world), sets->n);
            sets->nodes[set] |= rl_bit(rl_bits_nth(nodes, i));
        }
        for (uint32_t i = 0; i < sets->n && (sets->n > 1 || first > 0); i++) {
            sets->names[i] = (char)('a' + (first + i) % 4);
        }
    }
}

static void begin_change(struct sim_world *world) {
    struct sim_members *me = &world->members;
    me->old_sets = me->new_sets;
    any_sets(world, &me->new_sets);
    if (!are_same(&me->old_sets, &me->new_sets)) {
        next_key(me, true);
        me->change = SIM_JOINT;
        me->goes_back = sim_chance(dice(world), 20);
    }
}

/* Whether these nodes are a majority of each old set and of each new one. */
static bool is_met(const struct sim_members *me, rl_mask has) {
    bool is_met = true;
    for (uint32_t i = 0; i < me->old_sets.n; i++) {
        is_met = is_met && rl_is_majority(me->old_sets.nodes[i], has);
    }
    for (uint32_t i = 0; i < me->new_sets.n; i++) {
        is_met = is_met && rl_is_majority(me->new_sets.nodes[i], has);
    }
    return is_met;
}

/* To one node that does not have it; or, when enough have it, the next step. */
static void go_on(struct sim_world *world) {
    struct sim_members *me = &world->members;
    const rl_mask has = written(world), lacks = all_nodes(me) & ~has;
    const bool met = world->options.broken == SIM_BREAK_MEMBERS_UNMET ? has != 0 : is_met(me, has);
    if (lacks != 0 && (!met || sim_chance(dice(world), 70))) {
        write_to(world, rl_bits_nth(lacks, sim_pick(dice(world), rl_bits_count(lacks))));
        me->cut_ns = world->now_ns;
    } else if (met && me->change == SIM_JOINT) {
        carry_fences(world);
        me->change = SIM_WAITS;
        me->cut_ns = world->now_ns;
    } else if (met && me->change == SIM_ENDS) {
        me->change = SIM_STABLE;
    }
}

/* By true time: no client's clock is slower than that. */
static uint64_t wait_ns(const struct sim_options *options) {
    const uint64_t ttl_ns = options->max_ttl_ms * RL_NS_PER_MS;
    return ttl_ns + ttl_ns / 1000000 * (uint64_t)options->clock_drift_ppm +
           2 * options->clock_wave_ns + RL_NS_PER_MS;
}

static void end_change(struct sim_world *world) {
    struct sim_members *me = &world->members;
    if (me->goes_back) {
        me->new_sets = me->old_sets;
    } else {
        me->old_sets = me->new_sets;
    }
    next_key(me, false);
    me->change = SIM_ENDS;
    world->stats.changes++;
}

bool sim_members_event(struct sim_world *world, const struct sim_event *event) {
    struct sim_members *me = &world->members;
    const bool waits = world->options.broken != SIM_BREAK_MEMBERS_IMPATIENT;
    (void)event;
    if (world->phase != SIM_SAFETY) {
        return false;
    }
    if (sim_chance(dice(world), 10)) { /* it dies; another one begins with this step again */
        me->change = me->change == SIM_WAITS ? SIM_JOINT : me->change;
        me->goes_back = me->goes_back || (me->change == SIM_JOINT && sim_chance(dice(world), 30));
        later(world, 20 * GAP_NS);
        return true;
    }
    if (me->change == SIM_STABLE) {
        begin_change(world);
    } else if (me->change == SIM_WAITS && waits && !me->goes_back &&
               world->now_ns < me->cut_ns + wait_ns(&world->options)) {
        /* not yet */
    } else if (me->change == SIM_WAITS || (me->change == SIM_JOINT && me->goes_back)) {
        end_change(world);
    } else {
        go_on(world);
    }
    later(world, GAP_NS);
    return true;
}

void sim_members_start(struct sim_world *world) {
    struct sim_members *me = &world->members;
    if (!sim_options_changes(&world->options)) {
        return;
    }
    me->random = sim_random_stream(world->options.seed, 20);
    snprintf(me->key.id, sizeof me->key.id, "%016llx", (unsigned long long)world->options.seed);
    any_sets(world, &me->new_sets);
    me->old_sets = me->new_sets;
    next_key(me, true);
    for (uint32_t i = 0; i < world->options.nodes; i++) {
        if (all_nodes(me) & rl_bit(i)) {
            write_to(world, i);
        }
    }
    later(world, GAP_NS);
}

/* A change that was not waited out is abandoned, which is safe at once. */
void sim_members_heal(struct sim_world *world) {
    struct sim_members *me = &world->members;
    if (!sim_options_changes(&world->options)) {
        return;
    }
    for (int step = 0; step < 2; step++) {
        const rl_mask nodes = all_nodes(me);
        for (uint32_t i = 0; nodes >> i != 0; i++) {
            if (nodes & rl_bit(i)) {
                write_to(world, i);
            }
        }
        if (me->change == SIM_JOINT || me->change == SIM_WAITS) {
            me->goes_back = true;
            end_change(world);
        }
    }
}

/* Any that have a configuration: an earlier one leads to the present one. */
uint32_t sim_members_begin(struct sim_world *world) {
    uint32_t nodes = (uint32_t)rl_all_nodes(world->options.nodes);
    if (sim_options_changes(&world->options)) {
        uint32_t known = 0;
        for (uint32_t i = 0; nodes >> i != 0; i++) {
            known |= key_at(world, i).epoch != 0 ? UINT32_C(1) << i : 0;
        }
        nodes = known & (uint32_t)sim_random(dice(world));
        nodes = nodes != 0 ? nodes : known;
    }
    return nodes;
}
