/* See permit.h. */
#include "mode/permit.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mark.h"
#include "client/env.h"
#include "core/home.h"
#include "core/quorum.h"
#include "lock/step.h"
#include "mode/mode.h"
#include "nodes/seats.h"
#include "wait/line.h"
#include "wait/line_call.h"
#include "wait/line_release.h"

#define NO_MODES "it is held as a permit, which has no modes"

/* -- Asking home -- */

/* Whether the node seems to be answering. Within the loop's turn, home may be a node that is
 * down. */
static bool is_answering(const redlock_client *client, uint32_t node) {
    assert(node < client->n_nodes);
    return (client->up >> node & 1) != 0 &&
           !rl_node_is_silent(&client->nodes[node]->node, client->rules.node_timeout_ns,
                              client->step_ns);
}

/* Home, chosen among the nodes that have not reported another number of permits. */
static uint32_t home_of(const redlock_lock *lock) {
    const redlock_client *client = lock->client;
    const struct rl_resource *resource = rl_lock_resource(lock, 0);
    const uint32_t home = rl_line_home(resource);
    const rl_mask differ = rl_permit_of(lock)->differ;
    if (home == RL_LINE_NO_HOME || (differ >> home & 1) == 0) {
        return home;
    }
    const struct rl_sides sides = rl_seats_sides(lock);
    const rl_mask others =
        client->voters & rl_sides_all(&sides) & ~rl_line_refused(client) & ~differ;
    assert((others >> home & 1) == 0);
    return others != 0 ? rl_home_node(resource->home_hash, client->node_hashes, others)
                       : RL_LINE_NO_HOME;
}

/* A lock that is already in line asks with its place there, and keeps it: its turn may be on its
 * way. */
static uint64_t place_at(redlock_lock *lock, uint32_t home) {
    struct rl_resource *resource = rl_lock_resource(lock, 0);
    const struct rl_place *place = rl_resource_place(resource);
    const bool stands = place->state != RL_PLACE_OUT && place->stands && place->home == home;
    assert(place->state == RL_PLACE_OUT || place->id != 0);
    return stands && resource->wait->placed == lock ? place->id : rl_line_new_place(resource);
}

static bool peek(redlock_lock *lock) {
    redlock_client *client = lock->client;
    struct rl_permit *permit = rl_permit_of(lock);
    const uint32_t home = home_of(lock);
    assert(!permit->asks && permit->next.n == 0);
    if (home == RL_LINE_NO_HOME || !is_answering(client, home)) {
        return false;
    }
    permit->place = place_at(lock, home);
    permit->home = (uint8_t)home;
    permit->asks = rl_line_call_peek(lock, rl_lock_resource(lock, 0), home, permit->place);
    return permit->asks;
}

/* Stops waiting for a peek: slots that it may still reserve are released. */
static void give_up_peek(redlock_lock *lock) {
    struct rl_permit *permit = rl_permit_of(lock);
    assert(permit->asks && permit->place != 0);
    permit->asks = false;
    rl_line_call_leave(lock, rl_lock_resource(lock, 0), permit->home, permit->place, false);
}

/* -- Slots -- */

/* A lock never takes slots at or above its number of permits, or the limit of k would not hold. No
 * slot occurs twice (redis/reply.h). */
static bool suits(const redlock_lock *lock, const struct rl_slots *slots) {
    bool good = slots->n == lock->target.take;
    assert(rl_permit_of(lock) != NULL && lock->target.take > 0);
    for (uint32_t i = 0; i < slots->n; i++) {
        good = good && slots->at[i] < lock->target.permits;
    }
    return good;
}

/* Chooses slots at random, since nothing better is known. Consecutive slots are as good as any. */
static void choose(redlock_lock *lock) {
    const uint32_t k = lock->target.permits;
    const uint32_t from = (uint32_t)(rl_client_random(lock->client) % k);
    assert(lock->target.take <= k);
    rl_permit_of(lock)->slots.n = lock->target.take;
    for (uint32_t i = 0; i < lock->target.take; i++) {
        rl_permit_of(lock)->slots.at[i] = (uint16_t)((from + i) % k);
    }
}

/* Uses the slots that home has named. */
static void use(redlock_lock *lock, struct rl_slots *named) {
    struct rl_permit *permit = rl_permit_of(lock);
    assert(named->n == lock->target.take);
    permit->slots = *named;
    named->n = 0;
    permit->from = RL_NO_SLOT;
}

/* Whether the turn of this attempt has named slots. */
static bool has_turn(const redlock_lock *lock) {
    const struct rl_place *place = rl_resource_place(rl_line_of(lock));
    const struct rl_permit *permit = rl_permit_of(lock);
    assert(lock->core.place != 0);
    return permit->turn.n > 0 && permit->turn_place == place->id && !place->probes;
}

