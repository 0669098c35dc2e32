/* See seats.h. */
#include "nodes/seats.h"

#include <assert.h>
#include <string.h>

#include "redlock/status.h"

/* -- Looking up seats -- */

static_assert(offsetof(struct rl_group, rules) == 0, "a lock refers to its rules");

/* The lock's group; NULL: it has the client's own rules, and a node's seat is its number. */
static const struct rl_group *group_of(const redlock_lock *lock) {
    const void *rules = lock->core.rules;
    return rules != &lock->client->rules ? rules : NULL;
}

uint32_t rl_seats_count_of(const redlock_lock *lock) {
    const struct rl_group *group = group_of(lock);
    const uint32_t n = group != NULL ? group->seats.n : lock->client->n_nodes;
    return n < RL_SEATS_MAX ? n : RL_SEATS_MAX;
}

uint32_t rl_seats_node(const redlock_lock *lock, uint32_t seat) {
    const struct rl_group *group = group_of(lock);
    assert(seat < rl_seats_count_of(lock));
    return group != NULL ? group->seats.nodes[seat] : seat;
}

static uint32_t find(const struct rl_seats *seats, uint32_t node) {
    uint32_t seat = 0;
    if (seats == NULL) {
        return node < RL_SEATS_MAX ? node : RL_SEATS_MAX;
    }
    while (seat < seats->n && seats->nodes[seat] != node) {
        seat++;
    }
    return seat < seats->n ? seat : RL_SEATS_MAX;
}

/* NULL: a node's seat is its number. */
static const struct rl_seats *seats_of(const redlock_lock *lock) {
    const struct rl_group *group = group_of(lock);
    return group != NULL ? &group->seats : NULL;
}

uint32_t rl_seats_of(const redlock_lock *lock, uint32_t node) {
    return find(seats_of(lock), node);
}

uint32_t rl_seats_at(const struct rl_seats *seats, rl_mask nodes) {
    uint32_t mask = 0;
    if (seats == NULL) {
        return (uint32_t)(nodes & rl_bits_below(RL_SEATS_MAX));
    }
    for (uint32_t i = 0; i < seats->n; i++) {
        mask |= nodes >> seats->nodes[i] & 1 ? rl_seat(i) : 0;
    }
    return mask;
}

rl_mask rl_seats_nodes(const redlock_lock *lock, uint32_t seats) {
    rl_mask nodes = 0;
    if (group_of(lock) == NULL) {
        return seats;
    }
    RL_EACH_BIT(i, seats) {
        nodes |= rl_bit(rl_seats_node(lock, i));
    }
    return nodes;
}

struct rl_sides rl_seats_sides(const redlock_lock *lock) {
    const uint32_t *sides = lock->core.rules->electorate.sides;
    return (struct rl_sides){{rl_seats_nodes(lock, sides[0]), rl_seats_nodes(lock, sides[1])}};
}

/* -- The nodes in an event -- */

/* Fills in which of the lock's nodes are the same server. */
static void fill_duplicates(const redlock_lock *lock, struct rl_event *event,
                            struct rl_seats_room *room) {
    const redlock_client *client = lock->client;
    const uint32_t n = rl_seats_count_of(lock);
    event->duplicates = NULL;
    if (!client->has_duplicates) {
        return;
    }
    memset(room->duplicates, 0, sizeof room->duplicates);
    for (uint32_t i = 0; i < n; i++) {
        room->duplicates[i] =
            rl_seats_at(seats_of(lock), client->duplicates[rl_seats_node(lock, i)]);
    }
    event->duplicates = room->duplicates;
}

void rl_seats_fill(const redlock_lock *lock, struct rl_event *event, struct rl_seats_room *room) {
    const redlock_client *client = lock->client;
    const struct rl_group *group = group_of(lock);
    event->up = rl_seats_at(seats_of(lock), client->up);
    event->voters = rl_seats_at(seats_of(lock), client->voters);
    event->reasons = room->reasons;
    memcpy(room->reasons, client->reasons, sizeof room->reasons);
    if (group != NULL) {
        const uint32_t electors = rl_electors(&group->rules.electorate);
        for (uint32_t i = 0; i < group->seats.n; i++) {
            const uint32_t node = group->seats.nodes[i];
            room->reasons[i] = group->is_split && client->reasons[node] == 0
                                   ? REDLOCK_ERR_NODE_CONFIG
                                   : client->reasons[node];
        }
        event->up &= electors | lock->core.may_hold;
        event->voters &= group->is_split ? 0 : electors;
    }
    fill_duplicates(lock, event, room);
}

/* -- Moving -- */

bool rl_seats_make(const redlock_lock *lock, rl_mask nodes, uint32_t needed,
                   struct rl_seats *seats) {
    const redlock_client *client = lock->client;
    const uint32_t voting = rl_electors(&lock->core.round.electorate);
    RL_EACH_BIT(i, rl_lock_nodes(&lock->core) | needed) {
        const uint32_t node = rl_seats_node(lock, i);
        const bool is_closed = client->nodes[node]->node.state == RL_NODE_CLOSED;
        nodes |= voting >> i & 1 || !is_closed ? rl_bit(node) : 0;
    }
    seats->n = 0;
    RL_EACH_BIT(node, nodes) {
        if (seats->n < RL_SEATS_MAX) {
            seats->nodes[seats->n] = (uint8_t)node;
        }
        seats->n++;
    }
    return seats->n <= RL_SEATS_MAX;
}

bool rl_seats_reserve(redlock_lock *lock, uint32_t n) {
    const redlock_allocator *memory = &lock->client->memory;
    struct rl_ballot *before = lock->core.round.ballots, *ballots;
    if (n <= lock->ballot_count) {
        return true;
    }
    ballots = rl_alloc(memory, RL_SEATS_MAX, sizeof *ballots);
    if (ballots == NULL) {
        return false;
    }
    memcpy(ballots, before, lock->ballot_count * sizeof *ballots);
    lock->core.round.ballots = ballots;
    lock->ballot_count = RL_SEATS_MAX;
    if (lock->owns_ballots) {
        rl_free(memory, before);
    }
    lock->owns_ballots = true;
    return true;
}

void rl_seats_move(redlock_lock *lock, const struct rl_rules *rules, const struct rl_seats *seats,
                   uint8_t to[RL_SEATS_MAX]) {
    const uint32_t n = rl_seats_count_of(lock);
    for (uint32_t i = 0; i < RL_SEATS_MAX; i++) {
        to[i] = (uint8_t)(i < n ? find(seats, rl_seats_node(lock, i)) : RL_SEATS_MAX);
    }
    if (group_of(lock) != NULL || seats != NULL) {
        rl_lock_renumber(&lock->core, to);
    }
    lock->core.rules = rules;
}

bool rl_seats_share(redlock_lock *lock, const redlock_lock *with) {
    assert(lock->client == with->client);
    if (!rl_seats_reserve(lock, rl_seats_count_of(with))) {
        return false;
    }
    lock->core.rules = with->core.rules;
    return true;
}
