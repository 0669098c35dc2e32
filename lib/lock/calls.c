/* See calls.h. */
#include "lock/calls.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mark.h"
#include "base/require.h"
#include "client/env.h"
#include "lock/life.h"
#include "mode/mode.h"
#include "nodes/eligibility.h"
#include "redis/native.h"
#include "wait/line_call.h"
#include "wait/line_release.h"
#include "wait/waiting.h"

/* -- Memory: allocated once, then reused --
 *
 * It is allocated in blocks of whole fan-outs. Call by call, the last memory could go to a SET and
 * leave none for its release, and the key would stay until its ttl ends. */

#define ROUNDS_AT_FIRST 4 /* fan-outs in the first block */

static bool call_grow(redlock_client *client) {
    uint32_t count = ROUNDS_AT_FIRST * client->n_nodes;
    if (count < client->calls.count) {
        count = client->calls.count;
    }
    struct rl_lock_call_block *block =
        rl_alloc(&client->memory, 1, sizeof *block + count * sizeof block->calls[0]);
    if (block == NULL) {
        return false;
    }
    block->next = client->calls.blocks;
    assert(client->calls.free == NULL); /* all others are outstanding or pending */
    assert(client->calls.count + count > client->calls.count);
    client->calls.blocks = block;
    client->calls.count += count;
    for (uint32_t i = 0; i < count; i++) {
        block->calls[i].next_free = client->calls.free;
        client->calls.free = &block->calls[i];
    }
    return true;
}

static struct rl_lock_call *call_take(redlock_lock *lock) {
    redlock_client *client = lock->client;
    if (client->calls.free == NULL && !call_grow(client)) {
        return NULL;
    }
    struct rl_lock_call *call = client->calls.free;
    client->calls.free = call->next_free;
    RL_REQUIRE(call->lock == NULL); /* it is not in use */
    call->lock = lock;
    rl_lock_ref(lock);
    return call;
}

static void call_give_back(struct rl_lock_call *call) {
    redlock_lock *lock = call->lock;
    RL_REQUIRE(lock != NULL); /* once */
    redlock_client *client = lock->client;
    call->lock = NULL;
    call->next_free = client->calls.free;
    client->calls.free = call;
    rl_lock_unref(lock);
}

void rl_calls_free(redlock_client *client) {
    RL_REQUIRE(client->calls.outstanding == 0); /* else an answer would go to freed memory */
    assert(client->pending_releases == 0);
    while (client->calls.blocks != NULL) {
        struct rl_lock_call_block *block = client->calls.blocks;
        client->calls.blocks = block->next;
        rl_free(&client->memory, block);
    }
    client->calls.free = NULL;
}

/* -- Sending -- */

static enum rl_command_kind command_kind(const redlock_lock *lock, enum rl_call_kind kind,
                                         const struct rl_mode_rules *mode) {
    static const enum rl_command_kind kinds[RL_CALL_KINDS] = {
        [RL_CALL_SET] = RL_COMMAND_SET,         [RL_CALL_TAKE] = RL_COMMAND_TAKE,
        [RL_CALL_RAISE] = RL_COMMAND_RAISE,     [RL_CALL_EXTEND] = RL_COMMAND_EXTEND,
        [RL_CALL_UPGRADE] = RL_COMMAND_UPGRADE, [RL_CALL_RELEASE] = RL_COMMAND_RELEASE,
    };
    assert(kind < RL_CALL_KINDS);
    const bool is_plain = mode->has_one_key && lock->core.fence.floor == 0 && lock->target.n == 1 &&
                          lock->target.take <= 1;
    return kind == RL_CALL_SET && !is_plain ? RL_COMMAND_TAKE : kinds[kind]; /* without a place */
}

