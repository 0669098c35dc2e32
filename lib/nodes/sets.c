/* See sets.h. */
#include "nodes/sets.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "core/home.h"
#include "redlock/status.h"

enum { OLD, NEW };

/* -- The configuration -- */

static void name_sets(struct rl_sets *sets, int side, const struct rl_config *config,
                      enum rl_config_side which) {
    sets->n[side] = rl_config_count(config, which);
    for (uint32_t i = 0; i < sets->n[side]; i++) {
        const char *name = rl_config_name(config, which, i);
        sets->hashes[side][i] = rl_home_hash(name, (uint32_t)strlen(name));
    }
}

bool rl_sets_make(redlock_client *client, const struct rl_config *config, struct rl_sets **out) {
    struct rl_sets *sets = NULL;
    const bool are_several =
        rl_config_count(config, RL_CONFIG_OLD) > 1 || rl_config_count(config, RL_CONFIG_NEW) > 1;
    if (are_several) {
        sets = rl_alloc(&client->memory, 1, sizeof *sets);
    }
    if (sets != NULL) {
        name_sets(sets, OLD, config, RL_CONFIG_OLD);
        name_sets(sets, NEW, config, RL_CONFIG_NEW);
        sets->names = config->new_sets;
    }
    *out = sets;
    return !are_several || sets != NULL;
}

void rl_sets_place(struct rl_sets *sets, const struct rl_config *config, uint32_t member,
                   uint32_t node) {
    static const enum rl_config_side sides[] = {[OLD] = RL_CONFIG_OLD, [NEW] = RL_CONFIG_NEW};
    for (int side = OLD; sets != NULL && side <= NEW; side++) {
        for (uint32_t i = 0; i < sets->n[side]; i++) {
            sets->nodes[side][i] |=
                rl_config_is_in(config, member, sides[side], i) ? rl_bit(node) : 0;
        }
    }
}

void rl_sets_drop(redlock_client *client, struct rl_sets *sets) {
    struct rl_group *group;
    while (sets != NULL && (group = sets->groups) != NULL) {
        sets->groups = group->next;
        rl_free(&client->memory, group);
    }
    rl_free(&client->memory, sets);
}

void rl_sets_free(redlock_client *client) {
    rl_sets_drop(client, client->membership.sets);
    client->membership.sets = NULL;
}

/* -- Electorates -- */

static uint32_t side_of(const struct rl_sets *sets, int side, const void *resource, size_t length) {
    return sets->nodes[side][rl_config_choose(sets->hashes[side], sets->n[side], resource, length)];
}

/* Adds a side that must have a majority. False: there are two others. */
static bool require(struct rl_electorate *electorate, uint32_t side) {
    uint32_t *sides = electorate->sides;
    if (sides[0] == 0) {
        sides[0] = sides[1] = side;
    } else if (sides[0] == sides[1]) {
        sides[1] = side;
    }
    return side == sides[0] || side == sides[1];
}

/* The old sides first: new ones may be asked to set a key that these have renewed (core/lock.h,
 * 9). False: there are more than two. */
static bool electorate_of(const struct rl_sets *sets, const redlock_lock *lock,
                          struct rl_electorate *electorate) {
    bool fits = true;
    *electorate = (struct rl_electorate){{0, 0}};
    for (int side = OLD; side <= NEW; side++) {
        for (uint32_t i = 0; i < lock->target.n; i++) {
            const struct rl_bytes *name = &lock->target.resources[i];
            fits = require(electorate, side_of(sets, side, name->data, name->length)) && fits;
        }
    }
    return fits;
}

struct rl_electorate rl_sets_electorate(const redlock_client *client, const void *resource,
                                        size_t length) {
    const struct rl_sets *sets = client->membership.sets;
    if (sets == NULL) {
        return client->rules.electorate;
    }
    return (struct rl_electorate){
        {side_of(sets, OLD, resource, length), side_of(sets, NEW, resource, length)}};
}

