/* See line_release.h. */
#include "wait/line_release.h"

#include <assert.h>
#include <string.h>

#include "core/home.h"
#include "mode/mode.h"
#include "nodes/seats.h"
#include "nodes/sets.h"
#include "wait/line.h"
#include "wait/line_call.h"

uint32_t rl_line_home(const struct rl_resource *resource) {
    const redlock_client *client = rl_line_client(resource);
    const struct rl_place *place = rl_resource_place(resource);
    if (place->state != RL_PLACE_OUT && place->home != RL_LINE_NO_HOME) {
        return place->home;
    }
    const struct rl_sides sides = rl_sets_sides(client, resource->bytes, resource->length);
    const rl_mask voters = client->voters & rl_sides_all(&sides);
    if (voters == 0) {
        return RL_LINE_NO_HOME;
    }
    const rl_mask heard = voters & ~client->lines.refused; /* where others can wait, too */
    return rl_home_node(resource->home_hash, client->node_hashes, heard != 0 ? heard : voters);
}

/* A duplicate URL is never home: the server refuses under it what it granted under the first
 * URL. */
static bool is_home(const redlock_lock *lock, uint32_t node) {
    bool found = false;
    assert(node < lock->client->n_nodes);
    if (lock->client->duplicates[node] != 0) {
        return false;
    }
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        found = found || rl_line_home(rl_lock_resource(lock, i)) == node;
    }
    return found;
}

/* Whether a SET of this client may have reached home by another address of that server. */
static bool may_be_own(const redlock_lock *lock, uint32_t home) {
    bool found = false;
    assert(home < lock->client->n_nodes);
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        const redlock_lock *next = rl_line_active(rl_lock_resource(lock, i));
        found = found || (next != NULL && rl_seats_nodes(next, next->core.may_hold) &
                                              lock->client->duplicates[home]);
    }
    return found;
}

/* If its lines are empty, home counts the holder of another token, which may be this client's next
 * lock. */
static bool does_anybody_wait(const redlock_lock *lock, uint32_t home,
                              const struct rl_answer *answer) {
    const bool is_token = answer->verdict == RL_NO && answer->line.first_waited_ms == 0;
    return answer->line.served ||
           (answer->line.waiting > 0 && !(is_token && may_be_own(lock, home)));
}

/* Without memory the client does not learn that another client waits. */
static void note_others(struct rl_resource *resource, bool others_wait, uint64_t now_ns) {
    struct rl_wait *wait = others_wait ? rl_line_wait(resource) : resource->wait;
    if (wait != NULL) {
        rl_place_note(&wait->place, others_wait, now_ns);
    }
}

/* Home has answered whether another client waits, or will not answer. */
static void learn_from_release(struct rl_resource *resource, bool anybody_waits,
                               const struct rl_request *request, const struct rl_answer *answer) {
    const uint64_t now_ns = rl_line_client(resource)->step_ns; /* exact enough */
    assert(resource->references > 0);                          /* the lock that was released */
    bool is_said = answer->verdict == RL_YES || answer->verdict == RL_NO;
    if (is_said && request->announces) { /* after a refusal, the key at home is the holder's */
        note_others(resource, anybody_waits, now_ns);
    }
    if (request->mode == RL_RELEASE_LOOK) {
        resource->look_until_ns = 0;
    }
    if (request->mode != RL_RELEASE_LOOK || rl_place_is_busy(rl_resource_place(resource), now_ns)) {
        rl_line_release_over(resource);
    }
}

void rl_line_learn(redlock_lock *lock, struct rl_client_node *member,
                   const struct rl_request *request, const struct rl_answer *answer) {
    assert(lock->client == member->client);
    if (rl_command_hands_on((enum rl_command_kind)request->kind)) {
        const bool anybody_waits = does_anybody_wait(lock, member->index, answer);
        for (uint32_t i = 0; i < lock->resource_count; i++) {
            if (rl_line_home(rl_lock_resource(lock, i)) == member->index) {
                learn_from_release(rl_lock_resource(lock, i), anybody_waits, request, answer);
            }
        }
    } else if (request->kind == RL_COMMAND_TAKE && answer->verdict == RL_YES &&
               answer->line.waiting > 0) {
        note_others(rl_lock_resource(lock, 0), true, member->client->step_ns);
    } else if (answer->verdict == RL_NO && rl_command_acquires(request->kind)) {
        const int64_t said_ms = answer->line.life_ms > 0 ? answer->line.life_ms : 0;
        const uint32_t life_ms = said_ms < UINT32_MAX ? (uint32_t)said_ms : UINT32_MAX;
        lock->waiting.refused_by = answer->line.which > 0 ? (uint8_t)(answer->line.which - 1) : 0;
        if (life_ms > 0 &&
            (lock->waiting.refused_life_ms == 0 || life_ms < lock->waiting.refused_life_ms)) {
            lock->waiting.refused_life_ms = life_ms;
        }
        if (rl_lock_has_token(&lock->core, request->token) && is_home(lock, member->index)) {
            lock->waiting.refused_at_home = true;
        }
    }
    for (uint32_t i = 0; i < lock->resource_count; i++) { /* last: home may change */
        struct rl_resource *resource = rl_lock_resource(lock, i);
        if (rl_resource_place(resource)->avoid != 0) {
            rl_line_answered(resource, member->index, request, answer);
        }
    }
}

