/* A client's connection to one node, as lib/redis/node.c keeps it: connect, say hello, send, match
 * the replies in order, look for stalls, back off and connect again.
 *
 * When a connection ends, the node is down first, then every request on it has its answer (none),
 * and what was under way on it may still reach the node.
 */
#include <assert.h>
#include <stdio.h>

#include "sim/client.h"
#include "sim/world.h"

static void note(const struct sim_link *link, enum sim_note_kind kind) {
    sim_trace(link->client->world, (struct sim_note){.kind = (uint8_t)kind,
                                                     .client = link->client->index,
                                                     .lock = SIM_NOBODY,
                                                     .node = link->node});
}

static uint32_t bit_of(const struct sim_link *link) {
    return UINT32_C(1) << link->node;
}

void sim_link_deadline(struct sim_link *link) {
    uint64_t at_ns = link->deadline_ns;
    if (sim_link_is_up(link) && link->owed.retry_ns < at_ns) {
        at_ns = link->owed.retry_ns;
    }
    bool in_quarantine = sim_link_is_up(link) && !(link->client->voters & bit_of(link));
    if (in_quarantine && link->guard.votes_ns < at_ns) {
        at_ns = link->guard.votes_ns;
    }
    rl_deadlines_set(&link->client->deadlines, &link->deadline, at_ns);
}

static void set_deadline(struct sim_link *link, uint64_t at_ns) {
    if (link->deadline_ns != at_ns) {
        link->deadline_ns = at_ns;
        sim_link_deadline(link);
    }
}

bool sim_link_is_up(const struct sim_link *link) {
    return link->state == SIM_LINK_UP;
}

/* -- The end of a connection -- */

static void back_off(struct sim_link *link) {
    struct sim_world *world = link->client->world;
    uint64_t least_ns = world->options.reconnect_min_ms * RL_NS_PER_MS;
    uint64_t most_ns = world->options.reconnect_max_ms * RL_NS_PER_MS;
    uint64_t pause_ns = link->pause_ns == 0 ? least_ns : 2 * link->pause_ns;
    link->pause_ns = pause_ns < most_ns ? pause_ns : most_ns;
    link->state = SIM_LINK_BACKOFF;
    uint64_t jitter_ns = sim_between(&world->core_random, 0, link->pause_ns / 2);
    set_deadline(link, sim_client_now(link->client) + link->pause_ns - jitter_ns);
}

static void fail_requests(struct sim_link *link) {
    struct sim_call *call = link->head;
    link->head = NULL;
    link->tail = &link->head;
    link->waiting = 0;
    while (call != NULL) {
        struct sim_call *next = call->next;
        sim_votes_answer(link, call, RL_OUTCOME_UNANSWERED, 0);
        call = next;
    }
    assert(link->head == NULL);
}

static void failed(struct sim_link *link) {
    struct sim_client *client = link->client;
    bool was_up = sim_link_is_up(link);
    sim_conn_close(client->world, link->conn);
    link->conn = NULL;
    back_off(link);
    client->reasons[link->node] = SIM_REASON_DOWN;
    if (was_up) {
        client->up &= ~bit_of(link);
        client->voters &= ~bit_of(link);
        note(link, SIM_NOTE_DOWN);
    }
    fail_requests(link);
}

void sim_link_broken(struct sim_link *link) {
    failed(link);
    sim_loop_schedule(link->client);
}

void sim_link_forget(struct sim_link *link) {
    rl_guard_init(&link->guard);
    if (link->conn != NULL) {
        failed(link);
    }
}

/* -- Connecting -- */

static void send_hello(struct sim_link *link) {
    struct sim_world *world = link->client->world;
    struct sim_message *message = sim_message_new(world, link->conn);
    message->command = SIM_HELLO;
    sim_net_send(world, message, SIM_TO_NODE);
}

void sim_link_start(struct sim_link *link) {
    struct sim_client *client = link->client;
    assert(link->conn == NULL && link->head == NULL);
    link->conn = sim_conn_open(client->world, client->index, link->node);
    link->state = SIM_LINK_CONNECTING;
    set_deadline(link,
                 sim_client_now(client) + client->world->options.connect_timeout_ms * RL_NS_PER_MS);
    send_hello(link);
}

/* -- The guard -- */

static void vote_again(struct sim_link *link) {
    struct sim_client *client = link->client;
    client->voters |= bit_of(link);
    client->reasons[link->node] = 0;
}

/* Whether the node is of any use; then how it may be used. As in lib/voters.c a second is taken off
 * the uptime, which is told in seconds that have begun. */
static bool look_at(struct sim_link *link, const struct sim_identity *identity) {
    struct sim_client *client = link->client;
    uint64_t whole_s = identity->uptime_s > 0 ? identity->uptime_s - 1 : 0;
    struct rl_server server = {.uptime_ns = whole_s * 1000 * RL_NS_PER_MS,
                               .is_replica = identity->is_replica,
                               .is_loading = identity->is_loading};
    snprintf(server.run_id, sizeof server.run_id, "%040x", (unsigned)identity->run_id);
    snprintf(server.replid, sizeof server.replid, "%040x", (unsigned)identity->replid);
    if (client->world->options.broken == SIM_BREAK_UPTIME) {
        server.uptime_ns += 1000 * RL_NS_PER_MS;
    }
    uint64_t votes_ns = link->guard.votes_ns;
    enum rl_standing standing =
        rl_guard_see(&link->guard, &client->guard_rules, &server, sim_client_now(client));
    client->world->stats.quarantines += link->guard.votes_ns != votes_ns;
    return standing == RL_STANDING_VOTES;
}

