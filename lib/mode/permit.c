/* See permit.h. */
#include "mode/permit.h"

#include <assert.h>
#include <string.h>

#include "client/env.h"
#include "core/driver.h"
#include "core/home.h"
#include "wait/line.h"
#include "wait/line_call.h"
#include "wait/line_release.h"

/* -- Asking home -- */

/* Whether the node answers, as far as is known. In the middle of a turn home may be a node that is
 * down. */
static bool is_answering(const redlock_client *client, uint32_t node) {
    const struct rl_node *asked = &client->nodes[node].node;
    const uint64_t oldest_ns = asked->head != NULL ? asked->head->sent_ns : RL_NEVER;
    assert(node < client->n_nodes);
    return (client->up >> node & 1) != 0 && !rl_node_is_clogged(asked) &&
           !rl_is_silent(&client->rules, oldest_ns, client->step_ns);
}

/* Home, chosen among the nodes that have not reported another number of permits. */
static uint32_t home_of(const redlock_lock *lock) {
    const redlock_client *client = lock->client;
    const struct rl_resource *resource = lock->resources[0];
    const uint32_t home = rl_line_home(resource), differ = lock->permit->differ;
    if (home == RL_LINE_NO_HOME || (differ >> home & 1) == 0) {
        return home;
    }
    const uint32_t others = client->voters & ~rl_line_refused(client) & ~differ;
    assert((others >> home & 1) == 0);
    return others != 0 ? rl_home_node(resource->home_hash, client->node_hashes, others)
                       : RL_LINE_NO_HOME;
}

/* A lock that is already in line asks with its place there, and keeps it: its turn may be on the
 * way. */
static uint64_t place_at(redlock_lock *lock, uint32_t home) {
    struct rl_resource *resource = lock->resources[0];
    const struct rl_line *line = rl_resource_line(resource);
    const bool stands = line->state != RL_LINE_OUT && line->stands && line->home == home;
    assert(line->state == RL_LINE_OUT || line->place != 0);
    return stands && resource->wait->placed == lock ? line->place : rl_line_new_place(resource);
}

bool rl_permit_peek(redlock_lock *lock) {
    redlock_client *client = lock->client;
    struct rl_permit *permit = lock->permit;
    const uint32_t home = home_of(lock);
    assert(!permit->asks && permit->next.n == 0);
    if (home == RL_LINE_NO_HOME || !is_answering(client, home)) {
        return false;
    }
    permit->place = place_at(lock, home);
    permit->home = (uint8_t)home;
    permit->asks = rl_line_call_peek(lock, lock->resources[0], home, permit->place);
    return permit->asks;
}

/* Stops waiting for a peek: slots that it may still reserve are released. */
static void give_up_peek(redlock_lock *lock) {
    struct rl_permit *permit = lock->permit;
    assert(permit->asks && permit->place != 0);
    permit->asks = false;
    rl_line_call_leave(lock, lock->resources[0], permit->home, permit->place, false);
}

/* -- Slots -- */

bool rl_permit_may_be(const redlock_lock *lock, const struct rl_slots *slots) {
    bool good = slots->n == lock->target.take;
    assert(lock->permit != NULL && lock->target.take > 0);
    for (uint32_t i = 0; i < slots->n; i++) {
        good = good && slots->at[i] < lock->target.permits;
    }
    return good;
}

/* Chooses slots at random, for lack of better knowledge. Consecutive ones are as good as any. */
static void choose(redlock_lock *lock) {
    const uint32_t k = lock->target.permits;
    const uint32_t from = (uint32_t)(rl_client_random(lock->client) % k);
    assert(lock->target.take <= k);
    lock->permit->slots.n = lock->target.take;
    for (uint32_t i = 0; i < lock->target.take; i++) {
        lock->permit->slots.at[i] = (uint16_t)((from + i) % k);
    }
}

/* Uses the slots that home has named. */
static void use(redlock_lock *lock, struct rl_slots *named) {
    struct rl_permit *permit = lock->permit;
    assert(named->n == lock->target.take);
    permit->slots = *named;
    named->n = 0;
    permit->from = RL_NO_SLOT;
}

/* Whether there are slots of the turn that this attempt is made in. */
static bool has_turn(const redlock_lock *lock) {
    const struct rl_line *line = rl_resource_line(rl_line_of(lock));
    const struct rl_permit *permit = lock->permit;
    assert(lock->core.place != 0);
    return permit->turn.n > 0 && permit->turn_place == line->place && !line->probes;
}

/* If the lock asked with its place in line, that place is used now: its token is the attempt's. */
static void use_place(const redlock_lock *lock) {
    struct rl_wait *wait = lock->resources[0]->wait;
    if (wait != NULL && wait->line.state != RL_LINE_OUT &&
        wait->line.place == lock->permit->place) {
        rl_line_use(&wait->line, true);
    }
}

/* Whether the slots are known. *place: the place to take them with. */
static bool find_first(redlock_lock *lock, uint64_t *place) {
    struct rl_permit *permit = lock->permit;
    if (permit->asks) {
        give_up_peek(lock); /* it takes too long */
        permit->is_blind = true;
    }
    if (permit->next.n > 0) {
        use(lock, &permit->next);
        use_place(lock);
    } else if (!permit->is_blind && rl_permit_peek(lock)) {
        return false;
    } else {
        permit->place = rl_line_new_place(lock->resources[0]);
        choose(lock);
    }
    *place = permit->place;
    return true;
}

bool rl_permit_find(redlock_lock *lock, uint64_t *place) {
    struct rl_permit *permit = lock->permit;
    assert(lock->core.state == RL_READY);
    if (lock->core.place == 0) {
        if (!find_first(lock, place)) {
            return false;
        }
    } else if (has_turn(lock)) {
        use(lock, &permit->turn);
    } else {
        choose(lock);
    }
    permit->is_blind = permit->found_none = permit->is_named = false;
    return true;
}

void rl_permit_follow(redlock_lock *lock) {
    struct rl_permit *permit = lock->permit;
    if (permit->asks && lock->core.state != RL_READY) {
        give_up_peek(lock);
    }
    if (!rl_lock_is_acquiring(&lock->core)) {
        permit->next.n = permit->turn.n = 0; /* no longer needed */
        permit->is_blind = false;
    }
    assert(!permit->asks || permit->next.n == 0);
}

bool rl_permit_turn(redlock_lock *lock, uint32_t home, uint64_t place,
                    const struct rl_slots *slots) {
    struct rl_permit *permit = lock->permit;
    assert(place != 0 && rl_permit_may_be(lock, slots));
    if (lock->core.state != RL_READY) {
        permit->turn = *slots;
        permit->turn_place = place;
        return false;
    }
    if (permit->asks && permit->place != place) {
        give_up_peek(lock);
    }
    permit->asks = false;
    permit->home = (uint8_t)home;
    permit->place = place;
    permit->next = *slots;
    return true;
}

void rl_permit_begin(redlock_lock *lock) {
    struct rl_permit *permit = lock->permit;
    assert(!permit->asks);
    permit->told.n = 0;
    permit->differ = 0;
    permit->kept = 0;
    permit->found_none = false;
}
