/* See span.h. */
#include "watch/span.h"

#include <assert.h>

#include "client/env.h"
#include "nodes/seats.h"
#include "watch/metrics.h"

static void trace(redlock_lock *lock, enum redlock_event_type type, int status) {
    rl_trace(lock->client, type, lock, NULL, status, 0);
}

void rl_span_submitted(redlock_lock *lock, bool joins) {
    redlock_client *client = lock->client;
    client->stats.acquires++;
    lock->span.joins = joins;
    if (lock->span.joins) {
        return; /* it is part of the hold */
    }
    lock->span.id = client->stats.acquires;
    lock->span.round = lock->core.round.id;
    lock->since_ns = 0; /* unknown so far */
    trace(lock, REDLOCK_EVENT_SUBMITTED, 0);
}

void rl_span_acquired(redlock_lock *lock, bool is_first) {
    assert(lock->span.id != 0);
    trace(lock, REDLOCK_EVENT_ACQUIRED, 0);
    if (lock->client->metrics == NULL || !is_first) {
        return;
    }
    const uint64_t now_ns = rl_client_now_ns(lock->client);
    if (lock->since_ns != 0) { /* 0: it joined a hold at once, or adopted one */
        rl_metrics_waited(lock, now_ns - lock->since_ns);
    }
    lock->since_ns = now_ns;
}

void rl_span_failed(redlock_lock *lock, int status) {
    assert(status < 0);
    if (!lock->span.joins) { /* else the hold that it joined was lost meanwhile */
        trace(lock, REDLOCK_EVENT_FAILED, status);
    }
}

void rl_span_renewed(redlock_lock *lock) {
    const redlock_client *client = lock->client;
    const uint64_t now_ns = client->step_ns, until_ns = client->until_ns;
    const uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    assert(lock->core.ttl_ms > 0);
    lock->client->stats.renewed_late +=
        left_ns < rl_validity_ns(&client->rules, lock->core.ttl_ms) / 4;
}

static void hold_ended(redlock_lock *lock) {
    if (lock->client->metrics != NULL) {
        rl_metrics_held(lock, rl_client_now_ns(lock->client) - lock->since_ns);
    }
}

void rl_span_released(redlock_lock *lock) {
    trace(lock, REDLOCK_EVENT_RELEASED, 0);
    hold_ended(lock);
}

void rl_span_lost(redlock_lock *lock, int status) {
    redlock_stats *stats = &lock->client->stats;
    assert(status < 0);
    stats->lost++;
    stats->lost_gone += status == REDLOCK_ERR_LOST;
    stats->lost_expired += status == REDLOCK_ERR_EXPIRED;
    stats->lost_max_hold += status == REDLOCK_ERR_MAX_HOLD;
    stats->lost_silent += status == REDLOCK_ERR_SILENT;
    trace(lock, REDLOCK_EVENT_LOST, status);
    hold_ended(lock);
}

void rl_span_trace_state(redlock_lock *lock, uint8_t before) {
    const uint8_t now = lock->core.state;
    assert(now < RL_LOCK_STATES);
    if (now == before || lock->client->trace == NULL) {
        return;
    }
    if (now == RL_WAITING) {
        trace(lock, REDLOCK_EVENT_WAITING, 0);
    } else if (now == RL_BACKOFF) {
        trace(lock, REDLOCK_EVENT_PAUSE, 0);
    }
}

/* A late vote may belong to an earlier acquire. */
void rl_span_trace_vote(redlock_lock *lock, const struct rl_ballot_in *vote, int status,
                        bool late) {
    redlock_client *client = lock->client;
    const bool is_of_this = (int32_t)(vote->round - lock->span.round) > 0; /* ids wrap around */
    assert(client->trace != NULL && vote->node < RL_SEATS_MAX);
    redlock_event event = {.type = late ? REDLOCK_EVENT_LATE_VOTE : REDLOCK_EVENT_VOTE,
                           .status = status,
                           .now_ns = rl_client_now_ns(client),
                           .lock = lock,
                           .node = client->nodes[rl_seats_node(lock, vote->node)]->node.url.name,
                           .latency_us = vote->latency_us,
                           .acquire_id = is_of_this ? lock->span.id : 0};
    client->trace(&event, client->trace_data);
}

void rl_span_trace_place(redlock_lock *lock, uint32_t node, uint32_t rank) {
    redlock_client *client = lock->client;
    assert(node < client->n_nodes);
    if (client->trace != NULL) {
        redlock_event event = {.type = REDLOCK_EVENT_PLACE,
                               .now_ns = rl_client_now_ns(client),
                               .lock = lock,
                               .node = client->nodes[node]->node.url.name,
                               .acquire_id = lock->span.id,
                               .rank = rank};
        client->trace(&event, client->trace_data);
    }
}