static void connected(struct sim_link *link) {
    struct sim_client *client = link->client;
    link->state = SIM_LINK_UP;
    link->pause_ns = 0;
    link->up_since_ns = client->world->now_ns;
    set_deadline(link, RL_NEVER);
    client->up |= bit_of(link);
    note(link, SIM_NOTE_UP);
    if (rl_guard_may_vote(&link->guard, sim_client_now(client))) {
        vote_again(link);
    } else {
        client->reasons[link->node] = SIM_REASON_QUARANTINE;
        note(link, SIM_NOTE_QUARANTINE);
    }
    if (client->world->options.broken == SIM_BREAK_DROP_OWED) {
        sim_votes_forgive(link);
    }
    sim_votes_repay(link);
}

/* -- Requests -- */

int16_t sim_link_send(struct sim_link *link, struct sim_call *call) {
    if (!sim_link_is_up(link)) {
        return SIM_REASON_DOWN;
    }
    uint32_t most = link->client->world->options.requests_max;
    bool is_release = call->command == SIM_RELEASE; /* may take the room that SETs leave */
    if (link->waiting >= (is_release ? most : most / 2)) {
        link->client->world->stats.busy++;
        return SIM_REASON_BUSY;
    }
    call->next = NULL;
    call->is_flushed = false;
    call->number = ++link->numbers;
    call->made_ns = link->client->world->now_ns;
    call->sent_ns = sim_client_now(link->client);
    *link->tail = call;
    link->tail = &call->next;
    link->waiting++;
    link->client->dirty |= bit_of(link);
    if (link->deadline_ns == RL_NEVER) {
        uint64_t stall_ns = 4 * link->client->rules.node_timeout_ns;
        set_deadline(link, call->sent_ns + stall_ns);
    }
    return 0;
}

void sim_link_flush(struct sim_link *link) {
    struct sim_world *world = link->client->world;
    for (struct sim_call *call = link->head; call != NULL; call = call->next) {
        if (!call->is_flushed) {
            struct sim_message *message = sim_message_new(world, link->conn);
            call->is_flushed = true;
            message->made_ns = call->made_ns;
            message->number = call->number;
            message->token = call->token;
            message->ttl_ms = call->ttl_ms;
            message->command = call->command;
            message->fence = call->fence;
            message->resource = call->lock->resource;
            sim_net_send(world, message, SIM_TO_NODE);
        }
    }
}

void sim_link_reply(struct sim_link *link, const struct sim_message *message) {
    static const enum rl_outcome answers[] = {
        [SIM_YES] = RL_OUTCOME_YES, [SIM_NO] = RL_OUTCOME_NO, [SIM_ERROR] = RL_OUTCOME_ERROR};
    if (message->command == SIM_HELLO) {
        bool guarded = link->client->guard_rules.mode != RL_GUARD_OFF;
        if (!guarded || look_at(link, &message->identity)) {
            connected(link);
        } else {
            failed(link);
        }
    } else {
        struct sim_call *call = link->head;
        assert(call != NULL);
        assert(call->number == message->number);
        link->head = call->next;
        if (link->head == NULL) {
            link->tail = &link->head;
        }
        link->waiting--;
        sim_votes_answer(link, call, answers[message->verdict], message->fence);
    }
    sim_loop_schedule(link->client);
}

/* -- Deadlines -- */

static void look_for_stall(struct sim_link *link, uint64_t now_ns) {
    uint64_t stall_ns = 4 * link->client->rules.node_timeout_ns;
    if (link->head == NULL) {
        set_deadline(link, RL_NEVER);
    } else if (now_ns >= link->head->sent_ns + stall_ns) {
        failed(link);
    } else {
        set_deadline(link, link->head->sent_ns + stall_ns);
    }
}

void sim_link_tick(struct sim_link *link) {
    uint64_t now_ns = sim_client_now(link->client);
    if (now_ns >= link->deadline_ns) {
        switch ((enum sim_link_state)link->state) {
            case SIM_LINK_UP:
                look_for_stall(link, now_ns);
                break;
            case SIM_LINK_BACKOFF:
                sim_link_start(link);
                break;
            case SIM_LINK_CONNECTING:
                failed(link);
                break;
        }
    }
    if (sim_link_is_up(link) && now_ns >= link->owed.retry_ns) {
        sim_votes_repay(link);
    }
    bool in_quarantine = sim_link_is_up(link) && !(link->client->voters & bit_of(link));
    if (in_quarantine && rl_guard_may_vote(&link->guard, now_ns)) {
        vote_again(link);
        note(link, SIM_NOTE_VOTES_AGAIN);
    }
    sim_link_deadline(link);
}