/* -- Releases -- */

/* This client's lock that is next after this one has left, or NULL. */
static redlock_lock *next_of(const redlock_lock *lock, uint32_t i) {
    assert(i < lock->resource_count);
    if (lock->mode->side_by_side) {
        return NULL; /* no lock waits for this one to leave */
    }
    struct rl_ticket *ticket = rl_lock_resource(lock, i)->waitlist.first;
    while (ticket != NULL && rl_ticket_lock(ticket) == lock) {
        ticket = ticket->next;
    }
    return ticket != NULL ? rl_ticket_lock(ticket) : NULL;
}

/* Whether other nodes refused the lock's turn, so that it joins again behind this release, ahead of
 * later waiters. */
static bool waits_again(const redlock_lock *lock) {
    const struct rl_place *place = rl_resource_place(rl_line_of(lock));
    return lock->core.state == RL_WAITING && rl_line_is_queued(lock) && lock->resource_count == 1 &&
           place->state == RL_PLACE_TAKING && !place->probes;
}

/* A writer that knows its successor passes its keys for a lease, so a successor that hangs costs
 * the others no more than the lease. */
static void pass_on(redlock_lock *lock, struct rl_release_plan *plan) {
    struct rl_wait *wait = rl_lock_resource(lock, 0)->wait;
    const uint64_t fence = rl_lock_fence(&lock->core);
    if (lock->waiting.hears_next && lock->announces && rl_mode_now(lock)->is_passed_on &&
        wait->place.state == RL_PLACE_OUT) {
        memcpy(plan->successor, wait->successor, sizeof plan->successor);
    }
    if (wait != NULL) {
        wait->successor[0] = '\0';
    }
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        struct rl_wait *at = rl_lock_resource(lock, i)->wait;
        if (at != NULL && at->held != 0) {
            rl_left_add(lock, at->held, 0, 0);
            at->held = 0;
        }
    }
    if (plan->successor[0] != '\0') {
        const uint32_t ttl_ms = lock->core.acquire.ttl_ms;
        plan->lease_ms = ttl_ms < RL_LINE_LEASE_MS ? ttl_ms : RL_LINE_LEASE_MS;
        if (fence != 0) { /* if the counters are lost, the wall clock carries the order */
            const uint64_t wall_us = lock->client->io.world->ops->wall_us(lock->client->io.world);
            plan->counter = wall_us > fence && wall_us < RL_FENCE_FLOOR_MAX ? wall_us : fence + 1;
        }
    }
}

/* A client that hands over among its own locks trusts the last sign of other waiters, however old:
 * otherwise long holds would outlast each sign, and the client could overtake for ever. Home's
 * answer says when no other client waits any more. */
static bool is_busy(const redlock_lock *lock) {
    bool busy = false;
    assert(lock->resource_count > 0);
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        const struct rl_place *place = rl_resource_place(rl_lock_resource(lock, i));
        busy = busy || rl_place_is_busy(place, lock->core.now_ns) ||
               (lock->announces && next_of(lock, i) != NULL && rl_place_was_busy(place));
    }
    return busy;
}

/* This client's lock that replaces this one, which leaves; NULL: none, or its resources differ, so
 * that others may be next on some. */
static redlock_lock *successor_of(const redlock_lock *lock) {
    redlock_lock *next = next_of(lock, 0);
    bool goes_on = lock->announces && lock->tickets[0].is_taken && !rl_lock_is_in_line(&lock->core);
    goes_on = goes_on && next != NULL && next->resource_count == lock->resource_count;
    for (uint32_t i = 1; goes_on && i < lock->resource_count; i++) {
        goes_on = next_of(lock, i) == next;
    }
    assert(next != lock);
    return goes_on ? next : NULL;
}