/* If the lock asked with its place in line, marks that place as used: the attempt has its token. */
static void use_place(const redlock_lock *lock) {
    struct rl_wait *wait = rl_lock_resource(lock, 0)->wait;
    if (wait != NULL && wait->place.state != RL_PLACE_OUT &&
        wait->place.id == rl_permit_of(lock)->place) {
        rl_place_use(&wait->place, true);
    }
}

/* Whether the slots are known. *place: the place by which to take them. */
static bool find_first(redlock_lock *lock, uint64_t *place) {
    struct rl_permit *permit = rl_permit_of(lock);
    if (permit->asks) {
        give_up_peek(lock); /* home has not answered in time */
        permit->is_blind = true;
    }
    if (permit->next.n > 0) {
        use(lock, &permit->next);
        use_place(lock);
    } else if (!permit->is_blind && peek(lock)) {
        return false;
    } else {
        permit->place = rl_line_new_place(rl_lock_resource(lock, 0));
        choose(lock);
    }
    *place = permit->place;
    return true;
}

static bool find(redlock_lock *lock, uint64_t *place) {
    struct rl_permit *permit = rl_permit_of(lock);
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

/* Gives up a peek that is no longer needed. */
static void follow(redlock_lock *lock) {
    struct rl_permit *permit = rl_permit_of(lock);
    if (permit->asks && lock->core.state != RL_READY) {
        give_up_peek(lock);
    }
    if (!rl_lock_is_acquiring(&lock->core)) {
        permit->next.n = permit->turn.n = 0; /* no longer needed */
        permit->is_blind = false;
    }
    assert(!permit->asks || permit->next.n == 0);
}

/* A lock that is already asking home, on its last try, uses the slots at once instead of waiting
 * for the answer. */
static bool take_turn(redlock_lock *lock, uint32_t home, uint64_t place,
                      const struct rl_slots *slots) {
    struct rl_permit *permit = rl_permit_of(lock);
    assert(place != 0 && suits(lock, slots));
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

/* -- The number of permits -- */

/* Whether the acquire cannot succeed: no quorum is left that could agree. */
static bool is_outvoted(const redlock_lock *lock) {
    const uint8_t state = lock->core.state;
    const bool asks = state == RL_WAITING || state == RL_READY || state == RL_BACKOFF ||
                      (state == RL_TRYING && !lock->core.adopts);
    const struct rl_sides sides = rl_seats_sides(lock);
    return asks && !rl_sides_quorum(&sides, ~rl_permit_of(lock)->differ);
}

/* True: the acquire has ended. */
static bool learn_count(redlock_lock *lock, uint32_t node, const struct rl_answer *answer) {
    struct rl_permit *permit = rl_permit_of(lock);
    const rl_mask bit = rl_bit(node);
    const char *at = strstr(answer->text, " has "); /* "PERMITS this semaphore has 5 permits" */
    unsigned kept = 0;
    assert(node < lock->client->n_nodes);
    if (answer->verdict == RL_YES || answer->verdict == RL_NO) {
        permit->differ &= ~bit;
        return false;
    }
    if (answer->verdict != RL_ERROR || answer->reason != REDLOCK_ERR_NODE_PERMITS) {
        return false;
    }
    permit->differ |= bit;
    if (at != NULL && sscanf(at, " has %5u", &kept) == 1 && kept <= RL_PERMITS_MAX) {
        permit->kept = (uint16_t)kept;
    }
    if (!is_outvoted(lock)) {
        return false;
    }
    rl_step_simple(lock, RL_EV_PERMITS);
    return true;
}

/* A node that refuses says which slot not to request again. */
static void learn(redlock_lock *lock, uint32_t node, const struct rl_request *request,
                  const struct rl_answer *answer) {
    struct rl_permit *permit = rl_permit_of(lock);
    assert(node < lock->client->n_nodes);
    if (request->kind != RL_COMMAND_TAKE || !request->has_turn ||
        !rl_lock_has_token(&lock->core, request->token)) {
        return;
    }
    if (learn_count(lock, node, answer)) {
        return; /* the vote is too late */
    }
    const uint32_t which = answer->line.which > 0 ? answer->line.which - 1u : 0;
    assert(permit->slots.n > 0 && lock->target.permits > 0);
    if (answer->verdict == RL_NO && which < permit->slots.n) {
        permit->from = (uint16_t)((permit->slots.at[which] + 1u) % lock->target.permits);
    }
}

/* -- A peek -- */

static bool is_same_name(const struct rl_target *target, const struct rl_resource *resource) {
    const struct rl_bytes *name = &target->resources[0];
    assert(target->n > 0);
    return name->length == resource->length &&
           memcmp(name->data, resource->bytes, name->length) == 0;
}

/* Whether a release of the same semaphore that was sent before the peek was sent again after it,
 * because home did not know its script or refused the native command. */
static bool is_overtaken(const redlock_lock *lock, uint32_t node) {
    const struct rl_request *request = lock->client->nodes[node]->node.head;
    bool found = false;
    assert(lock->resource_count == 1);
    for (; request != NULL && !found; request = request->next) {
        found = request->sent_again && request->lock_mode == RL_PERMIT &&
                rl_command_releases((enum rl_command_kind)request->kind) &&
                is_same_name(request->target, rl_lock_resource(lock, 0));
    }
    return found;
}

static void take_no(redlock_lock *lock, uint32_t node) {
    if (is_overtaken(lock, node) && peek(lock)) {
        RL_MARK(PEEK_AGAIN);
        return;
    }
    rl_permit_of(lock)->found_none = true;
    rl_step_simple(lock, RL_EV_NONE);
}

static void learn_peek(struct rl_line_request *call, const struct rl_answer *answer) {
    redlock_lock *lock = call->lock;
    struct rl_permit *permit = rl_permit_of(lock);
    assert(call->request.join == RL_JOIN_PEEK);
    if (!permit->asks || permit->place != call->place) {
        return; /* a LEAVE is on its way */
    }
    assert(lock->core.state == RL_READY);
    permit->asks = false;
    if (learn_count(lock, call->node, answer)) {
        return;
    }
    if (answer->verdict == RL_YES && suits(lock, &answer->line.slots)) {
        permit->next = answer->line.slots;
        rl_step_simple(lock, RL_EV_READY);
    } else if (answer->verdict == RL_NO) {
        take_no(lock, call->node);
    } else {
        if (answer->verdict == RL_UNANSWERED) { /* home may have reserved slots */
            rl_line_call_leave(lock, rl_lock_resource(lock, 0), call->node, call->place, false);
        }
        permit->is_blind = answer->reason != REDLOCK_ERR_NODE_PERMITS; /* else asks the next node */
        rl_step_simple(lock, RL_EV_READY);
    }
}

/* -- The rules -- */

static void fill(const redlock_lock *lock, struct rl_request *request) {
    request->slots = rl_permit_of(lock)->slots;
    request->from = rl_permit_of(lock)->from;
}

const struct rl_mode_rules rl_mode_permit = {
    .mode = RL_PERMIT,
    .release = RL_COMMAND_RELEASE_PERMIT,
    .no_downgrade = NO_MODES,
    .no_upgrade = NO_MODES,
    .side_by_side = true,
    .has_one_key = true,
    .probe = RL_LINE_NO_PLACE,
    .find = find,
    .follow = follow,
    .fill = fill,
    .learn = learn,
    .learn_join = learn_count,
    .suits = suits,
    .take_turn = take_turn,
    .learn_peek = learn_peek,
};

/* -- The lock's calls -- */

void rl_permit_init(redlock_lock *lock) {
    rl_permit_of(lock)->from = RL_NO_SLOT;
}

void rl_permit_begin(redlock_lock *lock) {
    struct rl_permit *permit = rl_permit_of(lock);
    if (permit != NULL) {
        assert(!permit->asks);
        permit->told.n = 0;
        permit->differ = 0;
        permit->kept = 0;
        permit->found_none = false;
    }
}

static bool are_slots(const redlock_lock *lock, const int32_t *slots, size_t n) {
    bool good = n == lock->target.take;
    for (size_t i = 0; good && i < n; i++) {
        good = slots[i] >= 0 && slots[i] < lock->target.permits;
        for (size_t j = 0; j < i; j++) {
            good = good && slots[i] != slots[j];
        }
    }
    return good;
}

bool rl_permit_name(redlock_lock *lock, const int32_t *slots, size_t n) {
    struct rl_permit *permit = rl_permit_of(lock);
    if (permit == NULL || slots == NULL || !are_slots(lock, slots, n)) {
        return false;
    }
    permit->slots.n = (uint8_t)n;
    for (size_t i = 0; i < n; i++) {
        permit->slots.at[i] = (uint16_t)slots[i];
    }
    permit->is_named = true;
    return true;
}

bool rl_permit_lacks_slots(const redlock_lock *lock) {
    return rl_permit_of(lock) != NULL && !rl_permit_of(lock)->is_named;
}

void rl_permit_granted(redlock_lock *lock, const redlock_lock *primary) {
    if (rl_permit_of(lock) != NULL) {
        rl_permit_of(lock)->told = rl_permit_of(primary)->slots;
    }
}
