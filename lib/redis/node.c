/* See node.h. */
#include "redis/node.h"
#include "redis/conn.h"
#include "redis/credentials.h"
#include "redis/native.h"
#include "redis/node_handshake.h"
#include "redis/node_state.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mark.h"
#include "base/require.h"
#include "redlock/status.h"

static void node_connect(struct rl_node *node);

static void node_note(struct rl_node *node, int16_t reason, const char *detail) {
    assert(reason != 0);
    node->reason = reason;
    if (detail != node->detail) {
        snprintf(node->detail, sizeof node->detail, "%s", detail);
    }
}

/* -- The end of a connection -- */

static void node_fail_requests(struct rl_node *node) {
    const struct rl_answer lost = {
        .verdict = RL_UNANSWERED, .reason = node->reason, .text = node->detail};
    struct rl_request *request = node->head;
    assert(node->reason != 0); /* the reason for the requests */
    node->head = NULL;
    node->tail = &node->head;
    node->unwritten = NULL;
    node->batch = NULL;
    node->batch_n = 0;
    node->waiting = 0;
    while (request != NULL) {
        struct rl_request *next = request->next;
        if (request == &node->native.trial) {
            rl_native_lost(node);
        } else if (request->kind != RL_COMMAND_HANDSHAKE) {
            node->events->answer(node, request, &lost);
        }
        request = next;
    }
    assert(node->head == NULL); /* no request is sent to a node that is down */
}

static void node_back_off(struct rl_node *node) {
    const uint64_t now_ns = rl_io_now_ns(node->io);
    const uint64_t lasted_ns = node->state == RL_NODE_UP ? now_ns - node->up_ns : 0;
    rl_node_move(node, RL_NODE_BACKOFF);
    uint64_t pause_ns = rl_pause_ns(node->options->backoff_min_ns, node->options->backoff_max_ns,
                                    lasted_ns, &node->pause_ns, &node->random);
    rl_node_set_deadline(node, now_ns + pause_ns);
}

/* The connection, or the attempt at one, is over; node->conn and node->resolve are NULL already. */
static void node_failed(struct rl_node *node, int16_t reason, const char *detail) {
    bool was_up = node->state == RL_NODE_UP;
    assert(node->conn == NULL && node->resolve == NULL);
    node->failures++;
    node_note(node, reason, detail);
    if (!was_up && node->address_next < node->address_count) {
        node_fail_requests(node);
        node_connect(node); /* try the name's next address */
        return;
    }
    node_back_off(node);
    if (was_up) {
        node->events->down(node);
    } else {
        node->events->failed(node);
    }
    node_fail_requests(node);
}

static void node_connected(void *owner) {
    rl_node_shake(owner);
}

/* -- Requests and replies -- */

/* The node has lost the script (SCRIPT FLUSH, or it keeps few): sends the same request, whole. */
static bool node_resend_whole(struct rl_node *node, struct rl_request *request) {
    assert(!request->whole_script && request->kind != RL_COMMAND_SET);
    RL_MARK(SCRIPT_FORGOTTEN);
    request->whole_script = true;
    return rl_node_resend(node, request);
}

/* Whether the node has become a replica since it was judged, or is loading other data: when it is a
 * primary again, it will have other data, so it must be judged again before it votes. */
static bool node_has_changed(const struct rl_node *node, const struct rl_answer *answer) {
    return node->options->handshake.wants_info && answer->verdict == RL_ERROR &&
           (answer->reason == REDLOCK_ERR_NODE_READONLY ||
            answer->reason == REDLOCK_ERR_NODE_LOADING);
}

/* Takes the oldest request from the list. */
static struct rl_request *node_take(struct rl_node *node) {
    struct rl_request *request = node->head;
    assert(request != NULL); /* the guard refuses an unsolicited reply */
    node->head = request->next;
    if (node->head == NULL) {
        node->tail = &node->head;
    }
    if (node->unwritten == request) {
        node->unwritten = request->next; /* the socket was full of earlier bytes */
    }
    if (node->batch == request) { /* a hostile node answers unsent requests */
        node->batch_n--;
        node->batch = node->batch_n > 0 ? request->next : NULL;
    }
    node->waiting--;
    if (node->head == &node->auth_request) {
        rl_conn_go_on(node->conn);
    }
    return request;
}

