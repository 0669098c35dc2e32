/* See line_event.h. */
#include "wait/line_event.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mark.h"
#include "client/env.h"
#include "lock/reentrancy.h"
#include "lock/step.h"
#include "mode/mode.h"
#include "nodes/listening.h"
#include "nodes/seats.h"
#include "wait/hear.h"
#include "wait/line.h"
#include "wait/line_call.h"
#include "wait/waiting.h"
#include "watch/span.h"

#define FOREVER_MS 86400000 /* another client's key that never expires */

/* -- Turns -- */

/* Steps a queued lock that no longer waits: it asks the nodes, or pauses. */
static void step_queued(redlock_lock *lock) {
    struct rl_event event = {.type = RL_EV_TURN};
    event.place = rl_line_take_turn(lock, &event.u.pause);
    rl_step_event(lock, &event);
}

/* Steps a lock that has its turn among this client's locks. The line decides whether it may ask for
 * votes, or must wait for other clients. */
static void step_in_turn(redlock_lock *lock) {
    struct rl_event event = {.type = RL_EV_TURN};
    const bool pauses = lock->waiting.stage == RL_STAGE_PAUSES;
    assert(lock->core.state == RL_WAITING);
    lock->waiting.stage = RL_STAGE_NONE;
    lock->client->stats.handoffs++;
    if (lock->mode->side_by_side && !rl_waiting_is_active(lock)) {
        event.place = lock->waiting.takes ? RL_LINE_NO_PLACE : 0;
        rl_step_event(lock, &event);
    } else if (pauses && !rl_line_holds_up(lock)) {
        event.u.pause = true; /* leaves a gap for clients that are not in line */
        rl_step_event(lock, &event);
    } else {
        rl_line_go(lock);
    }
}

void rl_line_run(redlock_lock *lock) {
    const bool is_due = rl_line_is_due(lock);
    const bool stands = lock->waiting.stage == RL_STAGE_QUEUED && lock->core.state == RL_WAITING;
    if (!is_due && !stands && !lock->is_notified) {
        RL_MARK(TURN_TAKEN_BACK); /* it has left the waitlist meanwhile */
    }
    if ((!is_due && !stands) || lock->client->phase != RL_CLIENT_OPEN) {
        return;
    }
    if (stands) {
        rl_waiting_stand(lock, lock->waiting.line);
    } else if (!rl_line_is_queued(lock)) {
        step_in_turn(lock);
    } else if (rl_waiting_take(lock)) {
        step_queued(lock);
    } else {
        rl_line_step_back(lock);
        rl_waiting_stand(lock, lock->resource_count);
    }
}

/* -- Answers -- */

/* Call this after the line's step. A lock that is already asking keeps its slots. */
static void take_slots(const struct rl_resource *resource, redlock_lock *waiter,
                       const struct rl_slots *slots) {
    const struct rl_place *place = rl_resource_place(resource);
    assert(waiter->mode->suits(waiter, slots));
    if (place->state == RL_PLACE_TURN &&
        waiter->mode->take_turn(waiter, place->home, place->id, slots)) {
        rl_step_simple(waiter, RL_EV_READY);
    }
}

/* Handles the answer to the JOIN of the current place. */
static void joined(struct rl_resource *resource, redlock_lock *waiter, struct rl_place_event *event,
                   const struct rl_answer *answer) {
    const struct rl_slots *slots = &answer->line.slots;
    assert(event->type == RL_PLACE_EV_ANSWER);
    if (waiter->mode->learn_join(waiter, rl_resource_place(resource)->home, answer)) {
        return;
    }
    if (answer->verdict == RL_NO) {
        rl_span_trace_place(waiter, rl_resource_place(resource)->home, answer->line.rank);
    }
    const bool yes = answer->verdict == RL_YES && waiter->mode->suits(waiter, slots);
    if (answer->verdict == RL_YES && !yes) {
        event->u.answer.said = RL_PLACE_SAID_NOTHING;
    }
    rl_line_feed(resource, waiter, event);
    if (yes) {
        take_slots(resource, waiter, slots);
    }
}

void rl_line_answer(struct rl_node *node, struct rl_request *request,
                    const struct rl_answer *answer) {
    struct rl_place_event event = {.type = RL_PLACE_EV_ANSWER};
    struct rl_line_request *call = RL_CONTAINER(request, struct rl_line_request, request);
    struct rl_resource *resource = call->resource;
    redlock_lock *waiter = rl_line_waiter(resource);
    (void)node;
    assert(request->kind == RL_COMMAND_JOIN || request->kind == RL_COMMAND_LEAVE);
    event.u.answer = (struct rl_place_answer_in){
        .place = call->place,
        .said = answer->verdict == RL_YES  ? RL_PLACE_SAID_YES
                : answer->verdict == RL_NO ? RL_PLACE_SAID_NO
                                           : RL_PLACE_SAID_NOTHING,
        .rank = answer->line.rank,
        .life_ms = answer->line.life_ms >= 0 ? (uint64_t)answer->line.life_ms : FOREVER_MS};
    if (request->join == RL_JOIN_PEEK) {
        call->lock->mode->learn_peek(call, answer);
    } else if (request->kind == RL_COMMAND_JOIN && waiter != NULL &&
               rl_resource_place(resource)->id == call->place) {
        joined(resource, waiter, &event, answer);
    }
    rl_line_answered(resource, call->node, request, answer);
    rl_line_call_answered(call, answer->verdict);
}

