/* See sets.h. */
#include "nodes/sets.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "core/home.h"
#include "mode/mode.h"
#include "nodes/seats.h"
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
    const bool needs_sets = rl_config_count(config, RL_CONFIG_OLD) > 1 ||
                            rl_config_count(config, RL_CONFIG_NEW) > 1 ||
                            client->n_nodes + config->n > RL_SEATS_MAX;
    if (needs_sets) {
        sets = rl_alloc(&client->memory, 1, sizeof *sets);
    }
    if (sets != NULL) {
        name_sets(sets, OLD, config, RL_CONFIG_OLD);
        name_sets(sets, NEW, config, RL_CONFIG_NEW);
        sets->names = config->new_sets;
    }
    *out = sets;
    return !needs_sets || sets != NULL;
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

/* -- The nodes that decide -- */

static rl_mask side_of(const struct rl_sets *sets, int side, const void *resource, size_t length) {
    return sets->nodes[side][rl_config_choose(sets->hashes[side], sets->n[side], resource, length)];
}

/* Adds a side that must have a majority. False: there are two others already. */
static bool require(struct rl_sides *sides, rl_mask side) {
    if (sides->of[0] == 0) {
        sides->of[0] = sides->of[1] = side;
    } else if (sides->of[0] == sides->of[1]) {
        sides->of[1] = side;
    }
    return side == sides->of[0] || side == sides->of[1];
}

/* The old sides come first: new nodes may be asked to set a key that these have renewed
 * (core/lock.h, 9). False: there are more than two sides. */
static bool sides_of(const struct rl_sets *sets, const redlock_lock *lock, struct rl_sides *sides) {
    bool fits = true;
    *sides = (struct rl_sides){{0, 0}};
    for (int side = OLD; side <= NEW; side++) {
        for (uint32_t i = 0; i < lock->target.n; i++) {
            const struct rl_bytes *name = &lock->target.resources[i];
            fits = require(sides, side_of(sets, side, name->data, name->length)) && fits;
        }
    }
    return fits;
}

struct rl_sides rl_sets_sides(const redlock_client *client, const void *resource, size_t length) {
    const struct rl_sets *sets = client->membership.sets;
    if (sets == NULL) {
        return client->membership.sides;
    }
    return (struct rl_sides){
        {side_of(sets, OLD, resource, length), side_of(sets, NEW, resource, length)}};
}

/* -- Groups -- */

static bool is_same(const struct rl_group *a, const struct rl_group *b) {
    return a->is_split == b->is_split && a->seats.n == b->seats.n &&
           memcmp(a->seats.nodes, b->seats.nodes, a->seats.n) == 0 &&
           memcmp(&a->rules.electorate, &b->rules.electorate, sizeof a->rules.electorate) == 0;
}

/* Finds or makes the lock's group in these sets. NULL: no memory, or too many nodes. */
static struct rl_group *group_for(redlock_client *client, struct rl_sets *sets,
                                  const redlock_lock *lock) {
    struct rl_sides sides;
    struct rl_group wanted = {.rules = client->rules, .is_split = !sides_of(sets, lock, &sides)};
    struct rl_group *group = sets->groups;
    const bool holds =
        rl_lock_is_holding(&lock->core); /* else it may have shared another lock's seats */
    const uint32_t needed = holds ? rl_mode_nodes(lock) : 0;
    if (!rl_seats_make(lock, rl_sides_all(&sides), needed, &wanted.seats)) {
        return NULL;
    }
    wanted.rules.electorate = (struct rl_electorate){
        {rl_seats_at(&wanted.seats, sides.of[0]), rl_seats_at(&wanted.seats, sides.of[1])}};
    while (group != NULL && !is_same(group, &wanted)) {
        group = group->next;
    }
    if (group == NULL) {
        group = rl_alloc(&client->memory, 1, sizeof *group);
        if (group != NULL) {
            *group = wanted;
            group->next = sets->groups;
            sets->groups = group;
        }
    }
    return group;
}

static uint32_t most_of(const struct rl_sets *sets) {
    uint32_t most = 0;
    for (int side = OLD; side <= NEW; side++) {
        for (uint32_t i = 0; i < sets->n[side]; i++) {
            const uint32_t n = rl_bits_count(sets->nodes[side][i]);
            most = n > most ? n : most;
        }
    }
    return most;
}

uint32_t rl_sets_seats(const redlock_client *client) {
    const struct rl_sets *sets = client->membership.sets;
    return sets != NULL ? sets->most : client->n_nodes;
}

/* Moves the lock to a group; NULL: to the client's own rules, see seats.h. */
static void move(redlock_lock *lock, const struct rl_group *group) {
    uint8_t to[RL_SEATS_MAX];
    rl_seats_move(lock, group != NULL ? &group->rules : &lock->client->rules,
                  group != NULL ? &group->seats : NULL, to);
    rl_mode_renumber(lock, to);
}

bool rl_sets_bind(redlock_lock *lock) {
    struct rl_sets *sets = lock->client->membership.sets;
    if (sets == NULL) {
        return true;
    }
    const struct rl_group *group = group_for(lock->client, sets, lock);
    if (group == NULL || !rl_seats_reserve(lock, group->seats.n)) {
        return false;
    }
    move(lock, group);
    return true;
}

bool rl_sets_adopt(redlock_client *client, struct rl_sets *sets) {
    struct rl_sets *before = client->membership.sets;
    RL_EACH(redlock_lock, lock, &client->locks, link) { /* allocates all that the moves need */
        const struct rl_group *group = sets != NULL ? group_for(client, sets, lock) : NULL;
        const uint32_t n = group != NULL ? group->seats.n : client->n_nodes;
        if ((sets != NULL && group == NULL) || !rl_seats_reserve(lock, n)) {
            return false;
        }
    }
    RL_EACH(redlock_lock, lock, &client->locks, link) {
        const struct rl_group *group = sets != NULL ? group_for(client, sets, lock) : NULL;
        assert(sets == NULL || group != NULL);
        move(lock, group);
    }
    if (sets != NULL) {
        sets->most = most_of(sets);
    }
    client->membership.sets = sets;
    rl_sets_drop(client, before);
    return true;
}

/* -- Counting -- */

bool rl_sets_are_quorum(const redlock_client *client, rl_mask nodes, enum rl_sets_which which) {
    const struct rl_sets *sets = client->membership.sets;
    bool are_quorum = true;
    if (sets == NULL) {
        return rl_sides_quorum(&client->membership.sides, nodes);
    }
    for (int side = OLD; side <= NEW; side++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < sets->n[side]; i++) {
            n += rl_is_majority(sets->nodes[side][i], nodes);
        }
        are_quorum = are_quorum && n >= (which == RL_SETS_EACH ? sets->n[side] : 1);
    }
    return are_quorum;
}

uint32_t rl_sets_votes_needed(const redlock_client *client) {
    return client->membership.sets == NULL ? rl_sides_votes_needed(&client->membership.sides)
                                           : rl_quorum(rl_sets_seats(client));
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