/* One reply for several extensions. */
static void node_reply_batch(struct rl_node *node, struct rl_request *request,
                             const redisReply *reply) {
    const uint32_t n = request->batched;
    struct rl_answer all = rl_reply_judge(RL_COMMAND_EXTEND_MANY, reply);
    const bool is_missing = all.verdict == RL_NOSCRIPT;
    if (all.verdict == RL_YES && reply->len != n) {
        all = rl_reply_unexpected();
    }
    const bool is_over = all.verdict == RL_NOT_REDIS || node_has_changed(node, &all);
    if (is_over) {
        rl_conn_break(node->conn, all.reason, all.text);
    }
    if (is_missing) {
        rl_node_script_missing(node, RL_COMMAND_EXTEND_MANY);
        rl_node_script_missing(node, RL_COMMAND_EXTEND);
    }
    /* One key can cause the refusal of all, if the user may not write it, or its ttl is too
     * long. */
    const bool again = is_missing || (all.verdict == RL_ERROR && !is_over);
    for (uint32_t i = 0; i < n; i++) {
        request = i == 0 ? request : node_take(node);
        rl_node_put_script(node, request);
        if (!again || !rl_node_resend(node, request)) {
            const struct rl_answer one = rl_reply_judge_one(&all, i);
            node->events->answer(node, request, &one);
        }
    }
}

static void node_reply(void *owner, const redisReply *reply) {
    struct rl_node *node = owner;
    if (reply->type == RL_REPLY_FLUSHED) {
        node->events->flushed(node);
        rl_conn_break(node->conn, REDLOCK_ERR_NODE_DISCONNECTED, "a database was flushed");
        return;
    }
    struct rl_request *request = node_take(node);
    node->answers++;
    if (request->batched > 0) {
        node_reply_batch(node, request, reply);
        return;
    }
    struct rl_answer answer = rl_reply_judge((enum rl_command_kind)request->kind, reply);
    if (request == &node->native.trial) {
        rl_native_tried(node, &answer);
        return;
    }
    if (answer.verdict == RL_NOT_REDIS) {
        rl_conn_break(node->conn, answer.reason, answer.text);
    }
    if (request->kind == RL_COMMAND_HANDSHAKE) {
        rl_node_handshake_answer(node, request, &answer);
        return;
    }
    if (answer.verdict == RL_ERROR && rl_native_resend(node, request, &answer)) {
        return;
    }
    if (node_has_changed(node, &answer)) {
        rl_conn_break(node->conn, answer.reason, answer.text);
    }
    if (answer.verdict == RL_NOSCRIPT) {
        rl_node_script_missing(node, (enum rl_command_kind)request->kind);
    }
    if (answer.verdict == RL_NOSCRIPT && !request->whole_script &&
        (!rl_command_acquires((enum rl_command_kind)request->kind) ||
         node->events->again(node, request)) &&
        node_resend_whole(node, request)) {
        return;
    }
    rl_native_try(node, request, &answer);
    node->events->answer(node, request, &answer);
}

int16_t rl_node_send(struct rl_node *node, struct rl_request *request, const char *wire,
                     size_t length, uint64_t now_ns) {
    assert(request->kind != RL_COMMAND_HANDSHAKE);
    assert(request->target != NULL); /* for the whole script */
    if (node->state != RL_NODE_UP) {
        return (int16_t)(node->reason != 0 ? node->reason : REDLOCK_ERR_NODE_DOWN);
    }
    uint32_t part = rl_command_releases((enum rl_command_kind)request->kind) ? 1 : 2;
    if (rl_conn_unsent(node->conn) > node->options->unsent_max / 2) {
        rl_node_write_batch(node);
        rl_node_note_written(node);
        rl_conn_push(node->conn);
    }
    if (node->waiting >= node->options->requests_max / part ||
        rl_conn_unsent(node->conn) > node->options->unsent_max / part) {
        return REDLOCK_ERR_NODE_BUSY;
    }
    if (rl_command_extends_one_key(request)) {
        rl_node_batch(node, request, now_ns);
        node->requests++;
        return 0;
    }
    rl_node_write_batch(node);
    if (!rl_node_reserve(node, request, length) || !rl_conn_send(node->conn, wire, length)) {
        return REDLOCK_ERR_NOMEM;
    }
    rl_node_script_sent(node, request);
    rl_node_push_live(node, request, now_ns);
    node->requests++;
    rl_node_invariant(node);
    return 0;
}

static bool node_is_clogged(const struct rl_node *node) {
    return node->state == RL_NODE_UP && rl_conn_is_full(node->conn) &&
           rl_conn_unsent(node->conn) > node->options->unsent_max / 2;
}