/* Fills in what is the same for all nodes. */
static void request_fill(struct rl_request *request, const redlock_lock *lock,
                         enum rl_call_kind kind) {
    const struct rl_lock *core = &lock->core;
    const struct rl_mode_rules *mode = rl_mode_of(lock, kind);
    assert(core->ttl_ms > 0 || kind == RL_CALL_RELEASE);
    *request = (struct rl_request){
        .target = &lock->target,
        .ttl_ms = core->ttl_ms,
        .counter = kind != RL_CALL_RELEASE ? core->fence.floor : 0,
        .kind = (uint8_t)command_kind(lock, kind, mode),
        .lock_mode = mode->mode,
        .from = RL_NO_SLOT,
        .announces = lock->announces,
    };
    memcpy(request->token, core->token, RL_TOKEN_LEN);
    mode->fill(lock, request);
    assert((request->slots.n > 0) == (lock->target.take > 0));
    if (kind == RL_CALL_TAKE) {
        request->has_turn = true;
        request->shut_ms = core->place != 0 && rl_waiting_shuts(lock) ? RL_MODE_SHUT_MS : 0;
    }
}

/* Formats the command, unless it is formatted already or goes into a batch. A fan-out sends the
 * same command to all nodes, with two exceptions: a release differs at home, and an extension may
 * convert on some nodes only. These variants use the other half of the buffer. The command is
 * formatted again for a node that does not know the script yet, or that releases in another way
 * than the previous node. */
static const char *format(redlock_client *client, const struct rl_node *node,
                          struct rl_request *request, size_t *length) {
    *length = 0;
    if (rl_command_extends_one_key(request)) {
        return NULL;
    }
    rl_node_put_script(node, request);
    const bool other = request->mode != RL_RELEASE_PLAIN || request->converts;
    char *wire = client->io.wire + (other ? client->io.wire_room : 0);
    struct rl_written *written = &client->calls.written[other];
    if (written->length == 0 || written->kind != request->kind ||
        written->whole_script != request->whole_script) {
        *written = (struct rl_written){rl_command_format(wire, request), request->kind,
                                       request->whole_script};
    }
    request->successor = NULL; /* belongs to the plan; a retried script passes no keys */
    *length = written->length;
    RL_REQUIRE(*length < client->io.wire_room); /* rl_reserve_wire() */
    return wire;
}

/* A release differs between nodes: home serves the next waiter, and only some nodes have a native
 * command for it. */
static void put_form(struct rl_request *request, const struct rl_mode_rules *mode,
                     const struct rl_release_plan *plan, const struct rl_client_node *node) {
    const bool at_home = plan->homes >> node->index & 1;
    request->mode = (uint8_t)(at_home ? plan->mode : RL_RELEASE_PLAIN);
    request->grace_ms = plan->grace_ms;
    request->lease_ms = plan->lease_ms;
    request->counter = plan->counter;
    request->successor = plan->successor;
    request->intent_ms = mode->intent_ms != 0 ? plan->intent_ms : 0;
    const bool plain = !at_home && plan->grace_ms == 0 && plan->successor[0] == '\0' &&
                       request->target->n == 1 && mode->has_one_key && request->slots.n <= 1 &&
                       request->intent_ms == 0 &&
                       !(request->announces && request->target->notifies);
    request->kind = plain ? (uint8_t)rl_native_kind(&node->node) : mode->release;
}

void rl_calls_format(redlock_lock *lock, enum rl_call_kind kind) {
    redlock_client *client = lock->client;
    memset(client->calls.written, 0, sizeof client->calls.written);
    request_fill(&client->calls.request, lock, kind);
    if (kind == RL_CALL_RELEASE) {
        rl_line_plan_release(lock, &client->calls.plan);
    }
}

static void call_init(struct rl_lock_call *call, const redlock_lock *lock, enum rl_call_kind kind,
                      uint32_t round) {
    call->round = round;
    call->kind = (uint8_t)kind;
    call->is_retry = false;
    if (kind == RL_CALL_RELEASE) {
        /* An adopted token's former holder may have set any ttl. */
        rl_pending_release_init(&call->pending, lock->core.rules,
                                rl_mode_is_adopted(lock) ? REDLOCK_TTL_MS_MAX : lock->core.life_ms);
    }
}