/* -- The client's part -- */

/* Another client wants, or may want, the lock's resource: the lock stops lingering. */
static void become_wanted(redlock_lock *lock) {
    rl_hear_wanted(lock);
    rl_linger_end(lock);
}

void rl_line_nodes_changed(redlock_client *client) {
    struct rl_link *link = client->lines.waiting.first;
    while (link != NULL) {
        struct rl_wait *wait = RL_CONTAINER(link, struct rl_wait, waits);
        struct rl_resource *resource = wait->resource;
        redlock_lock *waiter = rl_line_waiter(resource);
        link = link->next; /* this link may be removed */
        assert(wait->place.state != RL_PLACE_OUT);
        if (waiter != NULL) {
            rl_line_feed_simple(resource, waiter, RL_PLACE_EV_NODES);
        }
    }
    link = client->lines.passed.first;
    while (link != NULL) {
        redlock_lock *active = rl_line_active(RL_CONTAINER(link, struct rl_wait, passed)->resource);
        link = link->next; /* this link may be removed */
        if (active != NULL && rl_hear_is_deaf(active)) {
            become_wanted(active);
        }
    }
}

static void on_heard(redlock_client *client, uint32_t node) {
    const rl_mask bit = rl_bit(node);
    assert(node < client->n_nodes);
    client->lines.refused &= ~bit;
    client->lines.refused |= rl_listening_refused(client, node) ? bit : 0;
    rl_line_nodes_changed(client);
}

/* The resource with a waiting lock whose place this is; NULL: none. */
static struct rl_resource *waiting_with(redlock_client *client, uint64_t place) {
    struct rl_resource *found = NULL;
    RL_EACH(struct rl_wait, wait, &client->lines.waiting, waits) {
        if (place != 0 && wait->place.id == place && rl_line_waiter(wait->resource) != NULL) {
            found = wait->resource;
        }
    }
    return found;
}

/* The resource that a lock of ours holds by this token; NULL: none. */
static struct rl_resource *held_by(redlock_client *client, const char *token) {
    struct rl_resource *found = NULL;
    RL_EACH(struct rl_wait, wait, &client->lines.passed, passed) {
        redlock_lock *active = rl_line_active(wait->resource);
        if (active != NULL && rl_lock_has_token(&active->core, token)) {
            found = wait->resource;
        }
    }
    return found;
}

static void hear_turn(struct rl_resource *resource, uint32_t node,
                      const struct rl_line_message *said) {
    redlock_client *client = rl_line_client(resource);
    redlock_lock *waiter = rl_line_waiter(resource);
    struct rl_place_event event = {.type = RL_PLACE_EV_TURN};
    event.u.place = said->place;
    if (resource->wait->place.home != node) {
        return;
    }
    if (said->kind == RL_LINE_SAYS_HEIR || !waiter->mode->suits(waiter, &said->slots)) {
        event.type = RL_PLACE_EV_HEIR; /* with wrong slots it asks home for the reason */
        rl_line_feed(resource, waiter, &event);
        return;
    }
    waiter->waiting.shuts = said->kind == RL_LINE_SAYS_SHUT;
    rl_trace(client, REDLOCK_EVENT_TURN, waiter, &client->nodes[node]->node, 0, 0);
    rl_line_feed(resource, waiter, &event);
    take_slots(resource, waiter, &said->slots);
}

/* When this node's vote begins, because it has the lock's token; 0 if that is unknown, or if the
 * lock is asking for something else. A key that a node passed while it might not vote never becomes
 * a vote. */
static uint64_t passed_since_ns(const redlock_lock *lock, uint32_t node,
                                const struct rl_line_message *said) {
    const redlock_client *client = lock->client;
    const struct rl_client_node *member = client->nodes[node];
    const uint64_t begin_us = said->time_us - said->time_us % 1000; /* ttls are whole ms */
    const uint64_t start_ns =
        rl_calibration_start_ns(&member->calibration, begin_us, rl_client_now_ns(client),
                                rl_listening_since_ns(client, node), client->rules.drift_ppm);
    const bool has_fence = !lock->core.acquire.fences || said->counter != 0;
    return start_ns > member->guard.votes_ns && has_fence && said->lease_ms >= lock->core.ttl_ms &&
                   rl_line_is_signed(said, member->secret, rl_lock_resource(lock, 0))
               ? start_ns
               : 0;
}