bool rl_node_is_silent(const struct rl_node *node, uint64_t timeout_ns, uint64_t now_ns) {
    return node_is_clogged(node) ||
           (node->head != NULL && now_ns > node->head->sent_ns + timeout_ns);
}

/* -- Connecting -- */

static void node_dirty(void *owner) {
    struct rl_node *node = owner;
    node->events->dirty(node);
}

static void node_broken(void *owner, int16_t reason, const char *detail) {
    struct rl_node *node = owner;
    rl_node_invariant(node);
    assert(node->conn != NULL);
    node->conn = NULL;
    rl_node_auth_ended(node, reason);
    if (node->state == RL_NODE_HANDSHAKE && node->hint[0] != '\0' &&
        reason == REDLOCK_ERR_NODE_DISCONNECTED) {
        node_failed(node, rl_reply_reason(node->hint), node->hint);
    } else {
        node_failed(node, reason, detail);
    }
}

static void node_reached(void *owner) {
    struct rl_node *node = owner;
    assert(node->state == RL_NODE_CONNECTING && node->url.is_tls);
    node->is_reached = true;
    rl_node_set_deadline(node, rl_io_now_ns(node->io) + node->options->connect_timeout_ns);
}

static const struct rl_conn_events conn_events = {
    .reached = node_reached,
    .connected = node_connected,
    .reply = node_reply,
    .dirty = node_dirty,
    .broken = node_broken,
};

/* Tries the next address of the list. */
static void node_connect(struct rl_node *node) {
    int16_t reason = 0;
    char detail[RL_DETAIL_MAX];
    assert(node->conn == NULL && node->waiting == 0);
    while (node->address_next < node->address_count) {
        const struct rl_address *address = &node->addresses[node->address_next++];
        node->conn = rl_conn_open(node->io, node->dialer, address, &conn_events, node,
                                  &node->waiting, &reason, detail);
        if (node->conn != NULL) {
            node->is_reached = false;
            rl_node_move(node, RL_NODE_CONNECTING);
            rl_node_set_deadline(node, rl_io_now_ns(node->io) + node->options->connect_timeout_ns);
            node->events->dirty(node); /* a wait may have to be put off */
            return;
        }
    }
    node_failed(node, reason, detail);
}

static void node_resolved(void *owner, const struct rl_address *addresses, uint32_t count,
                          const char *error) {
    struct rl_node *node = owner;
    rl_node_invariant(node);
    assert(node->state == RL_NODE_RESOLVING);
    RL_REQUIRE(count <= RL_ADDRESSES_MAX); /* the array has no room for more */
    node->resolve = NULL;
    if (count == 0) {
        node_failed(node, REDLOCK_ERR_NODE_RESOLVE, error);
        return;
    }
    memcpy(node->addresses, addresses, count * sizeof *addresses);
    node->address_count = count;
    node_connect(node);
}

void rl_node_start(struct rl_node *node) {
    assert(node->state == RL_NODE_IDLE || node->state == RL_NODE_BACKOFF);
    assert(node->conn == NULL && node->resolve == NULL);
    const char *error = "";
    struct rl_world *world = node->io->world;
    node->address_next = 0;
    node->address_count = 0;
    if (rl_address_of(&node->url, &node->addresses[0])) {
        node->address_count = 1;
        node_connect(node);
        return;
    }
    node->resolve =
        world->ops->resolve(world, node->url.host, node->url.port, node_resolved, node, &error);
    if (node->resolve == NULL) {
        node_failed(node, REDLOCK_ERR_NODE_RESOLVE, error);
        return;
    }
    rl_node_move(node, RL_NODE_RESOLVING);
    rl_node_set_deadline(node, rl_io_now_ns(node->io) + node->options->connect_timeout_ns);
    node->events->dirty(node);
}

/* -- Deadlines -- */

static void node_forget_name(struct rl_node *node) {
    if (node->resolve != NULL) {
        node->io->world->ops->forget(node->io->world, node->resolve);
        node->resolve = NULL;
    }
}

/* Ends the connection or the look-up. */
static void node_drop(struct rl_node *node, int16_t reason, const char *detail) {
    if (node->conn != NULL) {
        rl_conn_close(node->conn);
        node->conn = NULL;
        rl_node_auth_ended(node, reason);
    }
    node_forget_name(node);
    node_failed(node, reason, detail);
}