int16_t rl_calls_send(redlock_lock *lock, enum rl_call_kind kind, uint32_t round, uint32_t node) {
    redlock_client *client = lock->client;
    assert(node < client->n_nodes);
    struct rl_lock_call *call = call_take(lock);
    if (call == NULL) {
        RL_MARK(SEND_NO_MEMORY);
        return REDLOCK_ERR_NOMEM;
    }
    assert(client->calls.request.target == &lock->target); /* rl_calls_format() */
    call_init(call, lock, kind, round);
    call->request = client->calls.request;
    if (kind == RL_CALL_RELEASE) {
        put_form(&call->request, rl_mode_of(lock, kind), &client->calls.plan, client->nodes[node]);
    } else if (kind == RL_CALL_EXTEND) {
        call->request.converts = rl_mode_converts(lock, node);
    }
    size_t length;
    const char *wire = format(client, &client->nodes[node]->node, &call->request, &length);
    int16_t why =
        rl_node_send(&client->nodes[node]->node, &call->request, wire, length, lock->core.now_ns);
    if (why == 0) {
        client->calls.outstanding++;
        if (call->request.converts) {
            rl_mode_convert_sent(lock, node);
        }
        const enum rl_release_mode mode = (enum rl_release_mode)call->request.mode;
        if (mode == RL_RELEASE_SERVE || mode == RL_RELEASE_LOOK) {
            rl_line_release_sent(lock, node, mode);
        }
    } else {
        call_give_back(call);
    }
    return why;
}

bool rl_calls_again(struct rl_node *node, struct rl_request *request) {
    struct rl_lock_call *call = RL_CONTAINER(request, struct rl_lock_call, request);
    assert(call->kind == RL_CALL_SET || call->kind == RL_CALL_TAKE); /* see node.h */
    (void)node;
    if (!rl_lock_has_token(&call->lock->core, request->token)) {
        RL_MARK(SET_NOT_AGAIN);
        return false;
    }
    return true;
}

/* -- Pending releases -- */

static void pending_changed(struct rl_client_node *node, uint32_t count_before) {
    assert(node->client->pending_releases >= count_before); /* includes the node's */
    assert(node->pending_releases.count <= RL_PENDING_MAX);
    node->client->pending_releases += node->pending_releases.count;
    node->client->pending_releases -= count_before;
    rl_member_update(node);
}

/* Traces the outcome of one node's release; the lock may have another token by now. */
static void trace_release(struct rl_client_node *node, enum redlock_event_type type,
                          const struct rl_lock_call *call, const redlock_lock *lock) {
    redlock_client *client = node->client;
    if (client->trace != NULL) {
        char token[RL_TOKEN_LEN + 1];
        memcpy(token, call->request.token, RL_TOKEN_LEN);
        token[RL_TOKEN_LEN] = '\0';
        redlock_event event = {.type = type,
                               .now_ns = rl_client_now_ns(client),
                               .lock = lock,
                               .node = node->node.url.name,
                               .token = token};
        client->trace(&event, client->trace_data);
    }
}

static void drop(struct rl_client_node *node, struct rl_pending_release *item) {
    if (item != NULL) {
        struct rl_lock_call *call = RL_CONTAINER(item, struct rl_lock_call, pending);
        node->client->stats.releases_dropped++;
        assert(call->kind == RL_CALL_RELEASE);
        trace_release(node, REDLOCK_EVENT_RELEASE_DROPPED, call, NULL);
        call_give_back(call);
    }
}

static void keep(struct rl_client_node *node, struct rl_lock_call *call, bool is_refused) {
    uint32_t before = node->pending_releases.count;
    assert(call->kind == RL_CALL_RELEASE); /* a retry sends nothing else */
    assert(call->lock->client == node->client);
    call->request.grace_ms = 0; /* home may have served the waiter by then */
    struct rl_pending_release *given_up =
        rl_pending_add(&node->pending_releases, &call->pending, is_refused,
                       rl_node_is_up(&node->node), rl_client_now_ns(node->client));
    if (!is_refused) {
        trace_release(node, REDLOCK_EVENT_RELEASE_PENDING, call, call->lock);
    }
    pending_changed(node, before);
    drop(node, given_up);
}