/* Counts the node's vote if the message proves it, and asks for the vote otherwise. */
static void hear_vote(redlock_lock *lock, uint32_t node, const struct rl_line_message *said) {
    const uint64_t start_ns = passed_since_ns(lock, node, said);
    const uint32_t seat = rl_seats_of(lock, node);
    struct rl_event event = {.type = RL_EV_VOTE};
    if (seat == RL_SEATS_MAX) {
        return; /* the node no longer decides */
    }
    event.u.vote = (struct rl_ballot_in){.round = lock->core.round.id,
                                         .node = seat,
                                         .vote = start_ns != 0 ? RL_VOTE_GRANTED : RL_VOTE_NONE,
                                         .counter = said->counter,
                                         .start_ns = start_ns};
    rl_step_event(lock, &event);
}

/* The first pass begins the attempt. If keys may not be passed to the lock, it waits for home's
 * message, and then asks all nodes. */
static void hear_pass(struct rl_resource *resource, uint32_t node,
                      const struct rl_line_message *said) {
    redlock_client *client = rl_line_client(resource);
    redlock_lock *waiter = rl_line_waiter(resource);
    const uint32_t lease_ms = rl_line_lease_ms(waiter, said->lease_ms);
    const bool is_home = resource->wait->place.home == node;
    struct rl_place_event event = {.type = is_home ? RL_PLACE_EV_TURN : RL_PLACE_EV_PASS};
    event.u.place = said->place;
    resource->wait->passed_by |= rl_bit(node);
    if (lease_ms == 0 && !is_home) {
        return;
    }
    if (resource->wait->place.state != RL_PLACE_TAKING) {
        rl_trace(client, REDLOCK_EVENT_TURN, waiter, &client->nodes[node]->node, 0, 0);
    }
    rl_line_feed(resource, waiter, &event);
    if (waiter->waiting.stage == RL_STAGE_TURN && waiter->resource_count == 1) {
        waiter->waiting.lease_ms = lease_ms;
        step_queued(waiter);
    }
    if (waiter->core.is_leased && waiter->core.state == RL_TRYING &&
        rl_lock_has_token(&waiter->core, said->token)) {
        hear_vote(waiter, node, said);
    }
}

/* A successor is also a sign that another client waits. No successor means that only readers wait,
 * or no client. */
static void hear_next(struct rl_resource *resource, const char *next) {
    struct rl_wait *wait = resource->wait;
    assert(strlen(next) <= RL_VALUE_MAX);
    memcpy(wait->successor, next, strlen(next) + 1);
    if (next[0] != '\0') {
        rl_place_note(&wait->place, true, rl_client_now_ns(rl_line_client(resource)));
    }
    if (rl_line_active(resource) != NULL) {
        become_wanted(rl_line_active(resource));
    }
}

/* Keys are passed only to writers. resource: NULL if no lock waits with this place; the lock may
 * already be held if home's message arrives last. */
static void on_pass(redlock_client *client, struct rl_resource *resource, uint32_t node,
                    const struct rl_line_message *said) {
    if (resource == NULL) {
        struct rl_resource *held = held_by(client, said->token);
        if (held != NULL && said->next[0] != '\0') {
            hear_next(held, said->next);
        }
        rl_left_passed(client, node, said->place);
    } else if (rl_line_waiter(resource)->mode->is_passed_on) {
        if (resource->wait->place.home == node) {
            hear_next(resource, said->next);
        }
        hear_pass(resource, node, said);
    }
}

static void on_message(redlock_client *client, uint32_t node, const char *payload, size_t length) {
    struct rl_line_message said;
    if (!rl_line_parse(client, payload, length, &said)) {
        return;
    }
    struct rl_resource *resource = waiting_with(client, said.place);
    if (said.kind == RL_LINE_SAYS_PASS) {
        on_pass(client, resource, node, &said);
    } else if (said.kind == RL_LINE_SAYS_NEXT) {
        resource = resource != NULL ? resource : held_by(client, said.token);
        if (resource != NULL) {
            hear_next(resource, said.next);
        }
    } else if (resource != NULL) {
        hear_turn(resource, node, &said);
    }
}

void rl_line_due(struct rl_deadline *item, uint64_t now_ns) {
    struct rl_wait *wait = RL_CONTAINER(item, struct rl_wait, due);
    struct rl_resource *resource = wait->resource;
    redlock_lock *waiter = rl_line_waiter(resource);
    assert(now_ns >= item->at_ns);
    (void)now_ns;
    rl_deadlines_set(&rl_line_client(resource)->deadlines, &wait->due, RL_NEVER);
    if (waiter == NULL) {
        return; /* rl_line_follow() decides */
    }
    if (wait->place.state != RL_PLACE_OUT) {
        rl_line_feed_simple(resource, waiter, RL_PLACE_EV_TICK);
    } else {
        resource->release_until_ns = 0; /* home has not answered in time */
        rl_line_go(waiter);
    }
}

void rl_line_init(redlock_client *client) {
    static const struct rl_listening_events events = {
        .confirmed = on_heard, .lost = on_heard, .told = on_message};
    snprintf(client->lines.tail, sizeof client->lines.tail, "%08x",
             (unsigned)(rl_client_random(client) >> 32));
    rl_listening_attend(client, &events);
}