/* The rules for the lock's electorate, which are made if there are none; NULL: no memory. */
static struct rl_group *group_for(redlock_client *client, struct rl_sets *sets,
                                  const redlock_lock *lock) {
    struct rl_electorate electorate;
    const bool is_split = !electorate_of(sets, lock, &electorate);
    struct rl_group *group = sets->groups;
    while (group != NULL &&
           (memcmp(&group->rules.electorate, &electorate, sizeof electorate) != 0 ||
            group->is_split != is_split)) {
        group = group->next;
    }
    if (group == NULL) {
        group = rl_alloc(&client->memory, 1, sizeof *group);
        if (group != NULL) {
            group->rules = client->rules;
            group->rules.electorate = electorate;
            group->is_split = is_split;
            group->next = sets->groups;
            sets->groups = group;
        }
    }
    return group;
}

static_assert(offsetof(struct rl_group, rules) == 0, "a lock refers to its rules");

/* NULL: the client's own rules. */
static const struct rl_group *group_of(const redlock_lock *lock) {
    const void *rules = lock->core.rules;
    return lock->client->membership.sets != NULL ? rules : NULL;
}

bool rl_sets_bind(redlock_lock *lock) {
    redlock_client *client = lock->client;
    struct rl_sets *sets = client->membership.sets;
    const struct rl_group *group = sets != NULL ? group_for(client, sets, lock) : NULL;
    lock->core.rules = group != NULL ? &group->rules : &client->rules;
    return sets == NULL || group != NULL;
}

bool rl_sets_adopt(redlock_client *client, struct rl_sets *sets) {
    struct rl_sets *before = client->membership.sets;
    bool is_made = true;
    RL_EACH(redlock_lock, lock, &client->locks, link) {
        is_made = is_made && (sets == NULL || group_for(client, sets, lock) != NULL);
    }
    if (!is_made) {
        return false;
    }
    client->membership.sets = sets;
    RL_EACH(redlock_lock, lock, &client->locks, link) {
        const bool is_bound = rl_sets_bind(lock);
        assert(is_bound);
        (void)is_bound;
    }
    rl_sets_drop(client, before);
    return true;
}

/* -- Counting -- */

void rl_sets_limit(const redlock_lock *lock, struct rl_event *event,
                   int16_t reasons[RL_NODES_MAX]) {
    const struct rl_group *group = group_of(lock);
    if (group == NULL) {
        return;
    }
    const uint32_t electors = rl_electors(&group->rules.electorate);
    event->up &= electors | lock->core.may_hold;
    event->voters &= group->is_split ? 0 : electors;
    if (group->is_split) {
        for (uint32_t i = 0; i < lock->client->n_nodes; i++) {
            reasons[i] = event->reasons[i] != 0 ? event->reasons[i] : REDLOCK_ERR_NODE_CONFIG;
        }
        event->reasons = reasons;
    }
}

bool rl_sets_are_quorum(const redlock_client *client, uint32_t nodes) {
    const struct rl_sets *sets = client->membership.sets;
    bool are_quorum = true;
    if (sets == NULL) {
        return rl_is_quorum(&client->rules.electorate, nodes);
    }
    for (int side = OLD; side <= NEW; side++) {
        for (uint32_t i = 0; i < sets->n[side]; i++) {
            are_quorum = are_quorum && rl_is_majority(sets->nodes[side][i], nodes);
        }
    }
    return are_quorum;
}

uint32_t rl_sets_votes_needed(const redlock_client *client) {
    const struct rl_sets *sets = client->membership.sets;
    uint32_t most = sets == NULL ? rl_votes_needed(&client->rules.electorate) : 0;
    for (int side = OLD; sets != NULL && side <= NEW; side++) {
        for (uint32_t i = 0; i < sets->n[side]; i++) {
            const uint32_t needed = rl_quorum(rl_bits_count(sets->nodes[side][i]));
            most = needed > most ? needed : most;
        }
    }
    return most;
}

bool rl_sets_are_apart(const redlock_lock *lock, uint32_t *resource, const char *names[2]) {
    const struct rl_sets *sets = lock->client->membership.sets;
    uint32_t first = 0, set = 0, i = 0;
    for (; sets != NULL && i < lock->target.n && set == first; i++) {
        const struct rl_bytes *name = &lock->target.resources[i];
        set = rl_config_choose(sets->hashes[NEW], sets->n[NEW], name->data, name->length);
        first = i == 0 ? set : first;
    }
    if (set != first) {
        *resource = i - 1;
        names[0] = sets->names.names[first];
        names[1] = sets->names.names[set];
    }
    return set != first;
}