/* Puts this client's next lock in line first: home decides between it and other clients. */
static void join_ahead(redlock_lock *lock) {
    redlock_lock *next = lock->resource_count == 1 ? successor_of(lock) : NULL;
    if (next != NULL && is_busy(lock) &&
        rl_resource_place(rl_lock_resource(lock, 0))->state == RL_PLACE_OUT &&
        rl_line_homes(rl_lock_resource(lock, 0)) != 0) {
        rl_line_want(rl_lock_resource(lock, 0), next);
    }
}

/* Several resources may have different homes; each node serves the lines that it finds. */
static rl_mask serving_nodes(const redlock_lock *lock) {
    uint32_t home = rl_line_home(rl_lock_resource(lock, 0));
    assert(home == RL_LINE_NO_HOME || home < lock->client->n_nodes);
    if (lock->resource_count > 1) {
        return rl_bits_below(lock->client->n_nodes);
    }
    return home != RL_LINE_NO_HOME ? rl_bit(home) : 0;
}

/* Whether home's answer to the client's last RL_RELEASE_LOOK is still outstanding. */
static bool looks(const redlock_lock *lock) {
    bool looks = false;
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        looks = looks || lock->core.now_ns < rl_lock_resource(lock, i)->look_until_ns;
    }
    return looks;
}

/* A writer that was refused and goes on marks its intent wherever readers hold, which keeps new
 * readers out. It withdraws the intent when it releases the lock. */
static uint32_t intent_of(redlock_lock *lock) {
    const bool goes_on = rl_lock_is_acquiring(&lock->core);
    const bool drops = !goes_on && lock->announces && lock->waiting.noted_intent;
    const uint32_t intent_ms = rl_mode_now(lock)->intent_ms;
    assert(!goes_on || !rl_lock_is_holding(&lock->core));
    if (intent_ms == 0) {
        return 0;
    }
    lock->waiting.noted_intent = goes_on || (lock->waiting.noted_intent && !drops);
    return goes_on ? intent_ms : drops ? RL_INTENT_DROP : 0;
}

void rl_line_plan_release(redlock_lock *lock, struct rl_release_plan *plan) {
    const bool busy = is_busy(lock);
    /* A client that won without home may have overtaken another that had its turn and will ask
     * again: a newcomer that does not know of the line either could win deleted keys. An attempt
     * that bypassed the line and failed reserves nothing: where no line can be used, clients that
     * reserved keys would block each other for ever. */
    const bool keeps = (busy && (lock->announces || rl_line_is_queued(lock))) ||
                       (lock->announces && lock->waiting.refused_at_home);
    join_ahead(lock);
    *plan = (struct rl_release_plan){.homes = serving_nodes(lock),
                                     .mode = RL_RELEASE_SERVE,
                                     .grace_ms = keeps ? RL_LINE_GRACE_MS : 0,
                                     .intent_ms = intent_of(lock)};
    if (lock->tickets[0].is_taken) { /* else another client's token, without a part in our hold */
        pass_on(lock, plan);
    }
    if (waits_again(lock)) {
        plan->mode = RL_RELEASE_PLAIN;
        plan->grace_ms = RL_LINE_GRACE_MS;
    } else if (!busy && successor_of(lock) != NULL && !looks(lock)) {
        plan->mode = RL_RELEASE_LOOK;
    }
}

void rl_line_plan_retry(const redlock_lock *lock, uint32_t grace_ms, struct rl_release_plan *plan) {
    *plan = (struct rl_release_plan){
        .homes = serving_nodes(lock), .mode = RL_RELEASE_SERVE, .grace_ms = grace_ms};
}

/* Waits for home's answer only if home is answering: once home is known to hang, it does not delay
 * the next locks. */
void rl_line_release_sent(redlock_lock *lock, uint32_t node, enum rl_release_mode mode) {
    redlock_client *client = lock->client;
    const struct rl_request *oldest = client->nodes[node]->node.head;
    const uint64_t timeout_ns = client->rules.node_timeout_ns;
    const uint64_t wait_ns = timeout_ns < RL_LINE_GRACE_NS ? timeout_ns : RL_LINE_GRACE_NS;
    assert(client->up >> node & 1);
    if (oldest != NULL && oldest->sent_ns + wait_ns < lock->core.now_ns) {
        return;
    }
    if (lock->mode->side_by_side) {
        return; /* our next lock overtakes no client: all nodes keep new readers out */
    }
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        struct rl_resource *resource = rl_lock_resource(lock, i);
        const bool is_only = lock->resource_count == 1; /* the plan sends it only to home */
        assert(!is_only || node == rl_line_home(resource));
        if (!is_only && node != rl_line_home(resource)) {
            continue;
        }
        if (mode == RL_RELEASE_SERVE) {
            resource->release_until_ns = lock->core.now_ns + wait_ns;
        } else {
            resource->look_until_ns = lock->core.now_ns + wait_ns;
        }
    }
}
