/* See line_event.h. */
#include "client/line_event.h"

#include <assert.h>

#include "client/env.h"
#include "client/line.h"
#include "client/line_call.h"
#include "client/listening.h"
#include "client/permit.h"
#include "client/permit_answer.h"
#include "client/span.h"
#include "client/step.h"

#define FOREVER_MS 86400000 /* a key of somebody else's that does not end */

static void feed_simple(struct rl_resource *resource, redlock_lock *lock,
                        enum rl_line_event_type type) {
    struct rl_line_event event = {.type = type};
    assert(lock->client == rl_line_client(resource));
    rl_line_feed(resource, lock, &event);
}

/* -- Answers -- */

/* A turn of a semaphore has slots; else there are none. */
static bool has_its_slots(const redlock_lock *lock, const struct rl_slots *slots) {
    assert(slots->n <= RL_SLOTS_MAX);
    return lock->permit != NULL ? rl_permit_may_be(lock, slots) : slots->n == 0;
}

/* Behind the line's step. A lock that asks already does so with those that it has. */
static void take_slots(const struct rl_resource *resource, redlock_lock *waiter,
                       const struct rl_slots *slots) {
    const struct rl_line *line = &resource->line;
    assert(has_its_slots(waiter, slots));
    if (waiter->permit != NULL && line->state == RL_LINE_TURN &&
        rl_permit_turn(waiter, line->home, line->place, slots)) {
        rl_step_simple(waiter, RL_EV_READY);
    }
}

/* To the JOIN of the place that stands. */
static void joined(struct rl_resource *resource, redlock_lock *waiter, struct rl_line_event *event,
                   const struct rl_answer *answer) {
    const struct rl_slots *slots = &answer->line.slots;
    assert(event->type == RL_LINE_EV_ANSWER);
    if (waiter->permit != NULL && rl_permit_hear(waiter, resource->line.home, answer)) {
        return;
    }
    if (answer->verdict == RL_NO) {
        rl_span_trace_place(waiter, resource->line.home, answer->line.rank);
    }
    const bool yes = answer->verdict == RL_YES && has_its_slots(waiter, slots);
    if (answer->verdict == RL_YES && !yes) {
        event->u.answer.said = RL_LINE_SAID_NOTHING;
    }
    rl_line_feed(resource, waiter, event);
    if (yes) {
        take_slots(resource, waiter, slots);
    }
}

void rl_line_answer(struct rl_node *node, struct rl_request *request,
                    const struct rl_answer *answer) {
    struct rl_line_event event = {.type = RL_LINE_EV_ANSWER};
    struct rl_line_request *call = RL_CONTAINER(request, struct rl_line_request, request);
    struct rl_resource *resource = call->resource;
    redlock_lock *waiter = rl_line_waiter(resource);
    (void)node;
    assert(request->kind == RL_COMMAND_JOIN || request->kind == RL_COMMAND_LEAVE);
    event.u.answer = (struct rl_line_answer_in){
        .place = call->place,
        .said = answer->verdict == RL_YES  ? RL_LINE_SAID_YES
                : answer->verdict == RL_NO ? RL_LINE_SAID_NO
                                           : RL_LINE_SAID_NOTHING,
        .rank = answer->line.rank,
        .life_ms = answer->line.life_ms >= 0 ? (uint64_t)answer->line.life_ms : FOREVER_MS};
    if (request->peeks) {
        rl_permit_answer(call, answer);
    } else if (request->kind == RL_COMMAND_JOIN && waiter != NULL &&
               resource->line.place == call->place) {
        joined(resource, waiter, &event, answer);
    }
    rl_line_answered(resource, call->node, request, answer);
    rl_line_call_answered(call, answer->verdict);
}

/* -- The client's part -- */

void rl_line_nodes_changed(redlock_client *client) {
    struct rl_link *link = client->lines.waiting.first;
    while (link != NULL) {
        struct rl_resource *resource = RL_CONTAINER(link, struct rl_resource, waits);
        redlock_lock *waiter = rl_line_waiter(resource);
        link = link->next; /* this one may go */
        assert(resource->line.state != RL_LINE_OUT);
        if (waiter != NULL) {
            feed_simple(resource, waiter, RL_LINE_EV_NODES);
        }
    }
}

static void on_heard(redlock_client *client, uint32_t node) {
    const uint32_t bit = UINT32_C(1) << node;
    assert(node < client->n_nodes);
    client->lines.refused &= ~bit;
    client->lines.refused |= rl_listening_refused(client, node) ? bit : 0;
    rl_line_nodes_changed(client);
}

static void on_told(redlock_client *client, uint32_t node, const char *payload, size_t length) {
    struct rl_line_event event;
    uint64_t number;
    struct rl_slots slots;
    bool shuts;
    if (!rl_line_parse(client, payload, length, &event.type, &number, &shuts, &slots)) {
        return;
    }
    event.u.place = number;
    RL_EACH(struct rl_resource, resource, &client->lines.waiting, waits) {
        redlock_lock *waiter = rl_line_waiter(resource);
        if (resource->line.place == number && resource->line.home == node && waiter != NULL) {
            if (event.type == RL_LINE_EV_TURN && !has_its_slots(waiter, &slots)) {
                event.type = RL_LINE_EV_HEIR; /* it asks, and is told why */
            }
            const bool is_turn = event.type == RL_LINE_EV_TURN;
            if (is_turn) {
                waiter->holding.shuts = shuts;
                rl_trace(client, REDLOCK_EVENT_TURN, waiter, &client->nodes[node].node, 0, 0);
            }
            rl_line_feed(resource, waiter, &event);
            if (is_turn) {
                take_slots(resource, waiter, &slots);
            }
            return;
        }
    }
}

static void resource_due(struct rl_deadline *item, uint64_t now_ns) {
    struct rl_resource *resource = RL_CONTAINER(item, struct rl_resource, due);
    redlock_lock *waiter = rl_line_waiter(resource);
    assert(now_ns >= item->at_ns);
    (void)now_ns;
    rl_deadlines_set(&rl_line_client(resource)->deadlines, &resource->due, RL_NEVER);
    if (waiter == NULL) {
        return; /* rl_line_follow() decides */
    }
    if (resource->line.state != RL_LINE_OUT) {
        feed_simple(resource, waiter, RL_LINE_EV_TICK);
    } else {
        rl_line_release_answered(&resource->line); /* home takes too long */
        rl_line_go(waiter);
    }
}

void rl_line_init(redlock_client *client) {
    static const struct rl_listening_events events = {
        .confirmed = on_heard, .lost = on_heard, .told = on_told};
    assert(client->resources.count == 0); /* they copy what follows */
    rl_listening_attend(client, &events);
    client->resources.due = resource_due;
}