static void node_look_for_stall(struct rl_node *node, uint64_t now_ns) {
    if (node->head == NULL) {
        rl_node_set_deadline(node, RL_NEVER);
        return;
    }
    const uint64_t stall_ns = node->options->stall_ns;
    const uint64_t late_ns = node->head->sent_ns + RL_NODE_LATE_STALLS * stall_ns;
    if (now_ns >= late_ns) {
        RL_MARK(TOO_LATE);
        node_drop(node, REDLOCK_ERR_NODE_TIMEOUT, "answers far too late");
    } else if (node->answers != node->answers_seen) {
        /* It is slow but making progress: ending the connection would only cost its answers. */
        node->answers_seen = node->answers;
        rl_node_set_deadline(node, now_ns + stall_ns < late_ns ? now_ns + stall_ns : late_ns);
    } else if (now_ns >= node->head->sent_ns + stall_ns) {
        RL_MARK(STALLED);
        node_drop(node, REDLOCK_ERR_NODE_TIMEOUT, "connected, but does not answer");
    } else {
        rl_node_set_deadline(node, node->head->sent_ns + stall_ns);
    }
}

void rl_node_tick(struct rl_node *node, uint64_t now_ns) {
    if (now_ns < node->deadline_ns) {
        return;
    }
    switch ((enum rl_node_state)node->state) {
        case RL_NODE_UP:
            node_look_for_stall(node, now_ns);
            break;
        case RL_NODE_BACKOFF:
            rl_node_start(node);
            break;
        case RL_NODE_RESOLVING:
            /* It cannot be cancelled, and a second one would only take another thread of the pool:
             * reported as failed; the late result is still used. */
            node_note(node, REDLOCK_ERR_NODE_RESOLVE, "the name lookup timed out");
            rl_node_set_deadline(node, RL_NEVER);
            node->events->failed(node);
            break;
        case RL_NODE_CONNECTING:
            RL_MARK(CONNECT_TIMEOUT);
            node_drop(node, REDLOCK_ERR_NODE_TIMEOUT,
                      node->is_reached ? "no TLS handshake in time; is it a TLS port?"
                                       : "connecting took too long");
            break;
        case RL_NODE_HANDSHAKE:
            node_drop(node, REDLOCK_ERR_NODE_TIMEOUT,
                      "accepted the connection, but did not answer");
            break;
        case RL_NODE_IDLE:
        case RL_NODE_CLOSED:
        case RL_NODE_STATES:
            assert(false); /* a state without a deadline */
            break;
    }
    rl_node_invariant(node);
}

/* -- The rest of the interface -- */

void rl_node_init(struct rl_node *node, struct rl_io *io, const struct rl_url *url,
                  const struct rl_node_options *options, const struct rl_node_events *events,
                  uint64_t seed) {
    memset(node, 0, sizeof *node);
    node->options = options;
    node->events = events;
    node->io = io;
    node->tail = &node->head;
    node->deadline_ns = RL_NEVER;
    node->random = seed | 1;
    node->url = *url;
    node->state = RL_NODE_IDLE;
    node->reason = REDLOCK_ERR_NODE_DOWN;
    assert(options->backoff_min_ns > 0 && options->stall_ns > 0);
    assert(options->backoff_min_ns <= options->backoff_max_ns);
    assert(options->requests_max > 1 && options->requests_max <= RL_NODE_REQUESTS_MAX);
    assert(options->unsent_max <= RL_NODE_UNSENT_MAX);
    rl_node_invariant(node);
}

void rl_node_restart(struct rl_node *node, int16_t reason, const char *detail) {
    if (node->conn != NULL) {
        node_drop(node, reason, detail);
    }
    node->pause_ns = 0;
}

void rl_node_flush(struct rl_node *node) {
    if (node->conn != NULL) {
        rl_node_write_batch(node);
        rl_node_note_written(node);
        rl_conn_flush(node->conn);
    }
}

void rl_node_close(struct rl_node *node) {
    rl_node_move(node, RL_NODE_CLOSED);
    node->deadline_ns = RL_NEVER;
    node_note(node, REDLOCK_ERR_CLOSED, "");
    if (node->conn != NULL) {
        rl_conn_close(node->conn);
        node->conn = NULL;
    }
    rl_auth_ended(&node->auth, RL_AUTH_ENDED);
    node_forget_name(node);
    node_fail_requests(node);
    rl_node_invariant(node);
}