void rl_calls_keep_release(redlock_lock *lock, uint32_t node) {
    assert(node < lock->client->n_nodes);
    if (lock->client->nodes[node]->node.state == RL_NODE_CLOSED) {
        return; /* it has left the set, where no key of ours can be any more */
    }
    struct rl_lock_call *call = call_take(lock);
    if (call == NULL) {
        lock->client->stats.releases_dropped++;
        rl_trace(lock->client, REDLOCK_EVENT_RELEASE_DROPPED, lock,
                 &lock->client->nodes[node]->node, REDLOCK_ERR_NOMEM, 0);
        return;
    }
    call_init(call, lock, RL_CALL_RELEASE, 0);
    request_fill(&call->request, lock, RL_CALL_RELEASE);
    keep(lock->client->nodes[node], call, false);
}

static bool retry_one(struct rl_pending_release *item, void *data) {
    struct rl_client_node *node = data;
    redlock_client *client = node->client;
    struct rl_lock_call *call = RL_CONTAINER(item, struct rl_lock_call, pending);
    struct rl_request *request = &call->request;
    struct rl_release_plan plan;
    size_t length;
    assert(rl_command_releases(request->kind));
    assert(request->target == &call->lock->target); /* kept by the reference */
    request->sent_again = false;
    assert(item->next == NULL); /* it was taken out of the pending releases */
    call->is_retry = true;
    call->round = 0; /* its round is over */
    rl_line_plan_retry(call->lock, request->grace_ms, &plan);
    put_form(request, rl_mode_sent(call->lock, request->lock_mode), &plan, node);
    memset(client->calls.written, 0, sizeof client->calls.written);
    const char *wire = format(client, &node->node, request, &length);
    bool sent = rl_node_send(&node->node, request, wire, length, rl_client_now_ns(client)) == 0;
    client->calls.outstanding += sent;
    return sent;
}

void rl_calls_give_back(redlock_lock *lock, uint32_t node, uint64_t place) {
    redlock_client *client = lock->client;
    struct rl_client_node *at = client->nodes[node];
    struct rl_lock_call *call = rl_node_is_up(&at->node) ? call_take(lock) : NULL;
    if (call == NULL) {
        return; /* the lease ends by itself */
    }
    call->kind = RL_CALL_RELEASE;
    rl_pending_release_init(&call->pending, &client->rules, RL_LINE_LEASE_MS);
    request_fill(&call->request, lock, RL_CALL_RELEASE);
    call->request.grace_ms = RL_LINE_GRACE_MS; /* the successor was told that this one comes */
    rl_line_place(client, place, call->request.token);
    if (!retry_one(&call->pending, at)) {
        call_give_back(call);
    }
}

void rl_calls_retry(struct rl_client_node *node) {
    uint32_t before = node->pending_releases.count;
    rl_pending_retry(&node->pending_releases, rl_client_now_ns(node->client), retry_one, node);
    pending_changed(node, before);
}

void rl_calls_drop(struct rl_client_node *node) {
    uint32_t before = node->pending_releases.count;
    struct rl_pending_release *item;
    while ((item = rl_pending_take(&node->pending_releases)) != NULL) {
        drop(node, item);
    }
    assert(node->pending_releases.count == 0); /* the list and its count agree */
    pending_changed(node, before);
}

bool rl_calls_may_have_run(enum rl_verdict verdict) {
    return verdict == RL_YES || verdict == RL_NOT_REDIS || verdict == RL_UNANSWERED;
}

void rl_calls_settle(struct rl_client_node *node, struct rl_lock_call *call,
                     enum rl_verdict verdict) {
    redlock_client *client = node->client;
    const bool is_over = verdict == RL_YES || verdict == RL_NO;
    assert(call->lock != NULL && call->lock->client == client);
    assert(!call->is_retry || call->kind == RL_CALL_RELEASE);
    if (call->kind == RL_CALL_RELEASE && !is_over) {
        keep(node, call, !rl_calls_may_have_run(verdict));
        return;
    }
    if (call->is_retry) {
        client->stats.releases_retried++;
        trace_release(node, REDLOCK_EVENT_RELEASE_RETRIED, call, call->lock);
    }
    client->stats.repaired += call->kind == RL_CALL_SET && call->round == 0 && verdict == RL_YES;
    call_give_back(call);
}

bool rl_calls_await_answers(const redlock_client *client) {
    return client->calls.outstanding != 0;
}
